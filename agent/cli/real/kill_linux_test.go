package realtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// The program is killed while one CLI waits for another. Resumed, it ends what was left of both,
// the work that was handed off is done, and the one that waited gets the answer. All of it is in one
// ledger.
func TestHandoffSurvivesKill(t *testing.T) {
	claude, codex := newFixture(t, "claude", "dummy"), newFixture(t, "codex", "dummy")
	hocket := filepath.Join(t.TempDir(), "hocket")
	if out, err := exec.Command("go", "build", "-o", hocket, "github.com/hocket-dev/hocket/cmd/hocket").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	state := t.TempDir()
	env := append(slices.Clip(codex.env), claude.env...) // the home is that of claude; codex has a variable
	env = append(env, "XDG_STATE_HOME="+state)
	for name, text := range map[string]string{
		".hocket/agents/boss.yml":   "name: boss\nagent: claude\nmodel: " + models["claude"] + "\npermissions: {mode: full}\n",
		".hocket/agents/worker.yml": "name: worker\nagent: codex\nmodel: " + models["codex"] + "\npermissions: {mode: full}\n",
		"demo.yml": fmt.Sprintf("name: demo\nsteps:\n  - id: lead\n    agent: boss\n    handoffs: {to: [worker, boss], max: 3}\n    prompt: %q\n",
			fakemodel.Prompt(handOff("worker", "Do it.", true), say("boss has the answer"))),
	} {
		path := claude.file(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), hocket, append([]string{"-C", claude.project}, args...)...)
		cmd.Env = env
		return cmd
	}
	digest, err := command("trust", "--print").Output()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "HOCKET_TRUST="+strings.TrimSpace(string(digest)))

	run := command("run", "demo.yml", "--quiet")
	var once sync.Once
	codex.server.Reply(func(r *fakemodel.Request) fakemodel.Step {
		once.Do(func() { _ = run.Process.Kill() })
		if r.Turns == 0 {
			return handOff("boss", "And you?", false)
		}
		return say("worker has done it")
	})
	claude.server.Reply(func(*fakemodel.Request) fakemodel.Step { return say("boss again") })
	var said bytes.Buffer
	run.Stderr = &said
	if err := run.Run(); err == nil || run.ProcessState.ExitCode() != -1 {
		t.Fatalf("it was not killed: %v\n%s", err, said.String())
	}
	listed, err := command("runs", "--json").Output()
	var runs []struct {
		ID string `json:"run_id"`
	}
	if err = errors.Join(err, json.Unmarshal(listed, &runs)); err != nil || len(runs) != 1 {
		t.Fatalf("%v\n%s", err, listed)
	}
	out, err := command("resume", runs[0].ID).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "boss has the answer") {
		t.Fatalf("%v\n%s", err, out)
	}
	shown, err := command("show", runs[0].ID).CombinedOutput()
	for _, want := range []string{" 3 tasks ", "lead/handoff-1 ", "lead/handoff-1/handoff-1 ", "worker has done it", "boss again"} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("%q is missing: %v\n%s", want, err, shown)
		}
	}
}
