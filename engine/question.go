package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Question is a question that a run asks people.
type Question struct {
	// ID identifies the question in answers: the address of the step or, for a question of an
	// attempt, the address and a number, such as review@2.
	ID       string            `json:"id"`
	Kind     QuestionKind      `json:"kind"`
	Address  string            `json:"address"`
	Workflow string            `json:"workflow"`
	Node     string            `json:"node"`
	Attempt  int               `json:"attempt,omitempty"` // the one that asks, or that was lost
	Text     string            `json:"text"`
	Detail   string            `json:"detail,omitempty"`
	Options  []workflow.Option `json:"options,omitempty"`  // never empty, unless Custom
	Custom   bool              `json:"custom,omitempty"`   // any other answer is accepted too
	Required bool              `json:"required,omitempty"` // only a person may answer
	Asked    time.Time         `json:"asked"`
	Deadline time.Time         `json:"deadline,omitzero"` // later answers are rejected; zero means none
	Digest   string            `json:"digest"`            // of what is shown
	// Orphaned means that the attempt that asked has ended. The answer is kept for the next
	// attempt, if that asks the same question.
	Orphaned bool `json:"orphaned,omitempty"`
}

// QuestionKind is the reason for a question.
type QuestionKind string

// The kinds of questions.
const (
	GateQuestion       QuestionKind = "gate"       // a human node
	PermissionQuestion QuestionKind = "permission" // an attempt asks while it runs
	BudgetQuestion     QuestionKind = "budget"     // a task might exceed a limit
	LostQuestion       QuestionKind = "lost"       // an attempt whose effect must happen once was lost
	ReplanQuestion     QuestionKind = "replan"     // a step with on_error: replan has failed; a new plan settles it
	TrustQuestion      QuestionKind = "trust"      // whether to trust a project; no run asks it
)

// The answers to questions that the engine itself asks.
const (
	Allow = "allow" // budget: start although the cost is unknown
	Abort = "abort" // budget: end the run
	Rerun = "rerun" // lost: it did not happen
	Done  = "done"  // lost: it happened
	Fail  = "fail"  // lost: count it as failed
	Stop  = "stop"  // replan: the failure ends the workflow
)

