package hocket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

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

// UnacceptedError reports that a run is of other files than those of the machine that should work for it, or of one that
// its user has not trusted. Anyone who can reach the server could have started it.
type UnacceptedError struct {
	Worker, Run, Digest string
	// Untrusted is the file of the run, relative to the project, if it is the same there, but has to be trusted.
	Untrusted string
	// Unfiled means that the run's workflow is in no file, as that of a single task.
	Unfiled bool
	// Unusable is the file that the run names, if that cannot be a workflow of the project; - is standard input.
	Unusable string
	// Replies means that its replies change files. The digest is that of the run with them.
	Replies bool
}

func (e *UnacceptedError) Error() string {
	switch {
	case e.Untrusted != "":
		return fmt.Sprintf("worker %s has %s of run %s, but its user has not trusted this file: trust it on that machine with `hocket trust %s`", e.Worker, e.Untrusted, e.Run, word(e.Untrusted))
	case e.Unfiled:
		return fmt.Sprintf("worker %s works only for workflows in files, and run %s is of none (digest %s), as a single task is: cancel it and start it with HOCKET_DRIVER=local in front of the command, or start the worker with --accept-any, which lets everyone who can start runs do anything there", e.Worker, e.Run, e.Digest)
	case e.Replies:
		return fmt.Sprintf("the replies of run %s change files, which worker %s would then work with (digest %s): if they are yours, start the worker with --accept %s", e.Run, e.Worker, e.Digest, e.Digest)
	case e.Unusable == "-":
		return fmt.Sprintf("worker %s works only for workflow files of the project, and that of run %s is from standard input: start it from a file in the project, or the worker with --accept %s", e.Worker, e.Run, e.Digest)
	case e.Unusable != "":
		return fmt.Sprintf("worker %s works only for workflow files of the project, and run %s names %.200q, which is none: start it with a file in the project, or the worker with --accept %s", e.Worker, e.Run, e.Unusable, e.Digest)
	}
	return fmt.Sprintf("worker %s has other workflows or agents than run %s uses (digest %s): update its files, or start it with --accept %s", e.Worker, e.Run, e.Digest, e.Digest)
}

// word returns a path as a word of a command, or what it stands for if a shell would read it in another way.
func word(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._/+@-", r)
	}) || strings.HasPrefix(path, "-") {
		return "FILE"
	}
	return path
}

// acceptance decides for which runs a worker works. It remembers those of earlier versions of the files: a
// run in progress goes on after an update, unless a person rejects its workflow here.
type acceptance struct {
	p      *Project
	worker string // its name
	any    bool
	since  time.Time // when the user trusted the project

	mu   sync.Mutex
	runs map[string]acceptedRun // by their digests
	read bool
}

// acceptedRun is a line of the file of an acceptance.
type acceptedRun struct {
	Digest   string       `json:"digest"`
	Approval *RunApproval `json:"approval,omitempty"` // that it needs here
	// Trusted is when the user was found to trust its file, which must not have been revoked since; zero: it is in
	// .hocket/workflows.
	Trusted time.Time `json:"trusted,omitzero"`
}

// check returns the approval that a run needs on this machine, nil if none.
func (a *acceptance) check(run string, pin *driver.Pin) (*RunApproval, error) {
	if a.any {
		return nil, nil
	}
	digest, err := runDigest(pin.Bundle, pin.Agents)
	if err != nil {
		return nil, err
	}
	one, ok, err := a.known(digest)
	if ok || err != nil {
		return one.Approval, err
	}
	refused := &UnacceptedError{Worker: a.worker, Run: run, Digest: digest, Unfiled: pin.File == ""}
	one, err = a.look(pin.File, refused)
	return one.Approval, err
}

// checkReplies refuses replies that change files, unless somebody here has accepted exactly these: they come with a run that
// anybody can have started, and the steps after them work with the files.
func (a *acceptance) checkReplies(ctx context.Context, r *Run) error {
	replies, err := r.Replies(ctx)
	if a.any || err != nil || replies == nil || !replies.ChangeFiles() {
		return err
	}
	digest, err := repliesDigest(r.pin, replies)
	if err != nil {
		return err
	}
	if _, ok, err := a.known(digest); ok || err != nil {
		return err
	}
	return &UnacceptedError{Worker: a.worker, Run: r.id, Digest: digest, Replies: true}
}

