package hocket_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// A change with bytes that are not UTF-8 is shown with escapes and lands after one answer, as it is; so does one of two from which
// a person picks.
func TestLandBytes(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "caf\\xe9\n", "w.yml": `
name: w
steps:
  - {id: one, agent: editor, workspace: own, prompt: "printf 'caf\\351 1\\n' > a.txt", parallel_group: both}
  - {id: two, agent: editor, workspace: own, prompt: "printf 'caf\\351 2\\n' > a.txt; echo > \"$(printf 'n\\351')\"", parallel_group: both}
  - {id: best, merge: {pick: human}}
  - {id: ship, land: commit}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	const note = "… bytes that are not UTF-8 are shown as \\x and two digits\n"
	for _, answer := range []string{"two", "land"} {
		q := question(t, r)
		for _, want := range []string{"\n-caf\\xe9\n", "\n+caf\\xe9 2\n", `b/n\351"`, "\n" + note} {
			if !strings.Contains(q.Detail, want) {
				t.Errorf("%q is missing in\n%s", want, q.Detail)
			}
		}
		reply(t, r, answer)
	}
	if res := wait(t, r); res.Status != engine.Success {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if got := readFile(t, dir, "a.txt"); got != "caf\xe9 2\n" {
		t.Errorf("a.txt is %q", got)
	}
}

// The message of the commit is a part of the question, on lines that look like no other part, and is landed without control characters.
func TestLandMessage(t *testing.T) {
	p, dir := repository(t, map[string]string{"w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo x > x.txt; printf 'fix typo \\033]0;OWNED\\007\\342\\200\\256\\033[8mhidden\\rApproved-by: Boss\\n\\nchange 00\\n\\n'"}
  - {id: ship, land: commit, message: "${write.output}"}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	const message = "fix typo ]0;OWNED[8mhidden\nApproved-by: Boss\n\nchange 00"
	if q, want := question(t, r), "\nMessage of the commit:\n    "+strings.ReplaceAll(strings.ReplaceAll(message, "\n", "\n    "), "    \n", "\n")+"\n\nchange "; !strings.Contains(q.Detail, want) {
		t.Errorf("the question is about\n%s", q.Detail)
	}
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if got := git(t, dir, "log", "-1", "--format=%B"); got != message {
		t.Errorf("the message is %q", got)
	}
}

// When a landing asks again, somebody who has seen only its first question cannot land the other change.
func TestLandOnlyWhatWasSeen(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo four >> a.txt"}
  - {id: ship, land: commit}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	first := question(t, r)
	change := func(q hocket.Question) string {
		return q.Detail[strings.LastIndex(q.Detail, "\nchange ")+len("\nchange "):]
	}
	put(t, dir, "a.txt", "ONE\ntwo\nthree\n")
	git(t, dir, "commit", "-qam", "meanwhile")
	if res := reply(t, r, "land"); res.Status != engine.Waiting {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	if res := reply(t, r, "yes"); res.Status != engine.Waiting { // this does not make the change a seen one
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	var unseen *hocket.UnseenChangeError
	for _, a := range []hocket.Answer{{Value: "land"}, {Value: "land", Change: change(first)}, {Value: "reject", Change: "1234"}} {
		if _, err := r.Answer(t.Context(), "ship", a); !errors.As(err, &unseen) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if _, err := r.Answer(t.Context(), "ship", hocket.Answer{Value: "land", Change: change(question(t, r))[:12]}); err != nil {
		t.Fatal(err)
	}
	if err := r.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := wait(t, r); res.Status != engine.Success || readFile(t, dir, "a.txt") != "ONE\ntwo\nthree\nfour\n" {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
}
