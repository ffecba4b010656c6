package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// follow: a follower sees every event once, in order, from any process, and is done when
// the run is.
func follow(t *scene, w World) {
	other := open(t, w, echo)
	release := make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		<-release
		return Outcome{Output: task.Prompt}
	})
	spec := starting(bundle(chain(task("a", "1"), task("b", "2"), task("c", "3")))).spec()
	if _, err := d.raw.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	followed := make(chan []int, 2)
	for _, after := range []int{0, 2} {
		go func() {
			var seqs []int
			for e, err := range other.raw.Events(t.Context(), runID, after, true) {
				if err != nil {
					t.Error(err)
				}
				seqs = append(seqs, e.Seq)
			}
			followed <- seqs
		}()
	}
	close(release)
	if _, err := d.Resume(t.Context(), runID); err != nil {
		t.Fatal(err)
	}
	last := len(events(t, d))
	for range 2 {
		seqs := await(t, "the end of a run that is followed and over", followed)
		for i, seq := range seqs {
			if seq != last-len(seqs)+i+1 {
				t.Fatalf("followed %v of %d events", seqs, last)
			}
		}
		if n := last - len(seqs); n != 0 && n != 2 {
			t.Errorf("followed %v of %d events", seqs, last)
		}
	}
}

// output: what attempts print is kept completely, and can be read from any offset.
func output(t *scene, w World) {
	var printed strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&printed, "line %d\n", i)
	}
	whole, half := printed.String(), make(chan struct{})
	d := open(t, w, nil)
	d.work.Agents = attempts(func(_ string, _ *engine.StartTask, at driver.Attempt) Outcome {
		at.Log([]byte(whole[:1000]))
		<-half
		for rest := whole[1000:]; rest != ""; {
			n := min(len(rest), 777)
			at.Log([]byte(rest[:n]))
			rest = rest[n:]
		}
		at.Keep(driver.Prompt, []byte("first"))
		at.Keep(driver.Prompt, []byte("second"))
		at.Keep(driver.Transcript, []byte("{}\n"))
		at.Keep(driver.Transcript, []byte("[]\n"))
		at.Note("s-1", "")
		at.Note("", "m-1")
		return Outcome{Output: "x", Usage: engine.Usage{TokensIn: 3}}
	})
	call := goStart(t, d, starting(bundle(chain(task("a", "")))))
	other := open(t, w, echo).raw
	a := driver.AttemptID{Run: runID, Address: "a", Attempt: 1}
	eventually(t, "the beginning of the output", func() bool {
		kept, err := other.Kept(t.Context(), a)
		return err == nil && kept.Sizes[driver.Output] == 1000
	})
	close(half)
	for _, from := range []int64{0, 12_345} {
		if got := read(t, other, a, driver.Output, from, true); got != whole[from:] {
			t.Errorf("from byte %d there are %d bytes, want %d", from, len(got), len(whole[from:]))
		}
	}
	if _, err := call.wait(t); err != nil {
		t.Fatal(err)
	}
	for s, text := range map[driver.Stream]string{driver.Prompt: "second", driver.Transcript: "{}\n[]\n", driver.Output: whole} {
		if got := read(t, other, a, s, 0, false); got != text {
			t.Errorf("%s: %d bytes, want %d", s, len(got), len(text))
		}
	}
	kept, err := other.Kept(t.Context(), a)
	sizes := map[driver.Stream]int64{driver.Output: int64(len(whole)), driver.Prompt: 6, driver.Transcript: 6}
	if err != nil || kept.Session != "s-1" || kept.Model != "m-1" || !cmp.Equal(kept.Sizes, sizes) {
		t.Errorf("%+v, %v", kept, err)
	}
}

// attempts is a set of agents that use the driver.Attempt they are given.
type attempts func(run string, task *engine.StartTask, at driver.Attempt) Outcome

func (f attempts) Run(_ context.Context, run string, task *engine.StartTask, at driver.Attempt) Outcome {
	return f(run, task, at)
}

