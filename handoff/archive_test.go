package handoff_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hocket-dev/hocket"
)

// unpack returns the names and contents of the files in an archive, in order.
func unpack(t *testing.T, file string) (names []string, texts map[string]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil || h.Mode != 0o644 && h.Mode != 0o755 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%+v, %v", h, err)
		}
		names, texts[h.Name] = append(names, h.Name), string(text)
	}
}

func (o *office) write(id, name, text string) {
	o.Helper()
	file := filepath.Join(o.Dir(id), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		o.Fatal(err)
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

func TestArchive(t *testing.T) {
	o := newOffice(t, "")
	o.send(request(to("b"), ""), request(to("a"), ""), request(to("large"), ""), request(to("linked"), ""))
	o.drive()
	o.send(request(to("open"), "")) // it has not started yet
	o.write("a", "notes/deep.txt", "what the agent found")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("x"), 0o600), os.Symlink(secret, filepath.Join(o.Dir("linked"), "link"))); err != nil {
		t.Fatal(err)
	}
	o.write("large", "log", "")
	if err := os.Truncate(filepath.Join(o.Dir("large"), "log"), 30<<30); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "all.tar.gz")

	// None of them is old enough.
	if done, err := o.Archive(t.Context(), time.Now().Add(-time.Hour), file); err != nil || len(done.Sessions) > 0 || exists(file) {
		t.Fatalf("%+v, %v", done, err)
	}

	// If the archive cannot be written, nothing changes.
	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Hour)
	for _, bad := range []string{taken, filepath.Join(taken, "below.tar.gz"), filepath.Join(t.TempDir(), "missing", "x.tar.gz")} {
		done, err := o.Archive(t.Context(), soon, bad)
		if err == nil || len(done.Sessions) > 0 || o.read("a", "notes/deep.txt") != "what the agent found" {
			t.Errorf("%s: %+v, %v", bad, done, err)
		}
	}

	state := o.read("a", "state.json")
	done, err := o.Archive(t.Context(), soon, file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, done.Sessions); diff != "" || len(done.Kept) != 2 {
		t.Errorf("%s%+v", diff, done)
	}
	for _, kept := range done.Kept {
		if want := map[string]string{"linked": "link is not a file or folder", "large": "large/log is larger than 100 MB"}[kept.ID]; want == "" || !strings.Contains(kept.Why, want) {
			t.Errorf("%+v", kept)
		}
	}
	names, texts := unpack(t, file)
	want := []string{"a/", "a/notes/", "a/notes/deep.txt", "a/output.log", "a/prompt.md", "a/result.json", "a/session.log", "a/state.json",
		"b/", "b/output.log", "b/prompt.md", "b/result.json", "b/session.log", "b/state.json"}
	if diff := cmp.Diff(want, names); diff != "" || texts["a/notes/deep.txt"] != "what the agent found" || texts["a/state.json"] != state {
		t.Error(diff, texts)
	}
	if exists(o.Dir("a")) || exists(o.Dir("b")) || !exists(o.Dir("linked")) || !exists(o.Dir("open")) {
		t.Error("the wrong directories are gone")
	}

	// The journal still has them.
	o.Show(t.Context(), "a")
	if got := o.read("a", "state.json"); got != state {
		t.Error(got)
	}
	if done, err := o.Archive(t.Context(), soon, ""); err != nil || len(done.Sessions) != 1 || filepath.Dir(done.File) != filepath.Dir(o.Dir("a")) {
		t.Errorf("%+v, %v", done, err)
	}
}

// A process that drove a session does not write its directory again after another one has shown how
// the session ended: it may be in an archive by then.
func TestArchiveBeforeTheDriverEnds(t *testing.T) {
	o := newOffice(t, "")
	o.send(request(to("a"), ""))
	run, err := o.p.Run(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	observer, end := o.Follow(t.Context(), run, nil)
	if _, err := run.Drive(t.Context(), hocket.Front{Elsewhere: true, Observer: observer}); err != nil {
		t.Fatal(err)
	}
	if one := o.Show(t.Context(), "a"); one == nil || !one.Final() {
		t.Fatalf("%+v", one)
	}
	done, err := o.Archive(t.Context(), time.Now().Add(time.Hour), filepath.Join(t.TempDir(), "all.tar.gz"))
	if err != nil || len(done.Sessions) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if end(); exists(o.Dir("a")) {
		t.Error("it is there again")
	}
	if o.Show(t.Context(), "a"); !exists(o.Dir("a")) { // somebody asks for it
		t.Error("it is not shown")
	}
}
