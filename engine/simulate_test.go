package engine_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/oracle"
	"github.com/hocket-dev/hocket/workflow"
)

var (
	simRuns  = flag.Uint64("sim", 10000, "how many random workflows to simulate")
	simFirst = flag.Uint64("simfirst", 1, "the seed of the first one; the others follow")
	simSeed  = flag.Uint64("simseed", 0, "simulate only this seed")
)

// TestSimulation runs random workflows with random outcomes, losses, crashes and cancels. Whatever
// happens, nothing gets stuck, no limit is exceeded, and the events alone lead to the same state.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		if err := simulate(*simSeed, t.Logf); err != nil {
			t.Fatal(err)
		}
		return
	}
	runs := *simRuns
	if testing.Short() {
		runs /= 10
	}
	for seed := *simFirst; seed < *simFirst+runs; seed++ {
		if err := simulate(seed, nil); err != nil {
			t.Fatalf("seed %d: %v\nrepeat with: go test ./engine -run Simulation -simseed %d -v", seed, err, seed)
		}
	}
}

// simulation is a driver without an outside world.
type simulation struct {
	*rand.Rand
	*oracle.World
	bundle *workflow.Bundle
	run    *engine.Run
	other  *engine.Run   // was never restored and keeps all outputs; nil if run is like that
	stores bool          // run keeps no outputs
	model  *oracle.Model // what the semantics require; nil in a fork
	events []engine.Envelope
	now    time.Time     // the wall clock, which is set now and then
	clock  time.Duration // the run's own
	limits workflow.Limits
	bound  engine.TaskFacts
	trees  int // number of workspaces that tasks have made
	logf   func(string, ...any)

	sent   map[string]bool // keys issued since the last recovery
	away   bool            // no driver is present
	raises int             // answers that raised a limit
	hands  bool            // an attempt has handed work off, and may have given up its slot

	first   *workflow.Bundle   // the plan that the run was started with
	fresh   *engine.Run        // of that plan, not started
	replans bool               // the plan changes now and then
	plans   []*workflow.Bundle // earlier ones

	planners map[string]engine.Usage // what plans took
}

func newSimulation(seed uint64, logf func(string, ...any)) *simulation {
	return &simulation{
		Rand: rand.New(rand.NewPCG(seed, 7)), World: oracle.NewWorld(), now: time.Unix(1e9, 0).UTC(), logf: logf, sent: map[string]bool{},
	}
}

func simulate(seed uint64, logf func(string, ...any)) error {
	return newSimulation(seed, logf).simulate()
}

func (s *simulation) simulate() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, s.story())
			if s.logf != nil {
				panic(p)
			}
		}
	}()
	g := &oracle.Generator{Rand: s.Rand}
	if s.bundle = g.Bundle(); s.replans && s.IntN(4) > 0 {
		withoutAsides(s.bundle)
	}
	s.first = s.bundle
	s.model = oracle.New(s.bundle)
	if s.run, err = engine.New(s.bundle); err != nil {
		return fmt.Errorf("%w\n%s", err, s.story())
	}
	s.fresh = s.run.Fresh()
	if s.stores = s.IntN(2) == 0; s.stores {
		s.other = s.run.Fresh()
		s.run.Offload(0, s.load)
	}
	s.chooseLimits()
	if err := s.play(); err != nil {
		return fmt.Errorf("%w\n%s", err, s.story())
	}
	return nil
}

func (s *simulation) chooseLimits() {
	s.limits = workflow.Limits{Steps: 60, Parallel: 1 + s.IntN(4), Depth: 2 + s.IntN(4), Runtime: 30 * time.Minute}
	s.bound.May = workflow.Budget{CostUSD: workflow.AtMost(0.02), Tokens: workflow.AtMost(5)}
	if s.IntN(5) == 0 {
		s.limits.Steps = 4 + s.IntN(9)
	}
	if s.IntN(5) == 0 {
		s.limits.Runtime = time.Duration(1+s.IntN(60)) * time.Second
	}
	if s.IntN(5) == 0 {
		s.bound.Timeout, s.bound.Retry = 20*time.Second, workflow.Retry{Attempts: 2, Delay: time.Second}
	}
	switch s.IntN(10) {
	case 0:
		s.limits.Tokens = 30
	case 1, 2:
		s.limits.CostUSD = 0.2
	default:
		return
	}
	if s.IntN(10) == 0 {
		s.bound.May = workflow.Budget{}
	}
	if s.IntN(3) == 0 {
		s.bound.May, s.bound.Keeps = workflow.Budget{}, true
		if s.IntN(2) == 0 {
			s.bound.May.CostUSD = workflow.AtMost(0.15)
		}
	}
}

