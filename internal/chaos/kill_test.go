package chaos

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// work has steps in sequence, in parallel, for each item and in a loop. Each step is a
// real process that first writes its address to a file.
const work = `name: work
steps:
  - id: plan
    agent: shell
    config: {command: "echo plan >> trace; printf '[\"x\",\"y\",\"z\"]'"}
    output: {var: items, mode: json}
  - id: left
    agent: shell
    parallel_group: both
    config: {command: "echo left >> trace; sleep 0.02; printf left"}
  - id: right
    agent: shell
    parallel_group: both
    config: {command: "echo right >> trace; printf right"}
  - id: item
    agent: shell
    for_each: ${items}
    as: n
    inputs: {n: "${n}"}
    config: {command: "case $n in x) a=item[0] ;; y) a=item[1] ;; *) a=item[2] ;; esac; echo $a >> trace; printf '%s!' \"$n\""}
    output: {var: results}
  - loop:
      max: 5
      until: round == 'c'
      steps:
        - id: turn
          agent: shell
          inputs: {last: "${round ?? ''}"}
          output: round
          config: {command: "case $last in '') a=turn n=a ;; a) a=turn#2 n=b ;; *) a=turn#3 n=c ;; esac; echo $a >> trace; printf $n"}
  - id: last
    agent: shell
    inputs: {all: "${results} ${round}"}
    config: {command: "echo last >> trace; printf %s \"$all\""}
`

// TestKills kills runs at random moments, resumes them, and compares them with an
// undisturbed run: they end the same, and a step with a recorded result does not run
// again.
func TestKills(t *testing.T) {
	calm := newProject(t, map[string]string{"work.yml": work})
	began := time.Now()
	if got := calm.call("run", "work.yml", "--quiet"); got.code != 0 {
		t.Fatalf("the undisturbed run: %s%s", got.out, got.err)
	}
	took := time.Since(began)
	want := calm.outcome(calm.runs()[0])

	random := rand.New(rand.NewPCG(*seed, 1))
	met := map[string]int{} // how far runs had come when they were killed
	for done := 0; done < *kills; {
		p := newProject(t, map[string]string{"work.yml": work})
		recorded := map[string]int{} // the number of attempts at a step when its result was recorded
		args := []string{"run", "work.yml", "--quiet"}
		for again := true; again && done < *kills; again = random.IntN(3) > 0 {
			p.kill(time.Duration(random.Int64N(int64(took))), args...)
			done++
			runs := p.runs()
			if len(runs) == 0 {
				met["before the run was recorded"]++
				continue
			}
			begun := p.begun()
			events, _ := p.events(runs[0])
			for _, e := range events {
				if _, known := recorded[e.Address]; e.Type == "TaskEnded" && !known {
					recorded[e.Address] = begun[e.Address]
				}
			}
			met["with some results"]++
			args = []string{"resume", runs[0], "--quiet"}
		}
		runs := p.runs()
		if len(runs) == 0 {
			continue
		}
		if len(runs) > 1 {
			t.Fatalf("kill %d: there are %d runs", done, len(runs))
		}
		if got := p.call("resume", runs[0], "--quiet"); got.code != 0 && !strings.Contains(got.err, "success") {
			t.Fatalf("kill %d: resume: %s%s", done, got.out, got.err)
		}
		if got := p.outcome(runs[0]); got != want {
			t.Fatalf("kill %d: the run ended as\n%s\nwant\n%s", done, got, want)
		}
		begun := p.begun()
		for address, n := range recorded {
			if begun[address] != n {
				t.Errorf("kill %d: %s had its result after %d attempts, and was made again", done, address, n)
			}
		}
	}
	t.Logf("%d kills met runs %v", *kills, met)
}

// kill starts a command, and kills it some time later.
func (p project) kill(after time.Duration, args ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	_ = p.command(ctx, args...).Run() // it is killed, or finished before
}

// runs returns the ids of the project's runs.
func (p project) runs() (ids []string) {
	p.t.Helper()
	got := p.call("runs", "--json", "--all")
	var list []struct {
		ID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(got.out), &list); err != nil {
		p.t.Fatalf("runs: %v\n%s%s", err, got.out, got.err)
	}
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// outcome returns the outcome of a run, without values that differ from run to run.
func (p project) outcome(run string) string {
	p.t.Helper()
	got := p.call("show", run, "--json")
	if got.code != 0 {
		p.t.Fatalf("show %s: %s", run, got.err)
	}
	var shown struct {
		Status string
		Output any
		Steps  []struct {
			Address, Status string
			Output          any
		}
	}
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil {
		p.t.Fatal(err)
	}
	text, err := json.MarshalIndent(shown, "", " ")
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// begun counts how often each step was started, according to the files that the steps
// wrote.
func (p project) begun() map[string]int {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "trace"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	count := map[string]int{}
	for address := range strings.FieldsSeq(string(text)) {
		count[address]++
	}
	return count
}
