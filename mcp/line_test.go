package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/mcp"
)

// raw is a client that sends what it wants.
type raw struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	read *io.PipeReader
	done chan error
}

func newRaw(f *fixture) *raw {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	r := &raw{t: f.t, in: toServer, out: bufio.NewReader(fromServer), read: fromServer, done: make(chan error, 1)}
	go func() { r.done <- mcp.Serve(context.Background(), f.p, mcp.Lines{In: in, Out: out}, f.options) }()
	return r
}

func (r *raw) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) receive() string {
	r.t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	return line
}

func (r *raw) start() {
	r.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	r.receive()
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end hangs up and waits for the server.
func (r *raw) end() {
	r.t.Helper()
	_ = r.in.Close()
	_ = r.read.Close()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Error("the server does not end")
	}
}

// How long a result may be kept is said only to clients of the version that has it.
func TestOlderClientsDoNotLearnAboutCaching(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	r := newRaw(f)
	r.start()
	for i, method := range []string{"tools/list", "resources/list", "prompts/list", "resources/templates/list"} {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i+1, method))
		if text := r.receive(); strings.Contains(text, "cacheScope") || strings.Contains(text, "ttlMs") || strings.Contains(text, `"error"`) {
			t.Errorf("%s: %s", method, text)
		}
	}
	r.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"hocket_task","arguments":{"prompt":"what is a \"cacheScope\"?"}}}`)
	if text := r.receive(); !strings.Contains(text, "cacheScope") {
		t.Error(text)
	}
	r.end()
	r = newRaw(f)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`)
	if text := r.receive(); !strings.Contains(text, `"cacheScope":"private"`) {
		t.Error(text)
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"resources/list","params":{` + meta + `}}`)
	if text := r.receive(); !strings.Contains(text, `"cacheScope":"private"`) {
		t.Error(text)
	}
	r.end()
}

// Invalid messages get an error, and the connection goes on.
func TestInvalidMessages(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	r := newRaw(f)
	defer r.end()
	r.start()
	for _, c := range []struct{ line, want string }{
		{"hello", "-32700"},
		{"{", "-32700"},
		{`"text"`, "-32600"},
		{`[]`, "-32600"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "-32600"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "-32600"},
		{`{"id":1}`, "-32600"},
		{`{"jsonrpc":"2.0","id":2,"method":"nothing"}`, "-32601"},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":7}}`, `"error"`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call"}`, `"error"`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"hocket_task","arguments":[1]}}`, `"rror`},
		{"\x00\x01\xff", "-32700"},
		{strings.Repeat("[", 100_000), "-32700"},
		{`{"jsonrpc":"2.0","id":6,"method":"ping","params":"` + strings.Repeat("x", 5<<20) + `"}`, "longer than 4 MB"},
	} {
		r.send(c.line)
		if got := r.receive(); !strings.Contains(got, strings.TrimPrefix(c.want, `"`)) {
			t.Errorf("%.60s: %.200s; want %s", c.line, got, c.want)
		}
	}
	r.send("")
	r.send(`{"jsonrpc":"2.0","id":99,"result":{}}`) // to something that was not asked
	r.send(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	if got := r.receive(); !strings.Contains(got, `"id":7`) || strings.Contains(got, "error") {
		t.Error(got)
	}
}

// A client that sends more than it reads has to wait, and does not fill the memory.
func TestFlood(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	before := runtime.NumGoroutine()
	r := newRaw(f)
	r.start()
	sent := make(chan int)
	go func() {
		n := 0
		for n < 100_000 {
			if _, err := fmt.Fprintf(r.in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}\n", n+1); err != nil {
				break
			}
			n++
		}
		sent <- n
	}()
	time.Sleep(300 * time.Millisecond) // it reads nothing
	if n := runtime.NumGoroutine(); n > before+200 {
		t.Errorf("%d goroutines", n)
	}
	r.end()
	if n := <-sent; n > 1000 {
		t.Errorf("%d requests were accepted", n)
	}
}

// A client that reads may flood: some requests are refused, and all get a response.
func TestFloodWithReader(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	r := newRaw(f)
	defer r.end()
	r.start()
	const n = 2000
	go func() {
		for i := range n {
			if _, err := fmt.Fprintf(r.in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i+1); err != nil {
				return
			}
		}
	}()
	seen := map[float64]bool{}
	for len(seen) < n {
		var res struct{ ID float64 }
		if err := json.Unmarshal([]byte(r.receive()), &res); err != nil {
			t.Fatal(err)
		}
		if seen[res.ID] {
			t.Fatalf("two responses to %v", res.ID)
		}
		seen[res.ID] = true
	}
}

// Cancelled requests free their place.
func TestCancelledRequestsFreeTheirPlace(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	r := newRaw(f)
	defer r.end()
	r.start()
	for i := range 200 {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hocket_run","arguments":{"run":"x%d"}}}`, i+1, i))
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i+1))
		if got := r.receive(); strings.Contains(got, "too many") {
			t.Fatal(got)
		}
	}
}
