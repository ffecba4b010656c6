package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// Sessions are the sessions of a project. A session is a run with one task. This package starts
// such runs, schedules them, and presents them as the protocol describes.
type Sessions struct {
	// Tmux, if not nil, is used if the project asks for it.
	Tmux *Tmux
	// Background, if not nil, starts a process that drives spawned sessions, unless one is running. It is
	// called when an agent has detached work from its run. If it is nil, the session waits for the next
	// [Sessions.Drive].
	Background func() error

	p   *hocket.Project
	now func() time.Time
	// problem receives errors about the directory of a session. The session itself continues, and the
	// directory can be written again at any time.
	problem func(error)
}

// Open returns the sessions of a project, and lets agents in its runs detach work, see
// [hocket.Project.SetDetaching]. problem, which may be nil, receives errors about directories,
// which are not critical.
func Open(p *hocket.Project, problem func(error)) *Sessions {
	if problem == nil {
		problem = func(error) {}
	}
	s := &Sessions{p: p, now: time.Now, problem: problem}
	p.SetDetaching(s)
	return s
}

// sessionName is the name of the workflow of a session, and of its only step.
const sessionName = attempt.SessionName

// The labels of a session's run, for lists. They are copies: the inputs of the run are
// authoritative.
const (
	labelAgent    = "handoff"
	labelParent   = "handoff.parent"
	labelMode     = "handoff.mode"
	labelMethod   = "handoff.workflow"
	labelSummary  = "handoff.summary"
	labelPriority = "handoff.priority"
	labelEstimate = "handoff.estimate"
	labelDepends  = "handoff.depends_on"
	labelVersion  = "handoff.version"
	labelOrder    = "handoff.order"
	labelFrom     = "handoff.from"
)

// IsSession reports whether a run is a session.
func IsSession(i hocket.Info) bool { return i.Owner.Labels[labelAgent] != "" }

// Again returns the option for [hocket.Run.Retry] and [hocket.Run.Fork] that makes the new run a
// session if the old one is. The session has the id of the new run, and its own directory. Like a
// blocking session, it is driven by the process that starts it. It does not wait for other sessions.
func (s *Sessions) Again(i hocket.Info) hocket.StartOption {
	if !IsSession(i) {
		return hocket.WithLabels(nil)
	}
	labels := maps.Clone(i.Owner.Labels)
	labels[labelMode], labels[labelOrder] = string(protocol.Blocking), orderOf(s.now(), 0)
	delete(labels, labelDepends)
	delete(labels, labelFrom)
	return hocket.WithLabels(labels)
}

// Status is the status of a session.
type Status string

// The statuses. All but Running are final.
const (
	Running   Status = "RUNNING"
	Completed Status = "COMPLETED"
	Failed    Status = "FAILED"
	TimedOut  Status = "TIMEOUT"
	Cancelled Status = "CANCELLED"
)

// Phase says what a running session is doing.
type Phase string

// The phases.
const (
	Pending Phase = "pending" // waiting for other sessions, or for its turn
	Working Phase = "running"
	Waiting Phase = "waiting" // for a person or a budget
)

