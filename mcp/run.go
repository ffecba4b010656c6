package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/workflow"
)

// drive is a run that this process drives.
type drive struct {
	stop context.CancelFunc
	done chan struct{}
	err  error // valid once done is closed
}

func (d *drive) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// drive drives a run until it ends, waits for people, or the server ends. If the run is driven here
// already, it is driven again afterwards: after two answers at once, the first drive may end before
// it has seen the second one.
func (s *server) drive(p *hocket.Project, run *hocket.Run) {
	ctx, stop := context.WithCancel(s.ctx)
	d := &drive{stop: stop, done: make(chan struct{})}
	s.mu.Lock()
	before := s.drives[run.ID()]
	if before != nil && before.ended() {
		before = nil
	}
	if before != nil {
		d.stop = func() { stop(); before.stop() }
	}
	s.drives[run.ID()] = d
	s.mu.Unlock()
	s.driving.Go(func() {
		defer stop()
		defer close(d.done)
		if before != nil {
			<-before.done
		}
		if info, err := run.Info(ctx); err == nil && info.Status.Done() {
			s.forget(run.ID())
			return
		}
		observer, end := s.sessions(p).Follow(ctx, run, nil)
		defer end()
		var result engine.Result
		if result, d.err = run.Drive(ctx, hocket.Front{Observer: observer, Elsewhere: true}); result.Status.Done() {
			s.forget(run.ID())
		}
	})
}

// forget removes what is known about a run that has ended.
func (s *server) forget(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.drives, run)
	maps.DeleteFunc(s.forms, func(question string, _ shown) bool { return strings.HasPrefix(question, run+" ") })
}

func (s *server) sessions(p *hocket.Project) *handoff.Sessions {
	if s.o.Sessions == nil {
		return handoff.Open(p, nil)
	}
	return s.o.Sessions(p)
}

// driven returns the drive of a run, nil if it is not driven here.
func (s *server) driven(run string) *drive {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drives[run]
}

// start records a run of a workflow and waits for it, or returns its id if it goes on in the
// background.
func (c *call) start(ctx context.Context, w *hocket.Workflow, inputs map[string]any, background bool, title string) (*sdk.CallToolResult, error) {
	options := []hocket.StartOption{hocket.OnlyApproved()}
	if title = agent.OneLine(title, 60); title != "" {
		options = append(options, hocket.WithLabels(map[string]string{titleLabel: title}))
	}
	if !background && c.handle == nil && !c.s.o.served {
		options = append(options, hocket.WithClaim())
		c.s.startGuard()
	}
	// A call that is cancelled now must still know its run, to cancel it.
	run, err := c.p.Record(context.WithoutCancel(ctx), w, inputs, options...)
	if err != nil {
		return nil, err
	}
	return c.carryOut(ctx, run, background)
}

// titleLabel is the label of a run with what a client calls it.
const titleLabel = "title"

// carryOut has a recorded run driven, here or in the background, and waits for it.
func (c *call) carryOut(ctx context.Context, run *hocket.Run, background bool) (*sdk.CallToolResult, error) {
	if background || c.handle != nil {
		if err := c.s.detach(run); err != nil {
			return nil, err
		}
		if c.handle != nil {
			c.handle.run = run
		}
		return c.s.report(ctx, run)
	}
	if c.s.o.served {
		if err := c.s.detach(run); err != nil {
			return nil, err
		}
		return c.follow(ctx, run, true)
	}
	c.s.guarded("+", run)
	defer c.s.guarded("-", run)
	c.s.drive(c.p, run)
	return c.follow(ctx, run, true)
}

// detach has a run driven in the background.
func (s *server) detach(run *hocket.Run) error {
	if s.o.Detach == nil {
		return errors.New("background runs are not supported here")
	}
	return s.o.Detach(run.ID())
}

// follow waits for a run, tells the client about its progress and puts its questions to the user,
// until the run has ended, or only people can continue it, or the client would not wait any longer.
// own means that the run ends with the call.
func (c *call) follow(ctx context.Context, run *hocket.Run, own bool) (*sdk.CallToolResult, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	res, err := c.watch(ctx, run, stop)
	if ctx.Err() != nil { // whatever noticed it first
		if own {
			c.s.abandon(run)
		}
		return nil, context.Cause(ctx)
	}
	return res, err
}

