package cli_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// runProgram runs the program and returns the CPU time it used.
func runProgram(b *testing.B, program string, args ...string) (cpu time.Duration) {
	b.Helper()
	cmd := exec.Command(program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// BenchmarkCommand measures whole processes of the real program: wall time as ns/op and
// CPU time as cpu-ms/op.
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

// BenchmarkChain runs a chain of 1,000 steps in a process of the real program, and
// compares it with a bare program that does one durable insert per step. They alternate,
// so that a busy disk slows both.
func BenchmarkChain(b *testing.B) {
	const steps = 1000
	dir, program := b.TempDir(), buildProgram(b)
	args := chainIn(b, dir, steps)
	var ours, bares, cpu time.Duration
	for b.Loop() {
		bares += bareInserts(b, steps/2)
		began := time.Now()
		cpu += runProgram(b, program, args...)
		ours += time.Since(began)
		bares += bareInserts(b, steps/2)
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(steps*b.N), "µs/step")
	b.ReportMetric(float64(bares.Microseconds())/float64(steps*b.N), "bare-µs/step")
	b.ReportMetric(cpu.Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(ours.Seconds()/bares.Seconds(), "x-bare")
}

// chainIn writes a workflow with the given number of steps, and returns the arguments
// that run it.
func chainIn(b *testing.B, dir string, steps int) []string {
	b.Helper()
	flow := fmt.Sprintf("name: chain\nlimits: {max_steps: %d}\nsteps:\n", steps)
	for i := range steps {
		flow += fmt.Sprintf("  - {id: n%d, agent: x, prompt: p}\n", i)
	}
	for name, text := range map[string]string{"chain.yml": flow, "replies.yml": "\"*\": ok\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return []string{"-C", dir, "run", "chain.yml", "--replies", filepath.Join(dir, "replies.yml"), "--quiet", "--state", filepath.Join(dir, "state")}
}

// BenchmarkTakeUp kills the program in the middle of a chain of 1,000 steps, resumes the
// run, and measures the time from the start of the second process to the end of the first
// new step according to the journal.
func BenchmarkTakeUp(b *testing.B) {
	dir, program := b.TempDir(), buildProgram(b)
	args := chainIn(b, dir, 1000)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "state", "journal.db")+"?_query_only=1")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	ask := func(query string, args ...any) (text string) {
		if err := db.QueryRow(query, args...).Scan(&text); err != nil {
			return ""
		}
		return text
	}
	var waits []float64
	for b.Loop() {
		last := ask("SELECT coalesce(max(number), 0) FROM runs")
		cmd := exec.Command(program, args...)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		id := ""
		for id == "" { // bounded by the benchmark's timeout
			time.Sleep(time.Millisecond)
			id = ask("SELECT id FROM runs WHERE number > ? AND (SELECT max(seq) FROM events WHERE run = number) >= 500", max(last, "0"))
		}
		_ = cmd.Process.Kill() // it may have exited already
		_ = cmd.Wait()
		began := time.Now()
		runProgram(b, program, "-C", dir, "resume", id, "--quiet", "--state", filepath.Join(dir, "state"))
		text := ask(`SELECT data ->> 'time' FROM events WHERE data ->> 'type' = 'TaskEnded' AND run = (SELECT number FROM runs WHERE id = ?1)
			AND seq > (SELECT seq FROM events WHERE data ->> 'type' = 'Recovered' AND run = (SELECT number FROM runs WHERE id = ?1)) ORDER BY seq LIMIT 1`, id)
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			b.Fatalf("run %s has no new step: %v", id, err)
		}
		waits = append(waits, at.Sub(began).Seconds()*1000)
	}
	slices.Sort(waits)
	b.ReportMetric(waits[len(waits)/2], "ms-to-first-step")
	b.ReportMetric(waits[len(waits)-1], "ms-at-worst")
}

// bareInserts does one durable insert per step and nothing else.
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
