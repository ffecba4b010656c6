package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

// driveFlags are the flags of every verb that drives a run.
type driveFlags struct {
	quiet  bool
	plain  bool
	detach bool
}

// drive is a run about to be driven.
type drive struct {
	id      string
	store   *journal.Store
	pin     *journal.Pin
	agents  *agent.Set
	replies *scripted.Replies // nil: none
	taken   bool              // up again: it has a past to show
	drawn   bool              // its tree stands on the screen
}

// drive drives a run and shows it. begin starts or resumes it.
func (a *app) drive(ctx context.Context, d *drive, flags driveFlags, begin func(ctx context.Context, o local.Options) (engine.Result, error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var w watcher
	interrupt := sync.OnceFunc(func() {
		w.stopping()
		stop(errInterrupted)
	})
	w = a.watch(d.id, d.pin.Bundle, flags, interrupt)
	closed := sync.OnceFunc(w.close)
	forget := onSignal(interrupt, closed)
	err := d.retell(ctx, w)
	var res engine.Result
	if err == nil {
		res, err = begin(ctx, d.options(w))
	}
	forget()
	closed()
	d.drawn = w.drawn()
	return a.outcome(ctx, d, res, err)
}

// retell shows what happened before this process, to watchers that draw the
// whole run.
func (d *drive) retell(ctx context.Context, w watcher) error {
	if !d.taken || !w.wholeRun() {
		return nil
	}
	info, err := d.store.Find(ctx, d.id)
	if err == nil {
		_, err = replay(ctx, d.store, info, w.fact)
	}
	return err
}

func (d *drive) options(w watcher) local.Options {
	o := local.Options{Agents: laneAgents{d.agents, d.pin}, Asker: asker{w}, Observer: observer{w}}
	if d.replies != nil {
		o.Script, o.ScriptAll = d.replies.Script(), d.replies.CoversAll(d.pin.Bundle)
	}
	return o
}

// laneAgents resolve the agent of a task with what its workflow says about the
// name.
type laneAgents struct {
	set *agent.Set
	pin *journal.Pin
}

func (l laneAgents) Run(ctx context.Context, run string, task *engine.StartTask, log agent.Log) local.Outcome {
	w := l.pin.Bundle.Root
	if w.Name != task.Workflow {
		for _, called := range l.pin.Bundle.Called {
			if called.Name == task.Workflow {
				w = called
			}
		}
	}
	return local.Executors(lanes{l.set, w}, l.pin.Dir).Run(ctx, run, task, log)
}

// lanes are the agents of one workflow.
type lanes struct {
	set *agent.Set
	w   *workflow.Workflow
}

func (l lanes) Resolve(name string) (*agent.Definition, agent.Executor, error) {
	return l.set.ResolveLane(name, roleOf(l.w, name))
}

func roleOf(w *workflow.Workflow, name string) string {
	for _, lane := range w.Agents {
		if lane.Name == name {
			return lane.Role
		}
	}
	return ""
}

type observer struct{ w watcher }

func (o observer) Fact(f engine.Fact)                      { o.w.fact(f) }
func (o observer) Log(address string, _ int, piece []byte) { o.w.log(address, piece) }

type asker struct{ w watcher }

func (a asker) Ask(q *engine.AskHuman, answer func(value, by string) error) bool {
	return a.w.ask(q, func(value string) error { return answer(value, userName()) })
}

func (a asker) Withdraw(address string) { a.w.withdraw(address) }

// userName is who answers, cancels or raises here.
func userName() string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

var errInterrupted = errors.New("interrupted")

// onSignal calls stop at the first signal that asks the process to end, and ends
// it at the second. restore is called before that.
func onSignal(stop, restore func()) (forget func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			stop()
		case <-done:
			return
		}
		select {
		case <-signals:
			restore()
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// outcome prints what a run has come to, and gives its exit code.
func (a *app) outcome(ctx context.Context, d *drive, res engine.Result, err error) error {
	var interrupted *local.InterruptedError
	stopped := errors.As(err, &interrupted)
	if err != nil && !stopped {
		return a.driveFailed(ctx, d, err)
	}
	if err := a.printResult(d, res); err != nil {
		return err
	}
	switch {
	case stopped:
		a.note("interrupted; nothing that was recorded is lost. To go on:\n  " + a.self("resume", d.id) + "\n")
		return exitError(exitInterrupted)
	case res.Status == engine.Waiting:
		// What it waits for is told without the cancelled context.
		a.noteWaiting(context.WithoutCancel(ctx), d)
	case exitFor(res.Status) != nil:
		a.note(a.failedText(d.id, res))
	}
	return exitFor(res.Status)
}

func (a *app) printResult(d *drive, res engine.Result) error {
	if a.json {
		return a.printJSON(newRunResult(res, d.pin.Bundle.Root.Name, workflow.Digest(d.pin.Bundle.Root)))
	}
	if !res.Status.Done() || res.Output == nil {
		return nil
	}
	if d.drawn && a.outStyle.Width > 0 {
		a.note("\n") // apart from the tree
	}
	return a.print(endLine(a.outText(workflow.FormatText(res.Output))))
}

func (a *app) noteWaiting(ctx context.Context, d *drive) {
	info, err := d.store.Find(ctx, d.id)
	if err != nil {
		return
	}
	if p, err := replay(ctx, d.store, info, nil); err == nil {
		a.note(a.waitingText(p, a.errStyle))
	}
}

func (a *app) failedText(id string, res engine.Result) string {
	var b strings.Builder
	reason := view.Line(res.Error)
	if reason == "" {
		reason = "the run ended with " + string(res.Status)
	}
	b.WriteString(a.errStyle.Paint(paintError, string(res.Status)) + ": " + reason + "\n")
	b.WriteString("  " + a.self("show", id) + "\n")
	for _, s := range res.Steps {
		if s.Status == engine.Failed || s.Status == engine.TimedOut {
			b.WriteString("  " + a.self("logs", id, s.Address) + "\n  " + a.self("retry", id, "--from", s.Address) + "\n")
			break
		}
	}
	return b.String()
}

// driveFailed explains an error of the machine, or that somebody else drives the
// run.
func (a *app) driveFailed(ctx context.Context, d *drive, err error) error {
	var held *journal.HeldError
	if errors.As(err, &held) {
		return usagef("watch it with `"+a.self("logs", held.Run, "-f")+"`, or end it with `"+a.self("cancel", held.Run)+"`", "%v", held)
	}
	if _, missing := d.store.Find(context.WithoutCancel(ctx), d.id); missing == nil {
		a.note("what was recorded is kept. To go on when the cause is repaired:\n  " + a.self("resume", d.id) + "\n")
	}
	return err
}

// self is a command line of hocket for the same project, as it can be typed.
func (a *app) self(words ...string) string {
	line := []string{"hocket"}
	if a.dir != "" {
		line = append(line, "-C", a.dir)
	}
	if a.state != "" {
		line = append(line, "--state", a.state)
	}
	line = append(line, words...)
	for i, w := range line {
		line[i] = quoteWord(w)
	}
	return strings.Join(line, " ")
}

// quoteWord quotes a word for a shell where that is needed.
func quoteWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if w != "" && strings.TrimFunc(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(view.Line(w), "'", `'\''`) + "'"
}