// watch waits for a run until it rests, the call has waited long enough, or ctx is done. It calls stop
// when the server has to end.
func (c *call) watch(ctx context.Context, run *hocket.Run, stop func()) (*sdk.CallToolResult, error) {
	enough := time.NewTimer(c.patience())
	defer enough.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	facts, rest := c.facts(ctx, run), c.rests(ctx, run, 0)
	gates := c.newGates(ctx, run)
	progress := c.progress(ctx)
	if asks, err := gates.look(); asks != nil || err != nil {
		return asks, err
	}
	for {
		select {
		case f, ok := <-facts:
			if !ok { // the run has ended, or cannot be read
				facts = nil
				if rest == nil {
					return c.s.report(ctx, run)
				}
				break
			}
			if text := describe(&f); text != "" && !f.Time.Before(c.began) {
				progress(text)
			}
			if f.Kind == engine.QuestionAsked || len(gates.asking) > 0 {
				if asks, err := gates.look(); asks != nil || err != nil {
					return asks, err
				}
				if rest == nil && len(gates.asking) == 0 { // answered elsewhere
					rest = c.rests(ctx, run, settling)
				}
			}
		case a := <-gates.answers:
			again, err := gates.take(a)
			if err != nil {
				return nil, err
			}
			if again {
				rest = c.rests(ctx, run, 0)
			}
		case <-rest:
			rest = nil
			asks, err := gates.look()
			if asks != nil || err != nil {
				return asks, err
			}
			if len(gates.asking) == 0 {
				return c.s.report(ctx, run)
			}
		case <-beat.C:
			progress("")
		case <-enough.C:
			return c.s.report(ctx, run)
		case <-c.s.leaving:
			if c.s.o.served { // the run continues without the call
				return c.s.report(ctx, run)
			}
			stop()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// abandon cancels a run whose call was cancelled.
func (s *server) abandon(run *hocket.Run) {
	ctx := context.WithoutCancel(s.ctx)
	if _, err := run.Cancel(ctx, "the client cancelled the call"); err != nil {
		if d := s.driven(run.ID()); d != nil {
			d.stop()
		}
	}
	if d := s.driven(run.ID()); d != nil {
		<-d.done
	}
}

// facts yields what happened and happens in a run.
func (c *call) facts(ctx context.Context, run *hocket.Run) <-chan engine.Fact {
	facts := make(chan engine.Fact)
	go func() {
		defer close(facts)
		for e, err := range run.Events(ctx, hocket.EventID{}) {
			if err != nil {
				return // report says what is wrong
			}
			if e.Fact == nil {
				continue
			}
			select {
			case facts <- *e.Fact:
			case <-ctx.Done():
				return
			}
		}
	}()
	return facts
}

// settling is how long a process may take to drive a run after it has answered.
const settling = time.Second

// rests returns a channel that is closed when a run has ended, or when no process drives it any
// more. It begins to look after a while.
func (c *call) rests(ctx context.Context, run *hocket.Run, after time.Duration) <-chan struct{} {
	rest := make(chan struct{})
	d := c.s.driven(run.ID())
	go func() {
		defer close(rest)
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return
		}
		if d != nil {
			select {
			case <-d.done:
			case <-ctx.Done():
			}
			if after == 0 {
				return
			}
		}
		_, _ = run.Wait(ctx) // report says what is wrong
	}()
	return rest
}

// progress returns a function that tells the client how far a call is. It does nothing if the
// client did not ask for that.
func (c *call) progress(ctx context.Context) func(text string) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return func(string) {}
	}
	n, last := 0.0, "working"
	return func(text string) {
		if text != "" {
			last = text
		}
		n++
		_ = c.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: last})
	}
}

// describe returns a line about a fact, "" if it is of no interest.
func describe(f *engine.Fact) string {
	switch f.Kind {
	case engine.StepStarted:
		return f.Address + ": started"
	case engine.StepEnded:
		return f.Address + ": " + string(f.Status)
	case engine.Retrying:
		return f.Address + ": retrying"
	case engine.QuestionAsked:
		return f.Address + ": waits for an answer"
	case engine.RunEnded:
		return "the run ended: " + string(f.Status)
	case engine.PlanChanged:
		return "the plan was changed"
	case engine.AttemptStarted, engine.AttemptFailed, engine.StepSkipped, engine.AnswerGiven, engine.AnswerUnused,
		engine.Decided, engine.Iterated, engine.Paused, engine.Raised, engine.Warned:
	}
	return ""
}