func (s *simulation) play() error {
	tasks := map[string]engine.TaskFacts{}
	for _, w := range append([]*workflow.Workflow{s.bundle.Root}, s.bundle.Called["child0"], s.bundle.Called["child1"]) {
		if w != nil {
			w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { tasks[w.Name+"/"+n.ID] = s.bound })
		}
	}
	err := s.step(&engine.Started{Run: "sim", Base: "base", Version: engine.Version, Limits: s.limits, Tasks: tasks, Inputs: map[string]any{"items": []any{"i", "j", "k"}[:s.IntN(4)]}})
	for i := 0; err == nil && s.Ended == nil; i++ {
		if i > 5000 {
			return fmt.Errorf("no end after %d events", i)
		}
		err = s.next()
		if s.replans && err == nil && s.IntN(6) == 0 {
			err = s.replan()
		}
		if err == nil && s.IntN(40) == 0 {
			err = s.compareReplay()
		}
		if err == nil && s.IntN(20) == 0 {
			err = s.restore()
		}
		if err == nil && s.Ended == nil && i%16 == 3 {
			err = s.checkRefused()
		}
	}
	if err != nil {
		return err
	}
	if err := s.compareReplay(); err != nil {
		return err
	}
	if err := s.checkOver(); err != nil {
		return err
	}
	if err := s.checkEnd(); err != nil || s.IntN(8) > 0 {
		return err
	}
	return s.checkFork()
}

// next makes one thing happen.
func (s *simulation) next() error {
	s.pass(time.Duration(1+s.IntN(2000)) * time.Millisecond)
	if s.IntN(100) == 0 { // the clock is set; an answer must not seem older than a new plan
		s.now = s.now.Add(time.Duration(s.IntN(4000)-2000) * time.Second)
		if s.replans {
			s.now = s.now.Add(2000 * time.Second)
		}
	}
	switch k := s.IntN(200); {
	case k == 0:
		return s.crash()
	case k == 1 && s.run.Admit(engine.Envelope{Event: &engine.CancelAsked{}}) == nil:
		return s.step(&engine.CancelAsked{By: "sim"})
	case k == 2:
		return s.step(&engine.LimitRaised{Limits: s.higher()})
	}
	if len(s.Tasks) > 0 && (s.IntN(10) > 0 || len(s.Timers)+len(s.Questions) == 0) {
		c := pick(s.Rand, s.Tasks)
		if s.IntN(12) == 0 && !s.Stopped[c.Address] {
			return s.step(s.ask(c))
		}
		if s.IntN(40) == 0 {
			waits, begins := &engine.Queued{Address: c.Address, Attempt: c.Attempt}, &engine.Queued{Address: c.Address, Attempt: c.Attempt, Begun: true}
			for _, ev := range []engine.Event{waits, begins} {
				if s.run.Admit(s.envelope(ev)) == nil {
					return s.step(ev)
				}
			}
		}
		if c.Handoffs != nil && s.IntN(2) == 0 {
			if ev, err := s.hand(c); err != nil {
				return err
			} else if ev != nil {
				return s.step(ev)
			}
		}
		return s.step(s.answerTask(c))
	}
	if len(s.Questions) > 0 && s.IntN(10) > 0 {
		q := pick(s.Rand, s.Questions)
		if !q.Deadline.IsZero() && s.now.After(q.Deadline) {
			return s.fireNext()
		}
		if s.away = len(s.Tasks) == 0 && s.IntN(5) == 0; !s.away {
			return s.step(s.answerGate(q))
		}
		if err := s.step(s.answerGate(q)); err != nil || s.Ended != nil {
			return err
		}
		return s.crash()
	}
	if len(s.Timers) > 0 {
		return s.fireNext()
	}
	if s.run.Status() != engine.Waiting || len(s.Questions) == 0 {
		return fmt.Errorf("stuck: nothing is in progress, and the run is %s", s.run.Status())
	}
	if q := pick(s.Rand, s.Questions); q.Kind != engine.BudgetQuestion || s.limits.CostUSD+float64(s.limits.Tokens) == 0 {
		return s.step(s.answerGate(q))
	}
	return s.step(&engine.LimitRaised{Limits: s.more()})
}

// higher raises a limit that does not hold tasks back.
func (s *simulation) higher() workflow.Limits {
	var to workflow.Limits
	switch s.IntN(4) {
	case 0:
		s.limits.Parallel++
		to.Parallel = s.limits.Parallel
	case 1:
		s.limits.Steps += 3
		to.Steps = s.limits.Steps
	case 2:
		s.limits.Runtime += 10 * time.Second
		to.Runtime = s.limits.Runtime
	case 3:
		s.limits.Depth++
		to.Depth = s.limits.Depth
	}
	return to
}

