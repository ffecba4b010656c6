package hocket

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// Front connects a front end to a run that this process drives.
type Front struct {
	Observer Observer // nil: none
	Asker    Asker    // nil: this process cannot ask anyone
	// Elsewhere means that a question of a working agent waits for an answer from
	// another process, if this one cannot ask. Otherwise the agent is told at once that
	// no one can answer.
	Elsewhere bool
	// Stalled is told what the run lacks to go on by itself, such as a worker, and "" when it goes on; nil:
	// nobody wants to know.
	Stalled func(why string)
	// Warn is told what goes wrong and is not recorded, such as a collector of spans that does not answer, and what is taken back of a
	// landing after the run has ended; nil: nobody wants to know.
	Warn func(text string)
	// Leave, when it is closed, means that nothing new starts: attempts in progress may end, and then
	// Drive returns an *[InterruptedError]. Nil means never.
	Leave <-chan struct{}
	// Replies replace those that the run was started with.
	Replies *Replies

	partly  bool     // this machine does not need all agents of the run
	lineage *lineage // of its workspaces; nil: they are trusted
}

// Resume drives the run in the background, as Start does. The error says why it cannot be
// driven here, see [Run.Drive]. If the run is already being driven through this handle, it
// is driven again afterwards, in case an answer came too late.
func (r *Run) Resume(ctx context.Context) error {
	r.mu.Lock()
	queued := r.queued
	r.mu.Unlock()
	if queued { // that drive will see everything up to now
		return nil
	}
	work, end, err := r.work(ctx, Front{Elsewhere: true})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queued { // by another goroutine
		end()
		return nil
	}
	before, over := r.drives, make(chan struct{})
	r.drives, r.queued = over, before != nil
	go func() {
		defer close(over)
		defer end()
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
			}
		}
		r.mu.Lock()
		r.queued = false
		r.mu.Unlock()
		exported := r.exported(nil)
		result, err := r.d.Drive(ctx, r.id, work)
		exported()
		r.retain(ctx, result, nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result, r.err = result, err
	}()
	return nil
}

// Drive drives the run here until it ends, or waits for something that this process cannot
// provide. Recorded work is not repeated. The error is a *[HeldError] if another process
// drives the run, an *[InterruptedError] if ctx was done first, and a
// *[MissingAgentError], with the run unchanged, if its agents are not available here.
func (r *Run) Drive(ctx context.Context, f Front) (engine.Result, error) {
	for {
		result, err := r.drive(ctx, f)
		if err != nil || result.Status != engine.Waiting || r.p.o.Planner == nil {
			return result, err
		}
		if replanned, err := r.ReplanFailure(ctx, r.p.o.Planner); !replanned {
			return result, err
		}
	}
}

func (r *Run) drive(ctx context.Context, f Front) (engine.Result, error) {
	w, end, err := r.work(ctx, f)
	if err != nil {
		return engine.Result{Run: r.id}, err
	}
	defer end()
	exported := r.exported(f.Warn)
	result, err := r.d.Drive(ctx, r.id, w)
	exported()
	r.retain(ctx, result, f.Warn)
	return result, err
}

// work collects what the run is driven with: the agents as of its start, and the current
// configuration. The caller must call the function after driving.
func (r *Run) work(ctx context.Context, f Front) (driver.Work, func(), error) {
	fail := func(err error) (driver.Work, func(), error) { return driver.Work{}, nil, err }
	if r.OnWorkers() {
		return r.following(ctx, f)
	}
	defer r.forget()
	pin, err := r.pinned(ctx)
	if err != nil {
		return fail(err)
	}
	r.mu.Lock()
	agents, trusted := r.agents, r.trusted
	r.mu.Unlock()
	w, end, err := r.workWith(ctx, f, pin, agents, trusted)
	if err != nil {
		return fail(err)
	}
	ends := []func(){end}
	w.Pin = pin
	w.Replan = func(pin *driver.Pin) (driver.Work, error) {
		w, end, err := r.workWith(ctx, f, pin, nil, pinnedTrust{})
		if err == nil {
			ends = append(ends, end)
		}
		return w, err
	}
	return w, func() {
		for _, end := range ends {
			end()
		}
	}, nil
}

// workWith collects what a plan of the run is driven with. agents and trusted are those of a run that
// this process has recorded, otherwise nil.
func (r *Run) workWith(ctx context.Context, f Front, pin *driver.Pin, agents *agent.Set, trusted pinnedTrust) (driver.Work, func(), error) {
	fail := func(err error) (driver.Work, func(), error) { return driver.Work{}, nil, err }
	p, err := r.p.at(r.id, pin.Dir)
	if err != nil {
		return fail(err)
	}
	return r.workAt(ctx, p.steady(), f, pin, agents, trusted)
}

