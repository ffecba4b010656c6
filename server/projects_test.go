package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The list of projects remembers for a moment whether they are trusted, but not longer than until somebody approves them.
func TestListIsTrustedAtOnce(t *testing.T) {
	f := newFixture(t, nil)
	file := filepath.Join(f.dir, ".hocket", "workflows", "build.yml")
	if err := os.WriteFile(file, []byte("name: build\nsteps:\n  - {id: a, agent: shell, config: {command: make}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	listed := func() bool {
		return read[[]Project](t, f.want(http.StatusOK, "GET", "/api/projects", nil))[0].Trusted
	}
	if listed() {
		t.Fatal("a project with a command is trusted")
	}
	shown := read[Trust](t, f.want(http.StatusOK, "GET", f.path("/trust"), nil))
	listed() // which remembers it
	f.want(http.StatusNoContent, "POST", f.path("/trust"), map[string]string{"digest": shown.Digest})
	if !listed() {
		t.Error("the list does not say that the project was approved")
	}
}

// A project whose runs are on a server that nobody has approved does not get in the way of the others, and can be approved here.
func TestProjectOnAServer(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/config.yml": "driver: temporal\ntemporal: {address: \"temporal.example.org:7233\"}\n"})
	for _, path := range []string{"/api/projects", "/api/questions", "/metrics"} {
		f.want(http.StatusOK, "GET", path, nil)
	}
	f.want(http.StatusForbidden, "GET", f.path("/runs"), nil)
	shown := read[Trust](t, f.want(http.StatusOK, "GET", f.path("/trust"), nil))
	f.want(http.StatusNoContent, "POST", f.path("/trust"), map[string]string{"digest": shown.Digest})
	f.want(http.StatusOK, "GET", f.path("/runs"), nil)
}

// A project with a driver that this program does not have is listed with that problem, and does not get in the way of the
// others.
func TestProjectWithUnknownDriver(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/config.yml": "driver: elsewhere\n"})
	for _, path := range []string{"/api/questions", "/metrics", f.path("")} {
		f.want(http.StatusOK, "GET", path, nil)
	}
	all := read[[]Project](t, f.want(http.StatusOK, "GET", "/api/projects", nil))
	if len(all) != 1 || !strings.Contains(all[0].Problem, `unknown driver "elsewhere"`) || !strings.Contains(all[0].Problem, "config.yml") || all[0].Workflows != 2 {
		t.Errorf("listed as %+v", all)
	}
	if text := f.want(http.StatusConflict, "GET", f.path("/runs"), nil); !strings.Contains(text, "urn:hocket:unknown-driver") {
		t.Error(text)
	}
	if err := os.WriteFile(filepath.Join(f.dir, ".hocket", "config.yml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if all = read[[]Project](t, f.want(http.StatusOK, "GET", "/api/projects", nil)); all[0].Problem != "" {
		t.Errorf("without the driver: %+v", all)
	}
}
