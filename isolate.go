package hocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workspace"
)

// workspaces opens the store of the project's workspaces.
func (p *Project) workspaces(ctx context.Context) (*workspace.Store, error) {
	s, err := workspace.Open(ctx, p.workspaceDir(), p.workDir())
	if err == nil {
		s.Locks = landingLocks()
	}
	return s, err
}

// portsDir is where ports are reserved, for all projects of the user.
func (p *Project) portsDir() string {
	if home := stateHome(); home != "" {
		return filepath.Join(home, "hocket", "ports")
	}
	return filepath.Join(p.workspaceDir(), "ports")
}

// landingLocks is where the locks of landings are; "": in the stores of their projects.
func landingLocks() string {
	if home := stateHome(); home != "" {
		return filepath.Join(home, "hocket", "landings")
	}
	return ""
}

func (p *Project) workspaceDir() string { return filepath.Join(p.State(), "workspaces") }

// capture records what the project is now, for a run of the bundle with replies, if there are any. Keep keeps it for a run, when that has an id, and
// forgets it otherwise.
func (p *Project) capture(ctx context.Context, b *workflow.Bundle, replies *Replies) (base workspace.Base, keep func(run string) error, err error) {
	keep = func(string) error { return nil }
	if !b.Isolates() {
		return base, keep, nil
	}
	store, err := p.workspaces(ctx)
	if err == nil {
		if err := p.canLand(ctx, store, b, replies); err != nil {
			return base, keep, err
		}
		base, keep, err = p.captured(ctx, store)
	}
	if err != nil {
		return base, keep, fmt.Errorf("steps of %s have workspaces of their own: %w", b.Root.Name, err)
	}
	return base, keep, nil
}

func (p *Project) captured(ctx context.Context, store *workspace.Store) (base workspace.Base, keep func(run string) error, err error) {
	name := workspace.Provisional()
	forget := func() error { return store.Release(context.WithoutCancel(ctx), name) }
	if base, err = store.Capture(ctx, name, p.Config().Workspace.Include); err != nil {
		return base, func(string) error { return nil }, errors.Join(err, forget())
	}
	return base, func(run string) error {
		ctx := context.WithoutCancel(ctx)
		if run != "" {
			if err := store.Copy(ctx, name, run, nil); err != nil {
				return err
			}
		}
		return forget()
	}, nil
}

// canLand returns an error if a landing is not possible in the repository, before agents have worked for nothing.
// A reply or a recording lands nothing.
func (p *Project) canLand(ctx context.Context, store *workspace.Store, b *workflow.Bundle, replies *Replies) (err error) {
	if t := p.o.Trial; t != nil && t.Absent {
		return nil
	}
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if t, ok := n.Step.(*workflow.Task); ok && t.Agent == workflow.LandAgent && err == nil && (replies == nil || !replies.CoversTask(n.ID)) {
				if p.o.Trial != nil && howOf(t.Settings) != workspace.AsPatch {
					err = &TestLandingError{Step: n.ID, As: howOf(t.Settings)}
				} else if wrong := canLandAs(ctx, store, t.Settings); wrong != nil {
					err = fmt.Errorf("step %s of %s cannot land: %w", n.ID, w.Name, wrong)
				}
			}
		})
	}
	return err
}

// TestLandingError reports that a test cannot land a change in a repository, because it has none.
type TestLandingError struct {
	Step string
	As   workspace.How
}

func (e *TestLandingError) Error() string {
	return fmt.Sprintf("a test cannot land the change of step %s as a %s: its directory is not a git repository", e.Step, e.As)
}

// Hint returns what to do about it.
func (e *TestLandingError) Hint() string {
	return fmt.Sprintf("add %s to `replies`, which stand in for the landing; only `land: patch` can be recorded", e.Step)
}

func canLandAs(ctx context.Context, store *workspace.Store, settings map[string]any) (err error) {
	how := howOf(settings)
	branch, _ := settings["branch"].(string)
	switch {
	case strings.Contains(branch, "${"): // it is known only later
		branch = ""
	case branch == "" && how == workspace.AsBranch:
		if branch, err = store.FreeBranch(ctx, branchOf("run")); err != nil {
			return err
		}
	}
	return store.CanLand(ctx, how, branch)
}

// withoutGit reports that this machine cannot give steps workspaces of their own.
func withoutGit(b *workflow.Bundle) (found workflow.Diagnostics) {
	if b.Root == nil || !b.Isolates() {
		return nil
	}
	_, err := usableGit()
	if err == nil {
		return nil
	}
	for _, w := range check.Workflows(*b) {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if n.Workspace == workflow.WorkspaceOwn && len(found) == 0 {
				found = append(found, workflow.Diagnostic{
					Severity: workflow.Error, Code: "agent-no-executor", Pos: n.Pos,
					Summary: fmt.Sprintf("%q cannot have a workspace of its own here", n.ID), Detail: err.Error(),
				})
			}
		})
	}
	return found
}

