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
