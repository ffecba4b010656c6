package engine_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/oracle"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts")

// TestScripts plays testdata/script/*.txtar: workflows, and a script in which
// a line at the margin is an event, and the indented lines below it are the resulting commands.
//
//	start [name=value]…        the run starts
//	ok ADDRESS [OUTPUT]        the running attempt succeeds
//	fail ADDRESS KIND MESSAGE  it fails; KIND! is permanent, quota@SECONDS names a reset time
//	deaf ADDRESS               it is lost before it hears the answer to its question
//	answer ADDRESS VALUE       a person answers
//	leave-answer ADDRESS VALUE a person answers while no process drives the run
//	ask ADDRESS A|B TEXT       the running attempt asks a person
//	unask ID                   it no longer waits for the answer, or for what it handed off
//	hand ADDRESS AGENT TEXT    the running attempt hands work off; AGENT? waits for the result,
//	                           AGENT$N may cost N dollars, AGENT%N may take N seconds,
//	                           AGENT*N has N attempts
//	seen ID                    from here on, answers to it apply to what it shows now
//	left-at SECONDS ID VALUE   a person answered so many seconds ago
//	questions                  shows what is open
//	wait SECONDS               time passes
//	fire                       the next timer fires
//	cancel                     the run is cancelled
//	raise cost=N               a limit is raised
//	crash                      everything except the events is lost
//	restore                    the run continues from a snapshot of itself
//	cost NODE N                an attempt of the node may cost N dollars; ? is unknown. The node
//	                           of another workflow is WORKFLOW/NODE
//	tokens NODE N              an attempt of the node may use N tokens; ? is unknown
//	fork ADDRESS [steps=N]     a new run starts again from there, with that limit
//	replan NAME [LIMIT=N]      the run goes on with the workflow in plan/NAME.yml, which calls the same
//	                           ones, or those in plan/NAME/; steps=N and cost=N change a limit
//	facts                      shows facts from here on
//	steps                      shows the results so far
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { playFile(t, file) })
	}
}

// playFile plays a script once as it is and once with a run that is restored after every event, in
// this version and in earlier ones. Where their output is different, it is in a file with the name of
// the last version that it applies to. These files are never rewritten.
func playFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "script" })
	play := func(version int, restores bool) string {
		s := &script{t: t, version: version, restores: restores, now: time.Unix(0, 0).UTC(), bundle: &workflow.Bundle{Called: map[string]*workflow.Workflow{}}}
		for _, f := range archive.Files[:i] {
			s.load(f.Name, f.Data)
		}
		return s.play(string(archive.Files[i].Data))
	}
	if *update {
		archive.Files[i].Data = []byte(play(engine.Version, false))
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := string(archive.Files[i].Data)
	for version := engine.Version; version > 1; version-- {
		for _, f := range archive.Files[i+1:] {
			if f.Name == fmt.Sprintf("version %d", version) {
				want = string(f.Data)
			}
		}
		for _, restores := range []bool{false, true} {
			if diff := gocmp.Diff(want, play(version, restores)); diff != "" {
				t.Errorf("version %d, restored %t (-want +got):\n%s", version, restores, diff)
			}
		}
	}
}

type script struct {
	t        *testing.T
	version  int
	restores bool // after every event
	offloads bool // outputs are not in memory
	bundle   *workflow.Bundle
	first    *workflow.Bundle            // of the run
	plans    map[string]*workflow.Bundle // by name
	run      *engine.Run
	model    *oracle.Model // nil in a fork, with several plans, and in an old version
	world    *oracle.World
	events   []engine.Envelope
	now      time.Time
	timers   map[string]time.Time
	limits   workflow.Limits
	tasks    map[string]engine.TaskFacts
	facts    bool
	digests  map[string]string
	reply    *engine.Reply // the newest
	out      strings.Builder
}

