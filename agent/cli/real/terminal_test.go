package realtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// terminal is a CLI in a terminal, as a person uses it. tmux is the pseudo-terminal, and draws the
// screen.
type terminal struct {
	t      *testing.T
	f      *fixture
	socket string
	seen   []string // the different screens so far
}

// interactive has for each CLI the arguments for a terminal, in addition to the prompt.
var interactive = map[string][]string{
	"claude": {"--model", "sonnet", "--allowedTools=mcp__hocket"},
	"codex":  {"--disable", "plugins", "-c", `mcp_servers.hocket.default_tools_approval_mode="approve"`, "-c", "mcp_servers.hocket.required=true"},
}

// settle answers what a CLI asks when it is started for the first time: the user has chosen a theme
// and a key, and trusts the project as far as the CLI is concerned.
func (f *fixture) settle(t *testing.T) {
	t.Helper()
	file := map[string]string{"claude": ".claude.json", "codex": ".codex/config.toml"}[f.cli]
	file = filepath.Join(f.home, file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if f.cli == "codex" {
		data = fmt.Appendf(nil, "check_for_update_on_startup = false\n%s\n[projects.%q]\ntrust_level = \"trusted\"\n", data, f.project)
	} else {
		var settings map[string]any
		err = json.Unmarshal(data, &settings)
		maps.Copy(settings, map[string]any{
			"hasCompletedOnboarding": true, "theme": "dark",
			"customApiKeyResponses": map[string]any{"approved": []any{"dummy-key"}},
			"projects":              map[string]any{f.project: map[string]any{"hasTrustDialogAccepted": true}},
		})
		data, _ = json.Marshal(settings)
	}
	if err := errors.Join(err, os.WriteFile(file, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// open starts the CLI in a terminal, and has its model follow a script.
func (f *fixture) open(t *testing.T, steps ...fakemodel.Step) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed, which is the terminal of this test")
	}
	dir, err := os.MkdirTemp("", "tmux-") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "settings")
	if err := os.WriteFile(settings, []byte("set -g remain-on-exit on\nset -s escape-time 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, f: f, socket: filepath.Join(dir, "s")}
	args := append([]string{"-f", settings, "new-session", "-d", "-x", "110", "-y", "50", "-c", f.project, "--", "env", "-i", "TERM=xterm-256color"}, f.env...)
	args = append(append(args, f.program()), interactive[f.cli]...)
	prompt := "Do as the script says. " + fakemodel.Prompt(steps...)
	if f.cli != "claude" {
		args = append(args, prompt)
	}
	s.tmux(args...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", s.screen())
		}
		_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
		f.noneLeft(t)
	})
	if f.cli == "claude" { // it does not wait for its servers
		s.greet()
		s.say(prompt)
	}
	return s
}

// greet talks with the model until it is offered the tools of Hocket.
func (s *terminal) greet() {
	s.t.Helper()
	s.sees("❯")
	for n := 1; ; n++ {
		words := fmt.Sprintf("Hello %d.", n)
		before := len(s.f.server.Requests())
		s.say(words)
		var hello *fakemodel.Request
		s.wait("the greeting", func() bool {
			for _, r := range s.f.server.Requests()[before:] {
				if len(r.Tools) > 0 && strings.Contains(r.Prompt, words) {
					hello = r
				}
			}
			return hello != nil
		})
		s.sees(fmt.Sprintf("Welcome %d.", n))
		if slices.ContainsFunc(hello.Tools, func(t fakemodel.Tool) bool { return strings.HasSuffix(t.Name, "hocket_workflow") }) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// welcome answers greetings.
func welcome(r *fakemodel.Request) fakemodel.Step {
	if at := strings.LastIndex(r.Prompt, "Hello "); at >= 0 {
		n, _, _ := strings.Cut(r.Prompt[at+len("Hello "):], ".")
		return say("Welcome " + n + ".")
	}
	return say("the inner answer")
}

func (s *terminal) tmux(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...)
	cmd.Dir = filepath.Dir(s.socket)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %s: %v: %s", args[0], err, out)
	}
	return string(out)
}

// screen returns what a person sees.
func (s *terminal) screen() string {
	now := s.tmux("capture-pane", "-p")
	if len(s.seen) == 0 || s.seen[len(s.seen)-1] != now {
		s.seen = append(s.seen, now)
	}
	return now
}

// sees waits until some words are on the screen.
func (s *terminal) sees(words string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%q on the screen", words), func() bool { return strings.Contains(s.screen(), words) })
}

// gone waits until some words are no longer on the screen.
func (s *terminal) gone(words string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("no %q on the screen", words), func() bool { return !strings.Contains(s.screen(), words) })
}

// never reports an error if some words have been on the screen.
func (s *terminal) never(words string) {
	s.t.Helper()
	if slices.ContainsFunc(s.seen, func(screen string) bool { return strings.Contains(screen, words) }) {
		s.t.Errorf("the screen has shown %q", words)
	}
}

func (s *terminal) wait(what string, so func() bool) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	defer stop()
	done := false
	when(ctx, so, func() { done = true })
	if !done {
		s.t.Fatalf("waited in vain for %s", what)
	}
}

// press presses a key, as tmux names it.
func (s *terminal) press(key string) { s.tmux("send-keys", key) }

// say types words, and sends them.
func (s *terminal) say(words string) {
	s.t.Helper()
	s.tmux("send-keys", "-l", words)
	s.sees(words[len(words)-3:]) // the screen may break lines
	s.press("Enter")
}
