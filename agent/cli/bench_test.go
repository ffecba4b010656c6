//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// BenchmarkStep runs a step of a CLI that prints a thousand messages; bare runs the same
// program directly. The difference is the overhead of Hocket.
func BenchmarkStep(b *testing.B) {
	dir := b.TempDir()
	var said strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&said, `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"word %d "}}}`+"\n", i)
	}
	said.WriteString(`{"type":"result","is_error":false,"result":"done","session_id":"s","total_cost_usd":0.1,"modelUsage":{"m":{"inputTokens":1}}}` + "\n")
	script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 9.9.9; exit; fi\nexec cat " + dir + "/said\n"
	if err := os.WriteFile(filepath.Join(dir, "said"), []byte(said.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte(script), 0o755); err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if _, err := exec.Command(filepath.Join(dir, "claude")).Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step", func(b *testing.B) {
		b.ReportAllocs()
		x := New(Options{Builtin: "claude", Env: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Dir: filepath.Join(dir, "private")})
		task := &agent.Task{Key: dir + "@1", Dir: dir, Prompt: "Do it.", Agent: &agent.Definition{Prompt: "You are kind."}}
		before := cpu()
		defer func() { b.ReportMetric(float64(cpu()-before)/1e6/float64(b.N), "own-cpu-ms/op") }()
		for b.Loop() {
			if res, err := x.Run(b.Context(), task, func([]byte) {}); err != nil || res.Output != "done" {
				b.Fatal(res, err)
			}
		}
	})
}

// cpu returns the CPU time of this process, without the programs that it started. It does
// not depend on how busy the machine is.
func cpu() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
