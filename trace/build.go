package trace

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Options are what a [Builder] needs to know about a run besides its events.
type Options struct {
	Run    string
	Bundle *workflow.Bundle // that the run was started with
	Outer  string           // the run whose attempt has started this one; ""
	// Own is the number of the first event that is the run's own: the Forked of a fork, otherwise 0 or 1. What happened
	// before is in the trace of the other run.
	Own int
	// Texts means that prompts, outputs, arguments and messages of errors become part of the spans.
	Texts bool
	// Executor returns what does the work of an attempt that started, such as llm, shell or reply, and the provider of its model as
	// the project names it; "" if they are unknown. Nil: never known.
	Executor func(f *engine.Fact) (executor, provider string)
	// Details returns what is stored about an attempt that has ended. Nil: nothing.
	Details func(address string, attempt int) Details
}

// Details are what is stored about an attempt.
type Details struct {
	Session    string
	Model      string
	Transcript []byte
	Prompt     string // only if texts are wanted
}

// Builder makes the spans of a run from its events, in their order. It is not safe for concurrent use.
type Builder struct {
	o      Options
	bundle *workflow.Bundle
	root   *Span // nil before the run begins, and after it has ended
	roots  int
	used   engine.Usage // by the attempts of the root
	tasks  int          // that have ended below the root

	attempts map[attemptKey]*attempt // in progress
	newest   map[string]int          // the last attempt of a step, by its address
	steps    map[string]*Span        // calls and questions in progress, by address
	counts   map[string]int          // how often a step began, by address
	ended    []Span                  // by the current event
}

type attemptKey struct {
	address string
	number  int
}

// attempt is one in progress. One that was lost, waits for a quota, or asked a person goes on with the same number.
type attempt struct {
	span     Span
	provider string       // of its model, as the project names it; "": unknown
	used     engine.Usage // before it went on
	begun    bool         // a driver has it
	waits    bool         // no driver has it any more, or not yet again
	stops    bool         // its step was cancelled
}

// NewBuilder returns a builder for a run of which no event was read yet.
func NewBuilder(o Options) *Builder {
	return &Builder{o: o, bundle: o.Bundle, attempts: map[attemptKey]*attempt{}, newest: map[string]int{}, steps: map[string]*Span{}, counts: map[string]int{}}
}

// Event reads the next event, with the facts that follow from it, and returns the spans that it has ended.
func (b *Builder) Event(e engine.Envelope, facts []engine.Fact) []Span {
	b.ended = nil
	switch ev := e.Event.(type) {
	case *engine.Started:
		b.begin(e.Time)
	case *engine.Replanned:
		if b.root == nil {
			b.begin(e.Time)
		}
		b.root.happened(e.Time, "hocket.replanned")
	case *engine.Forked:
		b.fork(e, ev)
	case *engine.Recovered:
		if b.root != nil {
			b.root.happened(e.Time, "hocket.resumed")
		}
		for _, key := range sortedKeys(b.attempts) {
			if b.attempts[key].stops {
				b.endAttempt(key, e.Time, string(engine.FaultCancelled), "", engine.Cancelled, nil)
			}
		}
	case *engine.Queued:
		if a := b.attempts[attemptKey{ev.Address, ev.Attempt}]; a != nil {
			name := "hocket.queued"
			if ev.Begun {
				name = "hocket.begun"
			}
			a.span.happened(e.Time, name)
		}
	case *engine.TaskEnded, *engine.TimerFired, *engine.Asked, *engine.Answered, *engine.Withdrawn, *engine.HandoffAsked, *engine.CancelAsked, *engine.LimitRaised:
	}
	for i := range facts {
		b.fact(e, &facts[i])
	}
	if ev, ok := e.Event.(*engine.TaskEnded); ok {
		b.taskEnded(e, ev, facts)
	}
	b.finish(e, facts)
	if e.Seq < b.o.Own {
		b.ended = nil
	}
	return b.ended
}

// Open returns the spans in progress, outermost first. What began at the same time is ordered by address and attempt.
func (b *Builder) Open() []Span {
	var all []Span
	if b.root != nil {
		all = append(all, *b.root)
	}
	for _, address := range sorted.Keys(b.steps) {
		all = append(all, *b.steps[address])
	}
	for _, key := range sortedKeys(b.attempts) {
		if a := b.attempts[key]; a.begun {
			all = append(all, a.span)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Start.Before(all[j].Start) })
	return all
}

