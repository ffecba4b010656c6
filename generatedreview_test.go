package hocket_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/workflow"
)

// A person sees everything that the digest is of, not only what is drawn and listed.
func TestReviewOfGeneratedWorkflowShowsEverything(t *testing.T) {
	p := workshop(t, map[string]string{"run.sh": "echo one\n"})
	d := greet("greet-all")
	d.Files["x.yml"] = []byte(`name: greet-all
inputs: {who: {default: the-default}}
state: {kept: the-state}
output: the-output {{who}}
steps:
  - id: greet
    title: Greet
    agent: shell
    prompt: the-prompt
    inputs: {SCRIPT: run.sh, GREETING: the-input}
    config: {command: 'sh "$SCRIPT"', dir: "."}
`)
	g := propose(t, p, d)
	r, err := p.Review("greet-all")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the-default", "the-state", "the-output", "the-prompt", "the-input", "dir"} {
		if !strings.Contains(r.Meaning, want) {
			t.Errorf("%s is not shown in %s", want, r.Meaning)
		}
	}
	if what := r.Effects[0].What; r.Effects[0].Kind != hocket.CommandEffect || !strings.Contains(what, "input GREETING: the-input") || !strings.Contains(what, "prompt: the-prompt") {
		t.Errorf("%q", what)
	}
	put(t, p.Root(), "run.sh", "echo two\n")
	if r, err := p.Review("greet-all"); err != nil || r.Digest == g.Digest {
		t.Errorf("the script in an input has changed, and the digest has not: %v", err)
	}
}

// The digest is of what is shown, even if the file changes in between.
func TestReviewReadsGeneratedFileOnce(t *testing.T) {
	p := workshop(t, nil)
	text := func(i int) string { return strings.Replace(greeting, "hello", []string{"one", "two"}[i%2], 1) }
	digest := map[string]string{}
	for i := range 2 {
		put(t, p.Root(), "w.yml", text(i))
		r, err := p.Review("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		digest[workflow.Print(r.Workflow.Model())] = r.Digest
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		file := filepath.Join(p.Root(), "w.yml")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if os.WriteFile(file+".new", []byte(text(i)), 0o644) != nil || os.Rename(file+".new", file) != nil {
				return
			}
		}
	}()
	for range 100 {
		r, err := p.Review("w.yml")
		if err != nil {
			t.Error(err)
			break
		}
		if digest[workflow.Print(r.Workflow.Model())] != r.Digest {
			t.Error("the digest is of something else")
			break
		}
	}
	close(stop)
	<-done
}

