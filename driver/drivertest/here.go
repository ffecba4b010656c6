package drivertest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// person is a person who is present where the run is driven.
type person struct {
	ask func(q *engine.Question, answer func(engine.Answered) error, leave func()) bool

	mu        sync.Mutex
	withdrawn []string
}

func (p *person) Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool {
	return p.ask(q, answer, leave)
}

func (p *person) Withdraw(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdrawn = append(p.withdrawn, id)
}

// tookBack fails the scenario unless each of the questions was withdrawn once.
func (p *person) tookBack(t *scene, ids ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got, want := strings.Join(p.withdrawn, " "), strings.Join(ids, " "); got != want {
		t.Errorf("taken back: %q, want %q", got, want)
	}
}

// here: a person who is present is asked, is told why an answer was rejected, and is no
// longer asked once the question is answered.
func here(t *scene, w World) {
	said := make(chan []error, 1)
	p := &person{ask: func(_ *engine.Question, answer func(engine.Answered) error, _ func()) bool {
		go func() {
			var errs []error
			for _, value := range []string{"perhaps", "yes", "no"} {
				errs = append(errs, answer(engine.Answered{Value: value, By: "ann", Comment: "not \xff UTF-8"}))
			}
			said <- errs
		}()
		return true
	}}
	d := open(t, w, echo)
	d.work.Asker = p
	want(t, start(t, d, starting(bundle(chain(gate("ok", "yes", "no"), task("b", "${nodes.ok.output}"))))),
		`success "yes"`, `ok success "yes"`, `b success "yes"`)
	errs := await(t, "the verdicts", said)
	if errs[0] == nil || errs[1] != nil || errs[2] == nil {
		t.Errorf("the verdicts on perhaps, yes, no: %v", errs)
	}
	p.tookBack(t, "ok")
}

// answeredElsewhere: the first answer counts, and the person who is present is no longer
// asked.
func answeredElsewhere(t *scene, w World) {
	asked := make(chan struct{})
	p := &person{ask: func(*engine.Question, func(engine.Answered) error, func()) bool {
		close(asked)
		return true
	}}
	d := open(t, w, echo)
	d.work.Asker = p
	s := starting(bundle(chain(gate("ok", "yes"))))
	call := goStart(t, d, s)
	await(t, "the question", asked)
	receipt, err := open(t, w, echo).raw.Act(t.Context(), runID, &engine.Answered{ID: "ok", Value: "yes"})
	if err != nil || !receipt.Driven {
		t.Errorf("%+v, %v", receipt, err)
	}
	if res, err := call.wait(t); err != nil || res.Status != engine.Success {
		t.Errorf("%s, %v", outline(res), err)
	}
	p.tookBack(t, "ok")
}

// nobodyHere: a run does not wait for people who are absent or leave. An attempt that
// asks them gets an error, unless the question may be answered elsewhere.
func nobodyHere(t *scene, w World) {
	absent := &person{ask: func(*engine.Question, func(engine.Answered) error, func()) bool { return false }}
	leaves := &person{ask: func(_ *engine.Question, _ func(engine.Answered) error, leave func()) bool {
		go leave()
		return true
	}}
	for run, asker := range map[string]driver.Asker{"none": nil, "absent": absent, "leaves": leaves} {
		d := open(t, w, nil)
		d.work = driver.Work{Agents: asking{"May I?"}, Asker: asker}
		for name, s := range map[string]Start{"gate": starting(bundle(chain(gate("ok", "yes")))), "attempt": starting(bundle(chain(task("a", ""))))} {
			s.Run = name + "-" + run
			res, err := d.Start(t.Context(), s)
			told := len(res.Steps) == 1 && res.Steps[0].Error == agent.ErrNobody.Error()
			if err != nil || name == "gate" && res.Status != engine.Waiting || name == "attempt" && !told {
				t.Errorf("%s: %s, %v", s.Run, outline(res), err)
			}
		}
	}
}

// withdrawn: a question that its attempt no longer waits for is closed, both for the
// people present and for those elsewhere.
func withdrawn(t *scene, w World) {
	shown, taken := make(chan struct{}), make(chan struct{})
	p := &person{ask: func(*engine.Question, func(engine.Answered) error, func()) bool {
		close(shown)
		return true
	}}
	d := open(t, w, nil)
	d.work = driver.Work{Asker: p, Agents: attempts(func(_ string, _ *engine.StartTask, at driver.Attempt) Outcome {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-shown
			cancel()
		}()
		_, err := at.Ask(ctx, agent.Question{Text: "May I?", Options: []string{"allow", "deny"}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the attempt that gave up asking is told %v", err)
		}
		await(t, "the question to be taken back", taken)
		return Outcome{Output: "went on"}
	})}
	call := goStart(t, d, starting(bundle(chain(task("a", "")))))
	await(t, "the question", shown)
	other := open(t, w, echo)
	eventually(t, "no question to be open", func() bool {
		list, _ := asked(t, other.raw, "")
		return len(list) == 0
	})
	if err := other.Answer(t.Context(), runID, "a@1", "allow"); !errors.As(err, new(*driver.RefusedError)) {
		t.Errorf("an answer to a question that was withdrawn: %v", err)
	}
	close(taken)
	if res, err := call.wait(t); err != nil || res.Output != "went on" {
		t.Errorf("%s, %v", outline(res), err)
	}
	p.tookBack(t, "a@1")
	if n := count[*engine.Withdrawn](t, d); n != 1 {
		t.Errorf("%d times it is recorded that a question was withdrawn", n)
	}
}

// defect: a panic in the driver, for example in the asker, ends Drive but not the
// process. The run continues from what is recorded.
func defect(t *scene, w World) {
	d := open(t, w, echo)
	d.work.Asker = &person{ask: func(*engine.Question, func(engine.Answered) error, func()) bool { panic("no terminal") }}
	b := bundle(chain(task("a", "x"), gate("ok", "yes")))
	res, err := d.Start(t.Context(), starting(b))
	var broken *driver.BrokenError
	if !errors.As(err, &broken) || broken.Cause != "no terminal" || broken.Stack == nil {
		t.Errorf("%s, %v", outline(res), err)
	}
	d.work.Asker = nil
	want(t, resume(t, d, b), `waiting null`, `a success "x"`, `ok waiting null`)
}
