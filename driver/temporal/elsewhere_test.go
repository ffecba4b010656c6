package temporal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// TestWorkspacesElsewhere: what steps make in their workspaces is with the worker, and whoever looks for it on another
// machine is told which one, also after the end of the run.
func TestWorkspacesElsewhere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": `name: build
steps:
  - {id: a, agent: shell, workspace: own, config: {command: echo x > made}}
  - {id: ok, human: "Go on?"}
`})
	starter, one := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	r, wait := starter.start(t, "build", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%+v %v", res, err)
	}
	check := func() {
		t.Helper()
		for _, m := range []hocket.Made{{}, {Address: "a"}, {Address: "a", Attempt: 1}} {
			there, err := one.Run(t.Context(), r.ID())
			if err != nil {
				t.Fatal(err)
			}
			if d, err := there.Diff(t.Context(), m, 1000); err != nil || !strings.Contains(d.Patch, "+x") {
				t.Errorf("%+v at the worker: %+v %v", m, d, err)
			}
			_, err = r.Diff(t.Context(), m, 1000)
			if want := "is not on this machine: worker one has it"; err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("the diff of %+v elsewhere: %v, want %s", m, err, want)
			}
			if _, opened := r.OpenWorkspace(t.Context(), m); opened == nil || opened.Error() != err.Error() {
				t.Errorf("opened %+v elsewhere: %v, want %v", m, opened, err)
			}
		}
	}
	check()
	if _, err := r.Answer(t.Context(), "ok", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	if res := follow(t, r); res.Status != engine.Success {
		t.Fatalf("%+v", res)
	}
	check()
	c.forget(r)
	check()
}

// TestForksElsewhere: a fork that another machine makes goes on with what its run has made on the worker.
func TestForksElsewhere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": `name: build
steps:
  - {id: a, agent: shell, workspace: own, config: {command: echo x > made}}
  - {id: b, agent: shell, workspace: own, config: {command: cat made}}
`})
	starter, one := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	r, wait := starter.start(t, "build", hocket.Front{})
	res, err := wait()
	for range 3 {
		if err != nil || res.Status != engine.Success || !strings.Contains(fmt.Sprint(res.Output), "x") {
			t.Fatalf("%+v %v", res, err)
		}
		if r, err = r.Fork(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		res, err = r.Drive(t.Context(), hocket.Front{})
	}
}

// TestRetriedLandings: a retried run lands everything since its own beginning, on a worker that has only seen its last step.
func TestRetriedLandings(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{"f": "old\n", ".hocket/workflows/build.yml": `name: build
steps:
  - {id: a, agent: shell, workspace: own, config: {command: echo a > f}}
  - {id: b, agent: shell, workspace: own, config: {command: echo b >> f}}
  - {id: ship, land: patch}
`})
	starter, one := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	r, wait := starter.start(t, "build", hocket.Front{})
	res, err := wait()
	for _, step := range []string{"", "b"} {
		if err != nil || res.Status != engine.Waiting {
			t.Fatalf("%+v %v", res, err)
		}
		if _, err := r.Answer(t.Context(), "ship", hocket.Answer{Value: "use tabs"}); err != nil {
			t.Fatal(err)
		}
		if res := follow(t, r); res.Status != engine.Failed {
			t.Fatalf("%+v", res)
		}
		if r, err = r.Retry(t.Context(), step); err != nil {
			t.Fatal(err)
		}
		res, err = r.Drive(t.Context(), hocket.Front{})
	}
	there, err := one.Run(t.Context(), r.ID())
	if err != nil {
		t.Fatal(err)
	}
	if d, err := there.Diff(t.Context(), hocket.Made{}, 1000); err != nil || !strings.Contains(d.Patch, "-old\n+a\n+b") {
		t.Errorf("the diff is %+v %v", d, err)
	}
	if _, err := r.Answer(t.Context(), "ship", hocket.Answer{Value: "land"}); err != nil {
		t.Fatal(err)
	}
	res = follow(t, r)
	if text, err := os.ReadFile(filepath.Join(one.root, "f")); err != nil || string(text) != "a\nb\n" || res.Status != engine.Success {
		t.Errorf("%q %v %+v", text, err, res)
	}
}

// TestPlacesOfQuestions: what people have to do in a directory, and what lands, is where the worker is, so they are told its
// name.
func TestPlacesOfQuestions(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]string{".hocket/workflows/build.yml": `name: build
execution: dag
steps:
  - {id: a, agent: shell, workspace: own, needs: [], config: {command: echo a > made}}
  - {id: b, agent: shell, workspace: own, needs: [], config: {command: echo b > made}}
  - {id: both, needs: [a, b], merge: {on_conflict: human}}
  - {id: ship, needs: [both], land: patch}
`})
	starter, one := c.machine(nil), c.machine(nil)
	one.work(t, hocket.Worker{Name: "one"})
	r, wait := starter.start(t, "build", hocket.Front{})
	if res, err := wait(); err != nil || res.Status != engine.Waiting {
		t.Fatalf("%+v %v", res, err)
	}
	asks := func(want string) hocket.Question {
		t.Helper()
		s, err := r.State(t.Context())
		if err != nil || len(s.Questions) != 1 || !strings.Contains(s.Questions[0].Text, want) {
			t.Fatalf("%+v %v, want a question with %q", s, err, want)
		}
		return s.Questions[0]
	}
	answer := func(step, value string) engine.Result {
		t.Helper()
		if _, err := r.Answer(t.Context(), step, hocket.Answer{Value: value}); err != nil {
			t.Fatal(err)
		}
		return follow(t, r)
	}
	detail := asks("Resolve that in the directory below on worker one, then").Detail
	if want := "run the first of these commands in the directory on worker one;"; !strings.Contains(detail, want) {
		t.Errorf("%s, want %s", detail, want)
	}
	dir, _, _ := strings.Cut(detail, "\n")
	if err := os.WriteFile(filepath.Join(dir, "made"), []byte("both\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	answer("both", "resolved")
	asks("Land this change on worker one as changes to the files")
	res := answer("ship", "land")
	if text, err := os.ReadFile(filepath.Join(one.root, "made")); err != nil || string(text) != "both\n" || res.Output != "changed 1 file on worker one" {
		t.Errorf("%q %v %+v", text, err, res)
	}
}
