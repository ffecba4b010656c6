package local_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// TestKilledAtAnyMoment kills a process that drives a workflow of parallel, looping,
// nested and repeated steps with SIGKILL, at random moments, and resumes the run in a new
// process. Whatever the moment, the run has the same result as an undisturbed one, and a
// step whose result was recorded does not run again.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 15
	}
	undisturbed, took := workToEnd(t, t.TempDir())
	if !strings.HasPrefix(undisturbed, "success ") {
		t.Fatalf("undisturbed: %s", undisturbed)
	}
	rng := rand.New(rand.NewPCG(20260102, 3))
	moments := map[string]int{} // what the kills hit, to show that they hit every phase
	for done := 0; done < kills; {
		dir := t.TempDir()
		made := map[string]int{} // attempts started by the time they were recorded, by key
		for again := true; again && done < kills; again = rng.IntN(3) == 0 {
			killAfter(t, dir, time.Duration(rng.Int64N(int64(took))), rng.IntN(10) > 0)
			done++
			moment := noteRecorded(t, dir, made)
			moments[moment]++
			if moment == "over" { // the speed of the machine varies
				took -= took / 5
			} else {
				took += took / 20
			}
		}
		if result, _ := workToEnd(t, dir); result != undisturbed {
			t.Fatalf("kill %d: the run came to\n%s\nwant\n%s", done, result, undisturbed)
		}
		begun := begun(t, dir)
		for key, n := range made {
			if begun[key] != n {
				t.Fatalf("kill %d: %s was recorded after %d attempts, and then made again: %d", done, key, n, begun[key])
			}
		}
		if len(begun) == 0 {
			t.Fatal("no attempt was made")
		}
	}
	t.Logf("%d kills; the run had come so far: %v", kills, moments)
	if moments["under way"] < kills/4 {
		t.Errorf("most kills missed the run: %v", moments)
	}
}

// workToEnd has a process drive the run to its end.
func workToEnd(t *testing.T, dir string) (result string, took time.Duration) {
	t.Helper()
	c := startChild(t, "work", dir)
	c.line() // it has opened the journal
	began := time.Now()
	result = c.line()
	took = time.Since(began)
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, result)
	}
	return result, took
}

// killAfter kills a process some time after it started, or after it opened the journal.
func killAfter(t *testing.T, dir string, d time.Duration, opened bool) {
	t.Helper()
	c := startChild(t, "work", dir)
	if opened {
		c.line()
	}
	time.Sleep(d)
	c.kill()
}

// noteRecorded records how often each recorded attempt was started, and returns how far
// the run has come.
func noteRecorded(t *testing.T, dir string, made map[string]int) string {
	t.Helper()
	store, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	runs, err := store.List(context.Background(), driver.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) == 0 {
		return "not begun"
	}
	begun := begun(t, dir)
	r, issued := replayBusy(t, store, func(key string) {
		if _, known := made[key]; !known {
			made[key] = begun[key]
		}
		if begun[key] == 0 {
			t.Fatalf("%s is recorded and was never begun", key)
		}
	})
	for key := range begun {
		if !issued[key] {
			t.Fatalf("%s was begun before its cause was recorded", key)
		}
	}
	if r.Status().Done() {
		return "over"
	}
	return "under way"
}

// replayBusy steps an engine through the recorded events. It calls recorded with the key
// of every result, and returns the keys of the attempts that the events ask for.
func replayBusy(t *testing.T, store *journal.Store, recorded func(key string)) (r *engine.Run, issued map[string]bool) {
	t.Helper()
	r, err := engine.New(drivertest.Busy())
	if err != nil {
		t.Fatal(err)
	}
	issued = map[string]bool{}
	for ev, err := range store.Events(context.Background(), busyRun, 0) {
		if err != nil {
			t.Fatal(err)
		}
		cmds, err := r.Step(ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cmds {
			if start, ok := c.(*engine.StartTask); ok {
				issued[start.Key(busyRun)] = true
			}
		}
		if ended, ok := ev.Event.(*engine.TaskEnded); ok {
			recorded(fmt.Sprintf("%s/%s@%d", busyRun, ended.Address, ended.Attempt))
		}
	}
	return r, issued
}

// begun counts the started attempts by key, from the files that they wrote.
func begun(t *testing.T, dir string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	files, err := filepath.Glob(filepath.Join(dir, "effects", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if key, ok := strings.CutPrefix(strings.TrimSpace(line), "begin "); ok {
				counts[key]++
			}
		}
	}
	return counts
}

// TestTwoProcesses has two processes resume one run at once: one drives it, and the other
// reports which one does.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	first := startChild(t, "hold", dir)
	first.line()
	if line := first.line(); line != "begun first" {
		t.Fatalf("the first process says %q", line)
	}
	second := startChild(t, "hold", dir)
	second.line()
	says := second.line()
	if !strings.Contains(says, fmt.Sprintf("run %s has been driven by process %d on ", busyRun, first.cmd.Process.Pid)) {
		t.Errorf("the second process says %q", says)
	}
	first.kill()
	if result, _ := workToEnd(t, dir); !strings.HasPrefix(result, "success ") {
		t.Errorf("after the first process was killed: %s", result)
	}
}

// TestManyResumeAtOnce has many processes resume a run whose driver was killed.
func TestManyResumeAtOnce(t *testing.T) {
	dir := t.TempDir()
	_, took := workToEnd(t, t.TempDir())
	killAfter(t, dir, took/2, true)
	var all []*child
	for range 4 {
		all = append(all, startChild(t, "work", dir))
	}
	finished := 0
	for _, c := range all {
		c.line()
		switch line := c.line(); {
		case strings.HasPrefix(line, "success "):
			finished++
		case strings.Contains(line, "has been driven by process"), strings.Contains(line, "is driven by another process"), strings.Contains(line, "already exists"):
		default:
			t.Errorf("a process says %q", line)
		}
	}
	if finished == 0 {
		t.Error("no process drove the run to its end")
	}
}

// TestKilledWhileAnAttemptAsks kills a process whose attempt is asking. Its questions
// stay open; one is answered before the run resumes, the other afterwards.
func TestKilledWhileAnAttemptAsks(t *testing.T) {
	d := &driven{t: t, store: openStore(t), done: make(chan engine.Result, 1)}
	c := startChild(t, "ask", d.store.Dir())
	d.until("a@1", "a@2")
	c.kill()
	if _, driven, err := d.store.Driver(t.Context(), "demo-1"); driven || err != nil {
		t.Error("the run is still driven", err)
	}
	if _, err := answerRun(t.Context(), d.store, "demo-1", "a@2", "allow", ""); err != nil {
		t.Error(err)
	}
	if open := d.until("a@1"); !open[0].Orphaned {
		t.Errorf("%+v", open)
	}
	again := sync.OnceFunc(func() { d.answer("a@1", "deny") })
	go func() {
		res, err := driveRun(context.Background(), d.store, "demo-1", work{Agents: asking{[]agent.Question{mayI, mayI}}, Elsewhere: true, Poll: time.Millisecond})
		if err != nil {
			t.Error(err)
		}
		d.done <- res
	}()
	for len(d.done) == 0 {
		if open, err := d.store.Open(t.Context(), driver.QuestionFilter{Run: "demo-1"}); err == nil && len(open) == 1 && !open[0].Orphaned {
			again()
		}
		time.Sleep(time.Millisecond)
	}
	if res := <-d.done; res.Output != "allow;deny;" && res.Output != "deny;allow;" {
		t.Errorf("%s: %v, %s", res.Status, res.Output, res.Error)
	}
	d.until()
}
