package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/mcp"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// program builds hocket.
func program(b testing.TB) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "hocket")
	if out, err := exec.Command("go", "build", "-o", file, "github.com/hocket-dev/hocket/cmd/hocket").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return file
}

// BenchmarkServer measures a server as a client sees it: from its start to the answer to initialize, the
// list of tools, the memory that it takes while nothing happens, and the list afterwards.
func BenchmarkServer(b *testing.B) {
	self, dir := program(b), b.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		_ = os.MkdirAll(filepath.Dir(file), 0o700)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "agent: echo", "agent: shell")), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var start, list, again time.Duration
	var memory, private, size int
	for b.Loop() {
		began := time.Now()
		cmd := exec.Command(self, "mcp", "serve")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewReaderSize(out, 1<<20)
		say := func(text string) string {
			if _, err := io.WriteString(in, text+"\n"); err != nil {
				b.Fatal(err)
			}
			line, err := lines.ReadString('\n')
			if err != nil {
				b.Fatal(err)
			}
			return line
		}
		say(initialize)
		start += time.Since(began)
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		began = time.Now()
		size = len(say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
		list += time.Since(began)
		b.StopTimer()
		time.Sleep(1500 * time.Millisecond) // it is idle
		b.StartTimer()
		memory += status(b, cmd.Process.Pid, "VmRSS:")
		private += status(b, cmd.Process.Pid, "RssAnon:")
		began = time.Now()
		say(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		again += time.Since(began)
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(b.N)
	b.ReportMetric(float64(start.Microseconds())/n/1000, "ms-start")
	b.ReportMetric(float64(list.Microseconds())/n/1000, "ms-list")
	b.ReportMetric(float64(again.Microseconds())/n/1000, "ms-list-again") // after it was idle
	b.ReportMetric(float64(memory)/n/1024, "MB-idle")
	b.ReportMetric(float64(private)/n/1024, "MB-private") // the rest is the program itself, which servers share
	b.ReportMetric(float64(size), "B-list")
}

// status returns the memory of a process in KB, 0 where the system does not say.
func status(b *testing.B, pid int, of string) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), of)
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kb
}

// Fifty clients with a run each leave nothing behind when they disconnect.
func TestFiftyClients(t *testing.T) {
	f := newFixture(t, mcp.Options{}, nil)
	f.must("hocket_task", map[string]any{"prompt": "x"})
	f.disconnect()
	runtime.GC()
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- mcp.Serve(context.Background(), f.p, mcp.Lines{In: in, Out: out}, f.options) }()
			client, err := sdk.NewClient(&sdk.Implementation{Name: "c" + strconv.Itoa(i)}, nil).Connect(context.Background(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
			if err != nil {
				t.Error(err)
				return
			}
			name := "hello"
			if i%5 == 0 {
				name = "slow" // and disconnects meanwhile
			}
			ctx, stop := context.WithTimeout(context.Background(), patience)
			go func() {
				if name == "slow" {
					time.Sleep(500 * time.Millisecond)
					_ = toServer.Close()
					_ = fromServer.Close()
				}
			}()
			res, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "hocket_workflow", Arguments: map[string]any{"name": name, "inputs": inputsOf(name)}})
			if name == "hello" && (err != nil || res.IsError) {
				data, _ := json.Marshal(res)
				t.Errorf("client %d: %v %s", i, err, data)
			}
			stop()
			_ = toServer.Close()
			_ = fromServer.Close()
			select {
			case <-served:
			case <-time.After(patience):
				t.Error("a server does not end")
			}
		})
	}
	all.Wait()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before+2 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
	}
	for _, id := range f.runs() {
		r, err := f.p.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := r.Info(t.Context()); err != nil || info.Driven || !info.Status.Done() {
			t.Errorf("run %s is %s, driven %v, %v", id, info.Status, info.Driven, err)
		}
	}
}

func inputsOf(workflow string) map[string]any {
	if workflow == "hello" {
		return map[string]any{"name": "Ada"}
	}
	return nil
}
