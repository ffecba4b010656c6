package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/attempt"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

// Order is a text with requests to carry out.
type Order struct {
	File    string
	Text    []byte
	Agent   string          // overrides target_agent, unless ""
	Mode    protocol.Mode   // overrides mode, unless ""
	Spawn   bool            // run blocking requests in the background too
	Spike   bool            // treat prose as the task of a SPIKE
	Lenient bool            // repair mistakes
	Replies *hocket.Replies // instead of agents and people; nil: none
	// Key makes sending idempotent: the same order with the same key returns the sessions that it was sent
	// with first, and another one is a *[hocket.KeyError]. "" means no key.
	Key string
}

// mode returns the mode of a request.
func (o *Order) mode(own protocol.Mode) protocol.Mode {
	mode := cmp.Or(o.Mode, own)
	if o.Spawn && mode == protocol.Blocking {
		return protocol.Spawn
	}
	return mode
}

// Sent is the result of sending an order.
type Sent struct {
	// Sessions are those that were recorded, in the order of the requests. They have not started yet:
	// see [Sessions.Drive] and [Session.Run].
	Sessions []*Session
	Messaged []string // the agents that will get a message
	Found    workflow.Diagnostics
	Notes    []string // for the user, see [hocket.Run.Notes]
}

// Send checks the requests in a text and records a session for each. If one of them has an
// error, no session is recorded, and the error is an *[hocket.InvalidError].
func (s *Sessions) Send(ctx context.Context, o Order) (*Sent, error) {
	h, drafts, tasks, err := s.examine(ctx, o)
	var secret *hocket.SecretError
	if errors.As(err, &secret) {
		return nil, errors.Join(err, s.noteSecret(o, h))
	}
	if err != nil {
		return nil, err
	}
	sent := &Sent{Found: h.Found}
	if !repeated(drafts) {
		if err := s.noteCheck(o, h); err != nil {
			return nil, err
		}
	}
	if sent.Found.Errors() {
		return sent, &hocket.InvalidError{Diagnostics: sent.Found}
	}
	settled, err := s.p.Settle(ctx, o.Replies, tasks...)
	if err != nil {
		return sent, err
	}
	if err := s.recordAll(ctx, o, drafts, settled, sent); err != nil {
		return sent, err
	}
	return sent, nil
}

// Check reads the requests in a text, and reports every reason for which Send would refuse it.
// untrusted has what Send would first ask the user to approve, or is nil.
func (s *Sessions) Check(ctx context.Context, o Order) (h *protocol.Handoffs, untrusted *hocket.UntrustedError, err error) {
	h, _, tasks, err := s.examine(ctx, o)
	if err == nil && !h.Found.Errors() {
		untrusted, err = s.p.Unsettled(o.Replies, tasks...)
	}
	if err != nil {
		return nil, nil, err
	}
	return h, untrusted, nil
}

// examine checks the requests in a text, and prepares them to be sent.
func (s *Sessions) examine(ctx context.Context, o Order) (h *protocol.Handoffs, drafts []*draft, tasks []*hocket.Workflow, err error) {
	if s.Tmux != nil && s.p.Config().Handoff.Tmux {
		if _, err := s.tmux(); err != nil {
			return nil, nil, nil, err
		}
	}
	if h, err = check(s.p, o); err != nil {
		return nil, nil, nil, err
	}
	if err := s.p.CheckSecret(o.File, string(o.Text)); err != nil {
		return h, nil, nil, err
	}
	if !h.Found.Errors() {
		if drafts, err = s.drafts(ctx, o, h); err != nil {
			return h, nil, nil, err
		}
	}
	for _, d := range drafts { // a secret may be escaped in the text
		if err := s.p.CheckSecret("the request", (&attempt.Handoff{Request: d.Request, Context: d.context}).Prompt()); err != nil {
			return h, nil, nil, err
		}
	}
	tasks, err = s.tasks(o, drafts, h)
	h.Found = h.Found.Sort()
	return h, drafts, tasks, err
}

