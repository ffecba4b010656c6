package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// serverOfTools is the name of the MCP server with the tools of a task.
const serverOfTools = "hocket"

// serve offers the tools of a task to the CLI, as a server on the loopback interface that
// requires a key, until stop is called.
func serve(ctx context.Context, task *agent.Task, log agent.Log) (_ agent.Server, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return agent.Server{}, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	server := mcp.NewServer(&mcp.Implementation{Name: serverOfTools, Version: "1"}, nil)
	var calls sync.RWMutex // held by running calls
	for i := range task.Tools {
		offer(ctx, server, &calls, &task.Tools[i], task, log)
	}
	key := newKey()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := &http.Server{Handler: onlyWith(key, handler), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = web.Serve(listener) // until it is closed
	}()
	return agent.Server{
			Name: serverOfTools, URL: "http://" + listener.Addr().String() + "/mcp",
			Headers: map[string]string{"Authorization": "Bearer " + key},
		}, func() {
			cancel()
			_ = web.Close()
			<-done
			calls.Lock() // no tool continues after the attempt
		}, nil
}

// newKey returns a random key.
func newKey() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// onlyWith rejects requests without the key: other users of the machine can reach the
// address too.
func onlyWith(key string, next http.Handler) http.Handler {
	want := []byte("Bearer " + key)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "missing or wrong key", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// offer adds a tool. ctx ends calls that the CLI does not end itself.
func offer(ctx context.Context, server *mcp.Server, calls *sync.RWMutex, tool *agent.Tool, task *agent.Task, log agent.Log) {
	input := tool.Input
	if input["type"] != "object" {
		input = map[string]any{"type": "object"}
	}
	server.AddTool(&mcp.Tool{Name: tool.Name, Description: tool.Description, InputSchema: input}, func(callCtx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !calls.TryRLock() {
			return nil, context.Canceled
		}
		defer calls.RUnlock()
		callCtx, stop := context.WithCancel(callCtx)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		go keepAlive(callCtx, req)
		text, err := call(callCtx, tool, req.Params.Arguments, task, log)
		if err != nil {
			text = err.Error()
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: err != nil}, nil
	})
}

// call runs a tool, after asking a person if required.
func call(ctx context.Context, tool *agent.Tool, arguments []byte, task *agent.Task, log agent.Log) (string, error) {
	args := map[string]any{}
	if len(arguments) > 0 {
		v, err := workflow.ParseJSON(arguments)
		object, isObject := v.(map[string]any)
		if err != nil || v != nil && !isObject {
			return "", errors.New("the arguments must be a JSON object")
		}
		if isObject {
			args = object
		}
	}
	if tool.Approval {
		if err := task.Approve(ctx, "May the agent call the tool "+tool.Name+"?", tool.Name+" "+workflow.FormatJSON(args)); err != nil {
			return "", err
		}
	}
	return tool.Call(ctx, args, task, log)
}

// stillThere is the interval at which a CLI is told that a call is still running. The most
// impatient CLI gives up after a minute of silence.
const stillThere = 10 * time.Second

// keepAlive tells the CLI that a call is still running.
func keepAlive(ctx context.Context, req *mcp.CallToolRequest) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	tick := time.NewTicker(stillThere)
	defer tick.Stop()
	for n := 1.0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n}) != nil {
				return
			}
		}
	}
}
