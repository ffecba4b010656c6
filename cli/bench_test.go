package cli_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// buildProgram builds the real program.
func buildProgram(b *testing.B) (program string) {
	b.Helper()
	program = filepath.Join(b.TempDir(), "hocket")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/hocket").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

// runProgram runs it, and returns how long it took by the processor.
func runProgram(b *testing.B, program string, args ...string) (cpu time.Duration) {
	b.Helper()
	cmd := exec.Command(program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// BenchmarkCommand measures whole processes of the real program: the time of
// the wall is ns/op, that of the processor cpu-ms/op.
func BenchmarkCommand(b *testing.B) {
	dir, program := b.TempDir(), buildProgram(b)
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
			var cpu time.Duration
			for b.Loop() {
				cpu += runProgram(b, program, c.args...)
			}
			b.ReportMetric(cpu.Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkChain runs a chain of 1,000 steps through the command line, whole process,
// and compares it with a bare program that does one durable insert per step. They take
// turns, so that a busy disk slows both.
func BenchmarkChain(b *testing.B) {
	const steps = 1000
	dir, program := b.TempDir(), buildProgram(b)
	flow := "name: chain\nlimits: {max_steps: 1000}\nsteps:\n"
	for i := range steps {
		flow += fmt.Sprintf("  - {id: n%d, agent: x, prompt: p}\n", i)
	}
	for name, text := range map[string]string{"chain.yml": flow, "replies.yml": "\"*\": ok\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var ours, bares, cpu time.Duration
	for b.Loop() {
		bares += bareInserts(b, steps/2)
		began := time.Now()
		cpu += runProgram(b, program, "-C", dir, "run", "chain.yml", "--replies", filepath.Join(dir, "replies.yml"), "--quiet", "--state", filepath.Join(dir, "state"))
		ours += time.Since(began)
		bares += bareInserts(b, steps/2)
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(steps*b.N), "µs/step")
	b.ReportMetric(float64(bares.Microseconds())/float64(steps*b.N), "bare-µs/step")
	b.ReportMetric(cpu.Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(ours.Seconds()/bares.Seconds(), "x-bare")
}

// bareInserts does one durable insert per step, and nothing else.
func bareInserts(b *testing.B, steps int) time.Duration {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE steps (id INTEGER PRIMARY KEY, data TEXT NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO steps (data) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	data := strings.Repeat("x", 110) // as long as an event
	began := time.Now()
	for range steps {
		if _, err := insert.Exec(data); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
