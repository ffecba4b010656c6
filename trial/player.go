package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// Mode is what makes the attempts that have no scripted reply.
type Mode string

// The modes.
const (
	Replay Mode = "replay" // recordings
	Record Mode = "record" // the real executors, which are recorded
	Live   Mode = "live"   // the real executors, which are compared with the recordings

	copying Mode = "copy" // the outcomes of another run, which are recorded
)

// Problem is why a case failed.
type Problem struct {
	Summary string       `json:"summary"`
	Detail  string       `json:"detail,omitempty"` // what to do about it
	Diff    []Line       `json:"diff,omitempty"`
	Pos     workflow.Pos `json:"pos,omitzero"` // in the test file or the cassette
}

// player makes the attempts of one run, and answers its questions. It is safe for concurrent use.
type player struct {
	mode   Mode
	exec   bool
	clock  *clock
	places *cassette.Places
	dir    string
	base   string         // digest of the files that the run began with
	was    cassette.Bases // of the recordings
	people hocket.Asker
	tape   bool      // the case names a cassette
	remake string    // the command that records the case
	copies *original // the other run, when copying

	working chan struct{} // has room for one: the attempt whose changes of files are recorded

	mu       sync.Mutex
	bases    cassette.Bases         // that attempts began with
	left     []cassette.Interaction // recordings that no attempt has asked for
	made     []cassette.Interaction
	asked    map[string]int    // how often a step has asked people
	pending  map[string]func() // withdraws answers that are not given yet, by question
	failed   map[string]func() // lets time be skipped again, by the address of a step that may be tried again
	problems []Problem
	drift    []Problem          // differences of a live run, which do not fail it
	missing  bool               // a step had neither a reply nor a recording
	silent   []*engine.Question // that nobody is here for
}

func (p *player) report(list *[]Problem, found Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, found)
}

// take removes and returns the recording of an attempt, or of an answer.
func (p *player) take(address string, attempt int, answer bool) *cassette.Interaction {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.left, func(i cassette.Interaction) bool {
		return i.Address == address && i.Attempt == attempt && i.IsAnswer() == answer && !isSetup(i)
	})
	if i < 0 {
		return nil
	}
	found := p.left[i]
	p.left = slices.Delete(p.left, i, i+1)
	return &found
}

// knows reports whether it is known how an attempt ended that people take part in. What was recorded as a test has only the
// answer of the person to a landing, because it lands again, in the directory of the test. That of another run is elsewhere.
func (p *player) knows(address string, attempt int) bool {
	if p.mode == Record {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode == copying || slices.ContainsFunc(p.left, func(i cassette.Interaction) bool {
		return i.Address == address && i.Attempt == attempt && !i.IsAnswer() && (p.mode != Live || i.Request.Agent == workflow.LandAgent) // others are decided again
	})
}

// find removes and returns the recording of a task. What prepares workspaces is recorded with the step that was first, which may
// be another one now.
func (p *player) find(task *agent.Task) *cassette.Interaction {
	if task.Agent.Name != hocket.SetupAgent {
		return p.take(task.Address, task.Attempt, false)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.left, func(i cassette.Interaction) bool {
		return isSetup(i) && i.Address == task.Address && i.Attempt == task.Attempt
	})
	if i < 0 {
		i = slices.IndexFunc(p.left, isSetup)
	}
	if i < 0 {
		return nil
	}
	found := p.left[i]
	p.left = slices.Delete(p.left, i, i+1)
	return &found
}

func isSetup(i cassette.Interaction) bool { return i.Request.Agent == hocket.SetupAgent }

// Stand returns what makes attempts in place of an executor.
func (p *player) Stand(exec agent.Executor) agent.Executor {
	traits := exec.Traits()
	traits.Account = nil // its quota is that of the test
	return &understudy{exec, traits, p}
}

// understudy makes attempts in place of an executor.
type understudy struct {
	agent.Executor
	traits agent.Traits
	*player
}

func (u *understudy) Traits() agent.Traits { return u.traits }

func (u *understudy) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	if u.exec && isLocal(task, u.traits.FromPrompt(task)) {
		return u.perform(ctx, task, log)
	}
	if first := process.Port(ctx); first > 0 {
		u.places.AddPorts(task.Address, first)
	}
	base, files := u.baseOf(task)
	request := cassette.RequestOf(task, u.traits.FromPrompt(task), base, u.places)
	switch u.mode {
	case Record:
		return u.record(ctx, task, request, files, log)
	case Live:
		return u.compare(ctx, task, request, files, log)
	case copying:
		if task.Agent.Name != hocket.SetupAgent { // which is not in the history of a run
			return u.copy(ctx, task, request, files)
		}
	case Replay:
	}
	return u.replay(ctx, task, request, log)
}

