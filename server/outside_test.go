package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client cannot learn which files exist outside of the project, wherever the server was started.
func TestFilesOutside(t *testing.T) {
	start := t.TempDir()
	t.Chdir(start)
	f := newFixture(t, map[string]string{".hocket/workflows/ask.md": "Say hello.\n"})
	outside := t.TempDir()
	for _, dir := range []string{start, outside} {
		for _, file := range []string{"present.yml", "present.md"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(hello), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	up, err := filepath.Rel(filepath.Join(f.dir, ".hocket", "workflows"), outside)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) Workflow {
		t.Helper()
		return read[Workflow](t, f.want(http.StatusOK, "POST", f.path("/check"), map[string]string{"file": "new.yml", "text": "name: new\nsteps:\n  - {id: a, " + text + "}\n"}))
	}
	for _, dir := range []string{".", outside, filepath.ToSlash(up)} {
		for _, text := range []string{
			"workflow: DIR/NAME.yml",
			"workflow: DIR/NAME",
			"agent: greeter, config: {prompt_file: DIR/NAME.md}",
			"agent: greeter, template: DIR/NAME",
			"agent: shell, config: {command: ls, dir: DIR/NAME.md}",
			"agent: file, config: {action: read, path: DIR/NAME.md}",
		} {
			if dir == "." && strings.Contains(text, "agent: file") || dir == "." && strings.Contains(text, "dir:") {
				continue // not looked for before the run
			}
			var said []string
			for _, name := range []string{"present", "missing"} {
				w := check(strings.NewReplacer("DIR", dir, "NAME", name).Replace(text))
				all := ""
				for _, d := range w.Diagnostics {
					all += d.Code + " " + d.File + " " + strings.ReplaceAll(d.Summary, name, "NAME") + "\n"
				}
				if w.Valid || all == "" {
					t.Errorf("%s in %s: accepted", text, dir)
				}
				said = append(said, all)
			}
			if said[0] != said[1] {
				t.Errorf("%s in %s: if it exists:\n%sotherwise:\n%s", text, dir, said[0], said[1])
			}
		}
	}
	if w := check("agent: greeter, config: {prompt_file: ask.md}"); !w.Valid || w.File != "new.yml" {
		t.Errorf("%q: a file beside it: %+v", w.File, w.Diagnostics)
	}
	if w := check("agent: nobody, prompt: p"); len(w.Diagnostics) == 0 || w.Diagnostics[0].File != "new.yml" {
		t.Errorf("%+v", w.Diagnostics)
	}
}

// What is not a regular file of the project is not replaced, and the answer says why.
func TestSaveOverLink(t *testing.T) {
	f := newFixture(t, nil)
	dir, outside := filepath.Join(f.dir, ".hocket", "workflows"), filepath.Join(t.TempDir(), "secret.yml")
	if err := os.WriteFile(outside, []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"inner.yml": "hello.yml", "outer.yml": outside, "dangling.yml": "nowhere.yml"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links:", err)
		}
	}
	save := func(status int, name, revision string) {
		t.Helper()
		text := f.want(status, "PUT", f.path("/workflows/"+name), map[string]string{"text": gated, "revision": revision, "file": name + ".yml"})
		if !strings.Contains(text, `"type":"urn:hocket:not-a-file"`) && status == http.StatusConflict {
			t.Errorf("%s: %s", name, text)
		}
	}
	save(http.StatusConflict, "inner", read[Workflow](t, f.want(http.StatusOK, "GET", f.path("/workflows/inner"), nil)).Revision)
	save(http.StatusConflict, "dangling", "")
	save(http.StatusConflict, "outer", "")
	save(http.StatusNotFound, "outer", "123")
	if err := os.Rename(dir, filepath.Join(t.TempDir(), "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), dir); err != nil {
		t.Fatal(err)
	}
	save(http.StatusConflict, "fresh", "")
	if text, err := os.ReadFile(outside); err != nil || string(text) != hello {
		t.Errorf("a file outside was changed: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(outside), "fresh.yml")); err == nil {
		t.Error("a file was created outside")
	}
}
