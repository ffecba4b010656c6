//go:build unix

package cli

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/process"
)

const exporter = `program: tool
args: [run, "{telemetry}"]
stdin: "{prompt}"
reply: {format: text}
keys: [OTEL_*]
telemetry:
  joins: JOINS
  args: [[--to, "{otlp_endpoint}"], [--base, "{otlp_base}"]]
  env: {TOOL_EXPORTS: "1"}
`

const showExport = `echo "$* exports $TOOL_EXPORTS to $OTEL_EXPORTER_OTLP_TRACES_ENDPOINT with $OTEL_EXPORTER_OTLP_HEADERS as $OTEL_RESOURCE_ATTRIBUTES in $TRACEPARENT"
`

// A CLI exports spans as its manifest says, if its task does and is trusted. Otherwise it does not see the keys of the collector,
// even if its manifest names them.
func TestTelemetry(t *testing.T) {
	for _, test := range []struct {
		joins, untrusted, off bool
		want                  string
	}{
		{joins: true, want: "run --to http://h/v1/traces --base http://h exports 1 to http://h/v1/traces with a=b as  in span"},
		{want: "run --to http://h/v1/traces --base http://h exports 1 to http://h/v1/traces with a=b as hocket.run=r%2C1,hocket.address=x,hocket.attempt=2 in span"},
		{joins: true, untrusted: true, want: "run exports  to  with  as  in span"},
		{joins: true, off: true, want: "run exports  to  with a=b as  in span"},
	} {
		joins := "false"
		if test.joins {
			joins = "true"
		}
		p := install(t, strings.Replace(exporter, "JOINS", joins, 1), showExport)
		p.env = append(p.env, "OTEL_EXPORTER_OTLP_HEADERS=a=b", "TRACEPARENT=inherited")
		task := p.task()
		task.Run, task.Address, task.Attempt, task.Untrusted = "r,1", "x", 2, test.untrusted
		if !test.off {
			task.Telemetry = &agent.Telemetry{Endpoint: "http://h/v1/traces", Environ: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h/v1/traces"}}
		}
		res, err := p.Run(process.WithTrace(t.Context(), "span"), task, quiet)
		if err != nil || strings.TrimSpace(res.Output) != test.want {
			t.Errorf("%+v:\n%q, %v", test, res.Output, err)
		}
	}
}
