package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/internal/process"
)

const (
	startPatience  = 2 * time.Minute        // for the program to start and open a conversation
	cancelPatience = 3 * time.Second        // for an agent to stop its turn when asked
	exitPatience   = 2 * time.Second        // for a program to exit after its input has ended
	replayPatience = 10 * time.Second       // for an agent that replays a conversation after it has reported that it is ready
	replayQuiet    = 300 * time.Millisecond // after which such an agent is assumed to be done
)

// Converse runs a task as one turn of a conversation with the program.
func Converse(ctx context.Context, start *cli.Start, task *agent.Task, log agent.Log) (agent.Result, error) {
	turnCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &talk{start: start, quirks: start.Quirks, task: task, client: newClient(turnCtx, start, task, log, stop)}
	if t.quirks.IgnoresEnd {
		start.Command.Grace = exitPatience / 4
	}
	var err error
	if t.program, err = start.Command.Start(context.WithoutCancel(ctx), t.complain); err != nil {
		return agent.Result{}, start.Failure(err.Error(), 0)
	}
	defer t.end()
	t.connect()
	response, err := t.run(turnCtx)
	return t.result(ctx, turnCtx, response, err)
}

// talk is one conversation from the start of the program to its end.
type talk struct {
	start   *cli.Start
	quirks  cli.Quirks
	task    *agent.Task
	client  *client
	program *process.Conversation
	conn    *acp.Connection
	words   process.Tail // standard error, and output that is not a message
	session string
	opened  sessionResponse
	can     capabilities
}

// complain receives the program's standard error.
func (t *talk) complain(piece []byte) error {
	t.client.log.Piece(piece)
	return t.words.Add(piece)
}

func (t *talk) connect() {
	in := newMessages(t.program.Stdout, &t.words, t.client.room)
	t.conn = acp.NewConnection(t.client.handle, t.program.Stdin, in)
	t.conn.SetLogger(slog.New(slog.DiscardHandler))
	in.open() // set now, because the logger must not change while messages arrive
}

// end lets the program exit by itself if it does, and makes sure that it and everything
// that it started are gone.
func (t *talk) end() {
	_ = t.program.Stdin.Close()
	if !t.quirks.IgnoresEnd {
		t.await()
	}
	_ = t.program.Stop() // how it ends no longer matters
	t.client.leave()
}

// await gives a program time to exit.
func (t *talk) await() {
	patience := time.NewTimer(exitPatience)
	defer patience.Stop()
	select {
	case <-t.program.Done():
	case <-patience.C:
	}
}

// errSilent is the reason for killing a program that does not open a conversation.
var errSilent = errors.New("acp: it did not open a conversation")

// run opens the conversation and runs one turn.
func (t *talk) run(ctx context.Context) (promptResponse, error) {
	opening, stop := context.WithTimeoutCause(ctx, startPatience, errSilent)
	defer stop()
	if err := t.initialize(opening); err != nil {
		return promptResponse{}, err
	}
	if err := t.open(opening); err != nil {
		return promptResponse{}, err
	}
	if err := t.choose(opening); err != nil {
		return promptResponse{}, err
	}
	return t.prompt(ctx)
}

// prompt runs the turn. When ctx is done, it asks the agent to stop and waits a moment:
// after an orderly end, the conversation can be continued and its usage is known.
func (t *talk) prompt(ctx context.Context) (promptResponse, error) {
	waiting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	asked := context.AfterFunc(ctx, func() {
		_ = t.conn.SendNotification(waiting, acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(t.session)})
		if t.quirks.IgnoresCancel {
			giveUp()
			return
		}
		select {
		case <-time.After(cancelPatience):
		case <-waiting.Done():
		}
		giveUp()
	})
	defer asked()
	t.client.listen()
	return acp.SendRequest[promptResponse](t.conn, waiting, acp.AgentMethodSessionPrompt, acp.PromptRequest{
		SessionId: acp.SessionId(t.session), Prompt: []acp.ContentBlock{acp.TextBlock(t.text())},
	})
}

// text returns the prompt, preceded by the system prompt if the agent has no other place
// for it and has not received it yet.
func (t *talk) text() string {
	system := t.task.Agent.Prompt
	if system == "" || t.can.Session.SystemPrompt != nil || t.resumes() {
		return t.task.Prompt
	}
	return system + "\n\n" + t.task.Prompt
}

// result returns the outcome of the turn.
func (t *talk) result(ctx, turnCtx context.Context, response promptResponse, err error) (agent.Result, error) {
	result := agent.Result{Usage: agent.Usage{CostUnknown: true}}
	t.client.answer() // ends the current message
	if t.session != "" {
		spent := t.spent(response)
		if spent.model != "" && t.task.NoteModel != nil {
			t.task.NoteModel(spent.model)
		}
		result.Usage = spent.since(t.before())
		result.Conversation = &agent.Conversation{Native: t.session, Spent: spent.total(t.before())}
	}
	if err := t.failure(ctx, turnCtx, response, err); err != nil {
		return result, err
	}
	if t.task.Agent.Budget.Exceeded(result.Usage) {
		return result, t.client.overBudget() // most agents report the usage of a turn only now
	}
	result.Output = t.client.answer()
	return result, nil
}

func (t *talk) before() agent.Usage {
	if t.task.Conversation == nil {
		return agent.Usage{}
	}
	return t.task.Conversation.Spent
}

// failure explains to the author of the workflow why the turn failed; nil if it did not.
func (t *talk) failure(ctx, turnCtx context.Context, response promptResponse, err error) error {
	name := t.start.Manifest.Name
	var refused *acp.RequestError
	var known *agent.Error
	switch {
	case ctx.Err() != nil:
		return agent.Interrupted(ctx)
	case turnCtx.Err() != nil:
		return context.Cause(turnCtx)
	case errors.As(err, &known):
		return known
	case err != nil && t.gone():
		return t.died()
	case errors.As(err, &refused):
		return t.refused(refused)
	case err != nil:
		return agent.Errorf("%s: %v", name, err)
	}
	return t.stopped(response)
}

// gone reports whether the program has exited or closed the connection.
func (t *talk) gone() bool {
	select {
	case <-t.conn.Done():
		return true
	default:
		return false
	}
}

// died returns the error for a program that exited during a turn.
func (t *talk) died() error {
	_ = t.program.Stdin.Close()
	t.await()
	exit := t.program.Stop()
	how := "it exited during its turn"
	if exit != nil && !errors.Is(exit, process.ErrCutOff) {
		how = fmt.Sprintf("it exited during its turn: %v", exit)
	}
	if last := t.words.Last(); last != "" {
		how += ": " + last
	}
	return t.start.Failure(how, 0)
}

// stopped interprets the reason for which a turn ended normally.
func (t *talk) stopped(response promptResponse) error {
	name := t.start.Manifest.Name
	switch response.StopReason {
	case acp.StopReasonEndTurn:
		spent := t.spent(response)
		return t.client.silence(t.quirks.Usage != "" && spent.tokens.Output == 0)
	case acp.StopReasonMaxTokens:
		return &agent.Error{Kind: agent.BadOutput, Message: "the answer of " + name + " was cut off: it reached the model's limit on output tokens"}
	case acp.StopReasonMaxTurnRequests:
		return agent.Permanentf("%s reached its turn limit", name)
	case acp.StopReasonRefusal:
		return agent.Permanentf("the model of %s refused to answer", name)
	case acp.StopReasonCancelled:
		return agent.Errorf("%s reported that it was cancelled", name)
	}
	return agent.Errorf("%s stopped for an unknown reason: %q", name, response.StopReason)
}

var _ cli.Driver = Converse
