package wholefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hocket-dev/hocket/internal/disktest"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.txt")
	for _, text := range []string{"one", "", "another"} {
		if err := wholefile.Write(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("it holds %q, %v, want %q", got, err, text)
		}
	}
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"taken", "missing/file"} {
		if err := wholefile.Write(filepath.Join(dir, place), []byte("x"), 0o600); err == nil {
			t.Errorf("%s was written", place)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// After a crash, a file that was renamed before it was synced may be empty.
func TestSyncedBeforeRenamed(t *testing.T) {
	disktest.Unsynced(t, func() {
		file := filepath.Join(t.TempDir(), "notes.txt")
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := wholefile.Write(file, []byte("new"), 0o600); err == nil {
			t.Error("it was written without a sync")
		}
		if got, err := os.ReadFile(file); string(got) != "old" {
			t.Errorf("the file was replaced: %q, %v", got, err)
		}
	})
}

func TestSyncDir(t *testing.T) {
	if err := wholefile.SyncDir(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := wholefile.SyncDir(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	disktest.Unsynced(t, func() {
		if err := wholefile.SyncDir(os.TempDir()); err == nil {
			t.Error("a failure was not reported")
		}
	})
}