func (s *script) load(name string, text []byte) {
	w, ds := yaml.Parse(name, text)
	if ds.Errors() {
		s.t.Fatalf("%s:\n%s", name, ds)
	}
	if plan, ok := strings.CutPrefix(strings.TrimSuffix(name, ".yml"), "plan/"); ok {
		s.loadPlan(plan, w)
		return
	}
	if s.bundle.Root == nil {
		s.bundle.Root = w
		s.limits = workflow.Limits{Steps: 100, Parallel: 10, Depth: 5, Runtime: 30 * time.Minute}
		if w.Limits.Steps > 0 {
			s.limits.Steps = w.Limits.Steps
		}
		if w.Limits.Parallel > 0 {
			s.limits.Parallel = w.Limits.Parallel
		}
		if w.Limits.Runtime > 0 {
			s.limits.Runtime = w.Limits.Runtime
		}
		s.limits.CostUSD, s.limits.Tokens, s.limits.Replans = w.Limits.CostUSD, w.Limits.Tokens, w.Limits.Replans
	} else {
		s.bundle.Called[strings.TrimSuffix(name, ".yml")] = w
	}
}

func (s *script) loadPlan(name string, w *workflow.Workflow) {
	name, called, isCalled := strings.Cut(name, "/")
	if isCalled {
		s.plans[name].Called[called] = w
		return
	}
	if s.plans == nil {
		s.plans = map[string]*workflow.Bundle{}
	}
	s.plans[name] = &workflow.Bundle{Root: w, Called: maps.Clone(s.bundle.Called)}
}

// play returns the script with what really happened below each line.
func (s *script) play(text string) string {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "  "):
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			s.out.WriteString(line + "\n")
			continue
		}
		s.out.WriteString(line + "\n")
		words := strings.SplitN(line, " ", 4)
		if err := s.do(words[0], words[1:], line); err != nil {
			fmt.Fprintf(&s.out, "  error: %v\n", err)
		}
	}
	return s.out.String()
}

func (s *script) do(verb string, args []string, line string) error {
	rest := strings.TrimSpace(strings.TrimPrefix(line, verb))
	switch verb {
	case "start":
		return s.start(rest)
	case "ok":
		address, output, _ := strings.Cut(rest, " ")
		return s.step(&engine.TaskEnded{Address: address, Attempt: s.attempt(address), Output: unquote(output), Usage: s.usage()})
	case "fail":
		return s.step(&engine.TaskEnded{Address: args[0], Attempt: s.attempt(args[0]), Fault: s.fault(args[1], args[2]), Usage: s.usage()})
	case "deaf":
		lost := &engine.Fault{Kind: engine.FaultLost, Message: "lost"}
		return s.step(&engine.TaskEnded{Address: rest, Attempt: s.attempt(rest), Fault: lost, Unheard: []engine.Reply{*s.reply}})
	case "answer", "leave-answer":
		address, value, _ := strings.Cut(rest, " ")
		value, comment, _ := strings.Cut(value, " # ")
		return s.step(&engine.Answered{ID: address, Value: unquote(value), By: "ann", Comment: comment, Digest: s.digests[address]}, verb != "answer")
	case "ask":
		var options []workflow.Option
		for o := range strings.SplitSeq(args[1], "|") {
			options = append(options, workflow.Option{Value: o})
		}
		return s.step(&engine.Asked{Address: args[0], Attempt: s.attempt(args[0]), Text: args[2], Options: options})
	case "unask":
		return s.step(&engine.Withdrawn{ID: rest})
	case "hand":
		return s.hand(args[0], args[1], args[2])
	case "seen":
		for _, q := range s.run.Questions() {
			if q.ID == rest {
				s.digests = map[string]string{rest: q.Digest}
			}
		}
		return nil
	case "questions":
		for _, q := range s.run.Questions() {
			fmt.Fprintf(&s.out, "  %s %s attempt=%d orphaned=%t %q", q.ID, q.Kind, q.Attempt, q.Orphaned, q.Text)
			printField(&s.out, "detail", q.Detail)
			s.out.WriteByte('\n')
		}
		return nil
	case "left-at": // an answer that was given some seconds before it is read
		seconds, err := strconv.Atoi(args[0])
		now := s.now
		s.now = s.now.Add(-time.Duration(seconds) * time.Second)
		err = cmp.Or(err, s.step(&engine.Answered{ID: args[1], Value: args[2], By: "ann"}))
		s.now = now
		return err
	case "wait":
		seconds, err := strconv.Atoi(rest)
		s.now = s.now.Add(time.Duration(seconds) * time.Second)
		return err
	case "fire":
		return s.fire()
	case "cancel":
		return s.step(&engine.CancelAsked{By: "ann"})
	case "cost", "tokens":
		return s.mayUse(verb, args)
	case "raise": // raise cost=DOLLARS, raise steps=N
		if n, ok := strings.CutPrefix(rest, "steps="); ok {
			steps, err := strconv.Atoi(n)
			if err != nil {
				return err
			}
			return s.step(&engine.LimitRaised{Limits: workflow.Limits{Steps: steps}})
		}
		cost, err := strconv.ParseFloat(strings.TrimPrefix(rest, "cost="), 64)
		if err != nil {
			return err
		}
		return s.step(&engine.LimitRaised{Limits: workflow.Limits{CostUSD: cost}})
	case "crash":
		return s.crash()
	case "restore":
		return s.restore()
	case "fork":
		return s.fork(rest)
	case "replan":
		return s.replan(rest)
	case "facts":
		s.facts = true
		return nil
	case "steps":
		s.printSteps()
		return nil
	}
	return fmt.Errorf("unknown verb %q", verb)
}