// tasks returns a task for each agent that gets a request. So agents that cannot work are reported
// before any request is recorded.
func (s *Sessions) tasks(o Order, drafts []*draft, h *protocol.Handoffs) (tasks []*hocket.Workflow, err error) {
	seen := map[string]bool{}
	for _, d := range drafts {
		if d.Mode == protocol.Conversation || seen[d.TargetAgent] {
			continue
		}
		seen[d.TargetAgent] = true
		w, _, err := s.p.LoadTask(hocket.Task{Name: sessionName, Prompt: d.Summary, Agent: d.TargetAgent, Settings: map[string]any{agent.HandoffSetting: nil}})
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, w)
		for _, one := range w.Check(o.Replies) {
			if one.Severity != workflow.Error {
				continue
			}
			if one.File == "" {
				one.Pos = d.pos
			}
			if one.Code == "agent-missing" { // it mentions the step of the session, which is not in the user's text
				one.Summary, one.Detail = "no agent is available for this request", "name one with target_agent or --agent NAME; "+one.Detail
			}
			h.Found = append(h.Found, one)
		}
	}
	return tasks, nil
}

// recordAll records the sessions of all requests, several at a time, so that they share a disk
// write. A session is recorded after those that it depends on: a process that already drives
// sessions skips one that depends on a session that does not exist.
func (s *Sessions) recordAll(ctx context.Context, o Order, drafts []*draft, settled hocket.StartOption, sent *Sent) error {
	const together = 8
	parts, errs := make([]Sent, len(drafts)), make([]error, len(drafts))
	slots := make(chan struct{}, together)
	now := s.now()
	for _, wave := range o.waves(drafts) {
		var group sync.WaitGroup
		for _, i := range wave {
			drafts[i].order = orderOf(now, i)
			slots <- struct{}{}
			group.Go(func() {
				errs[i] = s.record(ctx, o, drafts[i], settled, &parts[i])
				<-slots
			})
		}
		group.Wait()
		if errors.Join(errs...) != nil {
			break
		}
	}
	for _, p := range parts {
		sent.Sessions, sent.Messaged = append(sent.Sessions, p.Sessions...), append(sent.Messaged, p.Messaged...)
		sent.Found, sent.Notes = append(sent.Found, p.Found...), append(sent.Notes, p.Notes...)
	}
	return errors.Join(errs...)
}

// orderOf returns a text that sorts sessions by age: the nth session that was sent at a given time.
func orderOf(now time.Time, n int) string { return fmt.Sprintf("%019d-%06d", now.UnixNano(), n) }

// waves groups the indexes of requests so that each request comes in a later wave than its
// dependencies. There must be no cycle.
func waves(drafts []*draft) (all [][]int) {
	byID, depth := map[string]int{}, make([]int, len(drafts))
	for i, d := range drafts {
		if d.id != "" {
			byID[d.id] = i
		}
	}
	var depthOf func(i int) int
	depthOf = func(i int) int {
		if depth[i] == 0 {
			depth[i] = 1
			for _, id := range drafts[i].DependsOn {
				if on, ok := byID[id]; ok {
					depth[i] = max(depth[i], 1+depthOf(on))
				}
			}
		}
		return depth[i]
	}
	for i := range drafts {
		for len(all) < depthOf(i) {
			all = append(all, nil)
		}
		all[depthOf(i)-1] = append(all[depthOf(i)-1], i)
	}
	return all
}

// draft is a request that is about to become a session.
type draft struct {
	*protocol.Request
	pos     workflow.Pos
	context string
	source  string
	prose   bool
	id      string // "": a new one
	order   string // sorts by age: when it was sent, and its position in the text
	key     string
	known   *hocket.Run // that the key has started; nil: none
}