// baseOf returns the digest of the files that a task begins with: those of the case, or those in its own workspace, which it also
// returns. It is "" if they cannot be read.
func (u *understudy) baseOf(task *agent.Task) (string, cassette.Files) {
	if task.Dir == u.dir {
		return u.base, nil
	}
	files, err := cassette.ReadFiles(task.Dir)
	if err != nil {
		return "", nil
	}
	list := files.Hide(u.places).Listing()
	digest := list.Digest()
	u.mu.Lock()
	u.bases[digest] = list
	u.mu.Unlock()
	return digest, files
}

// filesOf returns the files that an attempt begins with, if they were not read before. In the directory of the test, they
// are those that there are when it is the attempt's turn.
func filesOf(task *agent.Task, files cassette.Files) (cassette.Files, error) {
	if files != nil {
		return files, nil
	}
	return cassette.ReadFiles(task.Dir)
}

// isLocal reports whether a task runs commands or uses files, in its directory and without a model.
func isLocal(task *agent.Task, prompted bool) bool {
	return !prompted && (task.Agent.Agent == "shell" || task.Agent.Agent == "file")
}

// perform lets the executor work. After a failure, time passes as usual until the step is tried again or has ended: a
// provider whose quota is used up does not know about ours.
func (u *understudy) perform(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	done := u.clock.Work()
	u.resume(task.Address)
	own := *task
	own.Key += " in " + u.dir // when an attempt ends, what has its key is killed, and all cases have runs of the same id
	res, err := u.Executor.Run(ctx, &own, log)
	if err == nil || ctx.Err() != nil {
		done()
		return res, err
	}
	u.mu.Lock()
	u.failed[task.Address] = done
	u.mu.Unlock()
	var known *agent.Error
	if errors.As(err, &known) && !known.Until.IsZero() {
		here := *known
		here.Until = u.clock.Now().Add(time.Until(known.Until))
		err = &here
	}
	return res, err
}

// resume lets time be skipped again after a step has failed.
func (p *player) resume(address string) {
	p.mu.Lock()
	done := p.failed[address]
	delete(p.failed, address)
	p.mu.Unlock()
	if done != nil {
		done()
	}
}

