//go:build unix

package shell_test

import (
	"os/exec"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/shell"
)

// BenchmarkCommand runs a command that does nothing; bare does the same with the standard
// library alone.
func BenchmarkCommand(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if _, err := exec.Command("true").Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("shell", func(b *testing.B) {
		s := shell.New(shell.Options{})
		task := &agent.Task{Key: "bench/n@1", Settings: map[string]any{"command": []any{"true"}}, Dir: b.TempDir(), Agent: &agent.Definition{}}
		for b.Loop() {
			if _, err := s.Run(b.Context(), task, func([]byte) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
