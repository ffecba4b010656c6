package trial_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/trial"
)

// A case can say what files the workspaces of steps have to have, also of those that nothing brings into the project.
func TestExpectedWorkspaces(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	expect := func(workspaces string) string {
		t.Helper()
		root := project(t, map[string]string{"flow.yml": `name: flow
steps:
  - {id: one, agent: coder, workspace: own, parallel_group: both}
  - {id: two, agent: coder, workspace: own, parallel_group: both}
  - {id: join, merge: {}}
  - id: polish
    loop: {max: 2, until: done.pass, steps: [{id: edit, agent: coder, workspace: own, output: {var: done, mode: json}}]}
  - {id: look, agent: coder}
  - {id: never, agent: coder, workspace: own, when: "1 == 2"}
`, ".hocket/tests/flow.yml": `workflow: flow.yml
cases:
  - name: a
    files: {same.txt: same, old.txt: old, run.sh: "#!/bin/sh"}
    replies:
      one: {output: wrote, files: {sub/one.txt: "one\n", old.txt: null}}
      two: {output: wrote, files: {two.txt: two}}
      edit: [{output: '{"pass": false}', files: {draft.txt: first}}, {output: '{"pass": true}', files: {draft.txt: second}}]
      look: ok
      never: ok
    expect: {files: {draft.txt: null}, workspaces: ` + workspaces + "}\n"})
		o := run(t, root, trial.Options{})[0]
		text := failures(o)
		for _, p := range o.Problems {
			text += p.Detail
		}
		return text
	}
	if got := expect(`{one: {sub/one.txt: one, two.txt: null, old.txt: null, same.txt: same, sub: null}, two: {old.txt: {contains: ol}},
      join: {sub/one.txt: {matches: o.e}, two.txt: two, old.txt: null}, edit: {draft.txt: second, two.txt: two}, "edit#2": {draft.txt: second}}`); got != "" {
		t.Error(got)
	}
	for workspaces, want := range map[string]string{
		"{one: {two.txt: two}}":             "there is no file two.txt in the workspace of one\n",
		"{two: {old.txt: null}}":            "there is a file old.txt in the workspace of two, but there should be none\n",
		"{edit: {draft.txt: first}}":        "the file draft.txt in the workspace of edit is not as expected\n  -first\n  +second\n",
		"{edit: {draft.txt: {matches: x}}}": "the file draft.txt in the workspace of edit is not text that matches x\n  +second\n",
		"{look: {a.txt: null}}":             "look made no workspace\nonly a step with `workspace: own`",
		"{never: {a.txt: null}}":            "never did not run, so it made no workspace\n",
		"{polish: {a.txt: null}}":           "polish is a loop, which has no workspace of its own\nname a step in it",
		"{too: {a.txt: null}}":              `no step of the workflow has the name "too"` + "\ndid you mean \"two\"",
	} {
		if got := expect(workspaces); !strings.Contains(got, want) {
			t.Errorf("%s: got %s", workspaces, got)
		}
	}
	_, found := trial.Read("/p", "/p/.hocket/tests/a.yml", []byte("workflow: w\ncases: [{name: a, expect: {workspaces: {one: {../a.txt: null}}}}]\n"))
	if !strings.Contains(found.String(), "leaves the directory") {
		t.Error(found)
	}
}
