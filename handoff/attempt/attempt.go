package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/lazy"
)

// Options has what a project provides for tasks that were handed off. Every field is optional.
type Options struct {
	// Inbox returns the messages for the agent of a task. All attempts of a task get the same
	// messages.
	Inbox func(task *agent.Task) ([]Message, error)
	// Received is called when the agent has answered a task with messages. Until then it may not have
	// read them: if the task ends without an answer, the next task gets them.
	Received func(task *agent.Task) error
	// Test runs the project's test command and returns why it failed. The command runs code that the
	// agent wrote, so it may write only where the task may.
	Test func(ctx context.Context, task *agent.Task, command string, log agent.Log) error
	// LeaveMessage leaves a message for an agent. A second message with the same id is ignored.
	LeaveMessage func(agent, id string, m Message) error
	// Detach starts a session for work that a task detaches from its run, only once per task.
	Detach func(ctx context.Context, task *agent.Task, h *Handoff) error
	// Detached returns the state of a session that Detach has started.
	Detached func(ctx context.Context, id string) (agent.Handed, error)
	// Mask hides secrets in text that the agent wrote to a file.
	Mask func(text string) string
	// Handoff has the defaults for all work that attempts hand off, and for tasks of a workflow whose
	// setting names no session: the directory of all sessions, and what the project requires.
	Handoff Handoff
}

// Wrap returns an executor for tasks that were handed off, and for tasks of agents with messages.
func Wrap(exec agent.Executor, o *Options) agent.Executor {
	return &wrapped{exec, exec.Traits(), o}
}

type wrapped struct {
	agent.Executor
	traits agent.Traits
	o      *Options
}

func (w *wrapped) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	h, err := Of(task.Settings)
	if err != nil {
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	own := *task
	if h != nil {
		switch {
		case h.Session == "":
			h.adopt(task, w.o.Handoff)
		case strings.Contains(task.Address, "/"+handoffPrefix):
			h = h.In(task.Run)
		case task.Workflow == SessionName && task.Address == SessionName:
			h = h.As(task.Run)
		}
		if h.outside() {
			return w.sendOutside(ctx, task, h)
		}
		if h.Known == nil {
			h.LookUp(task.Dir)
		}
		own.Settings = maps.Clone(task.Settings)
		delete(own.Settings, agent.HandoffSetting)
		own.Writes = h.Limit()
	}
	if w.o.Inbox != nil && takesMessages(w.traits, &own) {
		messages, err := w.o.Inbox(task)
		if err != nil {
			return agent.Result{}, agent.Errorf("cannot read the messages for %s: %v", task.Agent.Name, err)
		}
		for _, m := range messages {
			own.Received = append(own.Received, agent.Received{Step: m.name(), Output: m.Text})
		}
		h = inherit(h, messages)
	}
	switch {
	case h == nil:
	case h.Session == "":
		own.Prompt = h.addTo(task.Prompt)
	default:
		own.Prompt = h.Prompt()
	}
	if task.HandOff == nil {
		return w.work(ctx, &own, h, log)
	}
	on := w.equip(&own)
	res, err := w.work(ctx, &own, h, log)
	if err == nil {
		res.Warning = on.answered(ctx, task, res.Output, log)
	}
	return res, err
}

// Scripted returns an executor for scripted replies. The requests in a reply are handed off like those
// in an agent's answer, and a task that was handed off fails if the reply says so. Deliverables are not
// checked, because no agent runs.
func Scripted(exec agent.Executor, o *Options) agent.Executor { return &scripted{exec, o} }

type scripted struct {
	agent.Executor
	o *Options
}

func (s *scripted) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	res, err := s.Executor.Run(ctx, task, log)
	if _, handed := task.Settings[agent.HandoffSetting]; err == nil && handed {
		err = failure(task, protocol.ReadResponse(res.Output))
	}
	if err == nil && task.HandOff != nil {
		res.Warning = newOnward(s.o, task).answered(ctx, task, res.Output, log)
	}
	return res, err
}

func (w *wrapped) work(ctx context.Context, task *agent.Task, h *Handoff, log agent.Log) (agent.Result, error) {
	if h == nil {
		return w.run(ctx, task, log)
	}
	return w.deliver(ctx, task, h, log)
}