// drafts prepares all requests, and reports what is wrong with them.
func (s *Sessions) drafts(ctx context.Context, o Order, h *protocol.Handoffs) ([]*draft, error) {
	if h.Blocks == 0 {
		if s.p.Config().Handoff.Required && !o.Spike {
			h.Found = append(withoutBlock(h.Found), workflow.Errorf(workflow.Pos{File: o.File, Line: 1, Column: 1}, protocol.CodeBlock,
				"write an <agent_request> in an XML block: `hocket handoff new` has templates; `--spike` sends research without one", "the project requires a request in XML, but there is none"))
			return nil, nil
		}
		d := proseDraft(o)
		h.Found = append(h.Found, unenforced(s.p, d)...)
		return []*draft{d}, s.recall(ctx, &o, []*draft{d})
	}
	var drafts []*draft
	for _, q := range h.Requests {
		d := &draft{Request: q, pos: q.Pos, context: h.Context, source: string(o.Text), id: q.SessionID}
		if len(h.Requests) > 1 {
			d.source = strings.TrimSpace(h.Context) + "\n\n```xml\n" + q.XML + "\n```\n"
		}
		if o.Agent != "" && q.TargetAgent != "" && o.Agent != q.TargetAgent {
			h.Found = append(h.Found, workflow.Warningf(q.AttributePos("target_agent"), codeAgent, "", "the request names %s, but is sent to %s", q.TargetAgent, o.Agent))
		}
		q.TargetAgent, q.Mode = cmp.Or(o.Agent, q.TargetAgent), o.mode(q.Mode)
		if q.TargetAgent == "" && q.Mode == protocol.Conversation {
			h.Found = append(h.Found, workflow.Errorf(q.Pos, protocol.CodeAttribute, "add target_agent, or name the agent on the command line", "a conversation_only request needs a target_agent"))
		}
		if q.Mode == protocol.Conversation && q.TargetAgent != "" && !takesPrompt(s.p, q.TargetAgent) {
			pos := q.Pos
			if o.Agent == "" {
				pos = q.AttributePos("target_agent")
			}
			h.Found = append(h.Found, workflow.Errorf(pos, codeExecutor, "choose an agent that works from a prompt, or another mode",
				"%s cannot receive a conversation_only request: it does not work from a prompt", q.TargetAgent))
		}
		h.Found = append(h.Found, unenforced(s.p, d)...)
		drafts = append(drafts, d)
	}
	taken := make([]string, len(drafts)) // before recall: an id that the same order takes meanwhile is not taken by another
	for i, d := range drafts {
		if d.id != "" && d.Mode != protocol.Conversation {
			taken[i] = s.taken(ctx, d.id)
		}
	}
	if err := s.recall(ctx, &o, drafts); err != nil {
		return nil, err
	}
	for i, d := range drafts {
		if taken[i] != "" && d.known == nil {
			h.Found = append(h.Found, workflow.Errorf(d.AttributePos("session_id"), protocol.CodeSession, "choose another session_id, or omit it", "Session %s already exists%s", d.id, taken[i]))
		}
	}
	h.Found = append(h.Found, s.checkOrder(ctx, drafts)...)
	return drafts, nil
}

// withoutBlock removes the warning that prose is taken as the task, for cases where it is not.
func withoutBlock(found workflow.Diagnostics) workflow.Diagnostics {
	return slices.DeleteFunc(found, func(d workflow.Diagnostic) bool {
		return d.Code == protocol.CodeBlock && d.Severity == workflow.Warning
	})
}

// unenforced reports write limits that must be enforced but cannot be. The limits of a conversation
// are never enforced, because another task does its work.
func unenforced(p *hocket.Project, d *draft) workflow.Diagnostics {
	h := &attempt.Handoff{Request: d.Request}
	h.LookUp(p.Root())
	limit := h.Limit()
	if limit == nil || d.Mode == protocol.Conversation {
		return nil
	}
	if name := h.NotFolder(p.Root()); name != "" {
		return workflow.Diagnostics{workflow.Errorf(d.pos, protocol.CodeValue, "name the folder that it is in", "the write limits cannot be enforced: %s is not a folder", name)}
	}
	if p.Config().Handoff.Advisory {
		return nil
	}
	why := agent.WriteLimits()
	if why == "" {
		return nil
	}
	return workflow.Diagnostics{workflow.Errorf(d.pos, protocol.CodeValue, "to only tell the agent about the limits, set `handoff: {write_limits: told}` in config.yml", "the write limits cannot be enforced: %s", why)}
}

// proseDraft turns prose into a request: the whole text is the task.
func proseDraft(o Order) *draft {
	title := ""
	for line := range strings.Lines(string(o.Text)) {
		if title = strings.TrimSpace(strings.TrimLeft(line, "# ")); title != "" {
			break
		}
	}
	if runes := []rune(title); len(runes) > 200 {
		title = string(runes[:200]) + "…"
	}
	method := protocol.None
	if o.Spike {
		method = protocol.Spike
	}
	return &draft{prose: true, pos: workflow.Pos{File: o.File, Line: 1, Column: 1}, source: string(o.Text), Request: &protocol.Request{
		Version: "1.0", TargetAgent: o.Agent, Mode: o.mode(protocol.Spawn), Priority: protocol.Medium, Workflow: method,
		Summary: title, Intent: title, Details: strings.TrimSpace(string(o.Text)),
	}}
}