// stands returns an error if the user has revoked the trust in the project since the worker began, and not trusted it again.
// Then it does not even do what needs no trust: it would not have begun.
func (a *acceptance) stands(p *Project) error {
	revoked, err := p.Approvals().Revoked(p.Root())
	if err != nil || !revoked.After(a.since) {
		return err
	}
	powers := p.now().files.DriverPowers()
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err == nil && !decision.Trusted {
		untrusted := decision.Error(p.Root(), powers)
		untrusted.Approve = []string{"trust"}
		err = untrusted
	}
	return err
}

// known returns what was accepted with a digest, unless that was revoked.
func (a *acceptance) known(digest string) (one acceptedRun, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.load(); err != nil {
		return one, false, err
	}
	if one, ok = a.runs[digest]; ok && !one.Trusted.IsZero() {
		revoked, err := a.p.Approvals().Revoked(a.p.Root())
		if err != nil {
			return one, false, err
		}
		if ok = one.Trusted.After(revoked); !ok {
			delete(a.runs, digest)
		}
	}
	return one, ok, nil
}

// look accepts the workflows that the files have now, and that of a file of a run. It returns what is accepted with the digest
// of a refusal, or that refusal. Nothing is locked for other runs meanwhile: whoever started this one has chosen the file.
func (a *acceptance) look(file string, refused *UnacceptedError) (one acceptedRun, err error) {
	p, err := a.p.reloaded()
	if err != nil {
		return one, err
	}
	unapproved, err := a.update(p, refused.Digest)
	if err != nil {
		return one, err
	}
	one, ok, err := a.known(refused.Digest) // perhaps of another file that means the same
	if ok || err != nil {
		return one, err
	}
	if unapproved == nil {
		if one, ok, unapproved = a.ofFile(p, file, refused); ok {
			return one, nil
		}
	}
	return one, cmp.Or(unapproved, error(refused))
}

func (a *acceptance) file() string { return filepath.Join(a.p.State(), "accepted.jsonl") }

// load reads what earlier workers have accepted.
func (a *acceptance) load() error {
	if a.read {
		return nil
	}
	text, err := os.ReadFile(a.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range bytes.Lines(text) {
		var one acceptedRun
		if json.Unmarshal(line, &one) != nil { // a process died while it wrote it
			continue
		}
		if known, ok := a.runs[one.Digest]; !ok || !known.Trusted.IsZero() && known.Trusted.Before(one.Trusted) {
			a.runs[one.Digest] = one
		}
	}
	a.read = true
	return nil
}

// update accepts the workflows that the files have now and that could be started here. unapproved says why the wanted one
// could not.
func (a *acceptance) update(p *Project, wanted string) (unapproved, err error) {
	var added []acceptedRun
	for _, name := range p.Workflows() {
		w, err := p.Load(name)
		if err != nil || w.Model() == nil {
			continue // a run cannot be of it either
		}
		digest, err := w.runDigest()
		if _, ok, _ := a.known(digest); ok || err != nil {
			continue
		}
		needs, err := p.admit(w, &starting{})
		switch {
		case err == nil:
			added = append(added, acceptedRun{Digest: digest, Approval: needs})
		case digest == wanted:
			unapproved = err
		}
	}
	return unapproved, a.add(added...)
}

// ofFile accepts the workflow of a file of the project that its user trusts, if a run of it has the digest of a refusal. The
// path comes with a run that anybody can have started. If the file is not that, the refusal says more.
func (a *acceptance) ofFile(p *Project, file string, refused *UnacceptedError) (one acceptedRun, ok bool, err error) {
	if file == "" {
		return one, false, nil
	}
	w, err := p.loadFile(file)
	if unknown := (*UnknownWorkflowError)(nil); errors.As(err, &unknown) {
		refused.Unusable = file
	}
	if err != nil || w.Model() == nil {
		return one, false, nil //nolint:nilerr // a run cannot be of it either
	}
	if here, err := w.runDigest(); err != nil || here != refused.Digest {
		return one, false, err
	}
	at := time.Now().UTC() // before it is known, so that a revocation in between counts
	powers := w.workerPowers()
	decision, err := p.Trusted(powers, "")
	if err != nil {
		return one, false, err
	}
	if len(powers) > 0 && !decision.Trusted {
		refused.Untrusted = powers[0].Where
		return one, false, nil
	}
	needs, err := p.admit(w, &starting{})
	if err != nil {
		return one, false, err
	}
	one = acceptedRun{refused.Digest, needs, at}
	return one, true, a.add(one)
}

// add remembers what is accepted.
func (a *acceptance) add(added ...acceptedRun) error {
	if len(added) == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []byte
	for _, one := range added {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		a.runs[one.Digest] = one
		lines = append(append(lines, line...), '\n')
	}
	if err := os.MkdirAll(a.p.State(), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(a.file(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
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
