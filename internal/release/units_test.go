package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// systemd accepts the units, and they stop the server as it expects.
func TestUnits(t *testing.T) {
	for name, flag := range map[string]string{"hocket.service": "--system", "hocket-user.service": "--user"} {
		r := &release{source: source{Version: "v1.2.3"}}
		text, err := r.filled(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"\nKillMode=mixed\n", "\nTimeoutStopSec=60\n", "Hocket v1.2.3"} { // longer than open attempts may take
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		verify(t, name, flag, text)
	}
}

// The unit on the page about workers lets them finish their steps: the programs that they have started get no signal.
func TestWorkerUnit(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/temporal.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```text\n[Unit]")
	text, _, _ = strings.Cut("[Unit]"+text, "```")
	for _, want := range []string{"\nKillMode=mixed\n", "\nTimeoutStopSec=30min\n", "hocket worker --name "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the unit:\n%s", want, text)
		}
	}
	verify(t, "the unit on the page", "--system", []byte(text))
}

// verify lets systemd check a unit.
func verify(t *testing.T, name, flag string, text []byte) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	// The program need not be installed here.
	here := regexp.MustCompile(`ExecStart=\S+`).ReplaceAll(text, []byte("ExecStart=/bin/sh"))
	file := filepath.Join(t.TempDir(), "hocket.service")
	if err := os.WriteFile(file, here, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(analyze, "verify", "--man=no", flag, file)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "hocket.service") {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}
