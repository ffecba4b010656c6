package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
)

// TestFromInside is the program in TestInsideRun.
func TestFromInside(t *testing.T) {
	url, token := os.Getenv("INSIDE_URL"), os.Getenv("INSIDE_TOKEN")
	if url == "" {
		t.Skip("this is a program that another test starts")
	}
	for _, method := range []string{"GET", "POST"} {
		req, err := http.NewRequest(method, url, strings.NewReader(`{"workflow": "hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Printf("%s %d %.200s\n", method, res.StatusCode, text)
	}
}

// A step of a run reads through the server, and cannot start a run, whatever its token: the limits of its run
// would not apply.
func TestInsideRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("INSIDE_ALONE") == "" { // what is marked stays marked, so this is done in a process of its own
		cmd := exec.Command(self, "-test.run", "^TestInsideRun$")
		cmd.Env = append(os.Environ(), "INSIDE_ALONE=yes")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	hocket.MarkPrograms() // as the command does
	f := newFixture(t, nil)
	text := fmt.Sprintf("name: inside\nsteps:\n  - id: a\n    agent: shell\n    config:\n      command: INSIDE_URL=%s%s INSIDE_TOKEN=%s setsid %s -test.run '^TestFromInside$'\n", f.base, f.path("/runs"), f.admin, self)
	if err := os.WriteFile(filepath.Join(f.dir, ".hocket/workflows/inside.yml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run := f.begin("inside")
	out := fmt.Sprint(f.until(run, "success").Output)
	if !strings.Contains(out, "GET 200") || !strings.Contains(out, "POST 403") || !strings.Contains(out, "inside-run") {
		t.Error(out)
	}
}