// replan gives the run another plan.
func (s *script) replan(rest string) error {
	name, limit, _ := strings.Cut(rest, " ")
	ev := &engine.Replanned{Plan: name, Bundle: s.plans[name], Tasks: s.tasks, Words: "another plan", By: "ann"}
	what, n, _ := strings.Cut(limit, "=")
	value, _ := strconv.ParseFloat(n, 64)
	switch what {
	case "steps":
		ev.Limits.Steps = int(value)
	case "cost":
		ev.Limits.CostUSD = value
	}
	before := s.bundle
	s.bundle = ev.Bundle
	err := s.step(ev)
	if err != nil {
		s.bundle = before
	}
	return err
}

// hand lets an attempt hand work off.
func (s *script) hand(address, to, prompt string) error {
	to, attempts, _ := strings.Cut(to, "*")
	to, seconds, _ := strings.Cut(to, "%")
	to, usd, costs := strings.Cut(to, "$")
	to, blocking := strings.CutSuffix(to, "?")
	to, detach := strings.CutSuffix(to, "!")
	n := workflow.Node{ID: "work", Step: &workflow.Task{Agent: to, Prompt: workflow.Template{Text: prompt}}}
	n.Retry.Attempts, _ = strconv.Atoi(attempts)
	ev := &engine.HandoffAsked{
		Address: address, Attempt: s.attempt(address), Blocking: blocking, Detach: detach,
		Definition: &workflow.Workflow{Name: "handoff", Body: workflow.Graph{Nodes: []workflow.Node{n}}},
	}
	runtime, _ := strconv.Atoi(seconds)
	ev.Definition.Limits.Runtime = time.Duration(runtime) * time.Second
	if most, err := strconv.ParseFloat(usd, 64); costs && err == nil {
		ev.Facts = &engine.TaskFacts{May: workflow.Budget{CostUSD: workflow.AtMost(most), Tokens: workflow.AtMost(0)}, Repeats: detach}
	} else if detach {
		ev.Facts = &engine.TaskFacts{Repeats: true}
	}
	if id, ok := strings.CutPrefix(prompt, "result of "); ok {
		ev = &engine.HandoffAsked{Address: address, Attempt: ev.Attempt, Blocking: blocking, ID: id}
	}
	return s.step(ev)
}

// mayUse sets what an attempt of a task may use: cost NODE DOLLARS, cost NODE ?, or cost NODE rest
// for one that never exceeds what is left; tokens NODE NUMBER.
func (s *script) mayUse(verb string, args []string) error {
	if s.tasks == nil {
		s.tasks = map[string]engine.TaskFacts{}
	}
	facts := engine.TaskFacts{Keeps: args[1] == "rest"}
	if n, err := strconv.ParseFloat(args[1], 64); err == nil && verb == "cost" {
		facts.May = workflow.Budget{CostUSD: workflow.AtMost(n), Tokens: workflow.AtMost(0)}
	} else if err == nil {
		facts.May = workflow.Budget{CostUSD: workflow.AtMost(0), Tokens: workflow.AtMost(n)}
	} else if verb == "tokens" {
		facts.May.CostUSD = workflow.AtMost(0)
	}
	key := args[0]
	if !strings.Contains(key, "/") {
		key = s.bundle.Root.Name + "/" + key
	}
	s.tasks[key] = facts
	return nil
}