// State is the state of a session, the content of state.json.
type State struct {
	ID       string          `json:"session_id"`
	Status   Status          `json:"status"`
	Phase    Phase           `json:"phase,omitempty"` // "" if the status is final
	Agent    string          `json:"agent,omitempty"`
	Parent   string          `json:"parent_agent,omitempty"`
	Mode     protocol.Mode   `json:"mode"`
	Workflow protocol.Method `json:"workflow"`
	Summary  string          `json:"summary"`
	Priority string          `json:"priority"`
	Created  time.Time       `json:"created"`
	Started  time.Time       `json:"started,omitzero"`
	Ended    time.Time       `json:"ended,omitzero"`
	Duration float64         `json:"duration_seconds,omitempty"`
	Estimate string          `json:"estimated_duration,omitempty"`
	Overdue  bool            `json:"overdue,omitempty"` // it takes longer than estimated
	// Interrupted means that it has started, and that no process drives it now.
	Interrupted bool     `json:"interrupted,omitempty"`
	DependsOn   []string `json:"depends_on,omitempty"`
	Attempts    int      `json:"attempts,omitempty"`
	Run         string   `json:"run"`
	Step        string   `json:"step,omitempty"`          // the step of the run, if the session is part of a run
	From        string   `json:"detached_from,omitempty"` // the run and step, separated by a slash, that it was detached from
	Error       string   `json:"error,omitempty"`
	Waits       string   `json:"waiting_for,omitempty"`
	CostUSD     float64  `json:"cost_usd"`
	TokensIn    int64    `json:"tokens_in"`
	TokensOut   int64    `json:"tokens_out"`
	Version     string   `json:"handoff_version"`

	order string // sorts by age
}

// Final reports whether the session has ended.
func (s *State) Final() bool { return s.Status != Running }

var statuses = map[engine.Status]Status{
	engine.Success: Completed, engine.Partial: Completed, engine.Failed: Failed, engine.TimedOut: TimedOut, engine.Cancelled: Cancelled, hocket.Damaged: Failed,
}

// listed returns the state of a session as far as the list of runs contains it.
func listed(i hocket.Info) State {
	l := i.Owner.Labels
	s := State{
		ID: i.ID, Run: i.ID, Status: Running, Agent: l[labelAgent], Parent: l[labelParent], Mode: protocol.Mode(l[labelMode]),
		Workflow: protocol.Method(l[labelMethod]), Summary: l[labelSummary], Priority: l[labelPriority], Created: moment(i.Created),
		Estimate: l[labelEstimate], DependsOn: strings.Fields(l[labelDepends]), Error: i.Problem, Version: l[labelVersion], From: l[labelFrom], order: l[labelOrder],
		CostUSD: i.Usage.CostUSD, TokensIn: i.Usage.TokensIn, TokensOut: i.Usage.TokensOut,
	}
	if final, ok := statuses[i.Status]; ok {
		s.Status, s.Ended = final, moment(i.Changed)
		return s
	}
	switch {
	case i.Pending:
		s.Phase = Pending
	case i.Status == engine.Waiting:
		s.Phase = Waiting
	default:
		s.Phase, s.Interrupted = Working, !i.Driven
	}
	return s
}

// moment returns a time as it is displayed.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// List returns the sessions of the project, newest first: those that have not ended, and the most
// recent others. A limit of zero means all; then the errors, attempts and durations of those that
// have ended are missing, because that would mean reading each of them.
func (s *Sessions) List(ctx context.Context, limit int) ([]State, error) {
	states, err := s.states(ctx, limit)
	if err != nil {
		return nil, err
	}
	for i := range states {
		if limit > 0 || !states[i].Final() {
			s.complete(ctx, &states[i])
		}
	}
	return states, ctx.Err()
}

