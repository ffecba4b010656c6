package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// onward hands off work for one attempt, with the tool that the agent gets and with the requests in
// its answer.
type onward struct {
	o      *Options
	mu     sync.Mutex
	handed map[string]agent.Handed // by id
	names  map[string]string       // the ids by session_id, and by the id of a detached session
}

func newOnward(o *Options, task *agent.Task) *onward {
	on := &onward{o: o, handed: map[string]agent.Handed{}, names: map[string]string{}}
	for _, h := range task.Handed {
		on.note(h)
	}
	return on
}

// equip gives a task the tool, and tells the agent which work was handed off before.
func (w *wrapped) equip(task *agent.Task) *onward {
	on := newOnward(w.o, task)
	for _, h := range task.Handed {
		task.Received = append(task.Received, agent.Received{Step: "handoff " + h.ID + " to " + h.To, Output: recalled(h)})
	}
	if w.traits.FromPrompt(task) {
		text := toolText
		if task.Handoffs.Detach {
			text += "\n" + detachText
		}
		task.Tools = append(slices.Clip(task.Tools), agent.Tool{Name: ToolName, Description: text, Input: toolInput(task.Handoffs), Resumes: true, Call: on.call})
	}
	return on
}

// note remembers work that was handed off.
func (on *onward) note(h agent.Handed) {
	on.mu.Lock()
	defer on.mu.Unlock()
	if before, ok := on.handed[h.ID]; ok && before.Key == h.Key {
		h.Handoff = before.Handoff // the same work, which has a session already
	}
	on.handed[h.ID] = h
	of, _ := Of(h.Settings)
	if of == nil {
		return // a program handed it off without the protocol
	}
	if name := of.Request.SessionID; name != "" {
		on.names[name] = h.ID
	}
	if of.Detach {
		on.names[of.Session], on.names[cmp.Or(h.Output, of.Session)] = h.ID, h.ID // these ids differ in a fork
	}
}

// known returns work that was handed off before, by its id or name.
func (on *onward) known(id string) (agent.Handed, error) {
	on.mu.Lock()
	defer on.mu.Unlock()
	h, ok := on.handed[cmp.Or(on.names[id], id)]
	if !ok {
		known := sorted.Keys(on.handed)
		return h, fmt.Errorf("unknown work id %q; known ids: %s", id, cmp.Or(strings.Join(known, ", "), "none"))
	}
	return h, nil
}

// isDetached reports whether work that was handed off is a separate session.
func isDetached(h agent.Handed) bool {
	of, _ := Of(h.Settings)
	return of != nil && of.Detach
}

// recalled describes the state of work that an earlier attempt has handed off.
func recalled(h agent.Handed) string {
	text := "An earlier attempt at your task handed this off: " + h.Prompt + "\n\n"
	switch {
	case h.Running:
		return text + "It is still in progress."
	case h.Error != "":
		return text + "It failed: " + h.Error
	case isDetached(h):
		return text + "It runs as the separate session " + h.Output + "."
	}
	return text + "The result:\n" + h.Output
}

// result waits for work that was handed off before, and returns its result. It does not wait for a
// detached session.
func (on *onward) result(ctx context.Context, task *agent.Task, id string) (agent.Handed, error) {
	before, err := on.known(id)
	if err != nil {
		return agent.Handed{}, err
	}
	got, err := task.HandOff(ctx, agent.Handoff{ID: before.ID, Blocking: true})
	if err != nil {
		return agent.Handed{}, err
	}
	got.Handoff = before.Handoff
	if got.Error == "" && isDetached(got) {
		if on.o.Detached == nil {
			return agent.Handed{}, errDetached
		}
		state, err := on.o.Detached(ctx, got.Output)
		state.Handoff = before.Handoff
		return state, err
	}
	return got, nil
}