// replay plays the recording of an attempt.
func (u *understudy) replay(ctx context.Context, task *agent.Task, now cassette.Request, log agent.Log) (agent.Result, error) {
	found := u.find(task)
	if found == nil && task.Agent.Name == hocket.SetupAgent { // it was not recorded with the case
		return agent.Result{}, nil
	}
	if found == nil {
		u.mu.Lock()
		u.missing = true
		u.mu.Unlock()
		u.report(&u.problems, u.absent(task))
		return agent.Result{}, agent.Permanentf("no reply and no recording")
	}
	if differences := found.Request.Differences(now); differences != nil {
		for _, d := range differences {
			u.report(&u.problems, u.driftOf(*found, d))
		}
		return agent.Result{}, agent.Permanentf("the request is not the recorded one")
	}
	if found.Cancelled() {
		return u.hang(ctx, found)
	}
	if found.Reply.Took > 0 {
		u.clock.Sleep(ctx, found.Reply.Took)
	}
	if ctx.Err() != nil {
		return agent.Result{}, agent.Interrupted(ctx)
	}
	if err := cassette.Apply(task.Dir, found.Reply.Files, u.places); err != nil {
		u.report(&u.problems, Problem{Summary: fmt.Sprintf("%s: %v", found, err), Detail: "record it again with `" + u.remake + "`", Pos: found.Pos})
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	res, err := found.Reply.Result(u.clock.Now(), u.places)
	if err == nil {
		log([]byte(res.Output + "\n"))
	}
	return res, err
}

// hang waits until the attempt is cancelled, as it was when it was recorded.
func (u *understudy) hang(ctx context.Context, found *cassette.Interaction) (agent.Result, error) {
	u.clock.Sleep(ctx, forever)
	if ctx.Err() == nil {
		u.report(&u.problems, Problem{Summary: fmt.Sprintf("%s was cancelled when it was recorded, and is not now", found), Detail: "record the case again with `" + u.remake + "`", Pos: found.Pos})
		return agent.Result{}, agent.Permanentf("the recorded attempt was cancelled")
	}
	return agent.Result{}, agent.Interrupted(ctx)
}

// forever is longer than any timer of a run.
const forever = 200 * 365 * 24 * time.Hour

func (u *understudy) absent(task *agent.Task) Problem {
	what := "is done by " + task.Agent.Name
	detail := fmt.Sprintf("add %s to `replies`, or name a `cassette` in the case and record it with `%s`", task.Node, u.remake)
	if u.tape {
		detail = fmt.Sprintf("add %s to `replies`, or record it with `%s`", task.Node, u.remake)
	}
	if isLocal(task, u.traits.FromPrompt(task)) {
		detail += ", or set `exec: true` to run it in the directory of the test"
	}
	at := task.Address
	if task.Attempt > 1 {
		at = fmt.Sprintf("%s, attempt %d,", at, task.Attempt)
	}
	return Problem{Summary: fmt.Sprintf("%s has no reply and no recording: it %s", at, what), Detail: detail}
}

// partNames are the parts of a request, as the beginning of a sentence that says that they differ.
var partNames = map[string]string{
	"prompt": "the prompt is not", "system": "the system prompt is not", "agent": "the agent is not", "executor": "the executor is not", "model": "the model is not",
	"settings": "the settings are not", "schema": "the schema of the output is not", "tools": "the tools are not", "labels": "the labels are not",
	"base": "the files at the start are not",
}

// driftOf says how a request differs from the recorded one.
func (p *player) driftOf(i cassette.Interaction, d cassette.Difference) Problem {
	found := Problem{
		Summary: fmt.Sprintf("%s: %s what was recorded", i, partNames[d.What]),
		Detail:  "if the change is meant, record the case again with `" + p.remake + "`",
		Diff:    Diff(d.Was, d.Now), Pos: i.Pos,
	}
	if files := p.others(d); len(files) > 0 { // digests would say less
		found.Summary, found.Diff = found.Summary+": "+strings.Join(files, ", "), nil
	}
	return found
}

// others says which files differ at the start of a step, if the cassette has a list of them.
func (p *player) others(d cassette.Difference) []string {
	p.mu.Lock()
	was, now := p.was[d.Was], p.bases[d.Now]
	p.mu.Unlock()
	if d.What != "base" || was == nil || now == nil {
		return nil
	}
	const most = 10
	all := was.Differences(now)
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("and %d more", more))
	}
	return all
}

// turn waits until no other attempt works whose changes of files are recorded, or until the context ends: otherwise nobody
// could say which of them changed a file.
func (p *player) turn(ctx context.Context) (done func(), err error) {
	select {
	case p.working <- struct{}{}:
		return func() { <-p.working }, nil
	case <-ctx.Done():
		return nil, agent.Interrupted(ctx)
	}
}

