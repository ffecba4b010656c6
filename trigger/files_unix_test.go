//go:build unix

package trigger

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is not a regular file of the project does not fire: links, directories, pipes, names that cannot be shown.
func TestFilesThatAreNone(t *testing.T) {
	f := newInbox(t, strings.Replace(inbox, "${path}", "${path} ${content}", 1))
	outside := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(f.dir, "inbox", name) }
	for _, err := range []error{
		os.Symlink(outside, in("out.csv")), os.Symlink(filepath.Dir(outside), in("out")), os.Symlink("old.csv", in("link.csv")), os.Symlink("..", in("up")),
		os.Mkdir(in("dir.csv"), 0o755), syscall.Mkfifo(in("pipe.csv"), 0o600),
		os.WriteFile(in("a\nb.csv"), nil, 0o600), os.WriteFile(in("\xff.csv"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f.later(time.Minute)
	f.want()
	// A file that becomes a link after it was found is not read.
	f.write("inbox/a.csv", "1")
	f.later(time.Second)
	if err := os.Remove(in("a.csv")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, in("a.csv")); err != nil {
		t.Fatal(err)
	}
	f.later(time.Minute)
	f.want()
	if st := f.s.mustRead(t, "new"); len(st.Fired) != 0 || len(st.Files) != 1 {
		t.Errorf("the state is %+v", st)
	}
}