// used says where a session id is used; "" if it is not. A directory that contains only a prompt is
// not in use: the sender may write the prompt there first.
func (s *Sessions) used(ctx context.Context, id string) string {
	if _, err := s.exact(ctx, id); err == nil {
		return " in the list of runs"
	}
	if files, err := os.ReadDir(s.Dir(id)); err == nil && !attempt.OnlyPrompt(files) {
		return " in " + s.relative(id)
	}
	return ""
}

// taken says where a session id that the sender has chosen is used; "" if it is free. An id that
// work in a run could get is never free, even before that work exists, because two sessions would
// share a directory.
func (s *Sessions) taken(ctx context.Context, id string) string {
	if why := s.used(ctx, id); why != "" {
		return why
	}
	if run, inside := attempt.RunOf(id); inside {
		if _, err := s.exact(ctx, run); err == nil {
			return " as an id of work in run " + run
		}
	}
	if one, err := s.findInside(ctx, id); err == nil {
		return " as work in run " + one.State.Run
	}
	return ""
}

// checkOrder checks that sessions depend only on existing sessions, without a cycle.
func (s *Sessions) checkOrder(ctx context.Context, drafts []*draft) (found workflow.Diagnostics) {
	byID := map[string]*draft{}
	for _, d := range drafts {
		if d.id != "" {
			byID[d.id] = d
		}
	}
	for _, d := range drafts {
		for _, id := range d.DependsOn {
			if byID[id] != nil {
				continue
			}
			switch one, err := s.Find(ctx, id); {
			case err != nil || one.ID != id:
				found = append(found, workflow.Errorf(d.AttributePos("depends_on"), protocol.CodeSession, "`hocket handoff list` lists the sessions", "depends_on names an unknown session %q", id))
			case one.Step != "":
				found = append(found, workflow.Errorf(d.AttributePos("depends_on"), protocol.CodeSession, "a session can wait only for other sessions, not for part of a run", "depends_on names %q, which is part of run %s", id, one.State.Run))
			}
		}
	}
	state := map[*draft]int{} // 1: in progress, 2: done
	var visit func(d *draft, way []string)
	visit = func(d *draft, way []string) {
		way = append(way, cmp.Or(d.id, "?"))
		if state[d] == 1 {
			at := slices.Index(way, d.id)
			found = append(found, workflow.Errorf(d.AttributePos("depends_on"), protocol.CodeSession, "remove one of the dependencies", "sessions wait for each other: %s", strings.Join(way[at:], " → ")))
		}
		if state[d] != 0 {
			return
		}
		state[d] = 1
		for _, id := range d.DependsOn {
			if next := byID[id]; next != nil {
				visit(next, way)
			}
		}
		state[d] = 2
	}
	for _, d := range drafts {
		visit(d, nil)
	}
	return found
}

// record records the session of a request, or leaves its context as a message for the agent.
func (s *Sessions) record(ctx context.Context, o Order, d *draft, settled hocket.StartOption, sent *Sent) error {
	c := s.p.Config().Handoff
	if d.known != nil {
		return s.again(ctx, d.known, sent)
	}
	for try := 1; ; try++ {
		id := cmp.Or(d.id, s.newID(d.Summary, try))
		if d.id == "" && s.used(ctx, id) != "" {
			continue
		}
		h := &attempt.Handoff{
			Session: id, Dir: s.relative(id), Request: d.Request, Context: d.context, Source: d.source, Prose: d.prose,
			SessionOnly: c.SessionOnly, Advisory: c.Advisory, Test: c.Test,
		}
		var err error
		if h.Before, err = h.Measure(ctx, s.p.Root()); err != nil {
			return err
		}
		if d.Mode == protocol.Conversation {
			return s.leave(o, d, h, sent)
		}
		if err := s.mark(id); err != nil {
			return fmt.Errorf("handoff: %w", err)
		}
		one, err := s.start(ctx, h, o.Replies, d.order, nil, settled, hocket.WithKeyFor(d.key, o.request()))
		var exists *hocket.ExistsError
		if errors.As(err, &exists) && d.id == "" {
			continue
		}
		if err != nil {
			return err
		}
		if one.ID != id { // the same order came first
			return errors.Join(s.unmark(id), s.again(ctx, one.run, sent))
		}
		sent.Sessions, sent.Notes = append(sent.Sessions, one), append(sent.Notes, one.run.Notes...)
		s.showNew(ctx, one)
		return nil
	}
}