// more raises the cost or token limit of the run, if it has one.
func (s *simulation) more() workflow.Limits {
	if s.limits.Tokens > 0 {
		s.limits.Tokens += 50
		return workflow.Limits{Tokens: s.limits.Tokens}
	}
	s.limits.CostUSD += 0.5
	return workflow.Limits{CostUSD: s.limits.CostUSD}
}

// dollars is the amount reserved for an attempt.
func dollars(c *engine.StartTask) float64 {
	n, _ := c.May.CostUSD.Amount()
	return n
}

func (s *simulation) answerTask(c *engine.StartTask) engine.Event {
	ev := &engine.TaskEnded{Address: c.Address, Attempt: c.Attempt, Usage: engine.Usage{CostUSD: dollars(c) * s.Float64(), TokensIn: 3, TokensOut: 1, CostUnknown: s.IntN(20) == 0}}
	switch k := s.IntN(100); {
	case s.Stopped[c.Address]:
		ev.Fault = &engine.Fault{Kind: engine.FaultCancelled, Message: "cancelled"}
	case k < 12:
		ev.Fault = &engine.Fault{Kind: engine.FaultError, Message: "boom", Permanent: k < 3}
	case k < 14:
		ev.Fault = &engine.Fault{Kind: engine.FaultLost, Message: "lost"}
	case k < 16:
		ev.Fault = &engine.Fault{Kind: engine.FaultQuota, Message: "quota", Until: s.now.Add(time.Duration(s.IntN(60)-20) * time.Second)}
	case k < 17:
		ev.Fault = &engine.Fault{Kind: engine.FaultTimeout, Message: "slow"}
	case k < 20:
		ev.Asks = &engine.Asked{Address: c.Address, Attempt: c.Attempt, Text: "Really?", Options: []workflow.Option{{Value: "yes"}, {Value: "no"}}, Custom: s.IntN(2) == 0}
		if c.Workspace != "" && s.IntN(2) == 0 {
			ev.Workspace = "half"
		}
	default:
		if (c.Workspace != "" || len(c.Trees) > 0) && s.IntN(5) > 0 {
			s.trees++
			ev.Workspace = "tree" + strconv.Itoa(s.IntN(s.trees))
		}
		ev.Output = [...]string{"a", "b", "c", "It is a.", `{"decision": "b", "reason": "why"}`, "", "nothing", "b\n\n\n", "[1, \"a\"]"}[s.IntN(9)]
	}
	return ev
}

func (s *simulation) answerGate(q engine.Question) engine.Event {
	value := "custom"
	if len(q.Options) > 0 {
		value = q.Options[s.IntN(len(q.Options))].Value
	}
	if q.Kind == engine.BudgetQuestion && q.Custom && s.IntN(10) > 0 { // else abort
		value = s.amount(q)
	}
	if q.Custom && q.Kind == engine.GateQuestion && s.IntN(3) == 0 {
		value = [...]string{"b", "custom", "It is a."}[s.IntN(3)]
	}
	ev := &engine.Answered{ID: q.ID, Value: value, By: "sim", Comment: [...]string{"", "because"}[s.IntN(2)]}
	if s.IntN(2) == 0 {
		ev.Digest = q.Digest
	}
	return ev
}

// amount returns the answer to a question about a budget: a limit above the one that holds the task
// back, which may be that of an inner workflow.
func (s *simulation) amount(q engine.Question) string {
	s.raises++
	if strings.Contains(q.Text, " tokens") {
		most := max(s.limits.Tokens, int64(50*(s.raises-1))) + 50
		if s.limits.Tokens > 0 {
			s.limits.Tokens = most
		}
		return fmt.Sprint(most)
	}
	most := max(s.limits.CostUSD, 0.5*float64(s.raises-1)) + 0.5
	if s.limits.CostUSD > 0 {
		s.limits.CostUSD = most
	}
	return fmt.Sprint(most)
}

// ask returns an attempt that asks a question, or that withdraws one.
func (s *simulation) ask(c *engine.StartTask) engine.Event {
	for _, id := range slices.Sorted(maps.Keys(s.Questions)) {
		if q := s.Questions[id]; q.Kind == engine.PermissionQuestion && q.Address == c.Address && !q.Orphaned && s.IntN(2) == 0 {
			return &engine.Withdrawn{ID: id}
		}
	}
	return &engine.Asked{Address: c.Address, Attempt: c.Attempt, Text: [...]string{"may I?", "and this?"}[s.IntN(2)], Options: []workflow.Option{{Value: "allow"}, {Value: "deny"}}}
}