// handOff hands off a request. called means that the agent called the tool and waits for the result.
func (on *onward) handOff(ctx context.Context, task *agent.Task, q *protocol.Request, around string, called bool) (agent.Handed, error) {
	q, around, err := on.masked(q, around)
	if err != nil {
		return agent.Handed{}, err
	}
	if q.TargetAgent == "" && len(task.Handoffs.To) == 1 {
		q.TargetAgent = task.Handoffs.To[0]
	}
	q.ParentAgent = task.Agent.Name // not what the agent claims
	for _, name := range q.Notify {
		if !slices.Contains(task.Handoffs.To, name) {
			return agent.Handed{}, fmt.Errorf("notify_on_completion: %q may not be notified, only %s", name, strings.Join(task.Handoffs.To, ", "))
		}
	}
	detach, err := takeDetach(q)
	if err != nil {
		return agent.Handed{}, err
	}
	if err := on.await(ctx, task, q, detach); err != nil {
		return agent.Handed{}, err
	}
	h, err := on.newHandoff(q, around, task, detach)
	if err != nil {
		return agent.Handed{}, err
	}
	work, err := h.work(ctx, task.Dir)
	if err != nil {
		return agent.Handed{}, err
	}
	if before, err := on.known(q.SessionID); q.SessionID != "" && err == nil && before.Key != work.Key {
		return agent.Handed{}, fmt.Errorf("the session_id %q is already used for other work, %s; choose another one", q.SessionID, before.ID)
	}
	work.Blocking = work.Blocking || called && h.outside() // this takes no time
	handed, err := task.HandOff(ctx, work)
	if err == nil {
		on.note(handed)
	}
	return handed, err
}

// masked hides secrets in a request and the text around it. What the agent wrote is already masked,
// but in XML a secret may be escaped.
func (on *onward) masked(q *protocol.Request, around string) (*protocol.Request, string, error) {
	if on.o.Mask == nil {
		return q, around, nil
	}
	setting, err := (&Handoff{Request: q, Context: around}).Setting()
	if err != nil {
		return nil, "", err
	}
	h, err := Of(agent.Handoff{Settings: map[string]any{agent.HandoffSetting: setting}}.Mask(on.o.Mask).Settings)
	if err != nil {
		return nil, "", err
	}
	return h.Request, h.Context, nil
}

// await waits until all work has ended that a request depends on. That is work that the same task
// handed off. A detached session can also depend on other sessions, and waits for them itself.
func (on *onward) await(ctx context.Context, task *agent.Task, q *protocol.Request, detach bool) error {
	var left []string
	for _, id := range q.DependsOn {
		before, err := on.known(id)
		switch {
		case err != nil && detach:
			left = append(left, id) // checked when the session is started
			continue
		case err != nil:
			return fmt.Errorf("depends_on: %w", err)
		case isDetached(before) && !detach:
			return fmt.Errorf("depends_on: %q is a separate session; only detached work can wait for it", id)
		}
		got, err := task.HandOff(ctx, agent.Handoff{ID: before.ID, Blocking: true})
		switch {
		case err != nil:
			return err
		case got.Error != "":
			return fmt.Errorf("skipped: it depends on %s, which failed: %s", id, got.Error)
		case isDetached(before):
			left = append(left, got.Output)
		}
	}
	if detach {
		q.DependsOn = left
	}
	return nil
}

// newHandoff returns the handoff of a request. Its session is the same for the same request of the
// same task, in every attempt. If the work failed and is repeated, it gets another session, so that
// the directory of the first one is not mistaken for an answer of the second.
func (on *onward) newHandoff(q *protocol.Request, around string, task *agent.Task, detach bool) (*Handoff, error) {
	h := on.o.Handoff
	h.Request, h.Context, h.Detach, h.MessageOnly = q, around, detach, q.Mode == protocol.Conversation
	key, err := h.key()
	if err != nil {
		return nil, err
	}
	h.Session = fmt.Sprintf("%s-%s", task.Run, digestOf(fmt.Sprintf("%s\x00%s\x00%d", task.Address, key, on.times(key)))[:digits])
	if detach {
		h.Session = cmp.Or(q.SessionID, h.Session)
	}
	h.Dir = path.Join(on.o.Handoff.Dir, h.Session)
	return &h, nil
}

// times returns how often work was handed off. The engine repeats work only if it failed.
func (on *onward) times(key string) (n int) {
	on.mu.Lock()
	defer on.mu.Unlock()
	for _, h := range on.handed {
		if h.Key == key {
			n++
		}
	}
	return n
}

// key identifies the work. It ignores everything that a fork or a new configuration changes.
func (h *Handoff) key() (string, error) {
	same := &Handoff{Request: h.Request, Context: h.Context, Detach: h.Detach, MessageOnly: h.MessageOnly}
	setting, err := same.Setting()
	return digestOf(workflow.FormatJSON(setting)), err
}

// handoffPrefix begins the names of tasks that were handed off. A number follows.
const handoffPrefix = "handoff-"

// digits is the number of digits after the id of the run in the id of a session.
const digits = 12