// alone lets the executor work until it hands off work with a tool. A recording does not hold that, and the work would wait
// for the turn of the attempt, which waits for the work.
func (u *understudy) alone(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	if task.HandOff == nil {
		return u.perform(ctx, task, log)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var refused atomic.Pointer[agent.Error]
	own := *task
	own.HandOff = func(context.Context, agent.Handoff) (agent.Handed, error) {
		err := agent.Permanentf("it hands off work with a tool, which recordings do not hold")
		if refused.CompareAndSwap(nil, err) {
			u.report(&u.problems, Problem{Summary: task.Address + " cannot be recorded: " + err.Message, Detail: "add " + task.Node + " to `replies`; requests in a reply are handed off, too"})
			stop()
		}
		return agent.Handed{}, err
	}
	res, err := u.perform(ctx, &own, log)
	if why := refused.Load(); why != nil {
		return res, why
	}
	return res, err
}

// record lets the executor work, and records the attempt.
func (u *understudy) record(ctx context.Context, task *agent.Task, request cassette.Request, before cassette.Files, log agent.Log) (agent.Result, error) {
	made := cassette.Interaction{Address: task.Address, Attempt: task.Attempt, Request: request}
	done, err := u.turn(ctx)
	if err != nil {
		made.Reply.Error = &cassette.Failure{Kind: cassette.Cancelled}
		u.keep(made)
		return agent.Result{}, err
	}
	defer done()
	if before, err = filesOf(task, before); err != nil {
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	began := u.clock.Now()
	res, failure := u.alone(ctx, task, log)
	after, err := cassette.ReadFiles(task.Dir)
	changes := before.Hide(u.places).Changes(after.Hide(u.places))
	if err == nil {
		err = cassette.CheckRecorded(changes)
	}
	if err != nil {
		u.report(&u.problems, Problem{Summary: fmt.Sprintf("%s cannot be recorded: %v", task.Address, err)})
	}
	now := u.clock.Now()
	made.Reply = cassette.Reply{
		Output: u.places.Hide(res.Output), Usage: res.Usage, Took: cassette.Rounded(now.Sub(began)),
		Error: cassette.FailureOf(failure, now, u.places), Files: changes,
	}
	if ctx.Err() != nil {
		made.Reply = cassette.Reply{Error: &cassette.Failure{Kind: cassette.Cancelled}}
	}
	u.keep(made)
	return res, failure
}

func (p *player) keep(made cassette.Interaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = append(p.made, made)
}

// compare lets the executor work, and compares the attempt with its recording.
func (u *understudy) compare(ctx context.Context, task *agent.Task, request cassette.Request, before cassette.Files, log agent.Log) (agent.Result, error) {
	found := u.find(task)
	if found != nil && task.Agent.Name == workflow.LandAgent { // of a run that was copied: a test cannot land that
		for _, d := range found.Request.Differences(request) {
			u.report(&u.drift, u.driftOf(*found, d))
		}
		if found.Cancelled() {
			return u.hang(ctx, found)
		}
		return found.Reply.Result(u.clock.Now(), u.places)
	}
	done, err := u.turn(ctx)
	if err != nil {
		return agent.Result{}, err
	}
	defer done()
	before, unread := filesOf(task, before)
	res, err := u.alone(ctx, task, log)
	if found == nil {
		u.report(&u.drift, Problem{Summary: fmt.Sprintf("%s, attempt %d, is new", task.Address, task.Attempt)})
		return res, err
	}
	for _, d := range found.Request.Differences(request) {
		u.report(&u.drift, u.driftOf(*found, d))
	}
	now := cassette.Reply{Output: u.places.Hide(res.Output), Error: cassette.FailureOf(err, u.clock.Now(), u.places)}
	if was, is := found.Reply.Text(), now.Text(); was != is {
		u.report(&u.drift, Problem{Summary: fmt.Sprintf("%s: the reply is not the recorded one", found), Diff: Diff(was, is), Pos: found.Pos})
	}
	after, wrong := cassette.ReadFiles(task.Dir)
	if wrong = errors.Join(unread, wrong); wrong != nil {
		u.report(&u.drift, Problem{Summary: fmt.Sprintf("%s: its files cannot be compared: %v", found, wrong), Pos: found.Pos})
		return res, err
	}
	u.compareFiles(found, before.Hide(u.places).Changes(after.Hide(u.places)))
	return res, err
}

// compareFiles reports how the changes of files differ from the recorded ones.
func (p *player) compareFiles(found *cassette.Interaction, now []cassette.Change) {
	all := map[string][2]*cassette.Change{}
	for i, list := range [][]cassette.Change{found.Reply.Files, now} {
		for k := range list {
			pair := all[list[k].Path]
			pair[i] = &list[k]
			all[list[k].Path] = pair
		}
	}
	for _, path := range sorted.Keys(all) {
		was, is := all[path][0], all[path][1]
		if was != nil && is != nil && was.Deleted == is.Deleted && was.Executable == is.Executable && bytes.Equal(was.Content, is.Content) {
			continue
		}
		drift := Problem{Summary: fmt.Sprintf("%s: the change of %s is not the recorded one", found, path), Pos: found.Pos}
		if was, is := was.Text(), is.Text(); was != is {
			drift.Summary += fmt.Sprintf(": %s, now %s", was, is)
		}
		if was != nil && is != nil && utf8.Valid(was.Content) && utf8.Valid(is.Content) {
			drift.Diff = Diff(string(was.Content), string(is.Content))
		}
		p.report(&p.drift, drift)
	}
}
