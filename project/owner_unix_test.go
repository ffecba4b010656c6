//go:build unix

package project_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A project above the directory that belongs to another user is ignored.
func TestProjectOfAStranger(t *testing.T) {
	dir := write(t, map[string]string{".hocket/config.yml": "{}", "mine/.hocket/config.yml": "{}", "work/a.txt": ""})
	const stranger = 54321
	if err := os.Chown(filepath.Join(dir, ".hocket"), stranger, stranger); err != nil {
		t.Skip("only the administrator can give files away")
	}
	work := filepath.Join(dir, "work")
	if got := open(t, work).Root; got != work {
		t.Errorf("root %s", got)
	}
	if got := open(t, dir).Root; got != dir { // opened explicitly, so it is used
		t.Errorf("root %s", got)
	}
	if err := os.Chown(work, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if got := open(t, work).Root; got != dir {
		t.Errorf("root %s", got)
	}
}
