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

// A directory is kept if it differs from the archive.
func TestChangedDirectory(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"written": func(dir string) error { return os.WriteFile(filepath.Join(dir, "notes"), []byte("found more"), 0o644) },
		"added":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "more"), nil, 0o644) },
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "notes")) },
		"replaced": func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "notes"), dir+"-old"), os.WriteFile(filepath.Join(dir, "notes"), []byte("other"), 0o644))
		},
		"replaced by a folder": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "notes")), os.Mkdir(filepath.Join(dir, "notes"), 0o755))
		},
		"replaced by a file": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o644)) },
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := folder(t)
			d, err := scan(root, "one")
			if err != nil || !d.same(root) {
				t.Fatal(err)
			}
			if err := change(filepath.Join(dir, "one")); err != nil {
				t.Fatal(err)
			}
			if d.same(root) {
				t.Error("it is taken for the same")
			}
			done := &Archived{}
			packed, err := pack(t.Context(), root, []directory{d}, filepath.Join(dir, "all.tar.gz"), done)
			if added := name == "added"; err != nil || len(packed) == 1 != added || len(done.Kept) == 0 != added {
				t.Errorf("%v %+v %v", packed, done, err)
			}
		})
	}
}
