package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStoreIsNoRepositoryForUs has an agent that edits the store, whose path it knows. Nothing there decides what git does with files.
func TestStoreIsNoRepositoryForUs(t *testing.T) {
	f := newFixture(t)
	f.put(".gitattributes", "*.txt filter=evil diff=evil merge=evil\n")
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "attributes")
	s, y := f.open(), f.spy()
	b := f.capture(s, "r1")
	store := filepath.Join(f.state, "store.git")
	f.arm(store, y)
	for key, value := range map[string]string{
		"core.bare": "false", "core.worktree": f.repo, "core.autocrlf": "true", "core.hooksPath": filepath.Dir(y.program), "core.attributesFile": "attributes",
		"merge.renames": "false", "diff.renames": "false", "diff.noprefix": "true", "merge.default": "evil", "status.showUntrackedFiles": "no",
	} {
		f.git(store, "--git-dir=.", "config", key, value)
	}
	f.write(filepath.Join(store, "info", "attributes"), "* filter=evil diff=evil merge=evil text eol=crlf ident\n")
	f.write(filepath.Join(store, "info", "exclude"), "*\n")
	f.write(filepath.Join(store, "refs", "heads", "none"), b.Commit+"\n")
	config := f.read(store, "config")

	for i, s := range []*Store{s, nil} {
		if s == nil { // another process
			s = f.open()
		}
		f.write(filepath.Join(store, "config"), config)
		address := []string{"first", "second"}[i]
		f.put("mine.txt", address+"\n")
		b := f.capture(s, "r1")
		f.has(s, b.Commit, "mine.txt", address)
		one := f.change(s, address+"-one", b.Commit, map[string]string{"a.txt": "first\ntwo\nthree\n", "new.txt": "$Id$\n"})
		two := f.change(s, address+"-two", b.Commit, map[string]string{"a.txt": "one\ntwo\nlast\n"})
		f.has(s, one, "new.txt", "$Id$")
		m, err := s.Merge(t.Context(), "r1", b.Commit, []Branch{{"one", one}, {"two", two}})
		f.no(err)
		if m.Conflicts != nil {
			t.Errorf("conflicts %v", m.Conflicts)
		}
		f.has(s, m.Commit, "a.txt", "first\ntwo\nlast\n")
		d, err := s.Diff(t.Context(), b.Commit, one, 1<<20)
		f.no(err)
		if want := "diff --git a/a.txt b/a.txt\n"; len(d.Patch) < len(want) || d.Patch[:len(want)] != want {
			t.Errorf("diff %s", d.Patch)
		}
		w := f.checkout(s, Attempt{"r1", address + "-again", 1}, m.Commit)
		if got := f.read(w.Root, "new.txt"); got != "$Id$\n" {
			t.Errorf("checked out %q", got)
		}
		f.no(w.Close())
		l, _ := f.plan(s, Landing{ID: address, Run: "r1", How: AsPatch, Base: b.Commit, Commit: m.Commit})
		f.land(s, l)
		if got := f.read(f.repo, "a.txt"); got != "first\ntwo\nlast\n" {
			t.Errorf("landed %q", got)
		}
		f.no(s.Clean(t.Context(), func(Info) bool { return true }))
		f.check(address, y)
		f.git(f.repo, "checkout", "-q", "a.txt")
		f.no(os.Remove(filepath.Join(f.repo, "new.txt")))
	}
	if left, err := os.ReadDir(filepath.Join(f.state, "temp")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRefsOfTheStoreNameNoCommits has an agent that gives a commit the name by which a merge calls another one.
func TestRefsOfTheStoreNameNoCommits(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	one := f.change(s, "one", b.Commit, map[string]string{"one.txt": "one\n"})
	two := f.change(s, "two", b.Commit, map[string]string{"two.txt": "two\n"})
	evil := f.change(s, "evil", b.Commit, map[string]string{"evil.txt": "evil\n"})
	branch := Branch{"two", two}
	for _, dir := range []string{"heads", "tags", "remotes", "."} {
		f.write(filepath.Join(f.state, "store.git", "refs", dir, branch.label()), evil+"\n")
	}
	m, err := s.Merge(t.Context(), "r1", b.Commit, []Branch{{"one", one}, branch})
	f.no(err)
	f.has(s, m.Commit, "two.txt", "two")
	f.has(s, m.Commit, "evil.txt", "")
}

// TestPackedRefs has refs of the store that are in files of their own, and others that are not.
func TestPackedRefs(t *testing.T) {
	f := newFixture(t)
	f.put("new.txt", "new\n")
	s := f.open()
	b := f.capture(s, "r1")
	f.no(s.refs.do(t.Context(), "pack-refs", "--all"))
	if info, err := os.Lstat(filepath.Join(f.state, "store.git", "packed-refs")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("packed refs: %v %v", info, err)
	}
	f.capture(s, "r2")
	for _, run := range []string{"r1", "r2"} {
		if base, err := s.Base(t.Context(), run); base != b.Commit || err != nil {
			t.Errorf("%s: base %s, %v", run, base, err)
		}
		f.no(s.Release(t.Context(), run))
	}
	if refs, err := s.refs.out(t.Context(), "for-each-ref"); refs != "" || err != nil {
		t.Errorf("refs %s, %v", refs, err)
	}
}

// A command for refs that gets no refs is a mistake of ours, which must not pass without an error.
func TestNoRefsInOwnRepository(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	if err := s.git.do(t.Context(), "update-ref", "refs/hocket/r1/lost", b.Commit); err == nil {
		t.Error("a ref was written into a repository that is removed")
	}
	if err := s.refs.do(t.Context(), "update-ref", "refs/hocket/r1/kept", b.Commit); err != nil {
		t.Error(err)
	}
}
