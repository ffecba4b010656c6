package project

import (
	"net/url"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Telemetry says where spans and figures of runs are sent to.
type Telemetry struct {
	Endpoint string // the base of the addresses of a collector; "": nowhere
	JSON     bool   // in JSON, otherwise in protobuf
	Headers  map[string]Value
}

func (t *Telemetry) read(n strictyaml.Node, secrets map[string]Place) {
	if !n.Exists() {
		return
	}
	m := n.Map()
	endpoint := m.Get("endpoint")
	t.Endpoint = endpoint.Text()
	u, err := url.Parse(t.Endpoint)
	switch {
	case !endpoint.Exists() && n.IsMap():
		n.Key().Errorf(codeConfig, "add it, such as `endpoint: http://127.0.0.1:4318`", "telemetry: missing endpoint")
	case endpoint.Exists() && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != ""):
		endpoint.Errorf(codeConfig, "use an address such as http://127.0.0.1:4318; a password belongs into a header, as a secret", "invalid endpoint %q", hidePassword(t.Endpoint))
		t.Endpoint = ""
	}
	t.JSON = m.Word("protocol", "http/protobuf", "http/json") == "http/json"
	t.Headers = readValues(m.Map("headers"), secrets)
	m.Done()
}

// TelemetryPowers returns the power of config.yml to send what happens in runs to a collector.
func (p *Project) TelemetryPowers() trust.Powers {
	t := &p.Config.Telemetry
	if t.Endpoint == "" {
		return nil
	}
	power := trust.Power{
		Kind: trust.Telemetry, What: "sends which steps of runs were done, when and at what cost to " + t.Endpoint + given(t.Headers),
		Where: p.place(p.at["telemetry"]), Material: workflow.FormatJSON([]any{t.Endpoint, t.JSON, values(t.Headers)}),
	}
	return append(trust.Powers{power}, p.SecretPowers(secretsIn(t.Headers)...)...).Union(nil)
}