// usage returns what every attempt uses if its usage is limited.
func (s *script) usage() engine.Usage {
	var used engine.Usage
	if s.limits.CostUSD > 0 {
		used.CostUSD = 1
	}
	if s.limits.Tokens > 0 {
		used.TokensIn, used.TokensOut = 50, 1
	}
	return used
}

func unquote(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

func (s *script) start(rest string) error {
	var err error
	s.first = s.bundle
	if s.run, err = engine.New(s.bundle); err != nil {
		return err
	}
	if s.offloads {
		s.run.Offload(0, func(seq int) (string, error) { return s.events[seq-1].Event.(*engine.TaskEnded).Output, nil })
	}
	if s.world = oracle.NewWorld(); s.version == engine.Version && len(s.plans) == 0 {
		s.model = oracle.New(s.bundle)
	}
	s.events, s.timers = nil, map[string]time.Time{}
	inputs := map[string]any{}
	for pair := range strings.FieldsSeq(rest) {
		name, value, _ := strings.Cut(pair, "=")
		inputs[name] = value
		if parsed, err := workflow.ParseJSON([]byte(value)); err == nil {
			inputs[name] = parsed
		}
	}
	return s.step(&engine.Started{Run: "run", Version: s.version, Inputs: inputs, Limits: s.limits, Tasks: s.tasks})
}

func (s *script) attempt(address string) int {
	for _, c := range s.run.Pending() {
		if start, ok := c.(*engine.StartTask); ok && start.Address == address {
			return start.Attempt
		}
	}
	return 0
}

func (s *script) fault(kind, message string) *engine.Fault {
	f := &engine.Fault{Message: message}
	kind, f.Permanent = strings.CutSuffix(kind, "!")
	kind, at, quota := strings.Cut(kind, "@")
	if quota {
		seconds, _ := strconv.Atoi(at)
		f.Until = s.now.Add(time.Duration(seconds) * time.Second)
	}
	f.Kind = engine.FaultKind(kind)
	return f
}

func (s *script) step(ev engine.Event, unattended ...bool) error {
	e := engine.Envelope{Seq: len(s.events) + 1, Time: s.now, Clock: s.clock(), Event: ev, Unattended: len(unattended) > 0 && unattended[0]}
	if _, ok := ev.(*engine.Answered); ok { // as a driver does
		if err := s.run.Admit(e); err != nil {
			return err
		}
	}
	commands, err := s.run.Step(e)
	if err != nil {
		return err
	}
	s.events = append(s.events, e)
	s.compare(e, commands)
	if s.facts {
		for _, f := range s.run.Facts() {
			fmt.Fprintf(&s.out, "  · %s\n", strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Kind, f.Address, f.Text)))
		}
	}
	s.show(commands)
	if s.restores {
		return s.restore()
	}
	return nil
}

// restore continues with a snapshot of the run.
func (s *script) restore() error {
	var err error
	s.run, err = engine.Restore(s.bundle, s.run.Snapshot())
	return err
}

// compare compares what the engine did with the model of the rules.
func (s *script) compare(e engine.Envelope, commands []engine.Command) {
	if s.model == nil {
		return
	}
	s.world.Happened(e.Event)
	err := cmp.Or(s.world.CarryOut(commands), s.model.Step(e, commands, s.run.Facts()))
	if err = cmp.Or(err, s.model.Compare(s.run, s.world)); err != nil {
		s.t.Errorf("event %d: %v", len(s.events), err)
		s.model = nil
	}
}

