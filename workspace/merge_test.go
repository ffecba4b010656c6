package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	f := newFixture(t)
	f.put("bin", "a\x00b")
	f.put("long.txt", strings.Repeat("a line that stays\n", 50))
	s := f.open()
	b := f.capture(s, "r1")
	w := f.checkout(s, Attempt{"r1", "step", 1}, b.Commit)
	f.write(filepath.Join(w.Root, "a.txt"), "one\n2\nthree\n")
	f.write(filepath.Join(w.Root, "bin"), "a\x00c")
	f.no(os.Rename(filepath.Join(w.Root, "long.txt"), filepath.Join(w.Root, "moved.txt")))
	f.no(os.Remove(filepath.Join(w.Root, "dir/b.txt")))
	f.write(filepath.Join(w.Root, "new\tname.txt"), "1\n2\n")
	f.no(os.Remove(filepath.Join(w.Root, "run.sh")))
	f.no(os.Symlink("a.txt", filepath.Join(w.Root, "run.sh")))
	c := f.collect(w)
	d, err := s.Diff(t.Context(), b.Commit, c, 1<<20)
	f.no(err)
	want := []File{
		{Path: "a.txt", Status: Modified, Added: 1, Removed: 1},
		{Path: "bin", Status: Modified, Binary: true},
		{Path: "dir/b.txt", Status: Deleted, Removed: 1},
		{Path: "moved.txt", From: "long.txt", Status: Renamed},
		{Path: "new\tname.txt", Status: Added, Added: 2},
		{Path: "run.sh", Status: Retyped, Added: 1, Removed: 1},
	}
	if len(d.Files) != len(want) {
		t.Fatalf("files %+v", d.Files)
	}
	for i, file := range d.Files {
		if file != want[i] {
			t.Errorf("file %+v, want %+v", file, want[i])
		}
	}
	if d.Truncated || !strings.Contains(d.Patch, "\n-two\n+2\n") || !strings.Contains(d.Patch, "Binary files") {
		t.Errorf("patch %s", d.Patch)
	}
	short, err := s.Diff(t.Context(), b.Commit, c, 150)
	f.no(err)
	if !short.Truncated || len(short.Patch) > 150 || !strings.HasSuffix(short.Patch, "\n") || short.Digest != d.Digest {
		t.Errorf("short %+v", short)
	}
	if same, err := s.Diff(t.Context(), c, c, 100); err != nil || len(same.Files) > 0 || same.Patch != "" || same.Truncated {
		t.Errorf("no difference: %+v, %v", same, err)
	}
	if _, err := s.Diff(t.Context(), "--output=x", c, 1); err == nil {
		t.Error("an option was taken for a commit")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(":100644 100644 aaaa bbbb M\x00a.txt\x001\t1\ta.txt\x00")
	f.Add(":100644 100644 aaaa bbbb R100\x00a\x00b\x000\t0\t\x00a\x00b\x00")
	f.Add(strings.Repeat("a", 40) + "\x00100644 b 1\ta.txt\x00100644 c 2\ta.txt\x00\x001\x00a.txt\x00CONFLICT (contents)\x00CONFLICT (content): Merge conflict in a.txt\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseDiff(text); err == nil && len(d.Digest) != 64 {
			t.Error("no digest")
		}
		if tree, _, err := parseMerge(text); err == nil && !isCommit(tree) {
			t.Error("no tree")
		}
	})
}

