package workspace

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

const nineLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"

// attributed commits files of nine lines, and the attributes for them.
func attributed(t *testing.T, attributes map[string]string, files ...string) *fixture {
	f := newFixture(t)
	for _, name := range files {
		f.put(name, nineLines)
	}
	for name, text := range attributes {
		f.put(name, text)
	}
	f.git(f.repo, "add", "-A")
	f.git(f.repo, "commit", "-qm", "attributes")
	return f
}

// TestMergeByAttributes merges files of which both sides change another line, or the same one.
func TestMergeByAttributes(t *testing.T) {
	const same, other, no = "same/", "other/", ""
	want := map[string]string{ // what is merged; "": a conflict
		other + "plain": "x\n2\n3\n4\n5\n6\n7\n8\ny\n", same + "plain": no,
		other + "a.lock": no, other + "a.generated": no, other + "a.foreign": "x\n2\n3\n4\n5\n6\n7\n8\ny\n", other + "a.mine": no,
		same + "a.log":  "x\ny\n2\n3\n4\n5\n6\n7\n8\n9\n",
		same + "deep/a": "x\ny\n2\n3\n4\n5\n6\n7\n8\n9\n", same + "deep/b": no, same + "deep/er/a": "x\ny\n2\n3\n4\n5\n6\n7\n8\n9\n", other + "deep/b.lock": "x\n2\n3\n4\n5\n6\n7\n8\ny\n",
	}
	f := attributed(t, map[string]string{
		".gitattributes":           "[attr]mine -merge\n*.lock binary\n*.generated -merge\n*.log merge=union\n*.foreign merge=foreign\n*.mine mine\n* conflict-marker-size=20\n",
		"same/deep/.gitattributes": "a merge=union\nb conflict-marker-size=30", "other/deep/.gitattributes": "*.lock merge",
	}, slices.Collect(maps.Keys(want))...)
	f.git(f.repo, "config", "merge.foreign.driver", "false")
	s := f.open()
	b := f.capture(s, "r1").Commit
	x, y := map[string]string{".gitattributes": "* merge=union\n"}, map[string]string{"same/.gitattributes": "* merge=union\n"}
	for name := range want {
		x[name] = strings.Replace(nineLines, "1", "x", 1)
		if y[name] = strings.Replace(nineLines, "9", "y", 1); strings.HasPrefix(name, same) {
			y[name] = strings.Replace(nineLines, "1", "y", 1)
		}
	}
	m, err := s.Merge(t.Context(), "r1", b, []Branch{{"x", f.change(s, "x", b, x)}, {"y", f.change(s, "y", b, y)}})
	f.no(err)
	for name, text := range want {
		i := slices.IndexFunc(m.Conflicts, func(c Conflict) bool { return c.Path == name })
		if conflict := i >= 0; conflict != (text == no) {
			t.Errorf("%s is a conflict: %t", name, conflict)
		} else if !conflict {
			f.has(s, m.Commit, name, text)
		} else if left, err := s.Markers(t.Context(), m.Commit, m.Conflicts[i:i+1]); err != nil || len(left) > 0 != strings.HasPrefix(name, same) {
			t.Errorf("%s has the markers %v, %v", name, left, err)
		}
	}
}

// TestLandByAttributes lands changes of files in which the user has changed the same line, or another one.
func TestLandByAttributes(t *testing.T) {
	for _, how := range []How{AsPatch, AsCommit} {
		for file, want := range map[string]string{"a.log": "mine\nchange\n2\n", "a.lock": "", "a.txt": ""} {
			f := attributed(t, map[string]string{".gitattributes": "*.log merge=union\n*.lock -merge\n"}, file)
			s := f.open()
			b := f.capture(s, "r1")
			line := "1"
			if file == "a.lock" { // a line for itself
				line = "9"
			}
			change := f.change(s, "step", b.Commit, map[string]string{file: strings.Replace(nineLines, line, "change", 1), ".gitattributes": "* merge=union\n"})
			f.put(file, strings.Replace(nineLines, "1", "mine", 1))
			p, err := s.Plan(t.Context(), Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: change}, 1<<20)
			if want == "" {
				if !errors.As(err, new(*LandConflictError)) {
					t.Errorf("%s as a %s: %v", file, how, err)
				}
				continue
			}
			f.no(err)
			f.land(s, Landing{ID: "land", Run: "r1", How: how, Base: b.Commit, Commit: change, Digest: p.Digest})
			if got := f.read(f.repo, file); !strings.HasPrefix(got, want) {
				t.Errorf("%s landed as a %s: %q", file, how, got)
			}
		}
	}
}

// TestForgedAttributes has an agent that gives the attributes another content in the store.
func TestForgedAttributes(t *testing.T) {
	f := attributed(t, map[string]string{".gitattributes": "*.txt -merge\n"}, "a.txt")
	s := f.open()
	b := f.capture(s, "r1").Commit
	x := Branch{"x", f.change(s, "x", b, map[string]string{"a.txt": "x\n"})}
	y := Branch{"y", f.change(s, "y", b, map[string]string{"a.txt": "y\n"})}
	f.forge(s, f.git(f.repo, "rev-parse", "HEAD:.gitattributes"), "* merge=union\n")
	if m, err := s.Merge(t.Context(), "r1", b, []Branch{x, y}); err == nil || !strings.Contains(err.Error(), "other content") {
		t.Errorf("merged %+v, %v", m, err)
	}
}
