package hocket_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
)

func TestGeneratedName(t *testing.T) {
	for words, want := range map[string]string{
		"Compare the three phones!": "compare-the-three-phones", "": "draft", "3 phones": "draft-3-phones", "con": "draft-con", "Ärzte": "rzte",
		strings.Repeat("word ", 20): "word-word-word-word-word-word-word-word",
	} {
		if got := hocket.GeneratedName(words); got != want {
			t.Errorf("%q: %q", words, got)
		}
	}
}

// The approval of a file that is not in .hocket/generated can be withdrawn, and the file stays.
func TestRejectFileThatIsNotGenerated(t *testing.T) {
	p := workshop(t, map[string]string{".hocket/workflows/mine.yml": greeting})
	r, err := p.Review("mine")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Approve(t.Context(), "mine", r.Digest); err != nil {
		t.Fatal(err)
	}
	if _, err := runByName(t, p, "mine", hocket.OnlyApproved()); err != nil {
		t.Fatal(err)
	}
	if err := p.Reject(t.Context(), "mine", hocket.Proposed); !errors.As(err, new(*hocket.DecidedError)) {
		t.Error(err)
	}
	if err := p.Reject(t.Context(), "mine", hocket.Approved); err != nil {
		t.Fatal(err)
	}
	_, err = runByName(t, p, "mine", hocket.OnlyApproved())
	if e := unapproved(t, err); e.State != hocket.Rejected {
		t.Errorf("%+v", e)
	}
	if _, err := runByName(t, p, "mine"); err != nil {
		t.Error(err)
	}
	if err := p.Reject(t.Context(), "unknown", hocket.Proposed); !errors.As(err, new(*hocket.UnknownDefinitionError)) {
		t.Error(err)
	}
}

// A workflow has a name and a path. Withdrawing an approval under one withdraws it under the other.
func TestRejectUnderAnotherSpelling(t *testing.T) {
	p := workshop(t, map[string]string{".hocket/workflows/al.yml": greeting})
	file := filepath.Join(p.Root(), ".hocket", "workflows", "al.yml")
	r, err := p.Review(file)
	if err != nil || r.ID != "al" {
		t.Fatal(r, err)
	}
	if err := p.Approve(t.Context(), file, r.Digest); err != nil {
		t.Fatal(err)
	}
	put(t, p.Root(), ".hocket/workflows/al.yml", strings.Replace(greeting, "hello", "bye", 1))
	if err := p.Reject(t.Context(), "al", hocket.Changed); err != nil {
		t.Fatal(err)
	}
	put(t, p.Root(), ".hocket/workflows/al.yml", greeting)
	_, err = runByName(t, reopened(t, p.Root()), "al", hocket.OnlyApproved())
	if e := unapproved(t, err); e.State != hocket.Rejected {
		t.Errorf("%+v", e)
	}
}

// The name in a workflow cannot look like that of another one.
func TestGeneratedNameThatLooksLikeAnother(t *testing.T) {
	p := workshop(t, map[string]string{".hocket/workflows/release.yml": greeting})
	_, err := p.Propose(t.Context(), hocket.Draft{Kind: hocket.WorkflowKind, Name: "fine", Files: map[string][]byte{"x.yml": []byte("name: r\u0435lease\n" + greeting)}})
	if !errors.As(err, new(*hocket.InvalidError)) {
		t.Error(err)
	}
}

// The newest definition is listed first, and there cannot be any number of them.
func TestManyDefinitions(t *testing.T) {
	p := workshop(t, nil)
	for i := range 99 {
		dir := fmt.Sprintf(".hocket/generated/greet-%d/", i)
		put(t, p.Root(), dir+"origin.yml", fmt.Sprintf("kind: workflow\nname: greet-%d\nat: 2026-01-01T00:%02d:00Z\n", i, i%60))
	}
	propose(t, p, greet("a-new-one"))
	list, err := p.Generated()
	if err != nil || len(list) != 100 || list[0].ID != "a-new-one" || list[1].ID != "greet-59" || list[99].ID != "greet-60" {
		t.Errorf("%d %v", len(list), err)
	}
	if _, err := p.Propose(t.Context(), greet("one-more")); err == nil || !strings.Contains(err.Error(), "already 100 definitions") || !strings.Contains(err.Error(), "--promote") {
		t.Error(err)
	}
}

