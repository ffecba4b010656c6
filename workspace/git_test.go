package workspace

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestMessagesThatMatterAreKept has more messages than are kept, in pieces.
func TestMessagesThatMatterAreKept(t *testing.T) {
	var m messages
	write := func(text string) {
		for len(text) > 0 {
			n := min(len(text), 1000)
			if _, err := m.Write([]byte(text[:n])); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
	}
	write("first\n" + strings.Repeat("warning: noise\n", maxStderr) + unopened + "'dir': no\nwarning: more noise\nerror: wrong\nfatal: cut off")
	text := m.text().String()
	if want := fmt.Sprintf("%s'dir': no\nerror: wrong\nfatal: cut off\n", unopened); !strings.HasPrefix(text, "first\n") || !strings.HasSuffix(text, want) || len(text) > 2*maxStderr {
		t.Errorf("%d bytes, which end with %q", len(text), text[max(0, len(text)-200):])
	}
}

// TestSealReportsBothSides has a repository that takes no objects. The reason is that, not that the other program cannot write.
func TestSealReportsBothSides(t *testing.T) {
	f := newFixture(t)
	f.put("big.txt", strings.Repeat("0123456789abcdef", 1<<16))
	s := f.open()
	q, err := s.quarantine(f.repo, "")
	f.no(err)
	defer q.remove()
	_, err = q.add(t.Context(), nil, nil)
	f.no(err)
	tree, err := q.out(t.Context(), "write-tree")
	f.no(err)
	err = q.seal(t.Context(), git{objects: t.TempDir(), env: []string{"GIT_DIR=" + filepath.Join(f.state, "gone")}}, tree)
	if err == nil || !strings.Contains(err.Error(), "git index-pack: ") {
		t.Errorf("error %v", err)
	}
}