func TestCheckChange(t *testing.T) {
	p := workshop(t, map[string]string{"old.yml": "limits: {max_steps: 20}\nsteps:\n  - {id: mine, workflow: other}\n  - {id: list, agent: shell, config: {command: ls}}\n", "other.yml": greeting})
	load := func(text string) *hocket.Workflow {
		t.Helper()
		w, err := p.LoadText(filepath.Join(p.Root(), "new.yml"), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	old, err := p.Load("old.yml")
	if err != nil {
		t.Fatal(err)
	}
	const kept = "steps:\n  - {id: mine, workflow: other}\n"
	for text, code := range map[string]string{
		"limits: {max_steps: 20}\n" + kept + "  - {id: list, agent: shell, config: {command: ls -l}}\n": "",
		"limits: {max_steps: 21}\n" + kept:                                             "generated-limit",
		kept + "  - {id: more, workflow: other}\n":                                     "generated-call",
		kept + "  - {id: list, agent: claude, prompt: x, config: {program: ./evil}}\n": "generated-power",
	} {
		found := load(text).CheckChange(old.Model())
		if code == "" && len(found) > 0 || code != "" && !hasCode(found, code) {
			t.Errorf("%q in\n%s: %v", code, text, found)
		}
	}
}

// A copy of a run would have the answer of a person to a required question, so no interface can make
// one that does not say that a person asks for it.
func TestCopyRequiresPerson(t *testing.T) {
	p := workshop(t, map[string]string{"ask.yml": "name: ask\nsteps:\n  - {id: gate, human: {question: Really, required: true}}\n"})
	w, err := p.Load("ask.yml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Record(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Drive(t.Context(), hocket.Front{}); err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string]func(...hocket.StartOption) (*hocket.Run, error){
		"retry": func(o ...hocket.StartOption) (*hocket.Run, error) { return r.Retry(t.Context(), "gate", o...) },
		"fork":  func(o ...hocket.StartOption) (*hocket.Run, error) { return r.Fork(t.Context(), "gate", nil, o...) },
	} {
		var e *hocket.RequiresPersonError
		if _, err := again(); !errors.As(err, &e) || e.Run != r.ID() {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := again(hocket.ByPerson()); err != nil {
			t.Errorf("%s by a person: %v", name, err)
		}
	}
}

// An approval covers the files that a command names, however it does that, and the review says which
// these are, and that there may be others.
func TestFilesOfCommands(t *testing.T) {
	for command, file := range map[string]string{
		"cd sub && sh tool.sh":       "sub/tool.sh",
		"make -C sub -f tool.mk all": "sub/tool.mk",
		"sh *.sh":                    "tool.sh",
		`sh to"ol".sh`:               "tool.sh",
		"cat sub/*/x":                "sub/deep/x",
		`sh "a b.sh"`:                "a b.sh",
		`sh "sub dir/"b.sh`:          "sub dir/b.sh",
		`sh a\ b.sh`:                 "a b.sh",
		`X="a b.sh" make`:            "a b.sh",
		"sh {lib,}.sh":               "lib.sh",
		"sh {a,sub/{b,c}}.sh":        "sub/c.sh",
		"sh x{1..3}.sh":              "x2.sh",
		"sh [ab].sh":                 "[ab].sh",
		"wc -l nothing":              "",
	} {
		p := workshop(t, nil)
		if file != "" {
			put(t, p.Root(), file, "true\n")
		}
		g := propose(t, p, hocket.Draft{Kind: hocket.WorkflowKind, Name: "fine", Files: map[string][]byte{"x.yml": []byte("name: fine\nsteps: [{id: a, agent: shell, config: {command: '" + command + "'}}]\n")}})
		r, err := p.Review(g.ID)
		if err != nil {
			t.Fatal(err)
		}
		if shown := strings.Join(r.Effects[0].Files, ", "); shown != file {
			t.Errorf("%s: %s", command, shown)
		}
		if file == "" {
			continue
		}
		if r.Covered[file] != "true\n" {
			t.Errorf("%s: the review does not show %s: %q", command, file, r.Covered)
		}
		put(t, p.Root(), file, "touch stolen\n")
		if again, err := p.Review(g.ID); err != nil || again.Digest == r.Digest {
			t.Errorf("%s: the approval does not cover %s", command, file)
		}
	}
}

// A review shows what has changed in a file that a command names, but no secrets in it.
func TestChangedFilesOfCommands(t *testing.T) {
	t.Setenv("PRESS_KEY", "s3cr3t-v4lue-0123456789")
	p := workshop(t, map[string]string{
		".hocket/config.yml": "secrets: {press: {env: PRESS_KEY}}\n",
		"table.sh":           "a\nb\n", "key.sh": "echo s3cr3t-v4lue-0123456789\n", "logo.png": "PNG\x00",
	})
	g := propose(t, p, hocket.Draft{Kind: hocket.WorkflowKind, Name: "fine", Files: map[string][]byte{"x.yml": []byte("name: fine\nsteps: [{id: a, agent: shell, config: {command: 'sh table.sh key.sh logo.png'}}]\n")}})
	r, err := p.Review(g.ID)
	if err != nil || strings.Contains(r.Covered["key.sh"], "s3cr3t") || r.Covered["logo.png"] != "(binary, 4 bytes)" {
		t.Fatal(r.Covered, err)
	}
	if err := p.Approve(t.Context(), g.ID, r.Digest); err != nil {
		t.Fatal(err)
	}
	put(t, p.Root(), "table.sh", "a\nc\n")
	if r, err = p.Review(g.ID); err != nil || len(r.Changes) != 1 || r.Changes[0].Name != "file table.sh" || strings.Join(r.Changes[0].Lines, " ") != "-b +c" {
		t.Errorf("%+v, %v", r.Changes, err)
	}
	put(t, p.Root(), "key.sh", "echo s3cr3t-v4lue-0123456789 again\n")
	if r, err = p.Review(g.ID); err != nil || len(r.Changes) != 2 || r.Changes[0].Name != "file key.sh" || r.Changes[0].Lines != nil {
		t.Errorf("%+v, %v", r.Changes, err)
	}
}

// A file that somebody put into .hocket/generated counts as written by a model as soon as a person has
// seen it: a copy of it needs the approval, too.
func TestCopyOfWhatWasReviewed(t *testing.T) {
	for name, see := range map[string]func(*hocket.Project) error{
		"review": func(p *hocket.Project) error { _, err := p.Review("greet"); return err },
		"reject": func(p *hocket.Project) error { return p.Reject(t.Context(), "greet", hocket.Proposed) },
	} {
		p := workshop(t, map[string]string{
			".hocket/generated/greet/origin.yml": "kind: workflow\nname: greet\nby: x\n", ".hocket/generated/greet/greet.yml": "name: greet\n" + greeting,
			".hocket/workflows/other.yml": "name: greet\n" + greeting,
		})
		if err := see(p); err != nil {
			t.Fatal(err)
		}
		w, err := p.Load("other")
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Record(t.Context(), w, nil)
		if e := unapproved(t, err); e.ID != "other" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// An approval covers the model and the provider that the configuration adds, but not those that are
// not used.
func TestApprovalCoversModel(t *testing.T) {
	const config = "model: local/llama\nproviders:\n  local: {api: openai-compatible, base_url: 'http://127.0.0.1:18001/v1'}\n  other: {api: openai-compatible, base_url: 'http://127.0.0.1:18002/v1'}\n"
	const asks = "name: ask\nsteps: [{id: a, agent: llm, prompt: Say hello}]\n"
	p := workshop(t, map[string]string{".hocket/config.yml": config})
	propose(t, p, hocket.Draft{Kind: hocket.WorkflowKind, Name: "ask", Files: map[string][]byte{"x.yml": []byte(asks)}})
	propose(t, p, hocket.Draft{Kind: hocket.AgentKind, Name: "asker", Files: map[string][]byte{"x.yml": []byte("name: asker\nagent: llm\nprompt: Say hello\n")}})
	propose(t, p, greet("greet"))
	for _, c := range []struct {
		from, to string
		covered  bool
	}{
		{"18001", "18009", true}, {"local/llama", "local/other", true}, {"model: local/", "model: other/", true},
		{"18001/v1'", "18001/v1', key: {env: MY_KEY}", true}, {"18002", "18009", false},
	} {
		for _, id := range []string{"ask", "asker", "greet"} {
			put(t, p.Root(), ".hocket/config.yml", config)
			before, err := p.Review(id)
			if err != nil {
				t.Fatal(err)
			}
			if shown := slices.ContainsFunc(before.Effects, func(e hocket.Effect) bool {
				return e.Kind == hocket.AddressEffect && e.Step == "a" && e.What == "http://127.0.0.1:18001/v1"
			}); shown != (id == "ask") {
				t.Errorf("%s: %+v", id, before.Effects)
			}
			put(t, p.Root(), ".hocket/config.yml", strings.Replace(config, c.from, c.to, 1))
			after, err := p.Review(id)
			if err != nil {
				t.Fatal(err)
			}
			if changed := after.Digest != before.Digest; changed != (c.covered && id != "greet") {
				t.Errorf("%s, %s to %s: changed is %v", id, c.from, c.to, changed)
			}
		}
	}
}

// An approval is also of lower limits, but not of higher ones.
func TestApprovalCoversLowerLimits(t *testing.T) {
	p := workshop(t, nil)
	d := greet("greet")
	d.Files["x.yml"] = append(d.Files["x.yml"], "limits: {max_steps: 8}\n"...)
	g := propose(t, p, d)
	if err := p.Approve(t.Context(), g.ID, g.Digest); err != nil {
		t.Fatal(err)
	}
	for _, lower := range []workflow.Limits{{}, {Steps: 5}, {Steps: 8, Replans: 1, CostUSD: 1, Tokens: 10}} {
		if out, err := runByName(t, p, "greet", hocket.WithLimits(lower)); err != nil || out != "hello" {
			t.Errorf("%+v: %q, %v", lower, out, err)
		}
	}
	for _, higher := range []workflow.Limits{{Steps: 9}, {Steps: 5, Replans: 3}} {
		_, err := runByName(t, p, "greet", hocket.WithLimits(higher))
		unapproved(t, err)
	}
}

func TestReviewOfAgentShowsItsFileOnce(t *testing.T) {
	p := workshop(t, nil)
	propose(t, p, hocket.Draft{Kind: hocket.AgentKind, Name: "poet", Files: map[string][]byte{"poet.yml": []byte("name: poet\nagent: claude\nprompt: Write poems.\n")}})
	r, err := p.Review("poet")
	if err != nil || len(r.Texts) != 1 || len(r.Covered) != 0 {
		t.Errorf("%v %+v", err, r)
	}
}
