package acp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/workflow"
)

// FuzzMessages has an agent send anything. Permission requests are denied, since no
// person is present.
func FuzzMessages(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"hi"}}}}` + "\n")
	f.Add(`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"t","status":"completed","rawInput":{"command":["a","b"]}}}}` + "\nWelcome\n{}\n")
	f.Add(`{"id":1,"method":"session/request_permission","params":{"options":[{"optionId":"a","kind":"allow_once"},{"optionId":"b","kind":"allow_once"},{"kind":"reject_once"}],"toolCall":{"kind":"edit","title":"t","content":[{"type":"diff","path":"p","newText":"n"}]}}}` + "\n")
	f.Add(`{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update","cost":{"amount":1e999}}}}` + "\n" + `{"id":2,"method":"fs/read_text_file"}` + "\n" + `{"half": `)
	f.Add(`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","kind":"edit","rawOutput":[1],"locations":[{"path":"p"}],"content":[{"type":"diff","path":"q","oldText":""},{"type":"content","content":{"text":"x"}}]}}}` + "\n")
	f.Fuzz(func(t *testing.T, said string) {
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		task := &agent.Task{KeepEntry: agent.Transcript(func([]byte) {}), Agent: &agent.Definition{Budget: workflow.Budget{CostUSD: workflow.AtMost(1)}},
			Ask: func(context.Context, agent.Question) (string, error) { return "", agent.ErrNobody }}
		permissions, _ := agent.ReadPermissions(map[string]any{"mode": "ask", "shell": "deny", "write": map[string]any{"*": "deny"}, "network": "ask"})
		start := &cli.Start{Manifest: &cli.Manifest{Name: "fuzz"}, MaxBytes: 1 << 10, Permissions: permissions}
		c := newClient(ctx, start, task, func([]byte) {}, stop)
		c.listen()
		in := newMessages(strings.NewReader(said), &process.Tail{}, make(chan struct{}, len(said)+1))
		in.open()
		lines, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(lines)) {
			var m struct {
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			}
			if json.Unmarshal([]byte(line), &m) != nil {
				t.Fatalf("%q is not a message", line)
			}
			answer, _ := c.handle(ctx, m.Method, m.Params)
			if p, isPermission := answer.(permissionResponse); isPermission && p.Outcome.Outcome == "selected" && p.Outcome.OptionID != "" && !rejects(m.Params, p.Outcome.OptionID) {
				t.Fatalf("allowed %s by %q", m.Params, p.Outcome.OptionID)
			}
		}
		if len(c.answer()) > 1<<10 {
			t.Error("the answer is over its limit")
		}
	})
}

// rejects reports whether the option with that id rejects.
func rejects(params json.RawMessage, id string) bool {
	var p permissionRequest
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	for _, o := range p.Options {
		if o.ID == id && (o.Kind == string(sdk.PermissionOptionKindRejectOnce) || o.Kind == string(sdk.PermissionOptionKindRejectAlways)) {
			return true
		}
	}
	return false
}
