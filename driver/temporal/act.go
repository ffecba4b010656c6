package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

// Act records an event: an update of the workflow, which refuses what the run does not allow.
func (d *Driver) Act(ctx context.Context, run string, ev engine.Event) (driver.Receipt, error) {
	return d.act(ctx, run, act{Event: eventJSON{engine.Envelope{Event: ev}}})
}

func (d *Driver) act(ctx context.Context, run string, a act) (driver.Receipt, error) {
	_, e, err := d.facts(ctx, run)
	if err != nil {
		return driver.Receipt{}, err
	}
	if !isOpen(e) {
		m, err := d.mirror(ctx, run, nil)
		if err != nil {
			return driver.Receipt{}, err
		}
		return driver.Receipt{}, &driver.RefusedError{Run: run, Reason: reason(cmp.Or(m.closed(), m.run.Admit(m.at(d.o.Now(), a.Event.Event))))}
	}
	receipt := driver.Receipt{Driven: d.alive(ctx, run)}
	if !receipt.Driven { // the update needs somebody who runs the workflow; attempts begin when a worker is there
		if _, err := d.mirror(ctx, run, nil); err != nil {
			return driver.Receipt{}, err
		}
		stop, err := d.runsWorkflow(d.name)
		if err != nil {
			return driver.Receipt{}, err
		}
		defer stop()
	}
	err = d.update(ctx, run, a)
	if errors.As(err, new(*serviceerror.NotFound)) { // the workflow has ended
		return driver.Receipt{}, &driver.RefusedError{Run: run, Reason: d.ended(ctx, run)}
	}
	var refused *temporal.ApplicationError
	if errors.As(err, &refused) && refused.Type() == refusedType {
		return driver.Receipt{}, &driver.RefusedError{Run: run, Reason: refused.Message()}
	}
	if err == nil && !receipt.Driven {
		var m *mirror
		if m, err = d.stopped(ctx, run); err == nil {
			receipt.Status = m.run.Status()
		}
	}
	return receipt, err
}

