package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkCommand measures whole processes of the real program: the time of
// the wall is ns/op, that of the processor cpu-ms/op.
func BenchmarkCommand(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "hocket")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/hocket").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	flow := "name: noop\nsteps:\n" +
		"  - {id: a, agent: shell, config: {command: ['true']}}\n" +
		"  - {id: b, agent: shell, config: {command: ['true']}}\n" +
		"  - {id: c, agent: shell, config: {command: ['true']}}\n"
	file := filepath.Join(dir, "noop.yml")
	if err := os.WriteFile(file, []byte(flow), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"version", []string{"version"}},
		{"check", []string{"check", file}},
		{"run", []string{"run", file, "--state", filepath.Join(dir, "state")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			cpu := 0.0
			for b.Loop() {
				cmd := exec.Command(program, c.args...)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
			}
			b.ReportMetric(cpu*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