func (s *script) show(commands []engine.Command) {
	for _, c := range commands {
		switch c := c.(type) {
		case *engine.StartTask:
			fmt.Fprintf(&s.out, "  start %s", c.Address)
			if c.Attempt > 1 {
				fmt.Fprintf(&s.out, " attempt=%d", c.Attempt)
			}
			if usd := dollars(c); usd > 0 {
				fmt.Fprintf(&s.out, " most=%s", workflow.FormatUSD(usd))
			}
			printField(&s.out, "prompt", c.Prompt)
			for _, in := range c.Inputs {
				fmt.Fprintf(&s.out, " %s=%s", in.Name, workflow.FormatJSON(in.Value))
			}
			for _, r := range c.Received {
				fmt.Fprintf(&s.out, " from %s %s", r.Step, workflow.FormatJSON(r.Output))
				printField(&s.out, "decision", r.Decision)
				printField(&s.out, "reason", r.Reason)
			}
			if len(c.Decide) > 0 {
				fmt.Fprintf(&s.out, " decide=%s", strings.Join(c.Decide, "|"))
			}
			printField(&s.out, "feedback", c.Feedback)
			printField(&s.out, "comment", c.Comment)
			for _, h := range c.Handed {
				fmt.Fprintf(&s.out, " handed %s %s %s", h.ID, h.Status, workflow.FormatJSON(h.Output))
				printField(&s.out, "error", h.Error)
			}
			s.out.WriteByte('\n')
		case *engine.CancelTask:
			fmt.Fprintf(&s.out, "  cancel %s\n", c.Address)
		case *engine.SetTimer:
			at := c.At
			if at.IsZero() {
				at = time.Unix(0, 0).UTC().Add(c.Clock) // nothing sets the clock here
			}
			s.timers[c.ID] = at
			if c.ID != "runtime" {
				fmt.Fprintf(&s.out, "  timer %s in %s\n", c.ID, at.Sub(s.now).Round(time.Second))
			}
		case *engine.CancelTimer:
			delete(s.timers, c.ID)
			if c.ID != "runtime" {
				fmt.Fprintf(&s.out, "  no timer %s\n", c.ID)
			}
		case *engine.Ask:
			var offers []string
			for _, o := range c.Options {
				offers = append(offers, o.Value)
			}
			fmt.Fprintf(&s.out, "  ask %s %q offers %s", c.ID, c.Text, strings.Join(offers, "|"))
			if c.Orphaned {
				s.out.WriteString(" orphaned")
			}
			s.out.WriteByte('\n')
		case *engine.Withdraw:
			fmt.Fprintf(&s.out, "  withdraw %s\n", c.ID)
		case *engine.Reply:
			s.reply = c
			fmt.Fprintf(&s.out, "  reply %s attempt=%d %s\n", c.ID, c.Attempt, c.Value)
		case *engine.Return:
			fmt.Fprintf(&s.out, "  return %s attempt=%d %s %s", c.ID, c.Attempt, c.Status, workflow.FormatJSON(c.Output))
			printField(&s.out, "error", c.Error)
			s.out.WriteByte('\n')
		case *engine.Finish:
			fmt.Fprintf(&s.out, "  finish %s output=%s", c.Status, workflow.FormatJSON(c.Output))
			printField(&s.out, "error", c.Error)
			s.out.WriteByte('\n')
		}
	}
}

func printField(out *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(out, " %s=%q", name, value)
	}
}

// fire lets the timer that is due first fire, at its time.
func (s *script) fire() error {
	first := ""
	for id, at := range s.timers {
		if first == "" || at.Before(s.timers[first]) || at.Equal(s.timers[first]) && id < first {
			first = id
		}
	}
	if first == "" {
		return fmt.Errorf("no timer is set")
	}
	if s.timers[first].After(s.now) {
		s.now = s.timers[first]
	}
	delete(s.timers, first)
	fmt.Fprintf(&s.out, "  fired %s\n", first)
	return s.step(&engine.TimerFired{ID: first})
}

// crash rebuilds the run from the events and carries out what is pending.
func (s *script) crash() error {
	return s.rebuild(append(slices.Clip(s.events), engine.Envelope{Time: s.now, Clock: s.clock(), Event: &engine.Recovered{Unsettled: true}}))
}

func (s *script) fork(address string) error {
	address, comment, _ := strings.Cut(address, " comment=")
	address, prompt, edited := strings.Cut(address, " prompt=")
	address, steps, _ := strings.Cut(address, " steps=")
	most, _ := strconv.Atoi(steps)
	events, err := engine.Fork(s.first, s.events, nil, address, "fork", workflow.Limits{Steps: most}, s.now)
	if err != nil {
		return err
	}
	edit := engine.Edit{Comment: comment}
	if edited {
		edit.Prompt = &prompt
	}
	events[len(events)-1].Event.(*engine.Forked).Edit(edit)
	s.events, s.model = nil, nil
	return s.rebuild(events)
}

