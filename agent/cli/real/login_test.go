package realtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/agent/mcp/mcptest"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// A server with a stored login can be used by every CLI, though the CLIs have no login
// themselves.
func TestServerWithALogin(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, name, "dummy")
			site := mcptest.Start(t, adder(f.file("calls")))
			site.Stateless = name == "goose" // which begins no session if the server offers the newer protocol too
			o := mcp.Options{Logins: login.Open(login.Options{Dir: filepath.Join(t.TempDir(), "mcp")})}
			_, err := o.Logins.Login(t.Context(), login.Server{Address: site.Address}, login.Person{
				Show: func(address string) { go func() { _, _ = mcptest.Visit(address) }() },
				Tell: func(string) {}, Wait: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			server, done, err := mcp.Relay(t.Context(), agent.Server{Name: "engine", URL: site.Address}, o)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			steps := []fakemodel.Step{{Tool: "$add", Args: map[string]any{"a": 2, "b": 40}}, say("added")}
			result, err := f.run(t.Context(), t, attempt{steps: steps, servers: []agent.Server{server}})
			calls, _ := os.ReadFile(f.file("calls"))
			if err != nil || result.Output != "added" || string(calls) != "2+40\n" {
				t.Errorf("%q, %v, calls %q", result.Output, err, calls)
			}
		})
	}
}