// begin begins the span of the run.
func (b *Builder) begin(at time.Time) {
	before := b.roots
	b.roots++
	b.used, b.tasks = engine.Usage{}, 0
	b.root = b.workflow(Root(b.o.Run, b.roots), SpanID{}, b.bundle.Root.Name, at)
	b.root.set("hocket.workflow.digest", workflow.Digest(b.bundle.Root))
	if before > 0 {
		b.root.Links = append(b.root.Links, Link{Of(b.o.Run), Root(b.o.Run, before), "replan"})
	}
	if b.o.Outer != "" {
		b.root.Links = append(b.root.Links, Link{Of(b.o.Outer), Root(b.o.Outer, 1), "nested"})
	}
}

// fork forgets what happened in another run, with which this one goes on.
func (b *Builder) fork(e engine.Envelope, ev *engine.Forked) {
	b.roots = 0
	b.begin(e.Time)
	b.root.Links = append(b.root.Links, Link{Of(ev.From), Root(ev.From, 1), "fork"})
	b.root.set("hocket.origin", ev.From)
	clear(b.attempts)
	for _, s := range b.steps {
		s.Start, s.Events = e.Time, nil
	}
}

func (b *Builder) workflow(id, parent SpanID, name string, at time.Time) *Span {
	s := b.span(InvokeWorkflow, name, id, parent, at)
	s.set("gen_ai.workflow.name", name)
	return s
}

// span returns a new span.
func (b *Builder) span(operation, with string, id, parent SpanID, at time.Time) *Span {
	s := &Span{Trace: Of(b.o.Run), ID: id, Parent: parent, Operation: operation, Name: strings.TrimSpace(operation + " " + with), Start: at}
	if operation != Ask {
		s.set("gen_ai.operation.name", operation)
	}
	s.set("hocket.run", b.o.Run)
	return s
}

// parent returns the span that a step at an address belongs to: a call, an attempt that handed it off, or the run.
func (b *Builder) parent(address string) SpanID {
	for {
		i := strings.LastIndexByte(address, '/')
		if i < 0 {
			return Root(b.o.Run, b.roots)
		}
		address = address[:i]
		if s := b.steps[address]; s != nil {
			return s.ID
		}
		if n := b.newest[address]; n > 0 {
			return Attempt(b.o.Run, address, n)
		}
	}
}

// about returns the span that a fact is about; nil if there is none.
func (b *Builder) about(f *engine.Fact) *Span {
	if a := b.attempts[attemptKey{f.Address, f.Attempt}]; a != nil {
		return &a.span
	}
	if s := b.steps[f.Address]; s != nil {
		return s
	}
	return b.root
}

func (b *Builder) fact(e engine.Envelope, f *engine.Fact) {
	note := func(name string, more ...Attribute) {
		if s := b.about(f); s != nil {
			s.happened(f.Time, name, append([]Attribute{{"hocket.address", f.Address}}, more...)...)
		}
	}
	switch f.Kind {
	case engine.StepStarted:
		b.stepStarted(f)
	case engine.AttemptStarted:
		b.attemptStarted(e, f)
	case engine.Decided:
		note("hocket.decided", Attribute{"hocket.case", f.Branch.Case})
	case engine.QuestionAsked:
		note("hocket.asked")
	case engine.AnswerGiven:
		note("hocket.answered")
	case engine.Paused:
		note("hocket.paused")
	case engine.Raised:
		note("hocket.raised")
	case engine.Retrying:
		note("hocket.retrying", Attribute{"hocket.until", f.Until.UTC().Format(time.RFC3339)})
	case engine.Iterated:
		note("hocket.iterated", Attribute{"hocket.iteration", int64(f.Attempt)})
	case engine.PlanChanged:
		b.bundle = f.Plan.Bundle
	case engine.AttemptFailed:
		if a := b.attempts[attemptKey{f.Address, f.Attempt}]; a != nil {
			a.span.happened(f.Time, "hocket.failed")
		}
	case engine.StepEnded, engine.StepSkipped, engine.AnswerUnused, engine.Warned, engine.RunEnded:
	}
}

