package chaos

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestReplanKills kills runs, and commands that change their plans, at random moments. Whatever
// happens, a run has one plan or the other, ends as an undisturbed run of that plan does, and repeats
// no step that has its result and that no change concerns.
func TestReplanKills(t *testing.T) {
	changed := strings.NewReplacer("printf left", "printf LEFT", "  - id: last\n", "  - id: extra\n    agent: shell\n    config: {command: \"echo extra >> trace; printf extra\"}\n  - id: last\n").Replace(work)
	files := map[string]string{"work.yml": work, "changed.yml": changed}
	want := map[string]string{}
	var took time.Duration
	for name := range files {
		calm := newProject(t, files)
		began := time.Now()
		if got := calm.call("run", name, "--quiet"); got.code != 0 {
			t.Fatalf("the undisturbed run: %s%s", got.out, got.err)
		}
		took = max(took, time.Since(began))
		want[name] = calm.outcome(calm.runs()[0])
	}
	random := rand.New(rand.NewPCG(*seed, 5))
	met := map[string]int{}
	for done := 0; done < *replans; {
		p := newProject(t, files)
		recorded := map[string]int{} // the number of attempts at a step when its result was recorded
		p.kill(took/4+time.Duration(random.Int64N(int64(took))), "run", "work.yml", "--quiet")
		runs := p.runs()
		if len(runs) == 0 {
			continue
		}
		run := runs[0]
		for again := true; again && done < *replans; again = random.IntN(4) > 0 {
			done++
			p.note(run, recorded)
			args := []string{"replan", run, "--yes", "--quiet", "--with", []string{"work.yml", "changed.yml"}[random.IntN(2)]}
			if random.IntN(2) == 0 {
				args = append(args, "--resume")
			}
			p.kill(time.Duration(random.Int64N(int64(took))), args...)
			if random.IntN(2) == 0 {
				p.kill(time.Duration(random.Int64N(int64(took))), "resume", run, "--quiet")
			}
		}
		p.note(run, recorded)
		got := p.call("resume", run, "--quiet")
		name := "work.yml"
		if outcome := p.outcome(run); strings.Contains(outcome, `"extra"`) {
			name = "changed.yml"
		}
		if outcome := p.outcome(run); outcome != want[name] {
			t.Fatalf("kill %d: with %s the run ended as\n%s\nwant\n%s\n%s%s", done, name, outcome, want[name], got.out, got.err)
		}
		met["with "+name]++
		begun := p.begun()
		for _, address := range []string{"plan", "right"} { // what does not follow the change
			if n, known := recorded[address]; known && begun[address] != n {
				t.Errorf("kill %d: %s had its result after %d attempts, and was made again", done, address, n)
			}
		}
		p.remove()
	}
	t.Logf("%d kills met runs that ended %v", *replans, met)
}

// note records how often each step with a result was attempted by then.
func (p project) note(run string, recorded map[string]int) {
	p.t.Helper()
	begun := p.begun()
	events, _ := p.events(run)
	for _, e := range events {
		if _, known := recorded[e.Address]; e.Type == "TaskEnded" && !known && len(e.Fault) == 0 {
			recorded[e.Address] = begun[e.Address]
		}
	}
}