func TestMerge(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "one\nuncommitted\nthree\n")
	s := f.open()
	b := f.capture(s, "r1").Commit
	x := Branch{"write/x#1", f.change(s, "x", b, map[string]string{"x.txt": "x\n", "a.txt": "ONE\nuncommitted\nthree\n"})}
	y := Branch{"y", f.change(s, "y", b, map[string]string{"y.txt": "y\n", "a.txt": "one\nuncommitted\nTHREE\n"})}
	z := Branch{"z", f.change(s, "z", b, map[string]string{"a.txt": "1\nuncommitted\nthree\n", "dir/b.txt": "", "run.sh": "x"})}
	same := Branch{"same", b}

	m, err := s.Merge(t.Context(), "r1", b, []Branch{same, x, y, same})
	f.no(err)
	if m.Conflicts != nil || m.Next != 4 {
		t.Errorf("merged %+v", m)
	}
	f.has(s, m.Commit, "a.txt", "ONE\nuncommitted\nTHREE\n")
	f.has(s, m.Commit, "x.txt", "x")
	f.has(s, m.Commit, "y.txt", "y")
	if again, err := s.Merge(t.Context(), "r1", b, []Branch{same, x, y, same}); err != nil || again.Commit != m.Commit {
		t.Errorf("merged again: %+v, %v", again, err)
	}

	b2 := Branch{"b", f.change(s, "b", b, map[string]string{"dir/b.txt": "changed\n"})}
	m, err = s.Merge(t.Context(), "r1", b, []Branch{x, b2, z, y})
	f.no(err)
	if len(m.Conflicts) != 2 || m.Next != 3 || m.Conflicts[0].Path != "a.txt" || m.Conflicts[0].Kind != "contents" ||
		m.Conflicts[1].Path != "dir/b.txt" || m.Conflicts[1].Kind != "modify/delete" || m.About(m.Conflicts[1]) != "deleted in z and modified in merged; the directory has the file of merged" {
		t.Errorf("merged %+v", m)
	}
	marks, err := s.Markers(t.Context(), m.Commit, append(m.Conflicts, Conflict{Path: "missing"}, Conflict{Path: "run.sh"}))
	f.no(err)
	if len(marks) != 2 || marks[0] != (Marker{"a.txt", 1}) || marks[1].Path != "a.txt" {
		t.Errorf("markers %+v", marks)
	}
	if m.Sides[0].Name != MergedBefore || m.Sides[1] != z {
		t.Errorf("the sides are %+v", m.Sides)
	}
	f.has(s, m.Sides[0].Commit, "a.txt", "ONE\nuncommitted\nthree\n")
	if m, err := s.Merge(t.Context(), "r1", b, []Branch{same, x, same, z}); err != nil || m.Sides != [2]Branch{x, z} {
		t.Errorf("%v: the sides are %+v", err, m.Sides) // nothing was merged into x
	}
	// The conflict is resolved in a workspace, and the rest is merged.
	w := f.checkout(s, Attempt{"r1", "resolve", 1}, m.Commit)
	text := f.read(w.Root, "a.txt")
	if !strings.HasPrefix(text, "<<<<<<< merged\n") || !strings.Contains(text, ">>>>>>> z\n") {
		t.Errorf("conflict:\n%s", text)
	}
	if marks, err := w.Markers(t.Context(), append(m.Conflicts, Conflict{Path: "missing"})); err != nil || len(marks) != 2 {
		t.Errorf("markers in the directory %+v, %v", marks, err)
	}
	f.write(filepath.Join(w.Root, "a.txt"), "ONE and 1\nuncommitted\nthree\n")
	resolved := f.collect(w)
	if marks, err := s.Markers(t.Context(), resolved, m.Conflicts); err != nil || marks != nil {
		t.Errorf("markers %+v, %v", marks, err)
	}
	m, err = s.Merge(t.Context(), "r1", b, []Branch{{"resolved", resolved}, y})
	f.no(err)
	if m.Conflicts != nil {
		t.Errorf("merged %+v", m)
	}
	f.has(s, m.Commit, "a.txt", "ONE and 1\nuncommitted\nTHREE\n")
	f.has(s, m.Commit, "x.txt", "x")
	f.has(s, m.Commit, "y.txt", "y")
	if _, err := s.refs.out(t.Context(), "fsck", "--full"); err != nil {
		t.Error(err)
	}
}

