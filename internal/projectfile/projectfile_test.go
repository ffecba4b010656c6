//go:build unix

package projectfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hocket-dev/hocket/internal/projectfile"
)

func TestRead(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "project")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "dir"), 0o700))
	must(os.WriteFile(filepath.Join(base, "secret"), []byte("secret"), 0o600))
	must(os.WriteFile(filepath.Join(root, "file"), []byte("text"), 0o600))
	must(os.Symlink("../file", filepath.Join(root, "dir", "in")))
	must(os.Symlink(filepath.Join(root, "file"), filepath.Join(root, "absolute")))
	must(os.Symlink("../secret", filepath.Join(root, "out")))
	must(os.Symlink("/dev/zero", filepath.Join(root, "zero")))
	must(os.Symlink("..", filepath.Join(root, "up")))
	must(os.Symlink(root, filepath.Join(base, "link")))
	must(syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	for _, name := range []string{"file", "dir/in", "absolute", "dir/../file"} {
		if text, err := projectfile.Read(filepath.Join(root, name), root); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := projectfile.Read(filepath.Join(base, "link", "file"), filepath.Join(base, "link")); err != nil || string(text) != "text" {
		t.Errorf("below a link to the project: %q, %v", text, err)
	}
	var outside *projectfile.OutsideError
	for _, name := range []string{"out", "zero", "up/secret", "../secret"} {
		if text, err := projectfile.Read(root+"/"+name, root); !errors.As(err, &outside) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"pipe", "dir"} {
		if text, err := projectfile.Read(filepath.Join(root, name), root); !errors.Is(err, projectfile.ErrNotFile) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := projectfile.Read(filepath.Join(root, "missing"), root); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if list, err := projectfile.List(filepath.Join(root, "dir"), root); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if list, err := projectfile.List(filepath.Join(root, "missing"), root); err != nil || list != nil {
		t.Error(list, err)
	}
	if _, err := projectfile.List(filepath.Join(root, "up"), root); !errors.As(err, &outside) {
		t.Error(err)
	}
}