// usableGit says why git cannot be used here.
var usableGit = onceDone(func() (struct{}, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return struct{}{}, workspace.CheckGit(ctx)
})

// onceDone returns a function that calls another one until that succeeds, and then returns what it returned. What fails now may be
// possible later: a disk is full, or git is not installed.
func onceDone[T any](do func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var result T
	done := false
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return result, nil
		}
		value, err := do()
		if done = err == nil; done {
			result = value
		}
		return value, err
	}
}

// base returns what the project was when the run began, or when it got a plan that needs that; "": no step has needed it.
func (r *Run) base(ctx context.Context) (base string, err error) {
	for e, err := range r.d.Events(ctx, r.id, 0, false) {
		if err != nil {
			return "", err
		}
		if ev, ok := e.Event.(*engine.Started); ok {
			base = ev.Base
		}
		if ev, ok := e.Event.(*engine.Replanned); ok {
			base = ev.Base
		}
		if base != "" {
			return base, nil
		}
	}
	return "", nil
}

// recapture returns the base for a new plan of the run: the one that the run has, which may be on another machine, or what the project
// is now.
func (r *Run) recapture(ctx context.Context, b *workflow.Bundle) (string, error) {
	if !b.Isolates() {
		return "", nil
	}
	if base, err := r.base(ctx); base != "" || err != nil {
		return base, err
	}
	store, err := r.p.workspaces(ctx)
	if err != nil {
		return "", err
	}
	if base, err := store.Base(ctx, r.id); base != "" || err != nil {
		return base, err
	}
	base, err := store.Capture(ctx, r.id, r.p.Config().Workspace.Include)
	return base.Commit, err
}

// ifIsolated does something with the workspaces of a run, if there can be any.
func (p *Project) ifIsolated(ctx context.Context, do func(*workspace.Store) error) error {
	store, err := p.existingWorkspaces(ctx)
	if store == nil || err != nil {
		return err
	}
	return do(store)
}

// existingWorkspaces opens the store of the project's workspaces, if there can be any. Otherwise it returns nil.
func (p *Project) existingWorkspaces(ctx context.Context) (*workspace.Store, error) {
	if _, err := os.Stat(p.workspaceDir()); err != nil {
		return nil, nil
	}
	return p.workspaces(ctx)
}

// isolation makes attempts in workspaces.
type isolation struct {
	p        *Project
	open     func() (*workspace.Store, error)
	approved func() error // why the command that prepares workspaces may not run
	command  func(context.Context, *agent.Task, agent.Log) error
	base     func(context.Context) (string, error) // what the run began with
	d        driver.Driver                         // of the run

	provided sync.Map // commits that the store has for a run, as far as we know: their names, with that of the run
	lineage  *lineage // of a run that anybody can have started; nil: it uses any commit that the store has
}

// isolate sets what makes the attempts of a run in workspaces.
func (l *lanes) isolate(ctx context.Context, p *Project) {
	ctx = context.WithoutCancel(ctx)
	l.isolation = &isolation{
		p:    p,
		open: onceDone(func() (*workspace.Store, error) { return p.workspaces(ctx) }),
		approved: func() error {
			if p.o.Trial.replays() { // runs no command
				return nil
			}
			powers := p.now().files.WorkspacePowers()
			if l.trusted.Trusted {
				powers = powers.Minus(l.trusted.Powers)
			}
			if len(powers) > 0 {
				return fmt.Errorf("not approved: %s; run `hocket trust` to review it", powers[0].What)
			}
			return nil
		},
		command: func(ctx context.Context, task *agent.Task, log agent.Log) error {
			_, err := l.employ(p.now().files.Executors()["shell"]).Run(ctx, task, log)
			return err
		},
	}
}

// attemptIn makes an attempt in a directory.
type attemptIn func(ctx context.Context, dir string, task *engine.StartTask, at driver.Attempt) driver.Outcome