// RunOf returns the run in the id of a session, if the id has the form of work that was handed off in
// a run.
func RunOf(session string) (run string, ok bool) {
	at := len(session) - digits - 1
	if at < 1 || session[at] != '-' || strings.Trim(session[at+1:], "0123456789abcdef") != "" {
		return "", false
	}
	return session[:at], true
}

// In returns the handoff as part of a run. If this run is a fork, the session gets a new id and
// directory.
func (h *Handoff) In(run string) *Handoff {
	if strings.HasPrefix(h.Session, run+"-") || h.Session == h.Request.SessionID {
		return h
	}
	return h.As(run + "-" + h.Session[max(0, len(h.Session)-digits):])
}

// As returns the handoff with another session id, and the directory of that session. If the session
// is a run, its id is that of the run, even if the run repeats another one.
func (h *Handoff) As(session string) *Handoff {
	if h.Session == session {
		return h
	}
	own := *h
	own.Session, own.Dir = session, path.Join(path.Dir(h.Dir), session)
	return &own
}

// work returns the handoff in the form that the engine needs.
func (h *Handoff) work(ctx context.Context, dir string) (agent.Handoff, error) {
	q := h.Request
	key, err := h.key()
	if err != nil {
		return agent.Handoff{}, err
	}
	if h.Before, err = h.Measure(ctx, dir); err != nil {
		return agent.Handoff{}, err
	}
	if name := h.NotFolder(dir); name != "" && !h.MessageOnly {
		return agent.Handoff{}, fmt.Errorf("the write limits cannot be enforced: %s is not a folder", name)
	}
	setting, err := h.Setting()
	if err != nil {
		return agent.Handoff{}, err
	}
	work := agent.Handoff{
		To: q.TargetAgent, Prompt: q.Summary, Settings: map[string]any{agent.HandoffSetting: setting}, Attempts: 1 + q.MaxRetries,
		Limits: Limits(q), Blocking: q.Mode == protocol.Blocking, Key: key, Detach: h.Detach,
	}
	if h.outside() {
		may := workflow.Free
		if h.Detach {
			may = work.Limits.Budget()
		}
		work.Attempts, work.Limits, work.May = 1, workflow.Limits{}, &may
	}
	return work, nil
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// answered hands off the requests in the answer of an attempt, and returns a warning about those that
// could not be handed off. It is not an error, because the attempt's own work is done.
func (on *onward) answered(ctx context.Context, task *agent.Task, output string, log agent.Log) (warning string) {
	refused := on.handOffAnswer(ctx, task, output)
	for _, text := range refused {
		log([]byte(text + "\n"))
	}
	return strings.Join(refused, "\n")
}

// handOffAnswer hands off the requests in an answer, and returns why some could not be handed off.
func (on *onward) handOffAnswer(ctx context.Context, task *agent.Task, output string) (refused []string) {
	answer := protocol.ReadResponse(output)
	requests, around := answer.Next, ""
	if left := explained(answer.Found); left != "" && answer.Form != protocol.ProseForm {
		refused = append(refused, left)
	}
	if answer.Form == protocol.ProseForm || answer.Form == protocol.JSONForm && len(requests) == 0 {
		found, err := protocol.Read("answer.md", []byte(output), protocol.Options{Lenient: true})
		if err != nil || found.Blocks == 0 {
			return refused
		}
		if found.Found.Errors() {
			return append(refused, "not handed off: "+explained(found.Found))
		}
		requests, around = found.Requests, found.Context
	}
	// Those that depend on others come last.
	slices.SortStableFunc(requests, func(a, b *protocol.Request) int { return min(len(a.DependsOn), 1) - min(len(b.DependsOn), 1) })
	for len(requests) > 0 {
		next := slices.IndexFunc(requests, func(q *protocol.Request) bool { return !dependsOnAny(q, requests) })
		next = max(next, 0) // if there is a cycle, handing one off reports it
		q := requests[next]
		requests = slices.Delete(requests, next, next+1)
		if q.Mode == protocol.Blocking {
			q.Mode = protocol.Spawn // the attempt has ended
		}
		if _, err := on.handOff(ctx, task, q, around, false); err != nil {
			refused = append(refused, fmt.Sprintf("not handed off: %q: %v", q.Summary, err))
		}
	}
	return refused
}

// dependsOnAny reports whether a request depends on one of the requests.
func dependsOnAny(q *protocol.Request, requests []*protocol.Request) bool {
	return slices.ContainsFunc(requests, func(other *protocol.Request) bool {
		return other.SessionID != "" && slices.Contains(q.DependsOn, other.SessionID)
	})
}
