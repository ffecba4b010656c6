package workspace

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// forge gives an object of the store another content, as git does not notice: by a pack whose index has the wrong name.
func (f *fixture) forge(s *Store, object, content string) (undo func()) {
	f.Helper()
	f.write(filepath.Join(f.repo, ".git", "evil"), content)
	evil := strings.TrimSpace(f.git(f.repo, "hash-object", "-w", ".git/evil"))
	out := filepath.Join(f.TempDir(), "pack")
	g := git{dir: f.repo}
	name, err := g.input(f.Context(), evil+"\n", "pack-objects", "--quiet", out)
	f.no(err)
	pack := []byte(f.read(out + "-" + name + ".pack"))
	index := []byte(f.read(out + "-" + name + ".idx"))
	raw, err := hex.DecodeString(object)
	f.no(err)
	for i := range 256 {
		var below uint32
		if i >= int(raw[0]) {
			below = 1
		}
		binary.BigEndian.PutUint32(index[8+4*i:], below)
	}
	copy(index[8+4*256:], raw)
	sum := sha1.Sum(index[:len(index)-sha1.Size])
	copy(index[len(index)-sha1.Size:], sum[:])
	var files []string
	for end, data := range map[string][]byte{".pack": pack, ".idx": index} {
		file := filepath.Join(s.objects(), "pack", "pack-"+name+end)
		f.no(os.WriteFile(file, data, 0o600))
		later := time.Now().Add(24 * time.Hour)
		f.no(os.Chtimes(file, later, later))
		files = append(files, file)
	}
	if got, err := s.git.out(f.Context(), "cat-file", "blob", object); got+"\n" != content {
		f.Fatalf("git reads %q, %v", got, err)
	}
	return func() {
		for _, file := range files {
			f.no(os.Remove(file))
		}
	}
}

// TestForgedObjects has an agent that gives what it has changed, or what was there before, another content in the store, before it is shown or
// before it lands. Neither happens.
func TestForgedObjects(t *testing.T) {
	for _, how := range []How{AsPatch, AsCommit} {
		for _, text := range []string{"good\n", "one\ntwo\nthree\n"} {
			f := newFixture(t)
			s := f.open()
			b := f.capture(s, "r1")
			c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "good\n"})
			l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: c})
			f.write(filepath.Join(f.repo, ".git", "blob"), text)
			undo := f.forge(s, strings.TrimSpace(f.git(f.repo, "hash-object", ".git/blob")), "evil\n")
			if p, err := s.Plan(t.Context(), l, 1<<20); err == nil || !strings.Contains(err.Error(), "other content for a.txt") {
				t.Errorf("planned as a %s: %v\n%s", how, err, p.Diff.Patch)
			}
			if _, err := s.Land(t.Context(), l); err == nil || !strings.Contains(err.Error(), "other content for a.txt") {
				t.Errorf("landed as a %s: %v", how, err)
			}
			if all, err := s.Changes(t.Context(), b.Commit, c, 100); err == nil || !strings.Contains(err.Error(), "other content") {
				t.Errorf("changes %+v, %v", all, err)
			}
			f.status("")
			undo()
			f.land(s, l)
			if got := f.read(f.repo, "a.txt"); got != "good\n" {
				t.Errorf("landed %q", got)
			}
		}
	}
}

// TestForgedWhileItLands has an agent that changes the store between the plan of a landing and its files.
func TestForgedWhileItLands(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "good\n"})
	p, err := s.plan(t.Context(), Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c}, 0)
	f.no(err)
	defer p.q.remove()
	moves, err := p.q.moves(t.Context(), p.files)
	f.no(err)
	f.forge(s, moves[0].Object, "evil\n")
	dir := t.TempDir()
	err = p.q.writeFiles(t.Context(), dir, p.files[after], moves)
	if text, _ := os.ReadFile(filepath.Join(dir, "a.txt")); err == nil || len(text) > 0 {
		t.Errorf("wrote %q, %v", text, err)
	}
}

// TestForgedUncommittedLines has an agent that knows what the user has not committed, and gives that another content in the store. The user's
// lines stay.
func TestForgedUncommittedLines(t *testing.T) {
	const base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	mine, change := strings.Replace(base, "1", "mine", 1), strings.Replace(base, "9", "change", 1)
	for name, c := range map[string]struct {
		edit func(f *fixture)
		file string
	}{
		"edited":  {func(f *fixture) { f.put("a.txt", mine) }, "a.txt"},
		"staged":  {func(f *fixture) { f.put("a.txt", mine); f.git(f.repo, "add", "a.txt") }, "a.txt"},
		"renamed": {func(f *fixture) { f.put("b.txt", mine); f.no(os.Remove(filepath.Join(f.repo, "a.txt"))) }, "b.txt"},
	} {
		f := newFixture(t)
		f.put("a.txt", base)
		f.git(f.repo, "commit", "-qam", "lines")
		s := f.open()
		b := f.capture(s, "r1")
		step := f.change(s, "step", b.Commit, map[string]string{"a.txt": change})
		c.edit(f)
		l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsCommit, Base: b.Commit, Commit: step})
		undo := f.forge(s, strings.TrimSpace(f.git(f.repo, "hash-object", c.file)), strings.Replace(mine, "5", "evil", 1))
		if _, err := s.Plan(t.Context(), l, 1<<20); err == nil || !strings.Contains(err.Error(), "other content for "+c.file) {
			t.Errorf("%s: planned: %v", name, err)
		}
		if _, err := s.Land(t.Context(), l); err == nil || f.read(f.repo, c.file) != mine {
			t.Errorf("%s: landed %q, %v", name, f.read(f.repo, c.file), err)
		}
		undo()
		f.land(s, l)
		if got := f.read(f.repo, c.file); got != strings.Replace(mine, "9", "change", 1) {
			t.Errorf("%s: landed %q", name, got)
		}
	}
}
