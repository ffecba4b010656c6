package hocket_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Info returns what somebody has made the server say about a run.
func (d *working) Info(ctx context.Context, run string) (driver.Info, error) {
	if origin, ok := d.origins[run]; ok {
		return driver.Info{ID: run, Origin: origin}, nil
	}
	return d.Driver.Info(ctx, run)
}

// Events returns the first event of a run that the driver does not know.
func (d *working) Events(ctx context.Context, run string, after int, follow bool) iter.Seq2[engine.Envelope, error] {
	base, ok := d.bases[run]
	if !ok {
		return d.Driver.Events(ctx, run, after, follow)
	}
	return func(yield func(engine.Envelope, error) bool) {
		yield(engine.Envelope{Seq: 1, Event: &engine.Started{Run: run, Base: base}}, nil)
	}
}

// A worker begins with commits that were made in the run on its machine, or that are in the history of its checkout, whatever
// a run says that somebody has forged: the repository also has commits of others that nobody has looked at.
func TestWorkersUseOnlyCommitsOfTheRun(t *testing.T) {
	_, dir := repository(t, map[string]string{
		".hocket/config.yml": onTemporal, "f": "old\n",
		".hocket/workflows/w.yml": `name: w
execution: dag
steps:
  - {id: a, agent: shell, workspace: own, needs: [], config: {command: cat f; echo a > made}}
  - {id: b, agent: shell, workspace: own, needs: [], config: {command: cat f; echo b > more}}
  - {id: both, needs: [a, b], merge: true}
  - {id: ship, needs: [both], land: patch}
`,
		".hocket/workflows/w2.yml": "name: w2\nsteps: [{id: a, agent: shell, workspace: own, config: {command: cat f}}]\n",
	}, hocket.Options{})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	old := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	git(t, dir, "checkout", "-q", "-b", "evil")
	put(t, dir, "f", "evil\n")
	git(t, dir, "commit", "-q", "-am", "evil")
	evil := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	git(t, dir, "checkout", "-q", "main")
	put(t, dir, "f", "good\n")
	git(t, dir, "commit", "-q", "-am", "good")
	p, d := employed(t, dir, true)
	all, err := p.Powers()
	if err == nil {
		err = errors.Join(p.Trust(all), p.Work(t.Context(), hocket.Worker{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	d.origins = map[string]string{"fork": "one", "fork-2": "fork", "other": "one", "loop": "loop", "unbased": "one"}
	d.bases = map[string]string{"unbased": strings.Repeat("0", 40)}
	base, attempts := "", 0
	pins := map[string]*driver.Pin{}
	for _, name := range []string{"w", "w2"} {
		w, err := p.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Record(t.Context(), w, nil); err != nil {
			t.Fatal(err)
		}
		spec := d.specs[len(d.specs)-1]
		pins[name], base = spec.Pin, spec.Base
	}
	for _, run := range []string{"one", "two", "three", "fork", "fork-2", "other", "loop"} {
		d.bases[run] = base
	}
	attempt := func(run, name, node, from string, change func(*engine.StartTask)) driver.Outcome {
		t.Helper()
		work, end, err := d.worker.Resolve(t.Context(), run, pins[name])
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		var task engine.StartTask
		attempts++
		pins[name].Bundle.Root.Body.WalkTasks(func(n *workflow.Node, w *workflow.Task) {
			if n.ID == node {
				task = engine.StartTask{
					Place:   &engine.Place{Workflow: name, Node: node, Agent: w.Agent, Written: w.Settings, Branches: w.Branches, Output: &workflow.Output{}},
					Address: node, Attempt: attempts, Settings: w.Settings, Workspace: from,
				}
			}
		})
		change(&task)
		return work.Agents.Run(t.Context(), run, &task, driver.Attempt{Log: func([]byte) {}, Keep: func(driver.Stream, []byte) {}, Note: func(string, string) {}})
	}
	same := func(*engine.StartTask) {}
	made := func(out driver.Outcome, want string) string {
		t.Helper()
		if out.Fault != nil || !strings.HasPrefix(out.Output, want) {
			t.Fatalf("%q %+v, want %q", out.Output, out.Fault, want)
		}
		return out.Workspace
	}
	refused := func(what string, out driver.Outcome) {
		t.Helper()
		if out.Fault == nil || !strings.Contains(out.Fault.Message, "was not made in this run on this machine, and its files differ from those") {
			t.Errorf("%s: %q %+v", what, out.Output, out.Fault)
		}
	}
	a := made(attempt("one", "w", "a", base, same), "good")
	b := made(attempt("one", "w", "b", base, same), "good")
	trees := func(commits ...string) func(*engine.StartTask) {
		return func(task *engine.StartTask) {
			for _, commit := range commits {
				task.Trees = append(task.Trees, engine.Tree{Step: "s", Workspace: commit})
			}
		}
	}
	both := made(attempt("one", "w", "both", base, trees(a, b)), "merged")
	made(attempt("one", "w", "a", both, same), "good")
	made(attempt("two", "w", "a", old, same), "old")
	made(attempt("fork", "w", "b", a, same), "good")
	made(attempt("fork-2", "w", "b", a, same), "good")
	lands := func(run, from string, want ...string) {
		t.Helper()
		out := attempt(run, "w", "ship", from, same)
		for _, name := range want {
			if out.Asks == nil || !strings.Contains(out.Asks.Detail, "+++ b/"+name) {
				t.Errorf("run %s would not land %s: %+v", run, name, out)
			}
		}
	}
	lands("fork", a, "made")
	lands("fork-2", both, "made", "more")
	if out := attempt("unbased", "w", "ship", a, same); out.Fault == nil || !strings.Contains(out.Fault.Message, "is not on this machine") {
		t.Errorf("a run whose base is not here would land a part: %+v", out)
	}
	refused("another branch", attempt("one", "w", "a", evil, same))
	refused("another branch, first", attempt("three", "w", "a", evil, same))
	refused("another branch to merge", attempt("one", "w", "both", base, trees(a, evil)))
	refused("another branch merged before", attempt("one", "w", "both", base, func(task *engine.StartTask) {
		trees(a, b)(task)
		task.Continues = evil
	}))
	refused("of another run", attempt("two", "w", "a", a, same))
	refused("of another run of which it is no fork", attempt("other", "w2", "a", a, same))
	refused("a run that repeats itself", attempt("loop", "w", "a", a, same))
	if err := p.Work(t.Context(), hocket.Worker{AcceptAny: true}); err != nil {
		t.Fatal(err)
	}
	made(attempt("two", "w", "a", evil, same), "evil")
	d.deleted = map[string]*driver.Deletion{"one": {}} // on another machine
	if _, err := p.Collect(t.Context(), hocket.Retention{}, false); err != nil {
		t.Fatal(err)
	}
	refs := func(run string) string { return git(t, dir, "for-each-ref", "refs/hocket/"+run) }
	if refs("one") != "" || refs("two") == "" {
		t.Errorf("after hocket gc, the run that was deleted has %q, and another one %q", refs("one"), refs("two"))
	}
}
