package hocket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// Worker says how a process works for the runs of a project, see [Project.Work].
type Worker struct {
	// Name identifies the machine and the project's directory on it: after a crash, a worker with the same
	// name continues what was begun here. "" means a name made of both.
	Name   string
	Queues []string // labels of agents that it serves, besides tasks without one
	// Most is how many attempts it makes at once. Those that wait for an answer, or for work that they handed off, do not
	// count. Zero means no limit.
	Most int
	// Accept are digests of runs that it works for although they are not of this project's files, and AcceptAny
	// means all. See [UnacceptedError].
	Accept    []string
	AcceptAny bool
	// Leave, when it is closed, means that nothing new starts, and Work returns when attempts in progress have
	// ended. Nil means never.
	Leave <-chan struct{}
	// Ready is called when it begins to serve queues, with their names. It may be nil.
	Ready func(queues []string)
	// Warn tells people what may be wrong, such as another worker with the same name. It may be nil.
	Warn func(text string)
	// Stalled is told that the worker can do nothing, because the server does not answer or the store is not there, and "" when it can again. It may be nil.
	Stalled func(why string)
	// Happened is called when an attempt begins and, with its outcome, when it ends, or with the error if this
	// worker refuses it, or a whole run. Nil: nobody wants to know.
	Happened func(a driver.AttemptID, out *driver.Outcome, refused error)
}

// NoWorkersError reports that the driver of the project does not have workers.
type NoWorkersError struct{}

func (*NoWorkersError) Error() string {
	return "runs of this project are driven on the machine on which they are started"
}

// Hint returns what to do about it.
func (*NoWorkersError) Hint() string {
	return "to have workers, set `driver: temporal` in .hocket/config.yml; see docs/howto/temporal.md"
}

// WorkerName returns the default name of a worker for the project on this machine.
func (p *Project) WorkerName() string {
	host, _ := os.Hostname()
	sum := sha256.Sum256([]byte(p.Root()))
	return host + "-" + hex.EncodeToString(sum[:4])
}

// Work makes attempts for runs of the project, on whatever machine they were started, until ctx is done. It works
// only for what the user of this machine has approved: the workflows and agents in this directory, and their
// powers. The error is a *[NoWorkersError] if the project's driver has no workers.
func (p *Project) Work(ctx context.Context, o Worker) error {
	d, err := p.runs()
	if err != nil {
		return err
	}
	workers, ok := d.(driver.Workers)
	if !ok {
		return &NoWorkersError{}
	}
	done, err := p.drives()
	if err != nil {
		return err
	}
	defer done()
	if o.Name == "" {
		o.Name = p.WorkerName()
	}
	accepted := &acceptance{p: p, worker: o.Name, any: o.AcceptAny, since: time.Now().UTC(), runs: map[string]acceptedRun{}}
	for _, digest := range o.Accept {
		accepted.runs[digest] = acceptedRun{Digest: digest}
	}
	host, _ := os.Hostname()
	happens, end := p.exportWork(ctx, d, o.Warn)
	defer end()
	happened := func(a driver.AttemptID, out *driver.Outcome, refused error) {
		if a.Address != "" && refused == nil {
			happens(a.Run)
		}
		if o.Happened != nil {
			o.Happened(a, out, refused)
		}
	}
	sweeping, stop := context.WithCancel(ctx)
	var swept sync.WaitGroup
	swept.Go(func() { p.sweeps(sweeping) })
	defer swept.Wait()
	defer stop()
	return workers.Work(ctx, driver.Worker{
		Name: o.Name, Place: host + ":" + p.Root(), Warn: o.Warn, Stalled: o.Stalled, Queues: o.Queues, Most: o.Most, Trusting: o.AcceptAny, Programs: p.programs(), Ready: o.Ready, Happened: happened,
		Files: func(ctx context.Context) (driver.Files, error) {
			at, changed, err := project.FilesOf(ctx, p.Root())
			return driver.FilesAt(at, changed), err
		},
		Resolve: func(ctx context.Context, run string, pin *driver.Pin) (driver.Work, func(), error) {
			work, end, err := p.handle(d, run).resolve(ctx, pin, accepted)
			if err != nil && !errors.As(err, new(*UnacceptedError)) { // who reads it may be on another machine
				err = fmt.Errorf("worker %s: %w", o.Name, err)
			}
			return work, end, err
		},
	}, o.Leave)
}