func read(t *scene, d driver.Driver, a driver.AttemptID, s driver.Stream, offset int64, follow bool) string {
	t.Helper()
	var b strings.Builder
	for piece, err := range d.Read(t.Context(), a, s, offset, follow) {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(piece.Text)
	}
	return b.String()
}

// longOutput: a long output that results and events leave out is not lost, and reaches
// the next step completely, also in another process.
func longOutput(t *scene, w World) {
	long := strings.Repeat("long ", 1<<20/5)
	work := func(_ context.Context, task *engine.StartTask) Outcome {
		if task.Node == "a" {
			return Outcome{Output: long}
		}
		same := len(task.Received) == 1 && task.Received[0].Output == long && task.Prompt == "of "+long
		return Outcome{Output: fmt.Sprint(same)}
	}
	last := task("b", "of ${nodes.a.output}")
	last.Step.(*workflow.Task).Context = workflow.PreviousContext
	b := bundle(chain(task("a", "x"), gate("ok", "yes"), last))
	d := open(t, w, work)
	res := start(t, d, starting(b))
	value, err := res.Steps[0].Value()
	if err != nil || value != long {
		t.Errorf("the step gave %.20q, %v", value, err)
	}
	for seq, e := range events(t, d) {
		ended, ok := e.Event.(*engine.TaskEnded)
		if !ok {
			continue
		}
		if text, err := d.raw.Output(t.Context(), runID, seq+1); err != nil || text != long || ended.Output != long {
			t.Errorf("event %d has the output %.20q, and Output gives %.20q, %v", seq+1, ended.Output, text, err)
		}
	}
	d.Kill()
	other := open(t, w, work)
	if err := other.Answer(t.Context(), runID, "ok", "yes"); err != nil {
		t.Fatal(err)
	}
	if res := resume(t, other, b); res.Output != "true" {
		t.Errorf("the step behind was not given the output: %s", res.Error)
	}
}

// unreadable: if the next step needs an output that cannot be read, the run is not broken
// and the step has not failed. The run continues when the output is readable again.
func unreadable(t *scene, w World) {
	long := strings.Repeat("long ", 1<<20/5)
	b := bundle(chain(task("a", "x"), gate("ok", "yes"), task("b", "of ${nodes.a.output}")))
	var given calls
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		if task.Node == "a" {
			return Outcome{Output: long}
		}
		given.note(task)
		return Outcome{Output: fmt.Sprint(task.Prompt == "of "+long)}
	})
	start(t, d, starting(b))
	seq := 1 + slices.IndexFunc(events(t, d), func(e engine.Envelope) bool {
		_, ok := e.Event.(*engine.TaskEnded)
		return ok
	})
	restore := w.Spoil(t, runID, seq)
	var unread *engine.LoadError
	refused := d.Answer(t.Context(), runID, "ok", "yes")
	if refused != nil && !errors.As(refused, &unread) {
		t.Errorf("answering: %v", refused)
	}
	for range 2 {
		if res, err := d.Resume(t.Context(), runID); !errors.As(err, &unread) || unread.Seq != seq {
			t.Errorf("event %d cannot be read: %s, %v", seq, outline(res), err)
		}
	}
	if i, err := d.raw.Info(t.Context(), runID); err != nil || i.Problem != "" || len(given.all()) != 0 {
		t.Errorf("%+v, %v; attempts: %v", i, err, given.all())
	}
	restore()
	if open, err := d.raw.Questions(t.Context(), driver.QuestionFilter{Run: runID}); err != nil || len(open) > 0 { // the answer was not recorded
		if err := errors.Join(err, d.Answer(t.Context(), runID, "ok", "yes")); err != nil {
			t.Error(err)
		}
	}
	if res, err := d.Resume(t.Context(), runID); err != nil || res.Output != "true" {
		t.Errorf("it can be read again: %s, %v", outline(res), err)
	}
}