// workAt is workWith in a project, which may be elsewhere than where the run was started.
func (r *Run) workAt(ctx context.Context, p *Project, f Front, pin *driver.Pin, agents *agent.Set, trusted pinnedTrust) (driver.Work, func(), error) {
	fail := func(err error) (driver.Work, func(), error) { return driver.Work{}, nil, err }
	recorded, err := agents != nil, error(nil)
	if !recorded {
		if agents, err = agent.DecodeSet(pin.Agents, p.now().files.Executors()); err != nil {
			return fail(err)
		}
	}
	replies := f.Replies
	if replies == nil {
		if replies, err = r.Replies(ctx); err != nil {
			return fail(err)
		}
	}
	if !f.partly {
		if err := missingAgents(r.id, pin.Bundle, agents, replies); err != nil {
			return fail(err)
		}
	}
	if !recorded || f.Replies != nil { // otherwise it was decided when the run was recorded
		if trusted, err = p.settleAgain(ctx, pin, agents, replies); err != nil {
			return fail(err)
		}
	}
	if err := p.checkApproval(trusted); err != nil {
		return fail(err)
	}
	if err := p.now().files.NotePlace(); err != nil {
		return fail(err)
	}
	done, err := r.p.drives()
	if err != nil {
		return fail(err)
	}
	place := p.now().newWorkplace(p.workDir(), p.o.Trial)
	telemetry, _ := p.collector() // what is wrong with it is told where spans are exported
	l := &lanes{telemetry: telemetry, agents: agents, pin: pin, trial: p.o.Trial, state: p.State(), place: place, trusted: trusted, current: p.now().files.Equipment, detaching: p.detacher()}
	l.handed = l.handoffs()
	l.isolate(ctx, p)
	l.isolation.lineage, l.isolation.base, l.isolation.d = f.lineage, r.base, r.d
	w := driver.Work{Agents: l, Scripted: l.scripted, Asker: f.Asker, Observer: f.Observer, Elsewhere: f.Elsewhere, Leave: f.Leave}
	p.answerFrom(&w, replies, replies != nil && replies.CoversAll(pin.Bundle))
	return w, func() {
		place.close()
		done()
	}, nil
}

// CheckDrive returns the error with which [Run.Drive] would leave the run unchanged. Use
// it before another process drives the run, or a copy of it.
func (r *Run) CheckDrive(ctx context.Context, replies *Replies) error {
	_, end, err := r.work(ctx, Front{Replies: replies})
	if err == nil {
		end()
	}
	return err
}

// at returns the project that a run was started in: this one, which may have been moved
// since, or another one with the same state directory.
func (p *Project) at(run, dir string) (*Project, error) {
	now := p.now().files.Now(dir)
	if now == p.Root() {
		return p, nil
	}
	if info, err := os.Stat(now); err != nil || !info.IsDir() {
		return nil, &MovedError{run, now}
	}
	o := p.o
	o.State, o.root = p.State(), now
	return Open(now, o)
}

// MovedError reports that the directory in which a run was started does not exist. The run
// can be resumed when it exists again, or from the project's new directory after
// [Project.Adopt].
type MovedError struct{ Run, Dir string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("run %s belongs to the project in %s, which does not exist", e.Run, e.Dir)
}

// AdoptError reports why a project cannot adopt the state of another directory.
type AdoptError = project.AdoptError

// Adopt links the runs, sessions and memories that are stored for a directory to the
// project. It is for a project that was moved to another disk or restored from a backup; a
// project that was only renamed is recognized without it. It takes effect when the project
// is opened again.
func (p *Project) Adopt(dir string) error { return p.now().files.Adopt(dir) }

// MissingAgentError reports that a run uses agents that are not available here. The run
// can be resumed where they are.
type MissingAgentError struct {
	Run    string
	Agents []*agent.ResolveError
}

func (e *MissingAgentError) Error() string {
	return fmt.Sprintf("run %s cannot continue here: %v", e.Run, e.Agents[0])
}

// Hint returns what to do about it.
func (e *MissingAgentError) Hint() string { return e.Agents[0].StepAdvice() }

// missingAgents finds the agents of a workflow that do not exist here, or have no executor. They all
// existed when the run was recorded: it was checked.
func missingAgents(run string, b *workflow.Bundle, agents *agent.Set, replies *Replies) error {
	missing := &MissingAgentError{Run: run}
	agents = agents.Snapshot()
	for _, w := range check.Workflows(*b) {
		w.Body.WalkTasks(func(n *workflow.Node, task *workflow.Task) {
			if replies != nil && replies.Covers(n) {
				return
			}
			var failed *agent.ResolveError
			if _, _, err := agents.ResolveLane(task.Agent, w.RoleOf(task.Agent)); errors.As(err, &failed) && failed.Why != agent.Ambiguous {
				missing.Agents = append(missing.Agents, failed)
			}
		})
	}
	if len(missing.Agents) == 0 {
		return nil
	}
	return missing
}
