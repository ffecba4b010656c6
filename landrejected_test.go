package hocket_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// A rejection is valid whatever has happened to the project since the question; an approval is not.
func TestRejectionAfterAChange(t *testing.T) {
	for name, edit := range map[string]struct{ file, text string }{
		"unchanged":       {"a.txt", "one\n"},
		"the same change": {"a.txt", "one\ntwo\n"},
		"a conflict":      {"a.txt", "one\nthree\n"},
		"another change":  {"a.txt", "zero\none\n"},
		"another file":    {"b.txt", "new\n"},
	} {
		for answer, want := range map[string]string{"reject": "a person rejected the change", "not so loud": "a person rejected the change: not so loud"} {
			t.Run(name+", "+answer, func(t *testing.T) {
				p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, land: patch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
				r := start(t, p, "w.yml", nil)
				wait(t, r)
				writeFile(t, filepath.Join(dir, edit.file), edit.text)
				if res := reply(t, r, answer); res.Status != engine.Failed || res.Error != "ship: "+want {
					t.Errorf("%s: %q", res.Status, res.Error)
				}
				if got := readFile(t, dir, edit.file); got != edit.text {
					t.Errorf("%s is %q", edit.file, got)
				}
			})
		}
	}
}

// The reason of a rejection reaches the agent of a loop, also if the change no longer fits the checkout.
func TestRejectionAfterAChangeInALoop(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - loop:
      max: 2
      steps:
        - id: write
          agent: editor
          workspace: own
          prompt: why='${steps.ship.error ?? ""}'; if test -z "$why"; then echo two >> a.txt; else echo one > a.txt; echo "$why" > why.txt; fi
        - {id: ship, land: patch, error: again}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	writeFile(t, filepath.Join(dir, "a.txt"), "one\nthree\n")
	reply(t, r, "not so loud")
	if q := question(t, r); !strings.Contains(q.Detail, "\n+a person rejected the change: not so loud\n") {
		t.Errorf("the second question is about\n%s", q.Detail)
	}
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Errorf("%s: %s", res.Status, res.Error)
	}
	if got := readFile(t, dir, "a.txt"); got != "one\nthree\n" {
		t.Errorf("a.txt is %q", got)
	}
}
