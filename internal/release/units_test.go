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
}