func TestMarkers(t *testing.T) {
	for text, want := range map[string]int{
		"<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n": 2, "Heading\n=======\n": 0, "  <<<<<<< a\n": 0,
		"x\n||||||| base\n": 1, "a\x00\n<<<<<<< a\n": 0, "<<<<<<<\n": 0, "": 0,
	} {
		if got := markers(text); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestLinesLikeMarkers merges a file that has such lines, of which some are new, and resolves it in several ways.
func TestLinesLikeMarkers(t *testing.T) {
	const like, mine, theirs = "<<<<<<< example\n", ">>>>>>> mine\n", ">>>>>>> theirs\n"
	f := newFixture(t)
	f.put("page.md", like+"one\ntwo\nthree\n")
	s := f.open()
	b := f.capture(s, "r1").Commit
	x := Branch{"x", f.change(s, "x", b, map[string]string{"page.md": like + "one\n" + mine + "2\nthree\n" + like})}
	y := Branch{"y", f.change(s, "y", b, map[string]string{"page.md": like + like + "one\ntwo\nII\n" + theirs})}
	m, err := s.Merge(t.Context(), "r1", b, []Branch{x, y})
	f.no(err)
	if len(m.Conflicts) != 1 {
		t.Fatalf("merged %+v", m)
	}
	for text, want := range map[string][]int{
		like + like + "one\n" + mine + "2\nII\n" + theirs + like:         nil,
		strings.ReplaceAll(like+"one\n"+mine+"2\n"+theirs, "\n", "\r\n"): nil,
		"one\n": nil,
		like + "one\n<<<<<<< x\n2\n=======\nII\n" + theirs + ">>>>>>> y\n": {3, 8},
		like + like + like + "one\n" + mine + "2\n" + like:                 {1, 2, 3, 7},
		"one\n" + mine + mine + theirs:                                     {2, 3},
	} {
		c := f.change(s, "resolve", m.Commit, map[string]string{"page.md": text})
		w := f.checkout(s, Attempt{"r1", "again", 1}, c)
		here, err := w.Markers(t.Context(), m.Conflicts)
		f.no(errors.Join(err, w.Close()))
		left, err := s.Markers(t.Context(), c, m.Conflicts)
		f.no(err)
		var lines []int
		for _, l := range left {
			lines = append(lines, l.Line)
		}
		if !slices.Equal(lines, want) || !slices.Equal(left, here) {
			t.Errorf("%q: markers in %v, in the directory %v, want %v", text, lines, here, want)
		}
	}
	if left, err := s.Markers(t.Context(), m.Commit, m.Conflicts); err != nil || len(left) < 2 {
		t.Errorf("what is not resolved has the markers %v, %v", left, err)
	}
}

// TestMovedMarkers resolves a conflict in a file that gets another name.
func TestMovedMarkers(t *testing.T) {
	f := newFixture(t)
	f.put("page.md", "<<<<<<< example\none\n")
	s := f.open()
	b := f.capture(s, "r1").Commit
	x := Branch{"x", f.change(s, "x", b, map[string]string{"page.md": "<<<<<<< example\nx\n"})}
	y := Branch{"y", f.change(s, "y", b, map[string]string{"page.md": "<<<<<<< example\ny\n"})}
	m, err := s.Merge(t.Context(), "r1", b, []Branch{x, y})
	f.no(err)
	for text, want := range map[string][]Marker{
		"<<<<<<< example\n<<<<<<< x\nx\n=======\ny\n>>>>>>> y\n": {{"new.md", 2}, {"new.md", 6}},
		"<<<<<<< example\nx\ny\n":                                nil,
	} {
		c := f.change(s, "resolve", m.Commit, map[string]string{"page.md": "", "new.md": text})
		if left, err := s.MovedMarkers(t.Context(), c, m); err != nil || !slices.Equal(left, want) {
			t.Errorf("%q: markers in %v, %v, want %v", text, left, err, want)
		}
	}
}

// TestDigestHasEveryPath has a path that looks like a part of what git prints.
func TestDigestHasEveryPath(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	digests := map[string]bool{}
	for _, content := range []string{"one\n", "two\n"} {
		d, err := s.Diff(t.Context(), b.Commit, f.change(s, "step", b.Commit, map[string]string{"a 000000 b": content}), 0)
		f.no(err)
		digests[d.Digest] = true
	}
	if len(digests) != 2 {
		t.Error("two changes have the same digest")
	}
}

// TestManyConflicts has more paths than a system accepts as arguments.
func TestManyConflicts(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "<<<<<<< a\n", "dir/b.txt": ">>>>>>> b\n"})
	conflicts := []Conflict{{Path: "dir"}}
	for range 1000 {
		conflicts = append(conflicts, Conflict{Path: strings.Repeat("missing/", 400)})
	}
	found, err := s.Markers(t.Context(), c, append(conflicts, Conflict{Path: "a.txt"}))
	if err != nil || len(found) != 2 {
		t.Errorf("%v, %v", found, err)
	}
}