// start records the run of a session. more are labels.
func (s *Sessions) start(ctx context.Context, h *attempt.Handoff, replies *hocket.Replies, order string, more map[string]string, options ...hocket.StartOption) (*Session, error) {
	setting, err := h.Setting()
	if err != nil {
		return nil, err
	}
	q := h.Request
	w, inputs, err := s.p.LoadTask(hocket.Task{
		Name: sessionName, Prompt: q.Summary, Agent: q.TargetAgent, Attempts: 1 + q.MaxRetries, Settings: map[string]any{agent.HandoffSetting: setting},
	})
	if err != nil {
		return nil, err
	}
	chosen, why := q.TargetAgent, ""
	if chosen == "" {
		chosen, why = s.choose(w, replies)
	}
	labels := map[string]string{labelAgent: chosen, labelMode: string(q.Mode), labelMethod: string(q.Workflow), labelSummary: short(q.Summary), labelPriority: string(q.Priority), labelVersion: q.Version, labelOrder: order}
	for label, value := range map[string]string{labelParent: q.ParentAgent, labelDepends: strings.Join(q.DependsOn, " "), labelEstimate: protocol.FormatDuration(q.Estimate)} {
		if value != "" {
			labels[label] = value
		}
	}
	maps.Copy(labels, more)
	options = append(options, hocket.WithRun(h.Session), hocket.WithLabels(labels), hocket.WithLimits(attempt.Limits(q)), hocket.WithReplies(replies))
	if q.Mode == protocol.Blocking && len(q.DependsOn) == 0 {
		options = append(options, hocket.WithClaim())
	}
	run, err := s.p.Record(ctx, w, inputs, options...)
	if err != nil {
		return nil, err
	}
	if why != "" {
		run.Notes = append(run.Notes, why)
	}
	info, err := run.Info(ctx)
	if err != nil {
		return nil, err
	}
	one := &Session{State: listed(info), Handoff: h, run: run, address: sessionName}
	one.began(info.Created)
	one.timing(s.now())
	return one, nil
}

// choose returns the agent for a task that names none, and why it was chosen.
func (s *Sessions) choose(w *hocket.Workflow, replies *hocket.Replies) (name, why string) {
	for _, d := range w.Check(replies) {
		if d.Code == "agent-chosen" {
			why = d.Summary
		}
	}
	if task, ok := w.Model().Body.Nodes[0].Step.(*workflow.Task); ok {
		name = task.Agent
	}
	return cmp.Or(name, s.p.Config().Agent, "default"), why
}

// leave leaves the context of a request for the agent's next task.
func (s *Sessions) leave(o Order, d *draft, h *attempt.Handoff, sent *Sent) error {
	name := d.TargetAgent
	if def, _, _ := s.p.Agents().Resolve(name); def != nil { // the check has reported an error
		name = def.Name
	}
	id := "session " + d.id
	if d.id == "" {
		id = "content " + d.context + "\x00" + d.XML + d.Details // prose has no XML
	}
	left, err := s.p.LeaveMessage(name, id, h.Message())
	switch {
	case err != nil:
		return err
	case left || o.Key != "": // the same order may have left it
		sent.Messaged = append(sent.Messaged, name)
	case d.id != "":
		sent.Found = append(sent.Found, workflow.Warningf(d.AttributePos("session_id"), protocol.CodeSession, "if this is a different message, choose another session_id", "%s already has the message %s, and will not get it again", name, d.id))
	default:
		sent.Found = append(sent.Found, workflow.Warningf(d.pos, protocol.CodeSession, "if this is a different message, give it a session_id", "%s already has this message, and will not get it again", name))
	}
	return nil
}

var notSlug = lazy.Regexp(`[^a-z0-9]+`)

// newID returns the nth id to try for a session.
func (s *Sessions) newID(summary string, n int) string {
	id := s.now().Format("20060102-150405") + "-" + slug(summary)
	if n > 1 {
		id += fmt.Sprintf("-%d", n)
	}
	return id
}

// slug turns a summary into a part of an id.
func slug(summary string) string {
	slug := strings.Trim(notSlug().ReplaceAllString(strings.ToLower(summary), "-"), "-")
	if len(slug) > 40 {
		slug = slug[:40]
		if at := strings.LastIndexByte(slug, '-'); at > 20 {
			slug = slug[:at]
		}
	}
	return cmp.Or(strings.Trim(slug, "-"), "task")
}

// short shortens a text for lists.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 120 {
		return string(runes[:119]) + "…"
	}
	return text
}