// What is broken in .hocket/generated is reported, whatever it is, and breaks nothing else.
func TestBrokenDefinitions(t *testing.T) {
	const whole = "kind: workflow\nname: it\n"
	for name, files := range map[string]map[string]string{
		"no origin":       {"it.yml": greeting},
		"empty origin":    {"it.yml": greeting, "origin.yml": ""},
		"null":            {"it.yml": greeting, "origin.yml": "null\n"},
		"a list":          {"it.yml": greeting, "origin.yml": "[1, 2]\n"},
		"no YAML":         {"it.yml": greeting, "origin.yml": "{{{\n"},
		"no name":         {"it.yml": greeting, "origin.yml": "kind: workflow\n"},
		"another name":    {"it.yml": greeting, "origin.yml": "kind: workflow\nname: other\n"},
		"a name in a map": {"it.yml": greeting, "origin.yml": "kind: workflow\nname: {it: it}\n"},
		"no kind":         {"it.yml": greeting, "origin.yml": "name: it\n"},
		"unknown kind":    {"it.yml": greeting, "origin.yml": "kind: poem\nname: it\n"},
		"no time":         {"it.yml": greeting, "origin.yml": whole + "at: yesterday\n"},
		"times":           {"it.yml": greeting, "origin.yml": whole + "at: [1]\n"},
		"nothing else":    {"origin.yml": whole},
		"two workflows":   {"it.yml": greeting, "it.xml": "", "origin.yml": whole},
		"unknown agent":   {"it.yml": "name: it\nsteps: [{agent: nobody}]\n", "origin.yml": whole},
		"a tool without":  {"run.sh": "", "origin.yml": "kind: tool\nname: it\n"},
		"an empty tool":   {"tool.yml": "", "origin.yml": "kind: tool\nname: it\n"},
		"an empty agent":  {"it.yml": "", "origin.yml": "kind: agent\nname: it\n"},
	} {
		all := map[string]string{".hocket/workflows/mine.yml": greeting}
		for file, text := range files {
			all[".hocket/generated/it/"+file] = text
		}
		p := workshop(t, all)
		if n, found := p.CheckGenerated(); n != 1 || !found.Errors() {
			t.Errorf("%s: %v", name, found)
		}
		if list, err := p.Generated(); err != nil || len(list) != 1 || list[0].State != hocket.Broken {
			t.Errorf("%s: %v %v", name, list, err)
		}
		if out, err := runByName(t, p, "mine"); err != nil || out != "hello" {
			t.Errorf("%s: %q %v", name, out, err)
		}
	}
	p := workshop(t, map[string]string{".hocket/generated/it/it.yml": "name: it\n" + greeting, ".hocket/generated/it/origin.yml": whole})
	if n, found := p.CheckGenerated(); n != 1 || len(found) > 0 {
		t.Error(n, found)
	}
}

func TestCheckOfNamesThatDifferInCase(t *testing.T) {
	p := workshop(t, nil)
	propose(t, p, greet("twice"))
	put(t, p.Root(), ".hocket/workflows/Twice.yml", greeting)
	if _, found := reopened(t, p.Root()).CheckGenerated(); !hasCode(found, "generated-definition") {
		t.Errorf("%v", found)
	}
}

func TestUnknownNameListsGeneratedWorkflows(t *testing.T) {
	p := workshop(t, map[string]string{".hocket/workflows/own.yml": greeting})
	propose(t, p, greet("twice"))
	_, err := p.LoadNamed("something")
	if e := (*hocket.UnknownWorkflowError)(nil); !errors.As(err, &e) || !strings.Contains(e.Hint(), "own, twice") {
		t.Errorf("%v", err)
	}
}

func TestGeneratedNewestFirst(t *testing.T) {
	p := workshop(t, nil)
	for _, name := range []string{"bravo", "alpha", "charlie"} {
		propose(t, p, greet(name))
	}
	all, err := p.Generated()
	if err != nil || len(all) != 3 || all[0].ID != "charlie" || all[1].ID != "alpha" || all[2].ID != "bravo" {
		t.Errorf("%v %+v", err, all)
	}
}
