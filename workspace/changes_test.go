package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// countGit makes git write a line to a file whenever it is called.
func countGit(t *testing.T) (calls func() int) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho >> '%s'\nexec '%s' \"$@\"\n", log, git)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() int {
		text, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

// However many files differ, two git processes are enough to read them.
func TestChangesInTwoProcesses(t *testing.T) {
	f := newFixture(t)
	f.put("gone.txt", "gone\n")
	f.put("empty.txt", "")
	s := f.open()
	before := f.capture(s, "run").Commit
	f.no(os.Remove(filepath.Join(f.repo, "gone.txt")))
	f.no(os.Symlink("a.txt", filepath.Join(f.repo, "link")))
	f.put("large.txt", strings.Repeat("x", 101))
	f.put("binary", "\x00\n\xff")
	f.put("empty.txt", "no more")
	for i := range 50 {
		f.put(fmt.Sprintf("new%d.txt", i), strings.Repeat("x", i))
	}
	after := f.capture(s, "run").Commit
	calls := countGit(t)
	all, err := s.Changes(t.Context(), before, after, 100)
	f.no(err)
	if n := calls(); n != 2 {
		t.Errorf("%d processes", n)
	}
	got := map[string]string{}
	for _, c := range all {
		for side, v := range map[string]*Version{"-": c.Was, "+": c.Is} {
			if v != nil {
				got[side+c.Path] = fmt.Sprint(v.Special, v.Large, " ", string(v.Content))
			}
		}
	}
	if len(all) != 55 {
		t.Errorf("%d changes", len(all))
	}
	for name, want := range map[string]string{
		"-gone.txt": "false false gone\n", "-empty.txt": "false false ", "+empty.txt": "false false no more", "+link": "true false ",
		"+large.txt": "false true ", "+binary": "false false \x00\n\xff", "+new0.txt": "false false ", "+new49.txt": "false false " + strings.Repeat("x", 49),
	} {
		if got[name] != want {
			t.Errorf("%s: %q, not %q", name, got[name], want)
		}
	}
	if _, err := s.Changes(t.Context(), before, before, 100); err != nil || calls() != 3 {
		t.Errorf("%d processes, %v", calls(), err)
	}
	o, err := s.git.readObjects(t.Context())
	f.no(err)
	if _, err := o.version("100644", strings.Repeat("0", 40), 1); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("an object that is not there: %v", err)
	}
	f.no(o.close(t.Context()))
}

// What an attempt leaves each time that it goes on with another branch of a merge is kept, until it is made again from its start. Another
// attempt has left one thing.
func TestRounds(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	base := f.capture(s, "r1").Commit
	first, second := f.change(s, "x", base, map[string]string{"x.txt": "x"}), f.change(s, "y", base, map[string]string{"y.txt": "y"})
	a := Attempt{"r1", "join", 1}
	if all, err := s.Rounds(t.Context(), a); all != nil || err != nil {
		t.Errorf("before it began: %v, %v", all, err)
	}
	work := func(commit, text string) Round {
		w := f.checkout(s, a, commit)
		f.write(filepath.Join(w.Root, "a.txt"), text)
		left := f.collect(w)
		return Round{commit, left}
	}
	check := func(when string, want ...Round) {
		t.Helper()
		if all, err := s.Rounds(t.Context(), a); fmt.Sprint(all) != fmt.Sprint(want) || err != nil {
			t.Errorf("%s: %v, %v; want %v", when, all, err, want)
		}
	}
	one := work(first, "1")
	check("after the first conflict", one)
	w := f.checkout(s, a, second) // where a person resolves the second one
	check("during the second", one)
	f.no(w.Close())
	f.no(os.RemoveAll(w.Root))
	two := work(second, "2")
	check("after the second", one, two)
	again := work(first, "3") // as after a quota
	check("when it is made again", again)
	check("and went on", again, work(second, "4"))
	if err := s.Copy(t.Context(), "r1", "fork", []string{a.Address}); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Rounds(t.Context(), Attempt{"fork", "join", 1}); len(all) != 2 || err != nil {
		t.Errorf("of a fork: %v, %v", all, err)
	}
}
