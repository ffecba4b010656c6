package hocket_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
)

// A person who reviews a workflow by its name runs that one: a name that two have means neither.
func TestOneNameForTwoWorkflows(t *testing.T) {
	p := workshop(t, nil)
	propose(t, p, greet("twice"))
	const own, generated = ".hocket/workflows/twice.yml", ".hocket/generated/twice/twice.yml"
	put(t, p.Root(), own, strings.ReplaceAll(greeting, "echo hello", "echo other"))
	p = reopened(t, p.Root())
	ambiguous := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), `ambiguous workflow "twice"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, load := range map[string]func(string) (*hocket.Workflow, error){"Load": p.Load, "LoadNamed": p.LoadNamed} {
		w, err := load("twice")
		if err != nil || w.Model() != nil || len(w.Diagnostics()) != 1 {
			t.Fatalf("%s: %v", what, err)
		}
		d := w.Diagnostics()[0]
		for _, part := range []string{filepath.FromSlash(own), filepath.FromSlash(generated), "hocket approve " + generated + " --reject"} {
			if !strings.Contains(d.Detail, part) {
				t.Errorf("%s: %q is not in %s", what, part, d.Detail)
			}
		}
	}
	_, err := p.Review("twice")
	ambiguous("Review", err)
	_, err = p.Promote(t.Context(), "twice", "sha256:0")
	ambiguous("Promote", err)
	ambiguous("Approve", p.Approve(t.Context(), "twice", "sha256:0"))
	ambiguous("Reject", p.Reject(t.Context(), "twice", hocket.Proposed))
	_, err = p.RunsOf(t.Context(), "twice")
	ambiguous("RunsOf", err)

	// Each has its path, by which it is approved and runs.
	if err := p.CheckPromote(generated); !errors.As(err, new(*hocket.NameTakenError)) {
		t.Errorf("CheckPromote: %v", err)
	}
	if all, err := p.Generated(); err != nil || len(all) != 1 || all[0].ID != generated {
		t.Errorf("%+v %v", all, err)
	}
	for path, want := range map[string]string{own: "other", generated: "hello"} {
		file := filepath.Join(p.Root(), filepath.FromSlash(path))
		_, err := runByName(t, p, file, hocket.OnlyApproved())
		if e := unapproved(t, err); e.ID != path {
			t.Errorf("%s: %+v", path, e)
		}
		r, err := p.Review(path)
		if err != nil || r.ID != path || r.File == "" {
			t.Fatalf("%s: %+v %v", path, r, err)
		}
		if err := p.Approve(t.Context(), r.ID, r.Digest); err != nil {
			t.Fatal(err)
		}
		if out, err := runByName(t, p, file, hocket.OnlyApproved()); err != nil || out != want {
			t.Errorf("%s: %q %v", path, out, err)
		}
	}
	if err := p.Reject(t.Context(), generated, hocket.Approved); err != nil {
		t.Fatal(err)
	}
	if out, err := runByName(t, p, "twice"); err != nil || out != "other" {
		t.Errorf("after the rejection: %q %v", out, err)
	}
}

// Rejecting a proposal says nothing about the workflow of a person that has the same name.
func TestRejectOneOfTwo(t *testing.T) {
	const own, generated = ".hocket/workflows/twice.yml", ".hocket/generated/twice/twice.yml"
	other := workshop(t, nil) // where the proposal is copied from
	propose(t, other, greet("twice"))
	p := workshop(t, map[string]string{own: strings.ReplaceAll(greeting, "echo hello", "echo other")})
	approve := func(id string) {
		t.Helper()
		r, err := p.Review(id)
		if err == nil {
			err = p.Approve(t.Context(), id, r.Digest)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	approve("twice")
	for _, name := range []string{"twice.yml", "origin.yml"} {
		name = ".hocket/generated/twice/" + name
		text, err := os.ReadFile(filepath.Join(other.Root(), name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, p.Root(), name, string(text))
	}
	p = reopened(t, p.Root())
	approve(generated)
	if err := p.Reject(t.Context(), generated, hocket.Approved); err != nil {
		t.Fatal(err)
	}
	p = reopened(t, p.Root())
	if out, err := runByName(t, p, "twice", hocket.OnlyApproved()); err != nil || out != "other" {
		t.Errorf("%q %v", out, err)
	}
}

// A word that names a proposal or a workflow, and also a file without an ending, means neither.
func TestWordThatIsAFile(t *testing.T) {
	p := workshop(t, map[string]string{
		".hocket/workflows/mine.yml": greeting,
		"mine":                       strings.ReplaceAll(greeting, "echo hello", "echo planted"),
		"greet":                      strings.ReplaceAll(greeting, "echo hello", "echo planted"),
		"alone":                      strings.ReplaceAll(greeting, "echo hello", "echo alone"),
	})
	propose(t, p, greet("greet"))
	p = reopened(t, p.Root())
	for _, word := range []string{"mine", "greet"} {
		w, err := p.Load(word)
		if err != nil || w.Model() != nil || len(w.Diagnostics()) != 1 || w.Diagnostics()[0].Code != "workflow-ambiguous" {
			t.Errorf("%s: %v", word, err)
		}
		if _, err := p.Review(word); err == nil || !strings.Contains(err.Error(), "ambiguous workflow") {
			t.Errorf("%s: %v", word, err)
		}
		r, err := p.Review("./" + word)
		if err != nil || r.ID != "./"+word {
			t.Errorf("%+v %v", r, err)
		}
		if w, err := p.LoadNamed(word); err != nil || w.Model() == nil { // clients name no files
			t.Errorf("%s: %v", word, err)
		}
	}
	if out, err := runByName(t, p, "alone"); err != nil || out != "alone" {
		t.Errorf("%q %v", out, err)
	}
}

// A directory called workflows that is not the project's gives its files no names.
func TestOtherDirectoryOfWorkflows(t *testing.T) {
	const file = "sub/workflows/ship.yml"
	p := workshop(t, map[string]string{".hocket/workflows/ship.yml": greeting, file: strings.ReplaceAll(greeting, "echo hello", "echo other")})
	r, err := p.Review(file)
	if err != nil || r.ID != file || !strings.HasSuffix(filepath.ToSlash(r.File), "/"+file) {
		t.Fatalf("%+v %v", r, err)
	}
	if err := p.Approve(t.Context(), r.ID, r.Digest); err != nil {
		t.Fatal(err)
	}
	if out, err := runByName(t, p, filepath.Join(p.Root(), file), hocket.OnlyApproved()); err != nil || out != "other" {
		t.Errorf("%q %v", out, err)
	}
	if _, err := runByName(t, p, "ship", hocket.OnlyApproved()); err == nil {
		t.Error("the approval of one file is used for another")
	}
}

// A new workflow does not get the name of a proposal, which nobody could then review.
func TestSaveUnderTheNameOfAProposal(t *testing.T) {
	p := workshop(t, nil)
	propose(t, p, greet("greet"))
	var taken *hocket.RevisionError
	if _, err := p.SaveWorkflow("greet", "greet.yml", []byte(greeting), ""); !errors.As(err, &taken) || !taken.Exists {
		t.Error(err)
	}
	if len(p.Workflows()) != 0 {
		t.Error("it was written", p.Workflows())
	}
}