// outcome is what a client learns about a run.
type outcome struct {
	Run       string     `json:"run"`
	Workflow  string     `json:"workflow"`
	Status    string     `json:"status"`
	Error     string     `json:"error,omitempty"`
	Steps     []step     `json:"steps,omitempty"`
	Questions []question `json:"questions,omitempty"`
	Session   string     `json:"session,omitempty"` // of a task, to continue the conversation
	CostUSD   float64    `json:"cost_usd,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
	Next      string     `json:"next,omitempty"` // what to do now
}

type step struct {
	Step   string `json:"step"`
	Status string `json:"status"`
	Agent  string `json:"agent,omitempty"`
	Error  string `json:"error,omitempty"`
}

// question is an open question. Clients cannot answer, but tell their users how to.
type question struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	Answered []string `json:"answer_with"`           // the commands for the user, one for each option
	Replan   string   `json:"replan_with,omitempty"` // and the one that changes the plan instead
	Refused  string   `json:"refused,omitempty"`     // why the last answer in a form was not accepted
}

// Clients cut off or refuse results that are longer than their model can read.
const (
	maxOutput = 48 << 10
	maxSteps  = 60
)

// report describes a run, with its output if it has ended.
func (s *server) report(ctx context.Context, run *hocket.Run) (*sdk.CallToolResult, error) {
	ctx = context.WithoutCancel(ctx) // a call that is over says what became of its run
	state, err := run.State(ctx)
	if state == nil {
		return nil, err
	}
	o := s.outcomeOf(ctx, run, state)
	if state.Status.Done() {
		s.forget(run.ID()) // it may have ended elsewhere
	}
	if d := s.driven(run.ID()); d != nil && d.ended() && d.err != nil {
		o.Error = s.explain(d.err)
	}
	res, err := result(o)
	if err != nil {
		return nil, err
	}
	if text := workflow.FormatText(state.Result.Output); state.Status.Done() && text != "" {
		text = cut(text, "the rest is in the resource "+runURI(run.ID()))
		res.Content = append([]sdk.Content{&sdk.TextContent{Text: text}}, res.Content...)
	}
	res.IsError = state.Status.Done() && state.Status != engine.Success && state.Status != engine.Partial
	return res, nil
}

func (s *server) outcomeOf(ctx context.Context, run *hocket.Run, state *hocket.State) *outcome {
	o := &outcome{Run: run.ID(), Workflow: state.Workflow, Status: string(state.Shown()), Error: state.Result.Error, CostUSD: state.Result.Usage.CostUSD}
	o.Notes = notesOf(run, state)
	for _, r := range state.Result.Steps {
		if len(o.Steps) == maxSteps {
			o.Notes = append(o.Notes, fmt.Sprintf("%d more steps are in the resource %s", len(state.Result.Steps)-maxSteps, runURI(run.ID())))
			break
		}
		o.Steps = append(o.Steps, step{r.Address, string(r.Status), r.Agent, r.Error})
	}
	switch {
	case state.Status.Done():
		if said, err := run.Session(ctx); err == nil {
			o.Session = said.ID
		}
	case len(state.Questions) > 0:
		for _, q := range state.Questions {
			o.Questions = append(o.Questions, s.question(q))
		}
		o.Next = "tell the user what the run asks and the commands that answer; then call hocket_run with action wait"
	case state.Driven || state.Pending:
		o.Next = "the run goes on; call hocket_run with action wait"
	default:
		o.Next = "no process drives the run; the user can continue it with " + s.command("resume", run.ID())
	}
	return o
}

// notesOf returns what was said when a run was started, and what it lacks to go on.
func notesOf(run *hocket.Run, state *hocket.State) []string {
	if state.Stalled == "" {
		return slices.Clip(run.Notes)
	}
	return append(slices.Clip(run.Notes), state.Stalled)
}

func (s *server) question(q hocket.Question) question {
	one := question{ID: q.ID, Kind: string(q.Kind), Text: q.Text, Refused: s.shown(&q).refused}
	for _, o := range q.Options {
		one.Options = append(one.Options, o.Value)
	}
	values := slices.Clip(one.Options)
	if q.Custom || len(values) == 0 {
		values = append(values, "TEXT")
	}
	for _, value := range values {
		words := []string{"answer", q.Run, q.ID, value}
		if q.Kind != engine.PermissionQuestion || q.Orphaned { // a running attempt continues by itself
			words = append(words, "--resume")
		}
		one.Answered = append(one.Answered, s.command(words...))
	}
	if q.Kind == engine.ReplanQuestion {
		one.Replan = quotedWords(s.command("replan", q.Run, "WORDS", "--resume"))
	}
	return one
}

// quotedWords shows that the words of a command are one argument.
func quotedWords(command string) string { return strings.Replace(command, " WORDS ", ` "WORDS" `, 1) }

// cut shortens a text that is too long for a client, and says where the rest is.
func cut(text, rest string) string {
	if len(text) <= maxOutput {
		return text
	}
	begin := strings.ToValidUTF8(text[:maxOutput], "")
	return begin + fmt.Sprintf("\n[cut off: %d of %d bytes; %s]", len(begin), len(text), rest)
}