// Page returns sessions of the project, newest first: of those before a session, "" for all, as many as the limit.
func (s *Sessions) Page(ctx context.Context, before string, limit int) ([]State, error) {
	runs, err := s.p.Runs(ctx, hocket.Filter{Label: labelAgent, Before: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	states := make([]State, len(runs))
	for i, r := range runs {
		states[i] = listed(r)
		s.complete(ctx, &states[i])
	}
	return states, ctx.Err()
}

// complete adds what the list of runs does not contain: the attempts, and when the first one started.
func (s *Sessions) complete(ctx context.Context, state *State) {
	if state.Phase == Pending {
		return
	}
	if one, err := s.Find(ctx, state.ID); err == nil { // a damaged session is still listed
		*state = one.State
	}
}

// states is like List, but returns only what the list of runs contains.
func (s *Sessions) states(ctx context.Context, limit int) ([]State, error) {
	runs, err := s.p.Runs(ctx, hocket.Filter{Label: labelAgent, Limit: limit})
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(runs) == limit {
		open, err := s.p.Runs(ctx, hocket.Filter{Label: labelAgent, Status: unfinished, Before: runs[len(runs)-1].ID})
		if err != nil {
			return nil, err
		}
		runs = append(runs, open...)
	}
	states := make([]State, len(runs))
	for i, r := range runs {
		states[i] = listed(r)
	}
	return states, nil
}

var unfinished = []engine.Status{engine.Running, engine.Waiting}

// UnknownError reports that there is no such session.
type UnknownError struct {
	ID  string
	Run string // the run that the id belongs to, or is the id of; "": none
}

func (e *UnknownError) Error() string {
	switch e.Run {
	case "":
		return fmt.Sprintf("there is no session %q", e.ID)
	case e.ID:
		return fmt.Sprintf("run %s is not a session", e.ID)
	}
	return fmt.Sprintf("there is no session %q in run %s", e.ID, e.Run)
}

// Hint returns advice for the user.
func (e *UnknownError) Hint() string {
	if e.Run != "" {
		return "`hocket handoff list --run " + e.Run + "` lists the work that was handed off in it"
	}
	return "`hocket handoff list` lists the sessions, and with `--run RUN` the work that was handed off in a run"
}

// Session is one session.
type Session struct {
	State
	Handoff  *attempt.Handoff
	Answer   *protocol.Response // of the last attempt; nil: no answer
	Output   string             // what the agent answered, as written
	Scripted bool               // the answer comes from a file with replies
	Log      []LogLine

	run     *hocket.Run
	address string             // of its task
	found   []workflow.Finding // the result of checking the last attempt; nil: not checked
}

// LogLine is a line of session.log.
type LogLine struct {
	Time time.Time
	Text string
}

// Find returns a session by its id or a unique prefix of the id. Work that was handed off in a run is
// also found as RUN-NAME, with the session_id of its request, and as RUN/STEP.
func (s *Sessions) Find(ctx context.Context, id string) (*Session, error) {
	if run, step, ok := strings.Cut(id, "/"); ok {
		return s.findStep(ctx, run, step)
	}
	run, err := s.p.Run(ctx, id)
	var unknown *hocket.UnknownRunError
	if errors.As(err, &unknown) && len(unknown.Candidates) == 0 {
		return s.findInside(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return s.read(ctx, run)
}

// exact returns the run with exactly this id. Unlike people, programs must not abbreviate it.
func (s *Sessions) exact(ctx context.Context, id string) (*hocket.Run, error) {
	run, err := s.p.Run(ctx, id)
	if err == nil && run.ID() != id {
		return nil, &hocket.UnknownRunError{ID: id}
	}
	return run, err
}

// read reads a session from the journal.
func (s *Sessions) read(ctx context.Context, run *hocket.Run) (*Session, error) {
	info, err := run.Info(ctx)
	if err != nil {
		return nil, err
	}
	if !IsSession(info) {
		return nil, &UnknownError{run.ID(), run.ID()}
	}
	one := &Session{State: listed(info), run: run, address: sessionName}
	replies, err := run.Replies(ctx)
	if err != nil {
		return nil, err
	}
	one.Scripted = replies != nil && replies.CoversTask(sessionName)
	for e, err := range run.History(ctx, hocket.EventID{}) {
		if err != nil {
			return nil, err
		}
		if err := one.apply(e); err != nil {
			return nil, err
		}
	}
	one.timing(s.now())
	if one.Phase == Pending || one.Phase == Working && !info.Driven {
		if one.Waits = s.Obstacle(one.ID); one.Waits == interrupted {
			one.Waits = ""
		}
	}
	return one, nil
}

// apply updates the session with an entry of its history.
func (one *Session) apply(e hocket.Entry) (err error) {
	if e.Fact == nil {
		switch ev := e.Event.(type) {
		case *engine.Started:
			if one.Handoff, err = attempt.Of(ev.Inputs); err == nil && one.Handoff == nil {
				err = errors.New("it has no request")
			}
			if err != nil {
				return fmt.Errorf("session %s: %w", one.ID, err)
			}
			one.Handoff = one.Handoff.As(one.ID)
			one.began(e.Time)
		case *engine.Recovered:
			if one.Attempts > 0 {
				one.log(e.Time, "Session resumed")
			}
		case *engine.CancelAsked:
			one.Error = cancelled(ev)
			one.log(e.Time, strings.ToUpper(one.Error[:1])+one.Error[1:])
		}
		return nil
	}
	return one.fact(e)
}

// skipped is the beginning of the reason for cancelling a session because a dependency failed.
const skipped = "skipped: "

// cancelled says who cancelled a session, and why. For a skipped session, it names the session that
// it depends on.
func cancelled(ev *engine.CancelAsked) string {
	if strings.HasPrefix(ev.Reason, skipped) {
		return ev.Reason
	}
	return strings.TrimSuffix("cancelled by "+cmp.Or(ev.By, "someone")+": "+ev.Reason, ": ")
}

// ForPeople rewrites a text of the engine for people, who do not know the name of a session's
// workflow.
func ForPeople(text string) string {
	return strings.ReplaceAll(text, `workflow "`+sessionName+`"`, "the session")
}

// timedOut says which limit a session has exceeded.
func (one *Session) timedOut(text string) string {
	q := one.Handoff.Request
	limit := attempt.Limits(q).Runtime
	if limit == 0 || !strings.HasSuffix(text, "longer than "+limit.String()) {
		return text
	}
	for _, c := range q.Constraints {
		if r := one.Handoff.Rule(c); r.Kind == attempt.Duration && r.Duration == limit && q.Timeout != limit {
			return fmt.Sprintf("%s, the limit of the constraint %q", text, c)
		}
	}
	return text + ", its timeout"
}

// fact updates the session with a fact about its task or its run.
func (one *Session) fact(e hocket.Entry) error {
	f := *e.Fact
	f.Text = ForPeople(f.Text)
	if f.Address != one.address && f.Address != "" {
		return nil // it is about work that was handed off
	}
	ended, ok := e.Event.(*engine.TaskEnded)
	if ok = ok && ended.Address == one.address; ok {
		one.found = ended.Found
	}
	switch f.Kind {
	case engine.AttemptStarted:
		if e.Unattended {
			return nil // the process has stopped; the next Recovered continues
		}
		if one.Started.IsZero() {
			one.Started = f.Time
		}
		one.Attempts = f.Attempt
		one.log(f.Time, fmt.Sprintf("Attempt %d started with %s", f.Attempt, one.Agent))
	case engine.AttemptFailed:
		one.log(f.Time, fmt.Sprintf("Attempt %d failed: %s", f.Attempt, f.Text))
		one.Error = f.Text
	case engine.QuestionAsked, engine.Paused:
		one.log(f.Time, "Waiting: "+f.Text)
		one.Waits = f.Text
	case engine.AnswerGiven:
		one.log(f.Time, "Answered: "+f.Text)
		one.Waits = ""
	case engine.Raised:
		one.log(f.Time, "Limits raised by "+f.Text)
	case engine.StepEnded:
		value, err := f.Value()
		if err != nil {
			return err
		}
		if f.Status == engine.Success {
			one.Output, _ = value.(string)
			one.Answer, one.Error = protocol.ReadResponse(one.Output), ""
			break
		}
		one.Error = cmp.Or(f.Text, one.Error)
		if ok {
			one.answered(ended)
		}
	case engine.RunEnded:
		one.Ended = f.Time
		switch {
		case f.Status == engine.TimedOut:
			one.Error = one.timedOut(f.Text)
		case f.Status != engine.Success && one.Error == "":
			one.Error = f.Text
		}
		one.log(f.Time, strings.TrimRight("Session ended: "+string(statuses[f.Status])+": "+one.Error, ": "))
	}
	return nil
}

// answered adds the answer of a failed attempt. If nothing was checked, the output counts as an
// answer only if it looks like one, because it may be the last output of a program that crashed.
func (one *Session) answered(ended *engine.TaskEnded) {
	answer := protocol.ReadResponse(ended.Output)
	if len(ended.Found) > 0 || answer.Form != protocol.ProseForm {
		one.Output, one.Answer = ended.Output, answer
	}
}

// began logs the start of the session.
func (one *Session) began(at time.Time) {
	one.log(at, "Session created: "+one.Handoff.Request.Summary)
	if one.Handoff.Prose {
		one.log(at, "No XML handoff block found: the prose is the task")
	} else {
		one.log(at, "XML handoff validation: PASSED")
	}
}

func (one *Session) log(at time.Time, text string) {
	one.Log = append(one.Log, LogLine{at, strings.ReplaceAll(text, "\n", "\n    ")})
}

// timing fills in how long the session has taken.
func (one *Session) timing(now time.Time) {
	if one.Phase != Waiting {
		one.Waits = ""
	}
	for _, t := range []*time.Time{&one.Created, &one.Started, &one.Ended} {
		*t = moment(*t)
	}
	if one.Started.IsZero() {
		return
	}
	end := one.Ended
	if !one.Final() || end.IsZero() {
		end = now
	}
	took := end.Sub(one.Started)
	if one.Final() {
		one.Duration = took.Round(time.Millisecond).Seconds()
	}
	if estimate := one.Handoff.Request.Estimate; estimate > 0 && took > estimate {
		one.Overdue = true
		one.log(one.Started.Add(estimate), "The session has exceeded its estimated duration of "+one.Estimate)
		sort.SliceStable(one.Log, func(i, j int) bool { return one.Log[i].Time.Before(one.Log[j].Time) })
	}
}

// Dir returns the directory of a session.
func (s *Sessions) Dir(id string) string {
	return filepath.Join(s.p.Root(), filepath.FromSlash(s.relative(id)))
}

// relative returns the directory of a session, with slashes, relative to the project.
func (s *Sessions) relative(id string) string { return path.Join(s.p.Config().Handoff.Dir, id) }

// Cancel cancels a session.
func (s *Sessions) Cancel(ctx context.Context, id, reason string) (hocket.Receipt, error) {
	one, err := s.Find(ctx, id)
	if err != nil {
		return hocket.Receipt{}, err
	}
	switch {
	case one.Final():
		return hocket.Receipt{}, fmt.Errorf("session %s has already ended: %s", one.ID, one.Status)
	case one.Step != "":
		return hocket.Receipt{}, &PartError{one.ID, one.State.Run}
	}
	receipt, err := one.run.Cancel(ctx, reason)
	if err == nil {
		s.Show(ctx, one.ID)
	}
	return receipt, err
}

// PartError reports that a session is part of a run, and cannot be cancelled on its own.
type PartError struct{ ID, Run string }

func (e *PartError) Error() string {
	return fmt.Sprintf("session %s is part of run %s and cannot be cancelled on its own", e.ID, e.Run)
}

// Hint returns advice for the user.
func (e *PartError) Hint() string { return "`hocket cancel " + e.Run + "` cancels the whole run" }

// Next returns the further requests that the agent proposes, as a text to send. They are never sent
// automatically.
func (one *Session) Next() string {
	var b strings.Builder
	if one.Answer != nil {
		for _, q := range one.Answer.Next {
			fmt.Fprintf(&b, "````xml\n%s\n````\n\n", strings.TrimSpace(q.XML))
		}
	}
	return b.String()
}

// Run returns the run of the session.
func (one *Session) Run() *hocket.Run { return one.run }
