package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// onward hands off work of one attempt: with the tool that the agent is given, and with the
// requests in its answer.
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

// equip gives a task the tool, and tells the agent what was handed off before.
func (w *wrapped) equip(task *agent.Task) *onward {
	on := newOnward(&w.o, task)
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
		on.names[of.Session], on.names[cmp.Or(h.Output, of.Session)] = h.ID, h.ID // they differ in a fork
	}
}

// known returns work that was handed off before, by its id or name.
func (on *onward) known(id string) (agent.Handed, error) {
	on.mu.Lock()
	defer on.mu.Unlock()
	h, ok := on.handed[cmp.Or(on.names[id], id)]
	if !ok {
		known := slices.Sorted(maps.Keys(on.handed))
		return h, fmt.Errorf("there is no work with the id %q; known ids: %s", id, cmp.Or(strings.Join(known, ", "), "none"))
	}
	return h, nil
}

// isDetached reports whether work that was handed off is a session of its own.
func isDetached(h agent.Handed) bool {
	of, _ := Of(h.Settings)
	return of != nil && of.Detach
}

// recalled says what became of work that an earlier attempt has handed off.
func recalled(h agent.Handed) string {
	text := "An earlier attempt at your task handed this off: " + h.Prompt + "\n\n"
	switch {
	case h.Running:
		return text + "It is still in progress."
	case h.Error != "":
		return text + "It failed: " + h.Error
	case isDetached(h):
		return text + "It works as the separate session " + h.Output + "."
	}
	return text + "The result:\n" + h.Output
}

// result returns the result of work that was handed off before, and waits for it. A detached session
// is not waited for.
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

// handOff hands a request off. called means that the agent waits for what becomes of it.
func (on *onward) handOff(ctx context.Context, task *agent.Task, q *protocol.Request, around string, called bool) (agent.Handed, error) {
	q, around, err := on.masked(q, around)
	if err != nil {
		return agent.Handed{}, err
	}
	if q.TargetAgent == "" && len(task.Handoffs.To) == 1 {
		q.TargetAgent = task.Handoffs.To[0]
	}
	q.ParentAgent = task.Agent.Name // whatever the agent says who it is
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
		return agent.Handed{}, fmt.Errorf("the session_id %q is that of other work, %s; choose another one", q.SessionID, before.ID)
	}
	work.Blocking = work.Blocking || called && h.outside() // that takes no time
	handed, err := task.HandOff(ctx, work)
	if err == nil {
		on.note(handed)
	}
	return handed, err
}

// masked returns a request, and the text around it, without secrets. What the agent wrote is masked
// already, but in XML a secret may be escaped.
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

// await waits until everything has ended that a request depends on: work that the same task handed
// off. A detached session can also wait for other sessions, and does so itself.
func (on *onward) await(ctx context.Context, task *agent.Task, q *protocol.Request, detach bool) error {
	var left []string
	for _, id := range q.DependsOn {
		before, err := on.known(id)
		switch {
		case err != nil && detach:
			left = append(left, id) // starting the session says whether there is one
			continue
		case err != nil:
			return fmt.Errorf("depends_on: %w", err)
		case isDetached(before) && !detach:
			return fmt.Errorf("depends_on: %q is a session of its own; only work that is detached too can wait for it", id)
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
// same task, in every attempt. If the work failed and is done again, it gets another session: what
// Hocket shows of the first one must not be taken for an answer of the second.
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

// times returns how often work was handed off. The engine does work only once as long as it does
// not fail.
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

// key returns the same text for the same work: it ignores what a fork or a new configuration changes.
func (h *Handoff) key() (string, error) {
	same := &Handoff{Request: h.Request, Context: h.Context, Detach: h.Detach, MessageOnly: h.MessageOnly}
	setting, err := same.Setting()
	return digestOf(workflow.FormatJSON(setting)), err
}

// handoffPrefix is how the engine names tasks that were handed off, with a number.
const handoffPrefix = "handoff-"

// digits is how many digits follow the id of the run in that of a session.
const digits = 12

// RunOf returns the run whose id the id of a session begins with, if it has the form of an id of work
// that was handed off in a run.
func RunOf(session string) (run string, ok bool) {
	at := len(session) - digits - 1
	if at < 1 || session[at] != '-' || strings.Trim(session[at+1:], "0123456789abcdef") != "" {
		return "", false
	}
	return session[:at], true
}

// In returns the handoff as part of a run. If it comes from a run that this one was forked from, its
// session gets an id and a directory of its own.
func (h *Handoff) In(run string) *Handoff {
	if strings.HasPrefix(h.Session, run+"-") || h.Session == h.Request.SessionID {
		return h
	}
	return h.As(run + "-" + h.Session[max(0, len(h.Session)-digits):])
}

// As returns the handoff with another session, which has a directory of its own. That of a run is the
// run, also if it repeats another one.
func (h *Handoff) As(session string) *Handoff {
	if h.Session == session {
		return h
	}
	own := *h
	own.Session, own.Dir = session, path.Join(path.Dir(h.Dir), session)
	return &own
}

// work returns the handoff as work for its agent.
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
		return agent.Handoff{}, fmt.Errorf("the limits on writing cannot be enforced: %s is not a folder", name)
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
// could not be handed off: that does not make the work worse that was done.
func (on *onward) answered(ctx context.Context, task *agent.Task, output string, log agent.Log) (warning string) {
	refused := on.handOffAnswer(ctx, task, output)
	for _, text := range refused {
		log([]byte(text + "\n"))
	}
	return strings.Join(refused, "\n")
}

// handOffAnswer hands off the requests in an answer, and returns what could not be handed off.
func (on *onward) handOffAnswer(ctx context.Context, task *agent.Task, output string) (refused []string) {
	answer := protocol.ReadResponse(output)
	requests, around := answer.Next, ""
	if left := explained(answer.Found); left != "" && answer.Form != protocol.ProseForm {
		refused = append(refused, "left out: "+left)
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
		next = max(next, 0) // if they depend on each other, handing one off says so
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
