package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// tasksExtension lets a server return the handle of long work instead of its result. The id of a
// task is that of its run, so a task outlives client and server.
const tasksExtension = "io.modelcontextprotocol/tasks"

// pollInterval is how often a client should look at a task.
const pollInterval = 2 * time.Second

// handle is where a call leaves the run that becomes a task, if the client supports tasks.
type handle struct{ run *hocket.Run }

type handleKey struct{}

// asTask returns a task instead of a result if the call started one.
func (s *server) asTask(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		r, ok := req.(*sdk.CallToolRequest)
		if !ok || r.ClientCapabilities() == nil || r.ClientCapabilities().Extensions[tasksExtension] == nil {
			return next(ctx, method, req)
		}
		h := &handle{}
		res, err := next(context.WithValue(ctx, handleKey{}, h), method, req)
		if err != nil || h.run == nil {
			return res, err
		}
		t, err := s.task(ctx, h.run)
		if err == nil {
			t.ResultType = "task"
		}
		return t, err
	}
}

// task is the state of a task.
type task struct {
	sdk.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	Message       string              `json:"statusMessage,omitempty"`
	Created       time.Time           `json:"createdAt"`
	Updated       time.Time           `json:"lastUpdatedAt"`
	TTL           *int64              `json:"ttlMs"` // null: it is kept
	PollInterval  int64               `json:"pollIntervalMs"`
	Result        *sdk.CallToolResult `json:"result,omitempty"`
	InputRequests sdk.InputRequestMap `json:"inputRequests,omitempty"`
}

type taskParams struct {
	sdk.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

type taskAck struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

func (s *server) addTasks() {
	err := errors.Join(
		sdk.AddReceivingCustomMethod(s.sdk, "tasks/get", s.getTask),
		sdk.AddReceivingCustomMethod(s.sdk, "tasks/update", s.updateTask),
		sdk.AddReceivingCustomMethod(s.sdk, "tasks/cancel", s.cancelTask),
	)
	if err != nil {
		panic(err) // the SDK has methods of these names
	}
}

// ownRun finds a run that a client started. Of others it says what that means.
func (s *server) ownRun(ctx context.Context, p *hocket.Project, id, otherwise string) (*hocket.Run, error) {
	run, err := p.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	info, err := run.Info(ctx)
	if err == nil && (info.Owner.Via != "mcp" || s.token != "" && !strings.HasPrefix(info.Owner.By, s.token+" (")) {
		err = fmt.Errorf("run %s was started by %s via %s; %s", info.ID, info.Owner.By, info.Owner.Via, otherwise)
	}
	return run, err
}

// notCancelled is what it means for a run that a client wants to cancel.
func (s *server) notCancelled(id string) string {
	return "only a person can cancel it: " + s.command("cancel", id)
}

const notATask = "only runs that a client started are tasks"

func (s *server) getTask(ctx context.Context, ss *sdk.ServerSession, in *taskParams) (*task, error) {
	run, err := s.ownRun(ctx, s.p, in.TaskID, notATask)
	if err != nil {
		return nil, err
	}
	return s.task(ctx, run)
}

func (s *server) task(ctx context.Context, run *hocket.Run) (*task, error) {
	info, err := run.Info(ctx)
	if err != nil {
		return nil, err
	}
	t := &task{ResultType: "complete", TaskID: info.ID, Created: info.Created, Updated: info.Changed, PollInterval: pollInterval.Milliseconds(), Status: "working"}
	switch {
	case info.Status == engine.Cancelled:
		t.Status = "cancelled"
		s.forget(info.ID)
	case info.Status.Done():
		t.Status = "completed"
		t.Result, err = s.report(ctx, run)
	case info.Open > 0:
		err = s.taskQuestions(ctx, run, t)
		if err == nil && t.InputRequests == nil && info.Status == engine.Waiting && !info.Driven {
			// Only a person elsewhere can continue it. Clients show neither their user nor their
			// model the message of a task that works, so the model gets a result, as from a call.
			t.Status = "completed"
			t.Result, err = s.report(ctx, run)
		}
	}
	return t, err
}

// taskQuestions adds what the user of the client may answer, and says what only a person can.
func (s *server) taskQuestions(ctx context.Context, run *hocket.Run, t *task) error {
	open, err := run.Questions(ctx)
	for _, q := range open {
		if !s.asks(&q) {
			one := s.question(q)
			t.Message = "waits for an answer; the user can give it with " + strings.Join(one.Answered, " or ")
			if one.Replan != "" {
				t.Message += ", or change the plan with " + one.Replan
			}
			continue
		}
		if t.InputRequests == nil {
			t.InputRequests = sdk.InputRequestMap{}
		}
		t.InputRequests[s.formKey(&q)] = s.form(&q)
		t.Status = "input_required"
	}
	return err
}

func (s *server) updateTask(ctx context.Context, ss *sdk.ServerSession, in *taskParams) (*taskAck, error) {
	p := s.p.As(s.nameOf(clientOf(ss)), "mcp")
	run, err := s.ownRun(ctx, p, in.TaskID, notATask)
	if err != nil {
		return nil, err
	}
	open, err := run.Questions(ctx)
	for _, q := range open {
		if r, ok := in.InputResponses[s.formKey(&q)].(*sdk.ElicitResult); ok && err == nil {
			_, _, err = s.answer(ctx, p, run, &q, r)
		}
	}
	return &taskAck{ResultType: "complete"}, err
}

func (s *server) cancelTask(ctx context.Context, ss *sdk.ServerSession, in *taskParams) (*taskAck, error) {
	run, err := s.ownRun(ctx, s.p.As(s.nameOf(clientOf(ss)), "mcp"), in.TaskID, s.notCancelled(in.TaskID))
	if err == nil {
		_, err = run.Cancel(ctx, "the client cancelled the task")
	}
	return &taskAck{ResultType: "complete"}, err
}

// clientOf returns the client of a session.
func clientOf(ss *sdk.ServerSession) *sdk.Implementation {
	if params := ss.InitializeParams(); params != nil {
		return params.ClientInfo
	}
	return nil
}