// update sends an update. If the process that runs the workflow was lost, or is slow, the server accepts none until
// another one has taken over; the id lets it be sent again.
func (d *Driver) update(ctx context.Context, run string, a act) error {
	u := client.UpdateWorkflowOptions{
		UpdateID: rand.Text(), WorkflowID: d.flowID(run), UpdateName: actUpdate, Args: []any{a}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	for began := time.Now(); ; {
		h, err := d.client.UpdateWorkflow(ctx, u)
		if err == nil {
			err = h.Get(ctx, nil)
		}
		if !errors.As(err, new(*serviceerror.WorkflowNotReady)) || time.Since(began) > 2*awayFor {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ended returns why a run whose workflow has ended refuses everything.
func (d *Driver) ended(ctx context.Context, run string) string {
	if i, err := d.Info(ctx, run); err == nil && i.Problem != "" {
		return i.Problem
	}
	return reason(nil)
}

// errOver is why a run that is over refuses everything.
var errOver = errors.New("the run is over")

// reason returns why a run that is over refuses something.
func reason(err error) string {
	if err == nil {
		return errOver.Error()
	}
	return err.Error()
}

// stopped waits until attempts that were told to stop have ended. Without somebody who makes them, the server ends
// those that had not begun, and soon those whose process died.
func (d *Driver) stopped(ctx context.Context, run string) (m *mirror, err error) {
	return m, until(ctx, func() (bool, error) {
		m, err = d.mirror(ctx, run, nil)
		return err == nil && len(m.stopping) == 0, err
	})
}

// until asks again and again, less and less often, whether something is so.
func until(ctx context.Context, so func() (bool, error)) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		if yes, err := so(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// runsWorkflow runs workflows of the project until stop is called, and makes no attempts.
func (d *Driver) runsWorkflow(identity string) (stop func(), err error) {
	c := d.newCrew(driver.Worker{Resolve: anything})
	c.aside = true
	w := worker.New(d.client, d.o.Queue, worker.Options{Identity: identity, LocalActivityWorkerOnly: true, DisableRegistrationAliasing: true, DeadlockDetectionTimeout: slow})
	c.registerFlow(w)
	return w.Stop, w.Start()
}

// anything lets every plan be admitted: its workers decide whether they work for it.
func anything(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
	return driver.Work{}, func() {}, nil
}

// Replan gives a run a new plan. One that is over goes on in a new execution.
func (d *Driver) Replan(ctx context.Context, run string, p driver.Replan) (driver.Receipt, error) {
	plan, err := json.Marshal(p.Pin)
	if err != nil {
		return driver.Receipt{}, err
	}
	sum := sha256.Sum256(plan)
	ev := &engine.Replanned{
		Plan: hex.EncodeToString(sum[:]), Bundle: p.Pin.Bundle, Tasks: p.Tasks, Limits: p.Limits, Base: p.Base, Words: p.Words, Planning: p.Planning, Labels: p.Labels, By: p.By, Via: p.Via,
	}
	pin := *p.Pin
	pin.Plan = ev.Plan
	m, err := d.mirror(ctx, run, nil)
	if err != nil {
		return driver.Receipt{}, err
	}
	if !m.over {
		receipt, err := d.act(ctx, run, act{Event: eventJSON{engine.Envelope{Event: ev}}, Plan: &pin})
		var refused *driver.RefusedError
		if !errors.As(err, &refused) || refused.Reason != errOver.Error() {
			return receipt, err
		}
		if m, err = d.mirror(ctx, run, nil); err != nil { // it has ended in the meantime
			return driver.Receipt{}, err
		}
	}
	if err := d.closes(ctx, run); err != nil {
		return driver.Receipt{}, err
	}
	e := m.at(d.o.Now(), ev)
	e.Unattended = true
	if err := m.run.Admit(e); err != nil {
		return driver.Receipt{}, &driver.RefusedError{Run: run, Reason: err.Error()}
	}
	about, _, err := d.facts(ctx, run)
	if err != nil {
		return driver.Receipt{}, err
	}
	about.replanned(ev)
	about.Homes = m.homes
	again := creation{pin: m.pin, events: []eventJSON{{e}}, plans: []*driver.Pin{&pin}, about: about, after: m}
	err = d.create(ctx, run, again)
	if errors.As(err, new(*driver.ExistsError)) { // somebody was faster
		err = &driver.RefusedError{Run: run, Reason: "the run already continues with another plan"}
	}
	return driver.Receipt{Status: engine.Running}, err
}

// closes waits until the workflow of a run that is over has ended: it first stores what has happened.
func (d *Driver) closes(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*d.o.Heartbeat, fmt.Errorf("run %s has not stored its events yet; try again later", run))
	defer cancel()
	return until(ctx, func() (bool, error) {
		_, e, err := d.facts(ctx, run)
		return !isOpen(e), err
	})
}

// Fork records a new run that repeats another one up to a step.
func (d *Driver) Fork(ctx context.Context, spec driver.ForkSpec) (driver.Created, error) {
	if run, err := d.StartedWith(ctx, spec.Key, spec.Request); run != "" || err != nil {
		return driver.Created{Run: run, Existed: true}, err
	}
	f, err := d.forking(ctx, spec)
	if err == nil && spec.Replace != nil {
		id := cmp.Or(spec.Run, newID(f.m.pin.Bundle.Root.Name))
		if _, err = f.made(id); err == nil { // nothing is cancelled for a fork that is not possible
			spec.Run, err = driver.ReplaceBy(ctx, d, spec, id)
		}
		if err == nil {
			f, err = d.forking(ctx, spec) // what ended until then counts
		}
	}
	if err != nil {
		return driver.Created{}, err
	}
	return d.recordAs(ctx, spec.Run, f.m.pin.Bundle.Root.Name, spec.Key, spec.Request, f.made)
}

// forking is the fork of a run as it is now.
type forking struct {
	d    *Driver
	spec driver.ForkSpec
	m    *mirror
	old  []engine.Envelope
}

func (d *Driver) forking(ctx context.Context, spec driver.ForkSpec) (*forking, error) {
	f := &forking{d: d, spec: spec}
	var err error
	f.m, err = d.mirror(ctx, spec.From, func(_ *engine.Run, e engine.Envelope, _ []engine.Command) { f.old = append(f.old, e) })
	return f, err
}

// made returns what is recorded for the new run.
func (f *forking) made(id string) (creation, error) {
	now, first := driver.Moment(f.d.o.Now()), f.m.firstPin()
	events, _, err := driver.ForkEvents(id, first.Bundle, f.m.run, f.old, nil, f.spec, now)
	c := creation{pin: first, about: facts{Created: now, Owner: f.spec.Owner, Origin: f.spec.From, Homes: f.m.homes}}
	plans := f.m.plans
	for _, e := range events {
		if _, ok := e.Event.(*engine.Replanned); ok {
			c.plans, plans = append(c.plans, plans[0]), plans[1:]
		}
		c.events = append(c.events, eventJSON{e})
	}
	return c, err
}