// digest returns the same digest for questions of a step that look the same to a person.
func (q *Question) digest() string {
	h := sha256.New()
	write := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	write(string(q.Kind), q.Address, q.Text, q.Detail, strconv.FormatBool(q.Custom))
	for _, o := range q.Options {
		write(o.Value, o.Label, o.Description)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// question is an open question.
type question struct {
	Question
	in     *inst
	issued int32
}

// asks reports whether a running attempt waits for the answer.
func (q *question) asks() bool { return q.Kind == PermissionQuestion && !q.Orphaned }

// kept is an answer for the next attempt of a step.
type kept struct {
	id, value, digest string
}

// open opens a question to people.
func (r *Run) open(in *inst, ask Question) {
	ask.Address, ask.Workflow, ask.Node = in.address, in.n.place.Workflow, in.n.place.Node
	if ask.ID == "" {
		ask.ID = in.address
	}
	ask.Asked, ask.Digest = r.now, ask.digest()
	r.issued++
	q := &question{ask, in, r.issued}
	r.questions[q.ID] = q
	in.open = append(in.open, q)
	r.command(&Ask{q.Question})
	if q.Kind != BudgetQuestion { // a fact already says that it is paused
		r.tell(in, QuestionAsked, q.Text)
	}
	if !q.Deadline.IsZero() {
		r.setTimer(in.timerID(answerTimer), in, 0, q.Deadline)
	}
}

// shut closes a question. how says why, for people who answer later.
func (r *Run) shut(q *question, how string) {
	delete(r.questions, q.ID)
	q.in.open = slices.DeleteFunc(q.in.open, func(o *question) bool { return o == q })
	q.in.shut = r.now.Sub(r.began)
	if q.Kind == PermissionQuestion {
		q.in.asked[q.number()-1] = how
	}
	if !q.Deadline.IsZero() {
		r.clearTimer(q.in.timerID(answerTimer))
	}
	r.rest(q.in)
}

func (q *question) number() int {
	n, _ := strconv.Atoi(q.ID[strings.LastIndexByte(q.ID, '@')+1:])
	return n
}

// withdraw closes the questions of an instance that meant selects.
func (r *Run) withdraw(in *inst, how string, meant func(*question) bool) {
	for _, q := range slices.Clone(in.open) {
		if meant(q) {
			r.shut(q, how)
			r.command(&Withdraw{ID: q.ID})
		}
	}
}

func always(*question) bool { return true }

// ofBudget selects the question about a budget. The question of a lost attempt stays open for the
// next one; before version 3 it did not.
func (r *Run) ofBudget(q *question) bool { return q.Kind == BudgetQuestion || r.version < 3 }

// closeQuestions ends what is asked about an instance that is over.
func (r *Run) closeQuestions(in *inst) {
	r.withdraw(in, "the step has ended", always)
	for _, k := range in.answers {
		r.tell(in, AnswerUnused, fmt.Sprintf("%s (%s): the step did not ask again", k.value, k.id))
	}
	in.answers = nil
}

// ask asks the question of a human node.
func (r *Run) ask(in *inst, s *workflow.Human) {
	if in.phase == asked { // it was asked in an earlier plan
		return
	}
	in.attempt = 1
	q, err := r.gate(in, s)
	if err != nil {
		r.fail(in, &Fault{Kind: FaultError, Message: "question: " + err.Error(), Permanent: true})
		return
	}
	r.tell(in, StepStarted, "")
	in.phase, in.begun, in.sum = asked, int32(r.seq), q.sum()
	r.open(in, q)
}

// gate returns the question of a human node.
func (r *Run) gate(in *inst, s *workflow.Human) (Question, error) {
	q := Question{Kind: GateQuestion, Address: in.address, Text: in.n.text, Options: in.n.options, Custom: s.Custom, Required: s.Required, Deadline: r.now.Add(gateTimeout(in.n))}
	if in.n.prompt == nil {
		return q, nil
	}
	var err error
	q.Text, err = in.n.prompt.Text(in.view())
	return q, err
}

// sum returns the digest of a question for comparison with that of an earlier plan.
func (q *Question) sum() digest { return digestOf(q.digest()) }

// askHeld asks a person about tasks that a budget holds back: one task at a time for each
// workflow that has the budget, and only when nothing is running in it, because running attempts
// may leave enough.
func (r *Run) askHeld() {
	r.paused = slices.DeleteFunc(r.paused, func(in *inst) bool { return in.phase != held }) // some may be cancelled by now
	if len(r.paused) == 0 || r.rehearsal != "" || r.finish != nil {
		return
	}
	asks := map[*frame]*inst{} // the task that a person is asked about
	about := func(over *hold, in *inst) (ask Question, open bool) {
		ask = over.question(in.address, r.factsOf(in))
		ask.Address = in.address
		digest := ask.digest()
		return ask, slices.ContainsFunc(in.open, func(q *question) bool { return q.Digest == digest })
	}
	if !r.replans.at.IsZero() && r.version >= 4 { // a new plan may have changed the order
		for _, in := range r.paused {
			over := r.overBudget(in)
			if over == nil || asks[over.f] != nil {
				continue
			}
			if _, open := about(over, in); open || r.version >= 7 && slices.ContainsFunc(in.open, r.ofBudget) {
				asks[over.f] = in
			}
		}
	}
	for _, in := range r.paused {
		over := r.overBudget(in)
		if over == nil || over.f.running > 0 || asks[over.f] != nil && asks[over.f] != in {
			continue
		}
		asks[over.f] = in
		if ask, open := about(over, in); !open {
			r.withdraw(in, "", r.ofBudget) // the amounts have changed
			r.open(in, ask)
		}
	}
}

// attemptAsks passes the question of an attempt on to people, unless it was answered between
// attempts. It takes over a question that is still open from an earlier attempt.
func (r *Run) attemptAsks(in *inst, ev *Asked) {
	ask := Question{Kind: PermissionQuestion, Address: in.address, Attempt: ev.Attempt, Text: ev.Text, Detail: ev.Detail, Options: ev.Options, Custom: ev.Custom, Required: true}
	digest := ask.digest()
	if i := slices.IndexFunc(in.answers, func(k kept) bool { return k.digest == digest }); i >= 0 {
		k := in.answers[i]
		in.answers = slices.Delete(in.answers, i, i+1)
		r.command(&Reply{ID: k.id, Address: in.address, Attempt: ev.Attempt, Value: k.value, Digest: k.digest})
		return
	}
	if i := slices.IndexFunc(in.open, func(q *question) bool { return q.Orphaned && q.Digest == digest }); i >= 0 {
		q := in.open[i]
		q.Orphaned, q.Attempt = false, ev.Attempt
		r.command(&Ask{q.Question})
		r.rest(in)
		return
	}
	in.asked = append(in.asked, "")
	ask.ID = in.address + "@" + strconv.Itoa(len(in.asked))
	r.open(in, ask)
	r.rest(in)
}

// question returns the question that the attempts of a step ask between them.
func (ev *Asked) question(address string) Question {
	return Question{Kind: GateQuestion, Address: address, Attempt: ev.Attempt, Text: ev.Text, Detail: ev.Detail, Options: ev.Options, Custom: ev.Custom, Required: true}
}

// Digest returns the digest of the question with which an attempt ends, as in [Answer].
func (ev *Asked) Digest() string {
	q := ev.question(ev.Address)
	return q.digest()
}

// askBetween asks a person before the attempt is made again, from where it has ended.
func (r *Run) askBetween(in *inst, ev *TaskEnded) {
	again := *in.cmd // the driver may still use the previous one
	again.Continues = ev.Workspace
	in.cmd, in.phase = &again, asked
	r.open(in, ev.Asks.question(in.address))
}

// answeredBetween makes an attempt again with the answer to its question.
func (r *Run) answeredBetween(in *inst, q *question, value, comment string) {
	again := *in.cmd // the driver may still use the previous one
	again.Answer = &Answer{value, comment, q.Digest}
	in.cmd = &again
	r.admitTask(in)
}

// orphan leaves the questions of an attempt that has ended to the next one.
func (r *Run) orphan(in *inst) {
	for _, q := range in.open {
		if q.asks() {
			q.Orphaned = true
			r.command(&Ask{q.Question})
		}
	}
	r.rest(in)
}

// withdrawn closes a question, or continues an attempt that no longer waits for what it handed off.
func (r *Run) withdrawn(id string) {
	if h := r.awaitedHandoff(id); h != nil {
		h.awaited = false
		r.rest(h.scope.owner)
		return
	}
	r.shut(r.questions[id], "it was withdrawn")
	r.command(&Withdraw{ID: id})
}

// rest pauses the timeout of an attempt while it waits for a person, for what it handed off, or for a machine, and
// resumes it afterwards.
func (r *Run) rest(in *inst) {
	works := in.phase == running
	r.lend(in, works && in.awaits() > 0)
	waits := works && (in.away || in.unbegun || slices.ContainsFunc(in.open, (*question).asks))
	if waits == in.resting {
		return
	}
	id := in.timerID(timeoutTimer)
	if in.resting = waits; waits {
		r.clock.resting++
		if t := r.timers[id]; t != nil {
			in.left = t.Clock - r.elapsed
			if in.unbegun { // it has done nothing yet, however late this is known
				in.left = max(1, in.left)
			}
			r.clearTimer(id)
		}
		return
	}
	r.clock.resting--
	if left := in.left; left > 0 && works {
		in.left = 0
		r.setTimer(id, in, left, time.Time{})
	}
}

// Questions returns all open questions, in the order in which they were asked.
func (r *Run) Questions() []Question {
	open := slices.SortedFunc(maps.Values(r.questions), func(a, b *question) int { return int(a.issued - b.issued) })
	list := make([]Question, len(open))
	for i, q := range open {
		list[i] = q.Question
	}
	return list
}

// admitAnswer returns the question that an answer is for and its value, or an error that says
// what is wrong with the answer.
func (r *Run) admitAnswer(e Envelope, ev *Answered) (*question, string, error) {
	q, err := r.find(ev.ID, e.Time)
	switch {
	case err != nil:
		return nil, "", err
	case ev.Digest == "" && e.Time.Add(time.Microsecond).Before(r.replans.at) && !q.Asked.Before(r.replans.at):
		return nil, "", fmt.Errorf("question %q is new since the plan was changed, and this answer was sent before; read it, then answer", q.ID)
	case r.version >= 2 && !q.Deadline.IsZero() && e.Time.After(q.Deadline):
		return nil, "", fmt.Errorf("the deadline of question %q was %s; it can no longer be answered", q.ID, q.Deadline.UTC().Format(time.RFC3339))
	}
	if value, ok := workflow.Chosen(q.Options, ev.Value); ok {
		return q, value, nil
	}
	if q.Kind == BudgetQuestion && q.Custom {
		_, err := r.amount(q, ev.Value)
		return q, ev.Value, err
	}
	if q.Custom {
		return q, ev.Value, nil
	}
	var offered []string
	for _, o := range q.Options {
		offered = append(offered, o.Value)
	}
	return nil, "", fmt.Errorf("%q does not offer %q; it offers %s", q.ID, ev.Value, strings.Join(offered, ", "))
}

// find returns an open question by its id, or by the address of a step with only one question. It
// does not return a question that was asked after the answer was given, because an answer only
// applies to what the person has seen.
func (r *Run) find(id string, answered time.Time) (*question, error) {
	if q := r.questions[id]; q != nil {
		return q, nil
	}
	in := r.stepAt(id)
	if in == nil || len(in.open) == 0 {
		return nil, r.notOpen(id)
	}
	answered = answered.Add(time.Microsecond) // an inbox may store times with this precision
	switch {
	case len(in.open) > 1:
		return nil, fmt.Errorf("%q asks %d questions; answer one of them by its id: %s", id, len(in.open), ids(in.open))
	case answered.Before(in.open[0].Asked) || answered.Before(r.began.Add(in.shut)):
		return nil, fmt.Errorf("%q has a new question since this answer was sent; answer it by its id: %s", id, ids(in.open))
	}
	return in.open[0], nil
}

func ids(open []*question) string {
	list := make([]string, len(open))
	for i, q := range open {
		list[i] = q.ID
	}
	return strings.Join(list, ", ")
}

// stepAt returns the newest step at an address, or nil.
func (r *Run) stepAt(address string) *inst {
	for _, in := range slices.Backward(r.steps) {
		if in.address == address {
			return in
		}
	}
	return nil
}

// notOpen says why a question cannot be answered.
func (r *Run) notOpen(id string) error {
	address, number, numbered := strings.Cut(id, "@")
	in := r.stepAt(address)
	n, _ := strconv.Atoi(number)
	human := false
	if in != nil {
		_, human = in.n.does.(*workflow.Human)
	}
	switch {
	case numbered && in != nil && 0 < n && n <= len(in.asked):
		return fmt.Errorf("question %s is closed: %s", id, in.asked[n-1])
	case human && in.status == Cancelled:
		return fmt.Errorf("the question %q was withdrawn", id)
	case human && in.status != Skipped, in != nil && (in.isOnce() || in.happened) && in.shut > 0:
		return fmt.Errorf("the question %q is already answered or closed (%s)", id, in.status)
	}
	if len(r.questions) == 0 {
		return errors.New("there is no open question")
	}
	return fmt.Errorf("there is no open question %q; the open questions are: %s", id, strings.Join(sorted.Keys(r.questions), ", "))
}

// answered continues with a person's answer.
func (r *Run) answered(e Envelope, ev *Answered) {
	q, value, _ := r.admitAnswer(e, ev)
	in, text, by := q.in, value, ""
	if ev.By != "" {
		text, by = text+" ("+ev.By+")", " by "+ev.By
	}
	r.shut(q, fmt.Sprintf("it was answered with %q%s", value, by))
	r.tell(in, AnswerGiven, text)
	switch q.Kind {
	case GateQuestion:
		if in.n.isTried() {
			r.answeredBetween(in, q, value, ev.Comment)
			return
		}
		in.passed.decision, in.passed.reason = value, ev.Comment
		r.gateAnswered(in, value, by, ev.Comment)
	case LostQuestion:
		r.lostAnswered(in, value)
	case BudgetQuestion:
		r.budgetAnswered(in, q, value, ev.By)
	case ReplanQuestion:
		if in.atLimit {
			r.over(in)
			r.judge(in)
			return
		}
		r.failFinally(in)
	case PermissionQuestion:
		if q.Orphaned || e.Unattended { // there is no attempt to send a Reply to
			in.answers = append(in.answers, kept{q.ID, value, q.Digest})
		} else {
			r.command(&Reply{ID: q.ID, Address: in.address, Attempt: q.Attempt, Value: value, Digest: q.Digest})
		}
	}
}

func (r *Run) gateAnswered(in *inst, value, by, comment string) {
	human := in.n.does.(*workflow.Human)
	if value == workflow.Reject && len(human.Options) == 0 && len(in.n.place.Decide) == 0 && !human.Custom {
		if comment != "" && r.version >= 7 {
			by += ": " + comment
		}
		r.fail(in, &Fault{Kind: FaultError, Message: "rejected" + by, Permanent: true})
		return
	}
	r.endWith(in, value, nil)
}

// budgetAnswered raises the limit, as LimitRaised does, or lets the task start as it is, or ends
// the run.
func (r *Run) budgetAnswered(in *inst, q *question, value, by string) {
	switch value {
	case Allow:
		in.granted = true
		r.resumeHeld(false)
	case Abort:
		r.end(r.root, Cancelled, cancelText(&CancelAsked{By: by, Reason: "the budget was not raised"}))
	default:
		limits, _ := r.amount(q, value)
		r.limitRaised(&LimitRaised{Limits: limits, By: by})
	}
}

// amount returns the limit that the answer to a question about a budget sets.
func (r *Run) amount(q *question, value string) (workflow.Limits, error) {
	over := r.overBudget(q.in)
	if over == nil {
		return workflow.Limits{}, fmt.Errorf("question %q is closed: the budget is now sufficient", q.ID)
	}
	text, limits := strings.TrimSpace(value), over.f.limits
	if over.tokens {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= limits.Tokens {
			return workflow.Limits{}, fmt.Errorf("invalid limit %q: want %s, or %s", value, over.wants(), Abort)
		}
		return workflow.Limits{Tokens: n}, nil
	}
	usd, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || !(usd > limits.CostUSD) || usd > 1e12 {
		return workflow.Limits{}, fmt.Errorf("invalid limit %q: want %s, or %s", value, over.wants(), Abort)
	}
	return workflow.Limits{CostUSD: usd}, nil
}

// wants describes the answer that raises the limit.
func (h *hold) wants() string {
	if h.tokens {
		return fmt.Sprintf("a number of tokens above %d", h.f.limits.Tokens)
	}
	return "an amount in US dollars above " + workflow.FormatUSD(h.f.limits.CostUSD)
}

// question returns the question about the task at an address.
func (h *hold) question(address string, facts TaskFacts) Question {
	text := h.text(facts)
	text = strings.ToUpper(text[:1]) + text[1:]
	ask := Question{Kind: BudgetQuestion, Required: true, Options: []workflow.Option{{Value: Abort, Description: "end the run"}}}
	if h.unknown {
		budget := "max_cost_usd: 0.50"
		if h.tokens {
			budget = "max_tokens: 20000"
		}
		ask.Text = fmt.Sprintf("Start %q? %s.", address, text)
		ask.Detail = "To set a limit, add a budget such as `budget: {" + budget + "}` to the agent's definition."
		ask.Options = append([]workflow.Option{{Value: Allow, Description: "start it without a limit"}}, ask.Options...)
		return ask
	}
	ask.Custom = true
	ask.Text = fmt.Sprintf("Raise the budget for %q? %s.", address, text)
	ask.Detail = "Answer with the new limit, " + h.wants() + ", or " + Abort + "."
	return ask
}

// mayReplan reports whether a failure waits for a new plan. handled says whether an edge handles it.
func (r *Run) mayReplan(in *inst, handled bool) bool {
	return in.n.def.OnError == workflow.Replan && !handled && in.scope().frame.handoff == nil && r.rehearsal == "" && r.replans.asked < r.root.frame.limits.MaxReplans()
}

// noPlanLeft says that a failure would have waited for a new plan if the limit allowed more of them.
func (r *Run) noPlanLeft(in *inst) string {
	most := r.root.frame.limits.MaxReplans()
	if in.n.def.OnError != workflow.Replan || in.scope().frame.handoff != nil || r.replans.asked < most || r.version < 5 {
		return ""
	}
	return fmt.Sprintf(" (it did not wait for a new plan: replans: %d is used up)", most)
}

// askReplan asks for a new plan, or whether the failure ends the workflow.
func (r *Run) askReplan(in *inst) {
	if r.version >= 4 { // before, questions of lost attempts stayed open
		r.closeQuestions(in)
	}
	in.phase = asked
	last := ""
	if most := r.root.frame.limits.MaxReplans(); r.replans.asked+1 == most && r.version >= 5 {
		last = fmt.Sprintf(" Later failures will not wait for a new plan (replans: %d).", most)
	}
	r.open(in, Question{
		Kind: ReplanQuestion, Attempt: int(in.attempt), Required: true, Detail: in.err,
		Text:    fmt.Sprintf("%q has failed. Change the plan, or stop?%s", in.address, last),
		Options: []workflow.Option{{Value: Stop, Description: "the failure ends the workflow"}},
	})
}
