//go:build unix

package tool_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/tool"
)

// BenchmarkProgram calls a tool whose program does nothing: unconfined, confined, and
// confined with a network, which adds a proxy.
func BenchmarkProgram(b *testing.B) {
	for _, c := range []struct {
		name, permissions string
		sandbox           tool.Sandbox
	}{{"free", "{}", tool.SandboxNone}, {"confined", "{fs: [.]}", ""}, {"network", "{fs: [.], network: [a.example]}", ""}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			file := filepath.Join(dir, ".hocket/tools/nothing", tool.File)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("description: d\nkind: command\npermissions: "+c.permissions+"\ncommand: ['true']"), 0o600); err != nil {
				b.Fatal(err)
			}
			s, found, err := tool.Load(dir, tool.Options{Sandbox: c.sandbox})
			if err != nil || len(found) > 0 {
				b.Fatal(err, found)
			}
			if e := s.Enforcement(); !e.Held && c.sandbox == "" {
				b.Skip(e.Why)
			}
			one, err := s.Tool("nothing")
			if err != nil {
				b.Fatal(err)
			}
			before := processorTime(b)
			for b.Loop() {
				if _, err := one.Call(b.Context(), nil, &agent.Task{}, func([]byte) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime returns the CPU time of this process and its finished children. A busy
// machine increases wall time, but hardly CPU time.
func processorTime(b *testing.B) (all int64) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		all += used.Utime.Nano() + used.Stime.Nano()
	}
	return all
}
