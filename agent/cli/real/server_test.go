package realtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
)

// serverVariable makes this test binary an MCP server with one tool. Its value is the
// file in which the server records the calls.
const serverVariable = "HOCKET_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if file := os.Getenv(serverVariable); file != "" {
		if err := serveAdd(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type sum struct {
	Sum int `json:"sum"`
}

type terms struct {
	A int `json:"a" jsonschema:"a term"`
	B int `json:"b" jsonschema:"another"`
}

func serveAdd(file string) error {
	return adder(file).Run(context.Background(), &mcp.StdioTransport{})
}

func adder(file string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "engine", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers."}, func(_ context.Context, _ *mcp.CallToolRequest, in terms) (*mcp.CallToolResult, sum, error) {
		note, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, sum{}, err
		}
		_, err = fmt.Fprintf(note, "%d+%d\n", in.A, in.B)
		if closed := note.Close(); err == nil {
			err = closed
		}
		return nil, sum{in.A + in.B}, err
	})
	return server
}

// engine returns the server as a command.
func (f *fixture) engine() agent.Server {
	return agent.Server{Name: "engine", Command: []string{os.Args[0]}, Env: map[string]string{serverVariable: f.file("calls")}}
}

// address returns the same server as an address.
func (f *fixture) address(t *testing.T) agent.Server {
	server := adder(f.file("calls"))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	return agent.Server{Name: "engine", URL: web.URL}
}