// stepStarted begins the span of a call or of a question to a person. A task has one for each attempt.
func (b *Builder) stepStarted(f *engine.Fact) {
	n := b.bundle.At(place(f.Address))
	if n == nil || b.steps[f.Address] != nil {
		return
	}
	b.counts[f.Address]++
	id := spanID("step", b.o.Run, f.Address, strconv.Itoa(b.counts[f.Address]))
	var s *Span
	switch n.Repeats().Step.(type) {
	case *workflow.Call:
		name := f.Agent
		if called := b.bundle.Called[name]; called != nil {
			name = called.Name
		}
		s = b.workflow(id, b.parent(f.Address), name, f.Time)
	case *workflow.Human:
		s = b.span(Ask, f.Node, id, b.parent(f.Address), f.Time)
	default:
		return
	}
	s.set("hocket.address", f.Address)
	s.set("hocket.node", f.Node)
	b.steps[f.Address] = s
}

// attemptStarted begins the span of an attempt. An attempt that was decided while no process drove the run begins when one does.
func (b *Builder) attemptStarted(e engine.Envelope, f *engine.Fact) {
	key := attemptKey{f.Address, f.Attempt}
	_, forked := e.Event.(*engine.Forked)
	begins := !e.Unattended && !forked
	if a := b.attempts[key]; a != nil && a.begun {
		a.waits = false
		if begins {
			a.span.happened(f.Time, "hocket.again")
		}
		return
	}
	s := b.span(InvokeAgent, f.Agent, Attempt(b.o.Run, f.Address, f.Attempt), b.parent(f.Address), f.Time)
	s.set("gen_ai.agent.name", f.Agent)
	s.set("hocket.workflow", f.Workflow)
	s.set("hocket.address", f.Address)
	s.set("hocket.node", f.Node)
	s.set("hocket.attempt", int64(f.Attempt))
	executor, provider := "", ""
	if b.o.Executor != nil {
		executor, provider = b.o.Executor(f)
	}
	s.set("hocket.executor", executor)
	b.newest[f.Address] = f.Attempt
	b.attempts[key] = &attempt{span: *s, provider: provider, begun: begins}
}

// place returns an address without items and iterations.
func place(address string) string {
	ids := strings.Split(address, "/")
	for i, id := range ids {
		if at := strings.IndexAny(id, "#["); at >= 0 {
			ids[i] = id[:at]
		}
	}
	return strings.Join(ids, "/")
}

// taskEnded ends an attempt, unless it will go on.
func (b *Builder) taskEnded(e engine.Envelope, ev *engine.TaskEnded, facts []engine.Fact) {
	key := attemptKey{ev.Address, ev.Attempt}
	a := b.attempts[key]
	if a == nil {
		return
	}
	failed, over := false, engine.Status("")
	if a.stops {
		over = engine.Cancelled
	}
	for i := range facts {
		switch f := &facts[i]; {
		case f.Address != ev.Address:
		case f.Kind == engine.AttemptFailed && f.Attempt == ev.Attempt:
			failed = true
		case f.Kind == engine.StepEnded:
			over = f.Status
		}
	}
	asks := ev.Fault == nil && ev.Asks != nil && !failed // it is made again with the answer
	goesOn := ev.Fault != nil && (ev.Fault.Kind == engine.FaultLost || ev.Fault.Kind == engine.FaultQuota && ev.Fault.Until.After(e.Time))
	if (asks || goesOn) && over == "" {
		a.waits, a.used = true, a.used.Plus(ev.Usage)
		return
	}
	kind, message := "", ""
	switch {
	case ev.Fault != nil && ev.Fault.Kind == engine.FaultCancelled && (failed || over == engine.TimedOut):
		kind = string(engine.FaultTimeout)
	case ev.Fault != nil:
		kind, message = string(ev.Fault.Kind), ev.Fault.Message
	case failed, over == engine.Failed:
		kind = string(engine.FaultBadOutput)
	case over == engine.TimedOut:
		kind = string(engine.FaultTimeout)
	}
	b.endAttempt(key, e.Time, kind, message, over, ev)
}