// run makes an attempt where the command says. If a reply makes it, that is reply, otherwise nil.
func (i *isolation) run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt, reply agent.Executor, make attemptIn) driver.Outcome {
	if task.Workspace == "" && task.Within == "" {
		return make(ctx, i.p.workDir(), task, at)
	}
	store, err := i.open()
	if err != nil {
		return unprepared(err)
	}
	if task.Within != "" {
		return i.asGuest(ctx, run, task, at, make)
	}
	err = i.provide(ctx, store, run, task.Workspace)
	if err == nil && i.lineage != nil {
		err = i.lineage.inputs(ctx, store, run, task)
	}
	if err != nil {
		return unprepared(cmp.Or(store.Gone(), err))
	}
	c := &attemptAt{of: i, store: store, run: run, task: task, at: at, reply: reply, scripted: reply != nil || i.p.o.Trial.plays(task), make: make}
	switch {
	case task.Agent == workflow.LandAgent && c.scripted: // lands nothing
		return c.landScripted(ctx)
	case task.Agent == workflow.LandAgent:
		return c.land(ctx)
	case task.Place.Branches == workflow.PickBranch:
		return c.pick(ctx)
	case task.Place.Branches == workflow.MergeBranches:
		return c.merge(ctx)
	}
	return c.work(ctx, task.Workspace)
}

// attemptAt is an attempt in a workspace.
type attemptAt struct {
	of    *isolation
	store *workspace.Store
	run   string
	task  *engine.StartTask
	at    driver.Attempt
	// scripted means that a reply or a recording makes the attempt, also in place of a person; reply is that reply, nil
	// if there is none.
	scripted bool
	reply    agent.Executor
	make     attemptIn
}

// there says where directories and branches are; "" if that is this machine.
func (c *attemptAt) there() string {
	if c.at.Worker == "" {
		return ""
	}
	return " on worker " + c.at.Worker
}

// work makes the attempt from a commit. What it hands off works in the same directory.
func (c *attemptAt) work(ctx context.Context, from string) driver.Outcome {
	here, err := host(ctx, c.of.place(c.run, c.task.Address))
	if err != nil {
		return unprepared(err)
	}
	defer here.leave()
	w, err := c.checkout(ctx, from)
	if err != nil {
		return unprepared(err)
	}
	ports, err := workspace.ReservePorts(c.of.p.portsDir(), w.Attempt)
	if err != nil {
		return unprepared(errors.Join(err, w.Close()))
	}
	here.provide(w, ports.First, func() { // the process has both at most until it ends
		c.close(w)
		_ = ports.Release() // they are free when this process has ended
	})
	if err := c.store.NotePorts(w.Attempt, ports.First); err != nil {
		return unprepared(err)
	}
	ctx = w.Noting(process.WithPort(ctx, ports.First))
	if err := c.prepare(ctx, w); err != nil {
		return unprepared(err)
	}
	if err := w.Check(); err != nil { // what prepares the workspace runs the code of agents
		return unprepared(err)
	}
	out := waiting(ctx, w.Dir, c.task, c.at, c.make)
	if out.Fault == nil {
		if err := here.close(ctx); err != nil {
			out.Fault = driver.FaultOf(ctx, err)
		}
	}
	out = collected(ctx, w, c.task, out)
	if len(w.Others) > 0 {
		c.at.Log([]byte(stillRunning(w.Others)))
	}
	if out.Workspace != "" { // mostly, the next step begins with it
		c.of.provided.Store([2]string{c.run, out.Workspace}, true)
	}
	return out
}

// close lets others use a workspace. If its directory cannot be made harmless, the log says so: what the attempt has made is recorded, so that is
// no reason for it to fail.
func (c *attemptAt) close(w *workspace.Workspace) {
	if err := w.Close(); err != nil {
		c.at.Log([]byte("git in " + w.Root + " may run what the agent has configured there, because the directory could not be made harmless: " + err.Error() + "\n"))
	}
}

// waiting makes an attempt, and waits for everything that it has handed off if it succeeds.
func waiting(ctx context.Context, dir string, task *engine.StartTask, at driver.Attempt, make attemptIn) driver.Outcome {
	var handed errands
	handed.follow(task, &at)
	out := make(ctx, dir, task, at)
	if out.Fault == nil {
		if err := handed.wait(ctx); err != nil {
			out.Fault = driver.FaultOf(ctx, err)
		}
	}
	return out
}

// asGuest makes an attempt in the workspace of the one that handed the work off.
func (i *isolation) asGuest(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt, make attemptIn) driver.Outcome {
	here, leave, err := visit(i.place(run, task.Within))
	if err != nil {
		return unprepared(err)
	}
	defer leave()
	w := here.workspace
	if err := w.Check(); err != nil {
		return unprepared(err)
	}
	return waiting(w.Noting(process.WithPort(ctx, here.port)), w.Dir, task, at, make)
}

// place names where the attempts of an instance work.
func (i *isolation) place(run, address string) string {
	return filepath.Join(i.p.workspaceDir(), run) + "\x00" + address
}