// What a conflict is, is said in words of ours: those of git contain names, as agents choose them.
func TestAboutConflicts(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	lines := strings.Repeat("a line\n", 20)
	b := f.capture(s, "r1").Commit
	from := f.change(s, "from", b, map[string]string{"gone": lines, "moved": lines + "m\n", "bin": "\x00base", "both": lines + "b\n"})
	x := Branch{"x", f.change(s, "x", from, map[string]string{"gone": "x\n" + lines, "moved": "", "to": lines + "m\n", "bin": "\x00x", "new": "x\n", "both": "", "both.x": lines + "b\n", "d": "x\n"})}
	y := Branch{"y", f.change(s, "y", from, map[string]string{"gone": "", "moved": "", "bin": "\x00y", "new": "y\n", "both": "", "both.y": lines + "b\n", "d/e": "y\n"})}
	m, err := s.Merge(t.Context(), "r1", b, []Branch{x, y})
	f.no(err)
	got := map[string]string{}
	for _, c := range m.Conflicts {
		got[c.Path] = m.About(c)
	}
	for path, want := range map[string]string{
		"gone": "deleted in y and modified in x; the directory has the file of x", "to": "renamed in x and deleted in y; the directory has the file of x",
		"bin": "a file that git does not merge line by line, changed in x and in y; the directory has the file of x", "new": "added in x and in y", "d~x": "a file in x and a directory in y; this is d of x: move or remove it",
		"both": "renamed in x and in y, each to another name", "both.x": "the other name in x", "both.y": "the other name in y",
	} {
		if got[path] != want {
			t.Errorf("%s: %q, want %q", path, got[path], want)
		}
	}
}

// TestConflictBesideAnother merges files with directories and links, of which git puts one beside the other. It is unresolved as long as it is there.
func TestConflictBesideAnother(t *testing.T) {
	f := newFixture(t)
	s := f.open()
	b := f.capture(s, "r1").Commit
	link := func(w *Workspace, name string) { f.no(os.Symlink("elsewhere", filepath.Join(w.Root, name))) }
	wx := f.checkout(s, Attempt{"r1", "x", 1}, b)
	f.write(filepath.Join(wx.Root, "d"), "x\n")
	f.write(filepath.Join(wx.Root, "l"), "x\n")
	f.write(filepath.Join(wx.Root, "e"), "x\n")
	f.write(filepath.Join(wx.Root, "e~write-x"), "taken\n")
	f.no(os.RemoveAll(filepath.Join(wx.Root, "dir")))
	link(wx, "dir")
	x := Branch{"write/x", f.collect(wx)}
	wy := f.checkout(s, Attempt{"r1", "y", 1}, b)
	for _, name := range []string{"d/a", "e/a", "dir/b.txt"} {
		f.write(filepath.Join(wy.Root, name), "y\n")
	}
	link(wy, "l")
	y := Branch{"y", f.collect(wy)}
	m, err := s.Merge(t.Context(), "r1", b, []Branch{x, y})
	f.no(err)
	var paths, about []string
	for _, c := range m.Conflicts {
		paths, about = append(paths, c.Path), append(about, m.About(c))
	}
	names := strings.ReplaceAll(strings.Join(paths, " "), x.Commit[:16], "ID")
	if want := "dir/b.txt dir~write-x d~write-x e~write-x-gID l l~write-x"; names != want {
		t.Errorf("the conflicts are %s, want %s", names, want)
	}
	if places := strings.Join(PlacesOf(m.Conflicts), " "); places != "dir/b.txt dir d e l" {
		t.Errorf("they are in %s", places)
	}
	if want := "different kinds of files in write/x and in y; this is l of write/x: move or remove it"; about[len(about)-1] != want {
		t.Errorf("%q, want %q", about[len(about)-1], want)
	}
	w := f.checkout(s, Attempt{"r1", "resolve", 1}, m.Commit)
	for _, left := range []int{4, 0} {
		if left == 0 {
			for _, c := range m.Conflicts {
				if c.Beside != "" {
					f.no(os.Remove(filepath.Join(w.Root, c.Path)))
				}
			}
		}
		here, err := w.Markers(t.Context(), m.Conflicts)
		f.no(err)
		commit, err := w.Collect(t.Context(), "work")
		f.no(err)
		all, err := s.Markers(t.Context(), commit, m.Conflicts)
		f.no(err)
		if len(all) != left || !slices.Equal(all, here) || left > 0 && all[0] != (Marker{Path: "dir~write-x"}) {
			t.Errorf("%v and %v are left, want %d", all, here, left)
		}
	}
	f.no(w.Close())
}
