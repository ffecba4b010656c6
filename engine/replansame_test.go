package engine_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// planned starts a script with a workflow that calls child, and with the same as its plan "same".
func planned(t *testing.T, main, child string) *script {
	t.Helper()
	s := &script{t: t, version: engine.Version, now: time.Unix(0, 0).UTC(), bundle: &workflow.Bundle{Called: map[string]*workflow.Workflow{}}}
	s.load("main.yml", []byte("name: main\nlimits: {max_cost_usd: 100}\nsteps:\n"+main))
	if child != "" {
		s.load("child.yml", []byte("name: child\nsteps:\n"+child))
	}
	s.plans = map[string]*workflow.Bundle{"same": clone(s.bundle)}
	return s
}

// does plays lines, a second after each other, and returns the commands and facts of the last one.
func (s *script) does(lines ...string) string {
	s.t.Helper()
	for _, line := range lines {
		s.now = s.now.Add(time.Second)
		s.out.Reset()
		s.play(line)
		if strings.Contains(s.out.String(), "  error: ") {
			s.t.Fatal(s.out.String())
		}
	}
	_, shown, _ := strings.Cut(s.out.String(), "\n")
	return shown
}

// A run that is over and gets the plan that it has ends at once with the same results, which took as
// long and cost as much as they did.
func TestReplanWithTheSamePlan(t *testing.T) {
	s := planned(t, `
  - {id: list, agent: x, output: {var: files, mode: json}}
  - {id: scan, agent: x, for_each: '${files}', as: file, prompt: 'scan ${file}', output: {var: reports, mode: json}, retry: 2}
  - {id: all, combine: {strategy: array, inputs: [reports]}, output: all}
  - {id: call, workflow: child, inputs: {of: '${all}'}, output: called}
  - loop:
      max: 3
      steps:
        - {id: write, agent: x, prompt: 'write ${called}'}
        - {id: good, choice: {ask: 'Good?', agent: critic}, route: {yes: ok, no: again}}
  - {id: ok, human: {question: 'Publish?', options: [yes, no]}, route: {yes: publish, no: end}}
  - {id: publish, agent: x, on_error: continue, next: last}
  - {id: last, agent: x, prompt: 'after ${failure.error}'}
`, `
  - {id: in, agent: x, prompt: 'in ${of}', handoffs: {to: [y]}}
  - {id: both, agent: x, for_each: '[1, 2]'}
`)
	s.does("start", `ok list ["a", "b"]`, "fail scan[1] error no", "ok scan[1] 2", "ok scan[0] 1",
		"hand call/in y$2 count", "ok call/in/handoff-1 7", "ok call/in I", "ok call/both[0] B0", "ok call/both[1] B1",
		"ok write W1", `ok good {"decision": "no", "reason": "short"}`, "ok write#2 W2", `ok good#2 {"decision": "yes", "reason": "long"}`,
		"answer ok yes # fine", "fail publish error no", "ok last L")
	before := s.run.Result()
	s.does("facts", "wait 3600")
	if said := s.does("replan same"); said != "  · replanned  another plan\n  · run_ended  publish: no\n  finish partial output=\"L\" error=\"publish: no\"\n" {
		t.Errorf("it does\n%s", said)
	}
	now := s.run.Result()
	if diff := gocmp.Diff(before.Steps, now.Steps); diff != "" {
		t.Errorf("the steps (-before +after):\n%s", diff)
	}
	if before.Usage != now.Usage || before.Status != now.Status {
		t.Errorf("%s for %+v, and then %s for %+v", before.Status, before.Usage, now.Status, now.Usage)
	}
}

