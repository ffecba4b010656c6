package file

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// loose finds files as some systems do: in any case, and by a short name that ends in ~1.
type loose struct{ inRoot }

func (l loose) Lstat(name string) (fs.FileInfo, error) {
	at := "."
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		entries, err := l.ReadDir(at)
		if err != nil {
			return nil, err
		}
		own := part
		for _, e := range entries {
			begin, short := strings.CutSuffix(strings.ToLower(part), "~1")
			if strings.EqualFold(e.Name(), part) || short && strings.HasPrefix(e.Name(), begin) {
				own = e.Name()
			}
		}
		at = filepath.Join(at, own)
	}
	return l.inRoot.Lstat(filepath.ToSlash(at))
}

func TestSpelling(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "secrets", "Inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secrets/x", "secrets/Inner/key.txt", "README"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("hush"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The same file has a second name, so the most similar name is used.
	if err := os.Link(filepath.Join(dir, "secrets", "x"), filepath.Join(dir, "secrets", "a")); err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for written, want := range map[string]string{
		".": ".", "": ".", "/etc/passwd": "/etc/passwd", "../x": "../x",
		"secrets/x": "secrets/x", "SECRETS/X": "secrets/x", "./Secrets//x": "secrets/x", "SECRET~1/iNNER/KEY~1": "secrets/Inner/key.txt",
		"SECRETS/new": "secrets/new", "SECRETS/INNER/sub/New": "secrets/Inner/sub/New", "other/X": "other/X", "README/x": "README/x", "readme": "README",
	} {
		if got := spelt(loose{inRoot{root}}, written); got != want {
			t.Errorf("%q is spelt %q, want %q", written, got, want)
		}
	}
}

// A file that may not be read cannot be read under another spelling either. On systems
// that accept no other spelling, there is no such file.
func TestDeniedInAnyCase(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets", "x"), []byte("hush"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("SECRETS", "X"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	task := &agent.Task{Dir: dir, Agent: &agent.Definition{Permissions: map[string]any{"read": map[string]any{"*": "allow", "secrets/*": "deny"}}}}
	tools, done, err := tools(task)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for _, tool := range tools {
		if tool.Name != "read_file" {
			continue
		}
		for _, name := range []string{"secrets/x", "SECRETS/X", "Secrets/x", "link"} {
			text, err := tool.Call(context.Background(), map[string]any{"path": name}, task, func([]byte) {})
			if err == nil || strings.Contains(text+err.Error(), "hush") {
				t.Errorf("%s was read: %q, %v", name, text, err)
			}
		}
	}
}