func (s *script) rebuild(events []engine.Envelope) error {
	run, err := engine.New(s.first)
	if err != nil {
		return err
	}
	s.run, s.events = run, nil
	clear(s.timers)
	for _, e := range events {
		if _, err := run.Step(e); err != nil {
			return err
		}
		s.events = append(s.events, e)
	}
	s.compare(events[len(events)-1], run.Pending())
	s.show(run.Pending())
	return nil
}

func (s *script) printSteps() {
	for _, step := range s.run.Result().Steps {
		fmt.Fprintf(&s.out, "  %s %s", step.Address, step.Status)
		if step.Output != nil {
			fmt.Fprintf(&s.out, " %s", workflow.FormatJSON(step.Output))
		}
		printField(&s.out, "error", step.Error)
		s.out.WriteByte('\n')
	}
	for _, w := range s.run.Result().Warnings {
		fmt.Fprintf(&s.out, "  warning: %s\n", w)
	}
}

// TestEventsRoundTrip encodes and decodes every kind of event.
func TestEventsRoundTrip(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, ev := range []engine.Event{
		&engine.Started{Run: "r", Version: 1, Inputs: map[string]any{"n": json.Number("12345678901234567890"), "t": "<&>"}, Limits: workflow.Limits{Steps: 3, Runtime: time.Minute}, Tasks: map[string]engine.TaskFacts{"w/n": {May: workflow.Budget{CostUSD: workflow.AtMost(0.5)}, Timeout: time.Second}}},
		&engine.TaskEnded{Address: "a#2[3]", Attempt: 2, Output: "x\n\"y\"", Usage: engine.Usage{CostUSD: 0.25, TokensOut: 7}},
		&engine.TaskEnded{Address: "a", Attempt: 1, Fault: &engine.Fault{Kind: engine.FaultQuota, Message: "later", Until: at}},
		&engine.TimerFired{ID: "runtime"},
		&engine.Asked{Address: "a", Attempt: 1, Text: "may I?", Detail: "rm", Options: []workflow.Option{{Value: "yes", Description: "do"}}, Custom: true},
		&engine.Answered{ID: "gate", Value: "yes", By: "ann", Via: "terminal", Comment: "fine", Digest: "d"},
		&engine.Withdrawn{ID: "a@1"},
		&engine.HandoffAsked{Address: "a", Attempt: 1, Blocking: true, Definition: &workflow.Workflow{Name: "handoff", Body: workflow.Graph{Nodes: []workflow.Node{{ID: "work", Step: &workflow.Task{Agent: "x", Settings: map[string]any{"n": json.Number("1")}}}}}}, Facts: &engine.TaskFacts{May: workflow.Free}},
		&engine.CancelAsked{By: "ann", Reason: "enough"},
		&engine.LimitRaised{Limits: workflow.Limits{CostUSD: 5}, By: "ann"},
		&engine.HandoffAsked{Address: "a", Attempt: 1, ID: "a/handoff-1"},
		&engine.HandoffAsked{Address: "a", Attempt: 1, Detach: true, Definition: &workflow.Workflow{Name: "handoff"}, Facts: &engine.TaskFacts{Repeats: true}},
		&engine.TaskEnded{Address: "a", Attempt: 1, Warning: "not handed off"},
		&engine.Recovered{Unsettled: true},
		&engine.Forked{From: "old", Address: "a"},
		&engine.Recovered{},
	} {
		e := engine.Envelope{Time: at, Clock: 77 * time.Second, Unattended: true, Event: ev}
		line, err := engine.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(e, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
		if strings.Contains(string(line), "\n") {
			t.Errorf("%s is more than one line", line)
		}
	}
	if _, err := engine.Decode([]byte(`{"type":"Exploded"}`)); err == nil {
		t.Error("an unknown event was decoded")
	}
	// A clock that has just begun is not lost.
	const line = `{"type":"TimerFired","time":"2026-01-02T03:04:05.000000006Z","clock":1,"id":"t"}`
	if got, err := engine.Encode(engine.Envelope{Time: at, Clock: 1, Event: &engine.TimerFired{ID: "t"}}); err != nil || string(got) != line {
		t.Errorf("%s, %v, want %s", got, err, line)
	}
}

// clock is the run's clock; nothing sets the wall clock here.
func (s *script) clock() time.Duration { return s.now.Sub(time.Unix(0, 0)) }
