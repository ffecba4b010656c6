package hocket_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// A new plan lands again what it makes, also if that is the same.
func TestNewPlanLandsAgain(t *testing.T) {
	for _, next := range []string{"three", "two"} {
		text := `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "WORD=NEW; echo two >> a.txt"}
  - {id: ship, land: patch}
`
		second := strings.Replace(text, "echo two", "echo "+next, 1)
		p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": text, "w2.yml": strings.Replace(second, "NEW", "OTHER", 1)}, hocket.Options{Agents: agents{"editor": editor()}})
		r := start(t, p, "w.yml", nil)
		wait(t, r)
		if res := reply(t, r, "land"); res.Status != engine.Success {
			t.Fatal(res.Error)
		}
		git(t, dir, "checkout", "-q", "a.txt")
		if _, err := r.Replan(t.Context(), load(t, p, "w2.yml"), hocket.Replan{}); err != nil {
			t.Fatal(err)
		}
		if err := r.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait(t, r)
		if res := reply(t, r, "land"); res.Status != engine.Success || output(res, "ship") != "changed 1 file" {
			t.Errorf("%s: %q", res.Status, output(res, "ship"))
		}
		if got := readFile(t, dir, "a.txt"); got != "one\n"+next+"\n" {
			t.Errorf("a.txt is %q", got)
		}
	}
}

// Two landings of one run have two branches.
func TestTwoLandingsOfARun(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, land: branch}
  - {id: more, agent: editor, workspace: own, prompt: "echo three >> a.txt"}
  - {id: second, land: branch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	reply(t, r, "land")
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Fatal(res.Error)
	}
	for branch, want := range map[string]string{"": "one\ntwo", "-2": "one\ntwo\nthree"} {
		if got := git(t, dir, "show", "hocket/"+r.ID()+branch+":a.txt"); got != want {
			t.Errorf("branch %q has %q", branch, got)
		}
	}
}

// Somebody who agrees in another word does not reject the change.
func TestUnclearAnswers(t *testing.T) {
	p, dir := repository(t, map[string]string{"a.txt": "one\n", "w.yml": `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, land: patch}
`}, hocket.Options{Agents: agents{"editor": editor()}})
	r := start(t, p, "w.yml", nil)
	wait(t, r)
	for _, word := range []string{"yes", "OK.", "Approve", "land it"} {
		res := reply(t, r, word)
		if res.Status != engine.Waiting {
			t.Fatalf("after %q: %s, %s, %v", word, res.Status, res.Error, res.Steps)
		}
		if !strings.HasPrefix(question(t, r).Text, "Nothing has landed: only the answer land lands the change. Land this change ") {
			t.Fatalf("after %q: %s", word, question(t, r).Text)
		}
	}
	writeFile(t, filepath.Join(dir, "a.txt"), "zero\none\n")
	if res := reply(t, r, "land"); res.Status != engine.Waiting || !strings.HasPrefix(question(t, r).Text, "The project has changed since this was asked. Land this change ") {
		t.Fatalf("after a change: %s, %s", res.Status, question(t, r).Text)
	}
	if got := readFile(t, dir, "a.txt"); got != "zero\none\n" {
		t.Errorf("before it was approved, a.txt is %q", got)
	}
	if res := reply(t, r, "land"); res.Status != engine.Success {
		t.Fatal(res.Error)
	}
	if got := readFile(t, dir, "a.txt"); got != "zero\none\ntwo\n" {
		t.Errorf("a.txt is %q", got)
	}
}

// A run does not begin if its landing is impossible, and asks nobody if it has become that.
func TestImpossibleLandings(t *testing.T) {
	text := `
name: w
steps:
  - {id: write, agent: editor, workspace: own, prompt: "echo two >> a.txt"}
  - {id: ship, LAND}
`
	at := func(land string) (*hocket.Project, string) {
		return repository(t, map[string]string{"a.txt": "one\n", "w.yml": strings.Replace(text, "LAND", land, 1)}, hocket.Options{Agents: agents{"editor": editor()}})
	}
	fails := func(p *hocket.Project, want string) {
		t.Helper()
		if _, err := p.Start(t.Context(), load(t, p, "w.yml"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	p, dir := at("land: branch, branch: topic")
	git(t, dir, "branch", "topic")
	fails(p, "step ship of w cannot land: branch topic exists already: rename or remove it, or choose another name")
	p, dir = at("land: branch")
	git(t, dir, "branch", "hocket")
	fails(p, "step ship of w cannot land: branch hocket exists, and git cannot have the branch hocket/run beside it")
	p, dir = at("land: commit")
	git(t, dir, "checkout", "-q", "--detach")
	fails(p, "cannot land: no branch is checked out")
	p, dir = at("land: branch")
	git(t, dir, "update-ref", "-d", "refs/heads/main")
	fails(p, "has no commits yet: commit first, or use land: patch")

	p, dir = at("land: branch, branch: made, retry: 5")
	writeFile(t, filepath.Join(dir, "w.yml"), strings.Replace(readFile(t, dir, "w.yml"), "echo two", "git -C "+dir+" branch made; echo two", 1))
	res := wait(t, start(t, p, "w.yml", nil))
	if res.Status != engine.Failed || !strings.Contains(res.Error, "branch made exists already: rename or remove it, or choose another name") {
		t.Errorf("%s: %s", res.Status, res.Error)
	}
	for _, s := range res.Steps {
		if s.Address == "ship" && s.Attempts != 1 {
			t.Errorf("it was tried %d times", s.Attempts)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "refs", "heads", "made")); err != nil {
		t.Error("the step has made no branch, so nothing was tested")
	}
}
