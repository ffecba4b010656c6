package drivertest

import (
	"errors"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// replaced: a fork that replaces a run cancels it first, and only if its question is still open. The key of a fork
// is one of a start.
func replaced(t *scene, w World) {
	d := open(t, w, echo)
	b := bundle(chain(task("a", "one"), gate("ok", "yes"), task("b", "two")))
	asks := func(run string) driver.ForkSpec {
		s := starting(b)
		s.Run = run
		if res, err := d.Start(t.Context(), s); err != nil || res.Status != engine.Waiting {
			t.Fatalf("%s, %v", outline(res), err)
		}
		open, err := d.raw.Questions(t.Context(), driver.QuestionFilter{Run: run})
		if err != nil || len(open) != 1 {
			t.Fatalf("%v, %v", open, err)
		}
		return driver.ForkSpec{From: run, Address: "a", Owner: driver.Owner{By: "ann"}, Replace: &driver.Replace{Question: open[0].ID, Digest: open[0].Digest}}
	}
	status := func(run string, want engine.Status) {
		if i, err := d.raw.Info(t.Context(), run); err != nil || i.Status != want {
			t.Errorf("%s is %s, %v, want %s", run, i.Status, err, want)
		}
	}
	refused := func(spec driver.ForkSpec) {
		if made, err := d.raw.Fork(t.Context(), spec); !errors.As(err, new(*driver.RefusedError)) {
			t.Errorf("%s was replaced by %s, %v", spec.From, made.Run, err)
		}
	}

	spec := asks("first")
	nowhere, other := spec, spec
	nowhere.Address, other.Replace = "nowhere", &driver.Replace{Question: spec.Replace.Question, Digest: "other"}
	refused(nowhere)
	refused(other)
	status("first", engine.Waiting)
	spec.Key, spec.Request = "k", "r"
	made, err := d.raw.Fork(t.Context(), spec)
	if err != nil || made.Existed {
		t.Fatalf("%+v, %v", made, err)
	}
	status("first", engine.Cancelled)
	if again, err := d.raw.Fork(t.Context(), spec); err != nil || again.Run != made.Run || !again.Existed {
		t.Errorf("the same key gives %+v, %v", again, err)
	}
	if spec.Request = "other"; !errors.As(second(d.raw.Fork(t.Context(), spec)), new(*driver.KeyError)) {
		t.Error("the key was used for another request")
	}
	spec.Key = ""
	refused(spec) // the question is closed

	spec = asks("answered")
	if err := d.Answer(t.Context(), "answered", "ok", "yes"); err != nil {
		t.Fatal(err)
	}
	refused(spec)
	spec.Replace = &driver.Replace{} // whatever it does
	if _, err := d.raw.Fork(t.Context(), spec); err != nil {
		t.Error(err)
	}
	status("answered", engine.Cancelled)
	if _, err := d.raw.Fork(t.Context(), spec); err != nil { // it is over
		t.Error(err)
	}

	spec = asks("halfway") // the process died before it had recorded the fork
	if _, err := d.raw.Act(t.Context(), "halfway", &engine.CancelAsked{By: "ann", For: "planned", Question: spec.Replace.Question, Digest: spec.Replace.Digest}); err != nil {
		t.Fatal(err)
	}
	if made, err := d.raw.Fork(t.Context(), spec); err != nil || made.Run != "planned" {
		t.Errorf("%+v, %v", made, err)
	}
	refused(spec)
}

func second(_ driver.Created, err error) error { return err }
