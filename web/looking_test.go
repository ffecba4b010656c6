package web_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLookingLeavesTheRepositoryAlone opens the pages of a project while a change waits to land. Nothing in its .git changes, nor its
// times, although git would write there if it were only asked for the status.
func TestLookingLeavesTheRepositoryAlone(t *testing.T) {
	f, git := newRepository(t)
	run := f.begin("ship")
	f.until(run, "waiting")
	git("config", "gc.auto", "1")
	git("update-index", "--split-index", "--untracked-cache")
	root := filepath.Join(f.p.Root(), ".git")
	past := time.Now().Add(-48 * time.Hour)
	for name := range timesIn(t, root) {
		if err := os.Chtimes(name, past, past); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(f.p.Root(), "price.go"), past, past); err != nil {
		t.Fatal(err)
	}
	c := f.client()
	for _, page := range []string{
		"/", "/inbox", "/usage", "PROJECT", "PROJECT/trust", "PROJECT/workflows/ship", "PROJECT/runs/RUN", "PROJECT/runs/RUN/change?question=land",
		"/apiPROJECT/runs", "/apiPROJECT/runs/RUN",
	} {
		before := timesIn(t, root)
		f.get(c, strings.NewReplacer("PROJECT", "/projects/shop", "RUN", run.ID()).Replace(page), 200)
		after := timesIn(t, root)
		for name, is := range after {
			if was := before[name]; was != is {
				t.Errorf("%s: %s was %.200q, is %.200q", page, name, was, is)
			}
		}
		if len(after) != len(before) {
			t.Errorf("%s: %d files were there, and are %d", page, len(before), len(after))
		}
	}
}

// timesIn returns the modes, times and contents of a directory and everything in it.
func timesIn(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
