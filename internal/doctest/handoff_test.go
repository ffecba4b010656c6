package doctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// Every example of a handoff is valid, and its reply answers everything that it asks for.
func TestHandoffExamples(t *testing.T) {
	onPath(t, "claude")
	dir := filepath.Join(examples(t), "handoff")
	files, err := filepath.Glob(filepath.Join(dir, "[a-z]*.md"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		out, code := hocket(t, dir, t.TempDir(), "handoff", "check", filepath.Base(file))
		if code != 0 || !strings.Contains(out, "ok: 1 request checked") {
			t.Errorf("%s: exit code %d\n%s", file, code, out)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h, err := protocol.Read(file, text, protocol.Options{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "replies", strings.TrimSuffix(filepath.Base(file), ".md")+".yml")
		if text, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
		replies, found := scripted.Parse(name, text)
		if found.Errors() || !replies.CoversTask("handoff") {
			t.Fatalf("%s: %v", name, found)
		}
		_, reply, _ := strings.Cut(string(text), "handoff: |\n")
		r := protocol.ReadResponse(reply)
		if r.Form != protocol.XMLForm || r.Status != protocol.Completed || len(r.Found) > 0 {
			t.Errorf("%s is read as %s %s: %v", name, r.Form, r.Status, r.Found)
		}
		for _, d := range r.Unanswered(h.Requests[0]) {
			t.Errorf("%s does not answer %q", name, d.Text)
		}
		for _, d := range h.Requests[0].Deliverables {
			if d.Kind == protocol.File && filepath.Base(d.Path) != "result.json" && !strings.Contains(reply, `path="`+d.Path+`"`) {
				t.Errorf("%s does not mention %s", name, d.Path)
			}
		}
	}
}

// A workflow whose step hands work off can be tried without an agent.
func TestHandingOnExample(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(examples(t), "handoff"))); err != nil {
		t.Fatal(err)
	}
	out, code := hocket(t, dir, state, "run", "fix-login.yml", "--replies", "replies/fix-login.yml")
	if code != 0 || !strings.Contains(out, "status 400") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	out, code = hocket(t, dir, state, "handoff", "list", "--run", "fix-login-")
	if code != 0 || !strings.Contains(out, "fix/handoff-1  test-agent  COMPLETED") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// The script starts three sessions in the background, and waits for them.
func TestHandoffScript(t *testing.T) {
	for _, program := range []string{"bash", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := lingering(t)
	if err := os.CopyFS(filepath.Join(dir, "handoff"), os.DirFS(filepath.Join(examples(t), "handoff"))); err != nil {
		t.Fatal(err)
	}
	onPath(t, "claude")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "hocket"), []byte("#!/bin/sh\n"+asHocket+"=1 exec '"+self+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "handoff", "validate-all.sh"), "--replies")
	usual, _ := secret.Usual(os.Environ())
	cmd.Env = append(usual, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "cannot be enforced") {
		t.Skip("this machine has no Landlock")
	}
	if err != nil || strings.Count(string(out), "  COMPLETED  ") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

// lingering returns a temporary folder that is removed once background processes have stopped
// writing to it.
func lingering(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "doctest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return dir
}
