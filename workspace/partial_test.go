package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPartialClone has a partial clone with a sparse checkout. What the error says to do helps.
func TestPartialClone(t *testing.T) {
	for _, advice := range []string{"git sparse-checkout disable", "git fetch --refetch --no-filter"} {
		f := newFixture(t)
		f.put("dir/deep/c.txt", "c\n")
		f.git(f.repo, "add", "-A")
		f.git(f.repo, "commit", "-qm", "second")
		f.git(f.repo, "config", "uploadpack.allowFilter", "true")
		f.git(f.repo, "config", "uploadpack.allowAnySHA1InWant", "true")
		clone := f.repo + "-partial"
		f.git(".", "clone", "-q", "--filter=blob:none", "--sparse", "file://"+f.repo, clone)
		f.repo = clone
		s := f.open()
		_, err := s.Capture(t.Context(), "r1", nil)
		var partial *partialError
		if !errors.As(err, &partial) || !strings.Contains(err.Error(), advice) || !strings.Contains(err.Error(), "such as "+partial.File) {
			t.Errorf("error %v", err)
		}
		_, err = s.Checkout(t.Context(), Attempt{"r1", "step", 1}, strings.TrimSpace(f.git(clone, "rev-parse", "HEAD"))) // as on another machine
		if !errors.As(err, &partial) {
			t.Errorf("a checkout: %v", err)
		}
		f.git(clone, strings.Fields(advice)[1:]...)
		w := f.checkout(s, Attempt{"r1", "step", 2}, f.capture(s, "r1").Commit)
		if got := f.read(w.Root, "dir", "deep", "c.txt"); got != "c\n" {
			t.Errorf("the file is %q", got)
		}
		if _, err := os.Lstat(filepath.Join(clone, "dir")); (err == nil) != strings.Contains(advice, "disable") {
			t.Errorf("after %s: %v", advice, err)
		}
		f.collect(w)
	}
}