// hand returns an attempt that hands work off, or that no longer waits for it, or nil if it may do
// neither.
func (s *simulation) hand(c *engine.StartTask) (engine.Event, error) {
	if left := (&engine.Withdrawn{ID: fmt.Sprintf("%s/handoff-%d", c.Address, 1+s.IntN(5))}); s.run.Admit(s.envelope(left)) == nil {
		return left, nil
	}
	work := workflow.Node{ID: "work", Retry: workflow.Retry{Attempts: s.IntN(3)}, Step: &workflow.Task{Agent: [...]string{"y", "y", "y", "z"}[s.IntN(4)], Prompt: workflow.Template{Text: "do ${inputs.work}"}}}
	ev := &engine.HandoffAsked{
		Address: c.Address, Attempt: c.Attempt, Blocking: s.IntN(2) == 0, Facts: &s.bound,
		Inputs:     [...]map[string]any{nil, {"work": "this"}, {"work": []any{"that"}}}[s.IntN(3)],
		Definition: &workflow.Workflow{Name: "handoff", Body: workflow.Graph{Nodes: []workflow.Node{work}}},
	}
	switch s.IntN(8) {
	case 0:
		ev.Definition.Limits.Runtime = time.Duration(1+s.IntN(9)) * time.Second
	case 1:
		ev.Definition.Limits.Steps = 1
	case 2:
		ev.Definition.Limits.CostUSD = 0.03
	}
	switch s.IntN(8) {
	case 0, 1:
		ev.Key = "the same"
	case 2:
		facts := s.bound
		facts.Repeats = true
		ev.Detach, ev.Facts = true, &facts
	case 3:
		ev = &engine.HandoffAsked{Address: c.Address, Attempt: c.Attempt, Blocking: true, ID: fmt.Sprintf("%s/handoff-%d", c.Address, 1+s.IntN(3))}
	}
	err := s.run.Admit(s.envelope(ev))
	switch may := s.model == nil || s.model.Admits(ev); {
	case err == nil && !may:
		return nil, fmt.Errorf("%s may hand work off, but the model does not allow it", c.Address)
	case err != nil && may && s.model != nil:
		return nil, fmt.Errorf("the model allows %s to hand work off: %w", c.Address, err)
	case err != nil:
		return nil, nil
	}
	s.hands = true
	return ev, nil
}

func (s *simulation) pass(d time.Duration) { s.now, s.clock = s.now.Add(d), s.clock+d }

// left returns the time until a timer is due.
func (s *simulation) left(id string) time.Duration {
	if t := s.Timers[id]; !t.At.IsZero() {
		return t.At.Sub(s.now)
	}
	return s.Timers[id].Clock - s.clock
}

// fireNext fires the timer that is due first. The attempt of a fired timeout ends sooner or later.
func (s *simulation) fireNext() error {
	first := ""
	for id := range s.Timers {
		if first == "" || s.left(id) < s.left(first) || s.left(id) == s.left(first) && id < first {
			first = id
		}
	}
	s.pass(max(0, s.left(first)))
	return s.step(&engine.TimerFired{ID: first})
}

// crash forgets everything but the events.
func (s *simulation) crash() error {
	run := s.fresh.Fresh()
	for _, ev := range s.events {
		if _, err := run.Step(ev); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
	}
	s.run, s.other = run, nil
	s.now = s.now.Add(time.Hour)
	s.clock, s.away = run.ClockAt(s.now), false
	e := s.envelope(&engine.Recovered{Unsettled: true})
	s.events = append(s.events, e)
	if _, err := run.Step(e); err != nil {
		return err
	}
	s.Happened(e.Event)
	clear(s.sent)
	return s.carryOut(e, run.Pending())
}

func (s *simulation) envelope(ev engine.Event) engine.Envelope {
	return engine.Envelope{Seq: len(s.events) + 1, Time: s.now, Clock: s.clock, Unattended: s.away, Event: ev}
}