// asks returns the answer to a question, if that is what the attempt was made again for, or else the outcome
// that asks it. So no process has to wait for the answer, and an answer to another question, or to one about
// something that has changed, does not count.
func (c *attemptAt) asks(q engine.Asked) (*engine.Answer, driver.Outcome) {
	q.Address, q.Text, q.Detail = c.task.Address, storable(q.Text), storable(q.Detail)
	if a := c.task.Answer; a != nil && a.Digest == q.Digest() {
		return a, driver.Outcome{}
	}
	return nil, driver.Outcome{Asks: &q}
}

// storable writes bytes that are not UTF-8 as escapes, such as \xe9. They are in diffs of files in other encodings. The
// journal would store others in their place, so that no answer would be to the same question.
func storable(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, text[0])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// SetupAgent is the name of the agent of a task that prepares a workspace. No other agent has it.
const SetupAgent = "workspace setup"

// prepare runs the command that prepares workspaces, or copies what it has made before. A reply needs no such files.
func (c *attemptAt) prepare(ctx context.Context, w *workspace.Workspace) error {
	setup := c.of.p.Config().Workspace
	if setup.Setup == "" || c.scripted {
		return nil
	}
	if err := c.of.approved(); err != nil {
		return err
	}
	copied, err := w.Setup(ctx, workspace.Setup{Command: setup.Setup, Key: setup.SetupKey, Run: func(ctx context.Context, dir string) error {
		c.at.Log([]byte("prepares the workspace: " + setup.Setup + "\n"))
		return c.of.command(ctx, &agent.Task{
			Run: c.run, Address: c.task.Address, Attempt: c.task.Attempt, Key: c.task.Key(c.run), Workflow: c.task.Workflow, Node: c.task.Node,
			Agent: &agent.Definition{Name: SetupAgent, Agent: "shell"}, Settings: map[string]any{"command": setup.Setup}, Dir: dir,
		}, c.at.Log)
	}})
	if err != nil {
		return fmt.Errorf("%s: %w", setup.Setup, err)
	}
	if copied {
		c.at.Log([]byte("the workspace is prepared with a copy of what was made before: " + setup.Setup + "\n"))
	}
	return nil
}

func (c *attemptAt) checkout(ctx context.Context, from string) (*workspace.Workspace, error) {
	w, err := c.store.Checkout(ctx, c.attempt(), from)
	if err != nil {
		return nil, cmp.Or(c.store.Gone(), err)
	}
	if w.LeftIn != "" {
		c.at.Log([]byte("the directory of an earlier attempt is now " + w.LeftIn + ": " + w.Reason.Error() + "\n"))
	}
	return w, nil
}

func (c *attemptAt) attempt() workspace.Attempt {
	return workspace.Attempt{Run: c.run, Address: c.task.Address, Number: c.task.Attempt}
}

const (
	// collectTime limits how long files are collected after an attempt has failed or was told to stop.
	collectTime = time.Minute
	// wantedTime is the limit for those of an attempt that succeeded: other steps begin with them.
	wantedTime = 10 * time.Minute
)

// collecting returns the context for collecting what an attempt left.
func collecting(ctx context.Context, failed bool) (context.Context, context.CancelFunc) {
	kept := context.WithoutCancel(ctx)
	if failed {
		return context.WithTimeout(kept, collectTime)
	}
	kept, release := context.WithTimeout(kept, wantedTime)
	kept, cancel := context.WithCancelCause(kept)
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(collectTime, func() { cancel(context.Cause(ctx)) })
	})
	return kept, func() {
		stop()
		cancel(nil)
		release()
	}
}

// stillRunning says which programs of an attempt could not be ended, and may write into its directory.
func stillRunning(programs []string) string {
	const most = 10
	return "still running as another user, which only that user can end: " + workspace.Listed(programs, most) + "\n"
}

// collected records what an attempt left. What a failed attempt left can be shown, but nothing follows from it.
func collected(ctx context.Context, w *workspace.Workspace, task *engine.StartTask, out driver.Outcome) driver.Outcome {
	ctx, cancel := collecting(ctx, out.Fault != nil)
	defer cancel()
	commit, err := w.Collect(ctx, fmt.Sprintf("%s, attempt %d", task.Address, task.Attempt))
	switch {
	case out.Fault != nil: // the next attempt collects it, or keeps the directory
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Fault = &engine.Fault{Kind: engine.FaultError, Message: fmt.Sprintf("its files cannot be recorded within %s: have the agent remove large ones, or add them to .gitignore", workflow.FormatDuration(wantedTime))}
	case err != nil:
		out.Fault = &engine.Fault{Kind: engine.FaultError, Message: "its files cannot be recorded: " + cmp.Or(w.Gone(), err).Error()}
	default:
		out.Workspace = commit
	}
	return out
}

func unprepared(err error) driver.Outcome {
	return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "its workspace cannot be prepared: " + err.Error()}}
}