func (w *wrapped) run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	res, err := w.Executor.Run(ctx, task, log)
	if err == nil && w.o.Received != nil {
		if lost := w.o.Received(task); lost != nil {
			log([]byte("the next task of " + task.Agent.Name + " may get the same messages again: " + lost.Error() + "\n"))
		}
	}
	return res, err
}

var notInID = lazy.Regexp(`[^A-Za-z0-9._-]+`)

// adopt gives a task of a workflow its own session, the same for all its attempts.
func (h *Handoff) adopt(task *agent.Task, defaults Handoff) {
	h.Session = notInID().ReplaceAllString(task.Run+"."+task.Address, "-")
	h.Dir = path.Join(defaults.Dir, h.Session)
	h.SessionOnly = h.SessionOnly || defaults.SessionOnly
	h.Advisory = h.Advisory || defaults.Advisory
	h.Test = cmp.Or(h.Test, defaults.Test)
	h.Detach, h.MessageOnly = false, false
}

// deliver runs an attempt and checks what it delivers.
func (w *wrapped) deliver(ctx context.Context, task *agent.Task, h *Handoff, log agent.Log) (agent.Result, error) {
	if err := h.makeFolder(task.Dir); err != nil {
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	before, shown := h.ownResult(task.Dir)
	if task.Attempt > 1 && !shown {
		before = "" // an earlier attempt may have written it, and that is enough
	}
	res, err := w.run(ctx, task, log)
	if err != nil {
		return res, err
	}
	if own, shown := h.ownResult(task.Dir); !shown && own != "" && own != before {
		if res.Output = own; w.o.Mask != nil {
			res.Output = w.o.Mask(own)
		}
	}
	answer := protocol.ReadResponse(res.Output)
	found, err := h.Check(ctx, task.Dir, answer)
	if err != nil {
		return res, err
	}
	if h.Session != "" {
		res.Found = found[:h.own()]
	}
	if err := failure(task, answer); err != nil {
		return res, err
	}
	if missing := h.missing(found); len(missing) > 0 {
		return res, &agent.Error{Kind: agent.BadOutput, Message: "not everything was delivered:\n- " + strings.Join(missing, "\n- ")}
	}
	if h.Request.Workflow == protocol.TDD && h.Test != "" && w.o.Test != nil {
		if err := w.o.Test(ctx, task, h.Test, log); err != nil {
			return res, &agent.Error{Kind: agent.BadOutput, Message: fmt.Sprintf("the test command failed: %v", err)}
		}
	}
	return res, nil
}

// failure returns an error if the agent reports in its answer that it failed.
func failure(task *agent.Task, answer *protocol.Response) error {
	if answer.Status != protocol.Failed {
		return nil
	}
	return agent.Errorf("%s reports that it failed: %s", cmp.Or(task.Agent.Name, "the agent"), cmp.Or(strings.Join(answer.Errors, "; "), answer.Summary))
}

// makeFolder creates the directory of the session. The path must not contain a link, because the
// agent could then write elsewhere.
func (h *Handoff) makeFolder(root string) error {
	if h.Dir == "" {
		return nil
	}
	dir, err := OpenSession(root, h.Dir)
	if err == nil {
		err = dir.Close()
	}
	if err != nil {
		return fmt.Errorf("cannot use the session directory: %w", err)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("handoff: %w", err)
	}
	defer r.Close()
	if limit := h.Limit(); limit != nil && len(limit.Except) > 0 {
		// The agent cannot create directories next to paths that must not change.
		for _, file := range h.Files() {
			_ = r.MkdirAll(path.Dir(file), 0o755) // if that fails, the file will be missing
		}
	}
	return nil
}

// ownResult returns the content of result.json, or "" if there is none. shown means that Hocket
// wrote it after the session had ended, which is clear from the key handoff.
func (h *Handoff) ownResult(root string) (text string, shown bool) {
	if h.Dir == "" {
		return "", false
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return "", false
	}
	defer r.Close()
	own, err := readSmall(r, h.resultFile())
	var object map[string]json.RawMessage
	if err != nil || json.Unmarshal(own, &object) != nil {
		return "", false
	}
	_, shown = object["handoff"]
	return string(own), shown
}