func (s *simulation) step(ev engine.Event) error {
	e := s.envelope(ev)
	s.events = append(s.events, e)
	if s.logf != nil {
		line, _ := engine.Encode(e)
		s.logf("%s", line)
	}
	s.Happened(ev)
	if ended, ok := ev.(*engine.TaskEnded); ok && ended.Fault != nil && (ended.Fault.Kind == engine.FaultLost || ended.Fault.Kind == engine.FaultQuota) {
		clear(s.sent)
	}
	if _, ok := ev.(*engine.Answered); ok {
		clear(s.sent) // a person may request another attempt
	}
	commands, err := s.run.Step(e)
	if err != nil {
		return err
	}
	if s.other != nil {
		same, err := s.other.Step(e)
		if want, got := workflow.FormatJSON(same), workflow.FormatJSON(commands); err != nil || want != got {
			return fmt.Errorf("restored, or without outputs, the commands are %s, want %s: %w", got, want, err)
		}
		if want, got := facts(s.other), facts(s.run); want != got {
			return fmt.Errorf("restored, or without outputs, the facts are %s, want %s", got, want)
		}
	}
	return s.carryOut(e, commands)
}

// load returns the output that an event has.
func (s *simulation) load(seq int) (string, error) {
	return s.events[seq-1].Event.(*engine.TaskEnded).Output, nil
}

// facts returns the facts of the last step, with the outputs.
func facts(r *engine.Run) string {
	list := append([]engine.Fact{}, r.Facts()...)
	for i := range list {
		var err error
		if list[i].Output, err = list[i].Value(); err != nil {
			return err.Error()
		}
	}
	return workflow.FormatJSON(list)
}

func (s *simulation) carryOut(e engine.Envelope, commands []engine.Command) error {
	for _, c := range commands {
		if start, ok := c.(*engine.StartTask); ok {
			key := start.Key("sim")
			if s.sent[key] {
				return fmt.Errorf("%s was started twice", key)
			}
			s.sent[key] = true
		}
	}
	if err := s.CarryOut(commands); err != nil {
		return err
	}
	for _, c := range s.run.Pending() { // also what goes on in a plan that came while no driver was there
		if start, ok := c.(*engine.StartTask); ok && s.away {
			s.Tasks[start.Address] = start
		}
	}
	if err := s.checkTimeouts(commands); err != nil {
		return err
	}
	if err := cmp.Or(s.checkQuestions(), s.checkFacts(), s.checkTimes()); err != nil {
		return err
	}
	if len(s.Tasks) > s.limits.Parallel && !s.hands {
		return fmt.Errorf("%d attempts run at once, but the limit is %d", len(s.Tasks), s.limits.Parallel)
	}
	if err := s.checkBudget(); err != nil || s.model == nil {
		return err
	}
	if err := s.model.Step(e, commands, s.told(e)); err != nil {
		return err
	}
	return s.model.Compare(s.run, s.World)
}

// restore continues with a run restored from a snapshot of this one. Later steps are compared with
// a replay of all events, and with what was requested.
func (s *simulation) restore() error {
	snapshot := s.run.Snapshot()
	run, err := engine.Restore(s.bundle, snapshot)
	if err != nil {
		return err
	}
	if s.stores {
		run.Offload(0, s.load)
	}
	if want, got := string(s.run.Dump()), string(run.Dump()); want != got {
		return fmt.Errorf("the restored state differs\nwas:\n%s\nis:\n%s", want, got)
	}
	for i, c := range s.run.Pending() {
		if want, got := workflow.FormatJSON(c), workflow.FormatJSON(run.Pending()[i]); want != got {
			return fmt.Errorf("after restoring, %s is pending, want %s", got, want)
		}
	}
	if again := run.Snapshot(); !bytes.Equal(snapshot, again) {
		return fmt.Errorf("a snapshot of the restored run differs")
	}
	if s.other == nil {
		s.other = s.run
	}
	s.run = run
	return nil
}

// pick returns a random element, always the same for the same seed.
func pick[V any](r *rand.Rand, m map[string]V) V {
	least, n := "", 0
	k := r.IntN(len(m))
	for key := range m {
		if h := hash(key) ^ r64(k); n == 0 || h < hash(least)^r64(k) {
			least = key
		}
		n++
	}
	return m[least]
}

func r64(k int) uint64 { return uint64(k) * 0x9e3779b97f4a7c15 }

func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// story prints the workflow and what happened to it.
func (s *simulation) story() string {
	var b strings.Builder
	for _, name := range []string{"child0", "child1"} {
		if w := s.bundle.Called[name]; w != nil {
			b.WriteString(workflow.Print(w))
		}
	}
	b.WriteString(workflow.Print(s.first.Root))
	for _, ev := range s.events {
		line, _ := engine.Encode(ev)
		b.Write(line)
		b.WriteByte('\n')
		if ev, ok := ev.Event.(*engine.Replanned); ok {
			b.WriteString(workflow.Print(ev.Bundle.Root))
		}
	}
	if s.run != nil {
		b.Write(s.run.Dump())
	}
	return b.String()
}