// endAttempt ends the span of an attempt. ev is nil if its end was not recorded.
func (b *Builder) endAttempt(key attemptKey, at time.Time, kind, message string, step engine.Status, ev *engine.TaskEnded) {
	a := b.attempts[key]
	delete(b.attempts, key)
	if !a.begun || at.Before(a.span.Start) {
		return
	}
	s := &a.span
	s.End, s.Error = at, kind
	if b.o.Texts {
		s.Message = message
	}
	s.set("error.type", kind)
	s.set("hocket.step.status", string(step))
	if step != "" {
		b.tasks++
	}
	used := a.used
	if ev != nil {
		used = used.Plus(ev.Usage)
	}
	b.used = b.used.Plus(used)
	s.setUsage(used)
	if b.o.Details != nil {
		b.detail(a, key, ev, used)
	}
	b.ended = append(b.ended, *s)
}

// setUsage records what was used. What cost nothing says nothing.
func (s *Span) setUsage(u engine.Usage) {
	if u.TokensIn > 0 || u.TokensOut > 0 {
		s.set("gen_ai.usage.input_tokens", u.TokensIn)
		s.set("gen_ai.usage.output_tokens", u.TokensOut)
	}
	if u.CostUSD > 0 {
		s.set("hocket.cost_usd", u.CostUSD)
	}
	if u.CostUnknown {
		s.set("hocket.cost_unknown", true)
	}
}

// finish ends the spans of steps and of the run that an event has ended.
func (b *Builder) finish(e engine.Envelope, facts []engine.Fact) {
	for i := range facts {
		switch f := &facts[i]; f.Kind {
		case engine.StepEnded, engine.StepSkipped:
			b.stepEnded(f)
		case engine.RunEnded:
			b.runEnded(f)
		case engine.AttemptStarted: // an earlier attempt whose end was not recorded was given up
			for _, key := range sortedKeys(b.attempts) {
				if key.address == f.Address && key.number < f.Attempt {
					b.endAttempt(key, f.Time, string(engine.FaultCancelled), "", "", nil)
				}
			}
		case engine.StepStarted, engine.AttemptFailed, engine.Retrying, engine.QuestionAsked, engine.AnswerGiven, engine.AnswerUnused, engine.Decided,
			engine.Iterated, engine.Paused, engine.Raised, engine.Warned, engine.PlanChanged:
		}
	}
}

func (b *Builder) stepEnded(f *engine.Fact) {
	for _, key := range sortedKeys(b.attempts) {
		a := b.attempts[key]
		switch {
		case key.address != f.Address || key.number > f.Attempt:
		case f.Status == engine.Cancelled && !a.waits: // it is told to stop, and says later what it has used
			a.stops = true
		default:
			b.endAttempt(key, f.Time, errorOf(f.Status), "", f.Status, nil)
		}
	}
	s := b.steps[f.Address]
	if s == nil {
		return
	}
	delete(b.steps, f.Address)
	b.end(s, f)
}

// end ends the span of a step or a run with its status.
func (b *Builder) end(s *Span, f *engine.Fact) {
	s.End, s.Error = f.Time, errorOf(f.Status)
	if b.o.Texts && s.Error != "" {
		s.Message = f.Text
	}
	s.set("error.type", s.Error)
	s.set("hocket.status", string(f.Status))
	b.ended = append(b.ended, *s)
}

// errorOf returns the error that a status means; "" if none.
func errorOf(s engine.Status) string {
	switch s {
	case engine.Failed, engine.TimedOut, engine.Cancelled:
		return string(s)
	case engine.Success, engine.Partial, engine.Skipped, engine.Running, engine.Waiting:
	}
	return ""
}

// runEnded ends the run, and everything in it.
func (b *Builder) runEnded(f *engine.Fact) {
	cancelled := engine.Fact{Time: f.Time, Status: engine.Cancelled}
	for _, key := range sortedKeys(b.attempts) {
		b.endAttempt(key, f.Time, string(engine.FaultCancelled), "", "", nil)
	}
	for _, address := range sorted.Keys(b.steps) {
		s := b.steps[address]
		delete(b.steps, address)
		b.end(s, &cancelled)
	}
	if b.root == nil {
		return
	}
	b.root.set("hocket.steps", int64(b.tasks))
	b.root.setUsage(b.used)
	b.end(b.root, f)
	b.root = nil
}

func sortedKeys(m map[attemptKey]*attempt) []attemptKey {
	keys := slices.Collect(maps.Keys(m))
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.number, b.number)) < 0
	})
	return keys
}