// OnWorkers reports whether workers make the attempts of the run, so that it goes on when nobody follows it.
func (r *Run) OnWorkers() bool {
	_, ok := r.d.(driver.Workers)
	return ok
}

// programs returns the executors that not every machine has and this one does.
func (p *Project) programs() (names []string) {
	for name, exec := range p.now().files.Executors() {
		if missing := exec.Traits().Missing; missing != nil && missing() == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// resolve returns what a plan of the run is driven with by a worker of this machine.
func (r *Run) resolve(ctx context.Context, pin *driver.Pin, accepted *acceptance) (driver.Work, func(), error) {
	fail := func(err error) (driver.Work, func(), error) { return driver.Work{}, nil, err }
	r.pin = pin
	at := time.Now().UTC() // before anything is decided, so that a revocation in between counts
	definition, err := accepted.check(r.id, pin)
	if err != nil {
		return fail(err)
	}
	p := r.p.steady()
	if err := errors.Join(accepted.checkReplies(ctx, r), accepted.stands(p)); err != nil {
		return fail(err)
	}
	agents, err := agent.DecodeSet(pin.Agents, p.now().files.Executors())
	if err != nil {
		return fail(err)
	}
	powers := p.pinnedPowers(*pin.Bundle, agents)
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if more := decision.Untrusted(p.Root(), powers); more != nil && !accepted.any {
		err = errors.Join(err, more)
	}
	if err != nil {
		return fail(err)
	}
	trusted := pinnedTrust{Trusted: decision.Trusted || accepted.any, Powers: powers, At: at, Definition: definition}
	f := Front{Elsewhere: true, partly: true}
	if !accepted.any {
		if f.lineage, err = newLineage(r.d, pin); err != nil {
			return fail(err)
		}
	}
	w, end, err := r.workAt(ctx, p, f, pin, agents, trusted)
	if err == nil && !accepted.any {
		w.Agents = vouched{w.Agents, pin.Bundle, p.Config().Handoff, reads(pin.Bundle, agents)}
	}
	w.Stands = func() bool {
		revoked, err := p.Approvals().Revoked(p.Root())
		return err == nil && !revoked.After(at) && p.checkApproval(trusted) == nil
	}
	return w, end, err
}

// following is what a run is driven with if workers make its attempts: only people are here.
func (r *Run) following(ctx context.Context, f Front) (driver.Work, func(), error) {
	fail := func(err error) (driver.Work, func(), error) { return driver.Work{}, nil, err }
	done, err := r.p.drives()
	if err != nil {
		return fail(err)
	}
	w := driver.Work{Asker: f.Asker, Observer: f.Observer, Elsewhere: true, Leave: f.Leave, Stalled: f.Stalled}
	pin, err := r.pinned(ctx)
	if err == nil && f.Replies != nil && !bytes.Equal(f.Replies.Encode(), pin.Replies) {
		err = &RefusedError{Run: r.id, Reason: "workers follow the replies that a run was started with; start a new run to use others"}
	}
	if err == nil && pin.Replies != nil {
		var replies *Replies
		if replies, err = r.Replies(ctx); err == nil {
			w.Script, w.ScriptAll = replies.Script(), replies.CoversAll(pin.Bundle)
			w.Replan = func(pin *driver.Pin) (driver.Work, error) {
				return driver.Work{ScriptAll: replies.CoversAll(pin.Bundle)}, nil
			}
		}
	}
	if err != nil {
		done()
		return fail(err)
	}
	return w, done, nil
}

// sitesOf returns which machines may do the tasks of a bundle, and what agents are handed off to.
func (p *Project) sitesOf(b workflow.Bundle, agents *agent.Set, replies *Replies) map[string]driver.Site {
	sites, anywhere := map[string]driver.Site{}, p.Config().Temporal.Anywhere
	add := func(key, name string, w *workflow.Workflow, settings map[string]any) {
		if d, _, err := agents.ResolveLane(name, w.RoleOf(name)); err == nil {
			sites[key] = siteOf(d, agents.Traits(d.Agent), settings, anywhere)
		}
	}
	for _, w := range check.Workflows(b) {
		w.Body.WalkTasks(func(n *workflow.Node, task *workflow.Task) {
			if task.Handoffs != nil {
				for _, to := range task.Handoffs.To { // their roles are those of the root: see lanes
					add("@"+to, to, b.Root, nil)
				}
			}
			if replies != nil && replies.Covers(n) {
				sites[w.Name+"/"+n.ID] = driver.Site{} // nothing is needed to repeat a reply
				return
			}
			key := w.Name + "/" + n.ID
			add(key, task.Agent, w, task.Settings)
			if site, ok := sites[key]; ok && b.Isolates() { // workspaces are on one machine
				site.Stays = true
				sites[key] = site
			}
		})
	}
	return sites
}

// siteOf returns which machines may do a task: those that have its executor, and where the files and conversations are
// that it uses.
func siteOf(d *agent.Definition, t agent.Traits, settings map[string]any, anywhere bool) driver.Site {
	s := driver.Site{Queue: d.Queue}
	_, continues := settings[agent.SessionSetting]
	s.Stays = !d.Anywhere && !anywhere && (t.Stays || continues || len(d.Tools) > 0 || len(d.Servers) > 0)
	if t.Missing != nil {
		s.Program = d.Agent
	}
	return s
}

// reloaded returns the project as its files are now.
func (p *Project) reloaded() (*Project, error) {
	if err := p.Reload(); err != nil {
		return nil, err
	}
	return p.steady(), nil
}

// repliesNote says that workers refuse replies that change files, and how to let them.
func repliesNote(pin *driver.Pin, replies *Replies) ([]string, error) {
	if replies == nil || !replies.ChangeFiles() {
		return nil, nil
	}
	digest, err := repliesDigest(pin, replies)
	return []string{"the replies change files, so workers refuse the run unless they were started with --accept " + digest}, err
}

// unfiled says that workers refuse a run because its workflow is in no file of the project. Nobody knows what workers there
// are and will be, and one of them may accept it.
func (p *Project) unfiled(pin *driver.Pin) ([]string, error) {
	if file := filepath.FromSlash(pin.File); filepath.IsLocal(file) {
		if _, err := os.Stat(filepath.Join(p.Root(), file)); err == nil {
			return nil, nil
		}
	}
	what, accept := "", "--accept-any" // each single task has another digest
	if pin.File == "" {
		what = ", as that of a single task"
	} else {
		digest, err := runDigest(pin.Bundle, pin.Agents)
		if err != nil {
			return nil, err
		}
		accept = "--accept " + digest
	}
	return []string{"the workflow is in no file of the project" + what + ", so workers refuse it unless they were started with " + accept + "; put HOCKET_DRIVER=local in front of the command to do it on this machine"}, nil
}

// repliesDigest identifies what a run does with replies.
func repliesDigest(pin *driver.Pin, replies *Replies) (string, error) {
	run, err := runDigest(pin.Bundle, pin.Agents)
	if err != nil {
		return "", err
	}
	return digestOf([]string{run, string(replies.Encode())})
}

// runDigest identifies what a run of the workflow does.
func (w *Workflow) runDigest() (string, error) { return runDigest(w.Bundle(), w.l.Agents().Encode()) }

// runDigest identifies what a run does: its workflows without their limits, and the agents, wherever their files
// are. An executor that was chosen for an agent, because of what a machine has, does not count.
func runDigest(b *workflow.Bundle, agents json.RawMessage) (string, error) {
	set, err := agent.DecodeSet(agents, nil)
	if err != nil {
		return "", err
	}
	var all struct {
		Workflows []string
		Agents    []agent.Definition
		Default   string // the agent of tasks that name none
	}
	all.Default = set.Default()
	for _, w := range check.Workflows(*b) {
		free := *w
		free.Limits = workflow.Limits{}
		all.Workflows = append(all.Workflows, workflow.Digest(&free))
	}
	for _, d := range set.Definitions() {
		one := *d
		one.Pos, one.Source = workflow.Pos{}, nil
		if one.Chosen != "" {
			one.Agent, one.Chosen = "", ""
		}
		all.Agents = append(all.Agents, one)
	}
	return digestOf(all)
}
