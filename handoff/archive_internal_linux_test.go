package handoff

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What an agent puts in the place of a file that is about to be archived neither blocks Hocket nor
// keeps other directories out of the archive.
func TestReplacedWhileArchived(t *testing.T) {
	for name, replace := range map[string]func(file string) error{
		"by a pipe":                 func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"by a link to another file": func(file string) error { return os.Symlink("more", file) },
		"by a link that leads out":  func(file string) error { return os.Symlink("/etc/hosts", file) },
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := folder(t)
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "two"), 0o755), os.WriteFile(filepath.Join(dir, "one", "more"), []byte("x"), 0o644)); err != nil {
				t.Fatal(err)
			}
			one, err := scan(root, "one")
			two, also := scan(root, "two")
			notes := filepath.Join(dir, "one", "notes")
			if err := errors.Join(err, also, os.Remove(notes), replace(notes)); err != nil {
				t.Fatal(err)
			}
			done := &Archived{}
			packed, err := pack(t.Context(), root, []directory{one, two}, filepath.Join(dir, "all.tar.gz"), done)
			if err != nil || len(packed) != 1 || packed[0].id != "two" || len(done.Kept) != 1 || done.Kept[0].ID != "one" {
				t.Errorf("%v %+v %v", packed, done, err)
			}
		})
	}
}
