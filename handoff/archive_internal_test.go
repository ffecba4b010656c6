package handoff

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/internal/disktest"
)

func folder(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "one"), 0o755), os.WriteFile(filepath.Join(dir, "one", "notes"), []byte("found"), 0o644)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, dir
}

// An archive that was not written to disk does not count.
func TestArchiveOfFullDisk(t *testing.T) {
	disktest.Unsynced(t, func() {
		root, dir := folder(t)
		d, err := scan(root, "one")
		if err != nil {
			t.Fatal(err)
		}
		packed, err := pack(t.Context(), root, []directory{d}, filepath.Join(dir, "all.tar.gz"), &Archived{})
		if err == nil || packed != nil {
			t.Errorf("packed %v", packed)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

// A directory is kept if it differs from the archive, whether before or after it was packed.
func TestChangedDirectory(t *testing.T) {
	notes := func(dir string) string { return filepath.Join(dir, "notes") }
	again := func(dir, text string) error { // as Hocket writes its files
		return errors.Join(os.WriteFile(dir+"-new", []byte(text), 0o644), os.Rename(dir+"-new", notes(dir)))
	}
	for name, c := range map[string]struct {
		change       func(dir string) error
		packed, same bool
	}{
		"written":       {func(dir string) error { return os.WriteFile(notes(dir), []byte("found more"), 0o644) }, true, false},
		"added":         {func(dir string) error { return os.WriteFile(filepath.Join(dir, "more"), nil, 0o644) }, true, false},
		"removed":       {func(dir string) error { return os.Remove(notes(dir)) }, false, false},
		"executable":    {func(dir string) error { return os.Chmod(notes(dir), 0o755) }, true, false},
		"replaced":      {func(dir string) error { return again(dir, "other") }, true, false},
		"written again": {func(dir string) error { return again(dir, "found") }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []bool{true, false} {
				root, dir := folder(t)
				d, err := scan(root, "one")
				if err != nil {
					t.Fatal(err)
				}
				if before {
					err = c.change(filepath.Join(dir, "one"))
				}
				done := &Archived{}
				packed, failed := pack(t.Context(), root, []directory{d}, filepath.Join(dir, "all.tar.gz"), done)
				if !before {
					err = c.change(filepath.Join(dir, "one"))
				}
				if err != nil || failed != nil {
					t.Fatal(err, failed)
				}
				if want := c.packed || !before; (len(packed) == 1) != want || (len(done.Kept) == 0) != want {
					t.Fatalf("before: %v: packed %v, kept %v", before, packed, done.Kept)
				}
				// A file is in the archive as it was when it was read.
				content := name == "written" || name == "replaced" || name == "executable"
				if same := d.same(root); same != (c.same || before && content) {
					t.Errorf("before: %v: same: %v", before, same)
				}
			}
		})
	}
}
