//go:build unix

package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestVanishingFiles has files that are gone when git reads them, as those of editors and builds are, for a while or always.
func TestVanishingFiles(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	for name, said := range map[string]string{
		"before it is read":   "fatal: unable to stat '.f.swp': No such file or directory",
		"when it is opened":   `error: open(".f.swp"): No such file or directory`,
		"while it is read":    "error: short read while indexing .f.swp",
		"its directory":       "fatal: unable to stat '.f.swp': Not a directory",
		"a directory, unread": "warning: could not open directory '.f.swp/': No such file or directory",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(".gitignore", ".env\n")
			f.put(".env", "secret\n")
			s := f.open()
			b := f.capture(s, "r0")
			w := f.checkout(s, Attempt{"r0", "step", 1}, b.Commit)
			defer w.Close()
			f.write(w.Root+"/new.txt", "new\n")
			left := filepath.Join(t.TempDir(), "left")
			shim := t.TempDir()
			code := "128"
			if strings.HasPrefix(said, "warning") {
				code = "0"
			}
			script := "#!/bin/sh\nread n < " + left + "\ncase \" $* \" in *' add --'*) if [ $n -gt 0 ]; then cat > /dev/null; echo $((n-1)) > " + left +
				"; cat " + left + ".said >&2; exit " + code + "; fi;; esac\nexec " + program + " \"$@\"\n"
			f.write(left+".said", said+"\n")
			f.write(filepath.Join(shim, "git"), script)
			f.no(os.Chmod(filepath.Join(shim, "git"), 0o755))
			t.Setenv("PATH", shim+string(os.PathListSeparator)+os.Getenv("PATH"))

			times := func(n int) { f.write(left, strconv.Itoa(n)+"\n") }
			times(3)
			b, err := s.Capture(t.Context(), "r1", []string{".env"})
			f.no(err)
			f.has(s, b.Commit, ".env", "secret")
			times(3)
			c, err := w.Collect(t.Context(), "work")
			f.no(err)
			f.has(s, c, "new.txt", "new")
			times(100)
			var gone *VanishedError
			if _, err := s.Capture(t.Context(), "r1", nil); !errors.As(err, &gone) || gone.Path != ".f.swp" {
				t.Errorf("the error is %v", err)
			}
			if _, err := w.Collect(t.Context(), "work"); !errors.As(err, &gone) || gone.Path != ".f.swp" {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