// A run that gets the plan that it has, at any moment, goes on as if nothing had happened.
func TestReplanAtAnyMoment(t *testing.T) {
	lines := []string{
		"start topic=cats", "fail a error not yet", "fail b quota@40 later", "hand c y? count", "hand c/handoff-1 y%50 more", "ask d yes|no May I?",
		"answer ok yes # fine", "fire", "ok a A", "ok c/handoff-1/handoff-1 M", "fail c/handoff-1 error no", "ok c C", "fire", "ok b B",
		"ok call/one 1", "answer d@1 yes", "ask d yes|no And now?", "unask d@2", "ok d D", "ok call/two 2", "ok call/three[0] x", "ok call/three[1] y",
		"fail once lost gone", "answer once rerun", "ok once O", "ok write W", `ok judge more`, "ok write#2 V", "ok judge#2 good", "fire", "fail slow error stopped", "ok last L",
	}
	from := func() *script {
		s := planned(t, `
  - {id: a, agent: x, retry: {attempts: 3, delay: 5s}, parallel_group: g}
  - {id: b, agent: x, parallel_group: g}
  - {id: c, agent: x, prompt: 'about ${topic}', handoffs: {to: [y], max: 9, depth: 2}, parallel_group: g, output: c}
  - {id: d, agent: x, config: {deep: '${topic}'}, parallel_group: g}
  - {id: ok, human: {question: 'Begin with ${topic}?', options: [yes, no]}, parallel_group: g}
  - {id: call, workflow: child, timeout: 5m, parallel_group: g}
  - {id: once, agent: x, effect: once, prompt: '${c}'}
  - loop:
      max: 3
      steps:
        - {id: write, agent: x, output: w}
        - {id: judge, agent: x, prompt: 'Is ${w} good?', route: {good: slow, more: again}}
  - {id: slow, agent: x, timeout: 7s, on_timeout: last}
  - {id: last, agent: x, inputs: {all: '${groups.g.output}'}}
`, `
  - {id: one, agent: x, prompt: '${topic}'}
  - {id: two, agent: x}
  - {id: three, agent: x, for_each: '[1, 2]', max_parallel: 1}
`)
		s.does("tokens c 0")
		return s
	}
	undisturbed := from()
	undisturbed.does(lines...)
	want := undisturbed.run.Result()
	if want.Status != engine.Success {
		t.Fatalf("undisturbed: %s: %s", want.Status, want.Error)
	}
	for i := range lines[1:] {
		s := from()
		s.does(lines[:i+1]...)
		before, asked := pending(s.run), s.run.Questions()
		s.out.Reset()
		if err := s.replan("same"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(s.out.String()) {
			if !strings.Contains(line, "timer timeout call@1") { // the call starts again, with its time
				t.Errorf("after %q:%s", lines[i], line)
			}
		}
		if diff := gocmp.Diff(before, pending(s.run)); diff != "" {
			t.Errorf("after %q, pending are (-before +after):\n%s", lines[i], diff)
		}
		if diff := gocmp.Diff(asked, s.run.Questions()); diff != "" {
			t.Errorf("after %q, the questions are (-before +after):\n%s", lines[i], diff)
		}
		s.does(lines[i+1:]...)
		got := s.run.Result()
		if diff := gocmp.Diff(byAddress(want), byAddress(got)); diff != "" || got.Usage != want.Usage || workflow.FormatJSON(got.Output) != workflow.FormatJSON(want.Output) {
			t.Errorf("replanned after %q, the steps (-want +got):\n%s\n%+v, %+v", lines[i], diff, got.Usage, got.Output)
		}
	}
}

// pending returns the pending commands by what they are about, because a new plan may change their order.
func pending(r *engine.Run) map[string]engine.Command {
	all := map[string]engine.Command{}
	for _, c := range r.Pending() {
		switch c := c.(type) {
		case *engine.StartTask:
			all["start "+c.Address] = c
		case *engine.CancelTask:
			all["cancel "+c.Address] = c
		case *engine.Ask:
			all["ask "+c.ID] = c
		case *engine.SetTimer:
			all["timer "+c.ID] = c
		case *engine.CancelTimer, *engine.Withdraw, *engine.Reply, *engine.Return, *engine.Finish:
			all[workflow.FormatJSON(c)] = c
		}
	}
	return all
}

func byAddress(r engine.Result) map[string]engine.StepResult {
	all := map[string]engine.StepResult{}
	for _, s := range r.Steps {
		all[s.Address] = s
	}
	return all
}

// Whether a step is asked for the same decides whether its result is used, also if outputs are long and
// are not in memory.
func TestReplanComparesRequests(t *testing.T) {
	const two = "${steps.a.output}"
	for request, c := range map[string]struct {
		a, b         string // the nodes
		first, again string // the outputs of a
		same         bool
	}{
		"prompt":                {b: `prompt: 'p ` + two + `', context: none`, first: "xxx", again: "yyy"},
		"input":                 {b: `prompt: p, inputs: {i: '` + two + `'}, context: none`, first: "xxx", again: "yyy"},
		"second input":          {b: `prompt: p, inputs: {h: '${topic}', i: '` + two + `'}, context: none`, first: "xxx", again: "yyy"},
		"received":              {b: `prompt: p`, first: "xxx", again: "yyy"},
		"config":                {b: `prompt: p, config: {i: '` + two + `'}, context: none`, first: "xxx", again: "yyy"},
		"same prompt":           {b: `prompt: 'p ` + two + `', context: none`, first: "xxx", again: "xxx", same: true},
		"same input":            {b: `prompt: p, inputs: {h: '${topic}', i: '` + two + `'}, context: none`, first: "xxx", again: "xxx", same: true},
		"same received":         {b: `prompt: p`, first: "xxx", again: "xxx", same: true},
		"same config":           {b: `prompt: p, config: {i: '` + two + `'}, context: none`, first: "xxx", again: "xxx", same: true},
		"nothing and a word":    {a: ", output: {mode: json}", b: `prompt: p, inputs: {i: '` + two + `'}, context: none`, first: "null", again: `"none"`},
		"object and its text":   {a: ", output: {mode: json}", b: `prompt: p, inputs: {i: '` + two + `'}, context: none`, first: `{"a": 1}`, again: `"{\"a\":1}"`},
		"object, spaced freely": {a: ", output: {mode: json}", b: `prompt: p`, first: `{"a": 1, "b": 2}`, again: `{"b":2,"a":1}`, same: true},
	} {
		for _, offload := range []bool{false, true} {
			plan := func(prompt string) string {
				return "  - {id: a, agent: x, prompt: " + prompt + c.a + "}\n  - {id: b, agent: x, " + c.b + "}\n"
			}
			s := planned(t, plan("one"), "")
			s.load("plan/two.yml", []byte("name: main\nsteps:\n"+plan("two")))
			s.offloads = offload
			s.does("start topic=cats", "ok a "+strconv.Quote(c.first), "ok b B", "replan two")
			said := s.does("ok a " + strconv.Quote(c.again))
			if strings.Contains(said, "start b attempt=2") == c.same || strings.Contains(said, "finish success") != c.same {
				t.Errorf("%s, offload %t: a new result leads to\n%s", request, offload, said)
			}
		}
	}
}

// What follows something that ended after it began starts again, unless it must run only once.
func TestReplanAddsAnEdge(t *testing.T) {
	s := planned(t, `
  - {id: z, agent: x, prompt: p, parallel_group: g}
  - {id: many, agent: x, prompt: p, context: none, parallel_group: g}
  - {id: once, agent: x, prompt: p, context: none, effect: once, parallel_group: g}
`, "")
	s.load("plan/two.yml", []byte(`name: main
steps:
  - {id: z, agent: x, prompt: p}
  - {id: many, agent: x, prompt: p, context: none, parallel_group: g}
  - {id: once, agent: x, prompt: p, context: none, effect: once, parallel_group: g}
`))
	s.does("start", "ok z Z")
	if said := s.does("replan two"); said != "  cancel many\n" {
		t.Errorf("it does\n%s", said)
	}
	if said := s.does("ok many M"); said != "  start many attempt=2 prompt=\"p\"\n" {
		t.Errorf("it does\n%s", said)
	}
}

// What handed off work may cost stays reserved.
func TestReplanKeepsReservations(t *testing.T) {
	main := "  - {id: a, agent: x, handoffs: {to: [y]}}\n"
	for _, replans := range []bool{false, true} {
		s := planned(t, main, "")
		s.does("start", "hand a y$60 first")
		if replans {
			s.does("replan same")
		}
		if said := s.does("hand a y$60 second"); strings.Contains(said, "start a/handoff-2") {
			t.Errorf("replanned %t: more than the budget is reserved:\n%s", replans, said)
		}
	}
}

// A question at the address of a task does not count the attempts of the task; a later task does.
func TestReplanTaskAndGate(t *testing.T) {
	s := planned(t, "  - {id: a, agent: x}\n", "")
	s.load("plan/gate.yml", []byte("name: main\nsteps:\n  - {id: a, human: {question: 'Good?', options: [yes, no]}}\n"))
	s.load("plan/task.yml", []byte("name: main\nsteps:\n  - {id: a, agent: y}\n"))
	s.does("start", "ok a A", "replan gate", "answer a yes")
	if step := s.run.Result().Steps[0]; step.Attempts != 1 {
		t.Errorf("the gate has %d attempts", step.Attempts)
	}
	if said := s.does("replan task"); said != "  start a attempt=2\n" {
		t.Errorf("the task: %s", said)
	}
}

// If the limit of a loop is raised, the step at which it failed has its output, and the loop goes on.
func TestReplanLoopLimit(t *testing.T) {
	loop := func(most int) string {
		return strings.ReplaceAll(`
  - loop:
      max: MAX
      steps:
        - {id: work, agent: x, output: v, route: {left: l, right: r, more: again}}
  - {id: l, agent: x, prompt: '${v}', next: end}
  - {id: r, agent: x, next: end}
`, "MAX", strconv.Itoa(most))
	}
	s := planned(t, loop(1), "")
	s.load("plan/two.yml", []byte("name: main\nsteps:\n"+loop(2)))
	if said := s.does("start", "ok work more"); !strings.HasPrefix(said, "  finish error ") {
		t.Errorf("at the limit:\n%s", said)
	}
	if said, want := s.does("replan two"), planned(t, loop(2), "").does("start", "ok work more"); said != want {
		t.Errorf("with another limit:\n%swant\n%s", said, want)
	}
	if step := s.run.Result().Steps[0]; step.Status != engine.Success || step.Output != "more" || step.Error != "" {
		t.Errorf("the first round: %+v", step)
	}
	if said := s.does("ok work#2 left"); said != "  start l prompt=\"left\"\n" {
		t.Errorf("after the second round:\n%s", said)
	}
}

// A step after a called workflow runs again if a step of that workflow has.
func TestReplanAfterACall(t *testing.T) {
	main := "  - {id: call, workflow: child}\n  - {id: test, agent: x, prompt: p, context: none}\n"
	for prompt, want := range map[string]string{"one": "", "two": "  start test attempt=2 prompt=\"p\"\n"} {
		s := planned(t, main, "  - {id: in, agent: x, prompt: one}\n  - {id: out, agent: x, prompt: p, context: none, for_each: '[1]'}\n")
		s.load("plan/new.yml", []byte("name: main\nsteps:\n"+main))
		s.load("plan/new/child.yml", []byte("name: child\nsteps:\n  - {id: in, agent: x, prompt: "+prompt+"}\n  - {id: out, agent: x, prompt: p, context: none, for_each: '[1]'}\n"))
		s.does("start", "ok call/in I", "ok call/out[0] O", "ok test T")
		said := s.does("replan new")
		if prompt == "two" {
			said = s.does("ok call/in I", "ok call/out[0] O")
		}
		if !strings.HasPrefix(said, want) || want == "" && !strings.HasPrefix(said, "  finish success") {
			t.Errorf("with %q: %s", prompt, said)
		}
	}
}

// A question that shows another result is asked again, and one that shows the same is not.
func TestReplanComparesQuestions(t *testing.T) {
	plan := func(prompt string) string {
		return "  - {id: a, agent: x, prompt: " + prompt + "}\n  - {id: ok, human: {question: 'Publish ${steps.a.output}?', options: [yes, no]}}\n"
	}
	for output, want := range map[string]string{"A": "  finish success", "B": "  ask ok \"Publish B?\""} {
		s := planned(t, plan("one"), "")
		s.load("plan/two.yml", []byte("name: main\nsteps:\n"+plan("two")))
		s.does("start", "ok a A", "answer ok yes", "replan two")
		if said := s.does("ok a " + output); !strings.HasPrefix(said, want) {
			t.Errorf("with %s: %s", output, said)
		}
	}
}

// A loop that reaches its limit asks for a new plan, if the step that would repeat it says so.
func TestReplanAtLoopLimit(t *testing.T) {
	loop := func(most string) string {
		return strings.ReplaceAll(`
  - {id: beside, agent: x}
  - loop:
      max: MAX
      steps:
        - {id: work, agent: x, on_error: replan, route: {left: l, right: r, more: again}}
  - {id: l, agent: x, next: end}
  - {id: r, agent: x, next: end}
execution: parallel
`, "MAX", most)
	}
	const asks = "  ask work \"\\\"work\\\" has failed. Change the plan, or stop?\" offers stop\n"
	last := strings.Replace(asks, "or stop?", "or stop? Later failures will not wait for a new plan (replans: 2).", 1)
	begin := func() *script {
		s := planned(t, loop("1"), "")
		s.load("plan/two.yml", []byte("name: main\nsteps:\n"+loop("2")))
		s.does("start")
		return s
	}
	s := begin()
	if said := s.does("ok work more"); said != asks {
		t.Errorf("at the limit:\n%s", said)
	}
	if said := s.does("crash"); said != asks+"  start beside\n" {
		t.Errorf("after a crash:\n%s", said)
	}
	if said := s.does("replan same"); said != last {
		t.Errorf("with the same plan:\n%s", said)
	}
	if said := s.does("replan two"); said != "  withdraw work\n  start work#2 from work null decision=\"more\" decide=left|right|more\n" {
		t.Errorf("with a higher limit:\n%s", said)
	}
	if said := s.does("ok work#2 more"); said != "  cancel beside\n" {
		t.Errorf("without plans that are left:\n%s", said)
	}
	for line, want := range map[string]string{"answer work stop": "  cancel beside\n", "cancel": "  cancel beside\n  withdraw work\n"} {
		s := begin()
		s.does("ok work more")
		if said := s.does(line); said != want {
			t.Errorf("%s:\n%s", line, said)
		}
		s.does("ok beside B")
		if res := s.run.Result(); !res.Status.Done() || len(s.run.Questions()) > 0 || res.Steps[1].Status != engine.Failed || res.Steps[1].Error == "" {
			t.Errorf("%s: %+v", line, res)
		}
	}
	s = begin()
	s.version = 3
	if said := s.does("start", "ok work more"); said != "  cancel beside\n" {
		t.Errorf("in version 3:\n%s", said)
	}
}

// Warnings about the plan that was replaced are gone, those of attempts stay, and none is told twice.
func TestReplanWarnings(t *testing.T) {
	loop := func(most string) string {
		return "  - loop:\n      max: " + most + "\n      until: 'iteration == 5'\n      steps:\n        - {id: work, agent: x}\n  - {id: last, agent: x}\n"
	}
	s := planned(t, loop("1"), "")
	s.load("plan/two.yml", []byte("name: main\nsteps:\n"+loop("2")))
	s.does("facts", "start")
	warned := func(facts []engine.Fact) (list []string) {
		for _, f := range facts {
			if f.Kind == engine.Warned {
				list = append(list, f.Text)
			}
		}
		return list
	}
	const limit = "the loop ended after 1 iterations without its condition"
	if err := s.step(&engine.TaskEnded{Address: "work", Attempt: 1, Output: "W", Warning: "slow"}); err != nil {
		t.Fatal(err)
	}
	if got := warned(s.run.Facts()); strings.Join(got, "; ") != "slow; "+limit {
		t.Errorf("the first plan: %q", got)
	}
	s.does("restore", "replan same")
	if got := warned(s.run.Facts()); len(got) > 0 {
		t.Errorf("the same plan: %q", got)
	}
	if got := s.run.Result().Warnings; strings.Join(got, "; ") != "work: slow; choice: "+limit {
		t.Errorf("with the same plan: %q", got)
	}
	s.does("replan two")
	if got := s.run.Result().Warnings; strings.Join(got, "; ") != "work: slow" {
		t.Errorf("with a higher limit: %q", got)
	}
}

// A step that must run only once, and whose attempt a new plan has cancelled, asks before it runs again,
// in whichever plan that is.
func TestReplanAsksAboutOnce(t *testing.T) {
	once := "  - {id: once, agent: x, prompt: one, effect: once, context: none, retry: 2}\n"
	first := "  - {id: first, agent: x}\n"
	begin := func(lines ...string) *script {
		s := planned(t, once, "")
		s.load("plan/later.yml", []byte("name: main\nsteps:\n"+first+once))
		s.load("plan/without.yml", []byte("name: main\nsteps:\n"+first))
		s.load("plan/other.yml", []byte("name: main\nsteps:\n"+strings.ReplaceAll(once, "prompt: one", "prompt: two")))
		s.load("plan/often.yml", []byte("name: main\nsteps:\n"+strings.ReplaceAll(once, "effect: once, ", "")))
		s.does("start")
		s.does(lines...)
		return s
	}
	const asks = `  ask once "Attempt 1 of \"once\" may have run already`
	for does, asked := range map[string]bool{
		"replan later; fail once cancelled stopped; ok first F":                                          true,
		"replan later; ok first F; fail once cancelled stopped":                                          true,
		"replan later; crash; ok first F":                                                                true,
		"replan without; fail once cancelled stopped; ok first F; replan same":                           true,
		"replan without; fail once cancelled stopped; restore; replan without; replan later; ok first F": true,
		"replan later; fail once cancelled stopped; ok first F; replan other":                            true,
		"replan often; replan same; fail once cancelled stopped":                                         true,
		"replan other; fail once cancelled stopped":                                                      true,
		"crash; replan later; ok first F":                                                                true,
		"cancel; fail once cancelled stopped; replan same":                                               true,
		"replan later; fail once cancelled stopped; ok first F; answer once fail; replan same":           true,
		"replan later; fail once cancelled stopped; ok first F; answer once rerun":                       false,
		"replan later; fail once cancelled stopped; ok first F; answer once rerun; fail once error no":   false,
		"fail once error no; fail once error no; replan same":                                            false,
		"replan often; fail once cancelled stopped":                                                      true,
	} {
		lines := strings.Split(does, "; ")
		s := begin(lines[:len(lines)-1]...)
		said := s.does(lines[len(lines)-1])
		if strings.Contains(said, asks) != asked || strings.Contains(said, "start once") == asked {
			t.Errorf("%s:\n%s", does, said)
		}
	}
	s := begin("replan later", "fail once cancelled stopped", "ok first F")
	if said := s.does("replan later"); said != "" {
		t.Errorf("the same plan again: %s", said)
	}
	if said := s.does("answer once done"); !strings.Contains(said, "finish success") {
		t.Errorf("it is done: %s", said)
	}
	if said := s.does("replan later"); !strings.Contains(said, "finish success") {
		t.Errorf("it stays done: %s", said)
	}
	if step := s.run.Result().Steps[1]; step.Attempts != 1 {
		t.Errorf("%+v", step)
	}
}

// The items of a list, and the inputs of a called workflow, show the result that they come from only to
// steps whose texts show them.
func TestReplanShownThrough(t *testing.T) {
	for what, c := range map[string]struct{ main, child, step string }{
		"item":            {main: "  - {id: s, agent: x, prompt: 'scan ${file}', for_each: '${files}', as: file, context: none}\n", step: "s[0]"},
		"its word":        {main: "  - {id: s, agent: x, prompt: 'scan ${item}', for_each: '${files}', context: none}\n", step: "s[0]"},
		"no item":         {main: "  - {id: s, agent: x, prompt: 'make test', for_each: '${files}', as: file, context: none}\n", step: "s[0]"},
		"another list":    {main: "  - {id: s, agent: x, prompt: 'scan ${file}', for_each: '[1]', as: file, context: none}\n", step: "s[0]"},
		"input":           {main: "  - {id: c, workflow: child, inputs: {of: '${files}'}}\n", child: "  - {id: s, agent: x, prompt: 'scan ${of}', context: none}\n", step: "c/s"},
		"no input":        {main: "  - {id: c, workflow: child, inputs: {of: '${files}'}}\n", child: "  - {id: s, agent: x, prompt: 'make test', context: none}\n", step: "c/s"},
		"another input":   {main: "  - {id: c, workflow: child, inputs: {of: '${topic}'}}\n", child: "  - {id: s, agent: x, prompt: 'scan ${of}', context: none}\n", step: "c/s"},
		"a variable":      {main: "  - {id: c, workflow: child, inputs: {of: '${files}'}}\n", child: "  - {id: s, agent: x, prompt: 'see ${iteration}', context: none}\n", step: "c/s"},
		"input of a list": {main: "  - {id: c, workflow: child, inputs: {of: '${item}'}, for_each: '${files}'}\n", child: "  - {id: s, agent: x, prompt: 'scan ${of}', context: none}\n", step: "c[0]/s"},
	} {
		shown := what == "item" || what == "its word" || what == "input" || what == "input of a list"
		plan := func(prompt string) string {
			return "  - {id: list, agent: x, prompt: " + prompt + ", output: {var: files, mode: json}}\n" + c.main
		}
		s := planned(t, plan("one"), c.child)
		s.load("plan/two.yml", []byte("name: main\nsteps:\n"+plan("two")))
		s.does("start topic=cats", "ok list [1]", "ok "+c.step+" S", "replan two")
		said := s.does("ok list [1]")
		if strings.HasPrefix(said, "  finish success") != shown || strings.Contains(said, "start "+c.step+" attempt=2") == shown {
			t.Errorf("%s:\n%s", what, said)
		}
	}
}

// A result stays known while a plan has something else at its address that no agent does, or that does
// not even begin.
func TestReplanKeepsEarlierResults(t *testing.T) {
	task := "  - {id: a, agent: x, prompt: p}\n"
	for what, other := range map[string]string{
		"combine": "  - {id: a, combine: {strategy: array, inputs: ['${topic}']}}\n",
		"quorum":  "  - {id: b, agent: x, on_error: continue, route: {yes: a, no: end}}\n  - {id: c, agent: x, route: {yes: a, no: end}}\n  - {id: a, agent: x, prompt: p, join: 2, next: end}\nexecution: parallel\n",
	} {
		s := planned(t, task+"  - {id: last, agent: x, prompt: q}\n", "")
		s.load("plan/other.yml", []byte("name: main\nsteps:\n"+other))
		s.does("start topic=cats", "ok a A", "replan other")
		if what == "quorum" {
			s.does("ok last L", "ok b yes", "ok c no")
			if step := s.run.Result().Steps[2]; step.Address != "a" || step.Status != engine.Failed {
				t.Fatalf("%+v", s.run.Result().Steps)
			}
		} else {
			s.does("ok last L")
		}
		if said := s.does("replan same"); strings.Contains(said, "start a ") || s.run.Result().Steps[0].Output != "A" {
			t.Errorf("%s: %s", what, said)
		}
	}
}

// The attempts after one that has gone on follow the new plan.
func TestReplanChangesTheTimeout(t *testing.T) {
	for before, after := range map[string]string{"30s": "60s", "60s": ""} {
		plan := func(timeout string) string {
			if timeout != "" {
				timeout = ", timeout: " + timeout
			}
			return "  - {id: a, agent: x, retry: 2" + timeout + "}\n"
		}
		s := planned(t, plan(before), "")
		s.load("plan/two.yml", []byte("name: main\nsteps:\n"+plan(after)))
		s.does("start", "replan two")
		want := "  no timer timeout a@1\n  start a attempt=2\n"
		if after != "" {
			want += "  timer timeout a@2 in 1m0s\n"
		}
		if said := s.does("fail a error no"); said != want {
			t.Errorf("%s: %s", before, said)
		}
	}
}

// The time that an attempt had left when it waited is not that of the next one, which may have no limit.
func TestReplanForgetsTimeLeft(t *testing.T) {
	for _, answered := range []bool{false, true} {
		s := planned(t, "  - {id: a, agent: x, retry: 3, timeout: 30s}\n", "")
		s.load("plan/two.yml", []byte("name: main\nsteps:\n  - {id: a, agent: x, retry: 3}\n"))
		s.does("start", "ask a yes|no May I?", "replan two")
		if answered {
			s.does("answer a@1 yes")
		}
		s.does("fail a error no", "ask a yes|no And now?")
		if said := s.does("answer a@2 yes"); strings.Contains(said, "timer") {
			t.Errorf("answered %t: %s", answered, said)
		}
	}
}

// What a budget holds back still waits for it, and only one question is asked about that budget.
func TestReplanHoldsBack(t *testing.T) {
	main := "  - {id: a, agent: x, handoffs: {to: [y]}}\n  - {id: b, agent: x}\n  - {id: c, agent: x, needs: [b]}\nexecution: dag\n"
	s := planned(t, main, "")
	s.load("plan/two.yml", []byte("name: main\nsteps:\n  - {id: d, agent: x}\n"+main))
	s.limits.Steps = 3
	s.does("cost a 1", "cost b 0", "cost c 0", "start", "hand a y?$100 much", "ok b B")
	if said := s.does("replan same"); said != "" {
		t.Errorf("the same plan: %s", said)
	}
	s.does("ok c C")
	asked := s.run.Questions()
	if len(asked) != 1 || asked[0].Kind != engine.BudgetQuestion {
		t.Fatalf("%+v", asked)
	}
	s.does("raise steps=100", "cost d 200", "replan two")
	if now := s.run.Questions(); len(now) != 1 || now[0].ID != asked[0].ID {
		t.Errorf("the questions are %+v", now)
	}
}

// A fork of a run whose plan was changed begins with the newest plan, whatever ran in earlier ones.
func TestForkAfterReplan(t *testing.T) {
	s := planned(t, "  - {id: a, agent: x}\n  - {id: b, agent: x}\nexecution: parallel\n", "")
	s.load("plan/two.yml", []byte("name: main\nsteps:\n  - {id: b, agent: x, prompt: p}\n  - {id: a, agent: z}\n  - {id: c, agent: x}\n"))
	s.limits.Parallel = 1
	s.does("start", "replan two", "ok a A", "ok b B", "ok a AGAIN", "ok c C")
	if said := s.does("fork a"); said != "  start a attempt=2 from b \"B\"\n" {
		t.Errorf("from a: %s", said)
	}
	s.does("ok a THIRD", "ok c C")
	if used := s.run.Usage().Steps; used != 4 {
		t.Errorf("%d steps", used)
	}
	s = planned(t, "  - {id: a, agent: x, handoffs: {to: [y]}}\n", "")
	s.does("start", "hand a y work", "ok a/handoff-1 W", "ok a A", "replan same")
	if err := s.fork("a/handoff-1"); err == nil || err.Error() != `"a/handoff-1" was handed off before the plan was changed; start again from "a"` {
		t.Error(err)
	}
}

// The fact that the plan was changed has the new one, and says which steps are as they were.
func TestReplanTellsWhatIsKept(t *testing.T) {
	s := planned(t, "  - {id: a, agent: x}\n  - {id: b, agent: x}\n  - {id: c, agent: x}\n  - {id: ok, human: {question: 'Go?'}}\nexecution: parallel\n", "")
	s.load("plan/two.yml", []byte("name: main\nsteps:\n  - {id: a, agent: x}\n  - {id: b, agent: x, prompt: other}\n  - {id: c, agent: x}\n  - {id: ok, human: {question: 'Go?'}}\nexecution: parallel\n"))
	s.limits.Parallel = 2
	s.does("start", "ok a A", "fail c error no", "replan two")
	f := s.run.Facts()[0]
	if f.Kind != engine.PlanChanged || f.Plan.Bundle != s.plans["two"] || strings.Join(f.Plan.Kept, " ") != "a c ok" {
		t.Errorf("%+v", f)
	}
}
