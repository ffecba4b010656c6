package trial_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/trial"
)

// nestedFiles are a project whose workflow has loops, choices, lists and a call.
var nestedFiles = map[string]string{
	"flow.yml": `name: flow
steps:
  - id: polish
    loop:
      max: 3
      until: verdict.pass
      steps:
        - {id: judge, agent: coder, prompt: Judge, output: {var: verdict, mode: json}}
  - id: each
    for_each: '["a", "b"]'
    as: one
    agent: coder
    prompt: ${one}
  - id: both
    for_each: '["a", "b"]'
    as: one
    steps:
      - id: redo
        loop:
          max: 2
          until: done.pass
          steps:
            - {id: edit, agent: coder, prompt: "${one}", output: {var: done, mode: json}}
  - {id: sub, workflow: sub.yml}
  - {id: last, agent: coder, prompt: Last, error: never}
  - id: never
    loop:
      max: 2
      until: '1 == 1'
      steps:
        - {id: repair, agent: coder, prompt: Repair}
`,
	"sub.yml": `name: sub
steps:
  - {id: size, agent: coder, prompt: x}
  - id: big
    choice: {on: '"yes"'}
    route: {yes: long}
    else: short
  - {id: long, agent: coder, next: end}
  - {id: short, agent: coder, next: end}
`,
}

func nestedCase(t *testing.T, expect string) string {
	t.Helper()
	files := map[string]string{".hocket/tests/flow.yml": `workflow: flow.yml
cases:
  - name: a
    replies: {judge: ['{"pass": false}', '{"pass": true}'], edit: '{"pass": true}', each: [first, second], "*": ok}
    expect: ` + expect + "\n"}
	for name, text := range nestedFiles {
		files[name] = text
	}
	o := run(t, project(t, files), trial.Options{})[0]
	var b strings.Builder
	b.WriteString(failures(o))
	for _, p := range o.Problems {
		b.WriteString(p.Detail + "\n")
	}
	return b.String()
}

// Loops, lists and choices can be named by id and by address, like steps; what has nothing to compare is refused.
func TestNamesOfNodes(t *testing.T) {
	if got := nestedCase(t, `{taken: [polish, judge, "judge#2", "choice#2", each, "each[1]", both, redo, "redo[1]", "edit[0]", sub/big, big -> long],
      not_taken: ["judge#3", sub/short, short, "redo[2]", never, repair, "polish#2"], outputs: {each: [first, second], "each[0]": first, both: [{pass: true}, {pass: true}], "judge": {pass: true}},
      attempts: {judge: 2, each: 2, "each[1]": 1}}`); got != "" {
		t.Error(got)
	}
	for expect, want := range map[string]string{
		`{not_taken: [polish]}`:                   "polish ran, but should not",
		`{not_taken: ["choice#2"]}`:               "choice#2 ran, but should not",
		`{not_taken: [sub/big]}`:                  "sub/big ran, but should not",
		`{not_taken: ["redo[0]"]}`:                "redo[0] ran, but should not",
		`{taken: [never]}`:                        "never did not run",
		`{attempts: {polish: 1}}`:                 "polish is a loop, which has no attempt of its own\nname a step in it",
		`{attempts: {both: 1}}`:                   "both is a for_each, which has no attempt of its own",
		`{outputs: {polish: x}}`:                  "polish is a loop, which has no output of its own",
		`{outputs: {sub/big: x}}`:                 "sub/big is a choice, which has no output of its own",
		`{outputs: {each: second}}`:               "the output of each is not as expected",
		`{taken: ["both[1]/edit"]}`:               `no step of the workflow has the name "both[1]/edit"` + "\nitems and iterations are at the end of a name: write edit[1]",
		`{taken: [sub/judge]}`:                    `no step of the workflow has the name "sub/judge"`,
		`{taken: [big -> redo]}`:                  "no edge leads from big to redo\nfrom big, edges lead to long, short",
		`{status: success, error: {contains: x}}`: `the error is not text that contains "x": it is empty` + "\n",
		`{taken: [never], outputs: {big: 1}}`:     "never did not run",
	} {
		if got := nestedCase(t, expect); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s", expect, got)
		}
	}
}

// What is expected of the whole run is reported where the file says it.
func TestPlacesOfExpectations(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml": "name: flow\nsteps:\n  - {id: a, agent: coder}\n",
		".hocket/tests/flow.yml": `workflow: flow.yml
cases:
  - name: a
    replies: {a: ok}
    expect:
      status: error
      cost_usd: 1
      attempts: {a: 2}
  - name: b
    cassette: none.yml
  - name: c
    replies: {a: {error: no}}
`,
	})
	var got strings.Builder
	for _, o := range run(t, root, trial.Options{}) {
		for _, p := range o.Problems {
			fmt.Fprintf(&got, "%d: %s\n", p.Pos.Line, p.Summary)
		}
	}
	const want = `6: the status is success, not error
8: a took 1 attempt, not 2
7: the run cost $0, not $1
10: there is no cassette .hocket/tests/none.yml
11: the status is error, not success: a: no
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// A mistake in the workflow is not one in the reply that meets it.
func TestMistakesInWorkflowsComeFirst(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml":               "name: flow\nsteps:\n  - {id: check, human: Good, route: {approve: snd, reject: end}}\n  - {id: send, agent: coder}\n",
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a, replies: {check: approve, send: ok}}]\n",
	})
	if got := failures(run(t, root, trial.Options{})[0]); !strings.Contains(got, `unknown step "snd"`) || strings.Contains(got, "offer") {
		t.Error(got)
	}
}

// A person without a reply says nothing. Who has forgotten one is told.
func TestForgottenAnswer(t *testing.T) {
	root := project(t, map[string]string{
		"flow.yml":               "name: flow\nsteps:\n  - {id: q, human: Good, timeout: 1h}\n",
		".hocket/tests/flow.yml": "workflow: flow.yml\ncases: [{name: a}]\n",
	})
	o := run(t, root, trial.Options{})[0]
	if len(o.Problems) != 1 || !strings.Contains(o.Problems[0].Summary, "nobody answered") || !strings.Contains(o.Problems[0].Detail, "add q to `replies`") {
		t.Errorf("%+v", o.Problems)
	}
}

func TestCasesAreAList(t *testing.T) {
	for text, want := range map[string]bool{"workflow: w\ncases: {a: {}}\n": false, "workflow: w\ncases: []\n": true, "workflow: w\n": true} {
		_, found := trial.Read("/p", "/p/.hocket/tests/a.yml", []byte(text))
		if got := strings.Contains(found.String(), "no test cases"); got != want || len(found) != 1 {
			t.Errorf("%q: %s", text, found)
		}
	}
}
