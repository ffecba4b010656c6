package tool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Everything that a program leaves in its temporary directory is removed, but nothing
// that it links to.
func TestRemove(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "temp")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	const deep = 3000 // too long for a path
	for i := range deep {
		if err := at.Mkdir("directory", 0o700); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			_ = at.Symlink(filepath.Dir(outside), "link") // some systems do not support links
		}
		next, err := at.OpenRoot("directory")
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = next
	}
	at.Close()
	for _, closed := range []string{"directory/directory", "directory"} {
		if err := os.Chmod(filepath.Join(dir, closed), 0); err != nil {
			t.Fatal(err)
		}
	}
	remove(dir)
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(outside); err != nil {
		t.Error(err)
	}
}
