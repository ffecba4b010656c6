package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRunsInsideARun has steps on two machines that start runs at the same moment. Together, these have what is left of the limits of the run
// around them.
func TestRunsInsideARun(t *testing.T) {
	if os.Getenv("HOCKET_TEMPORAL") == "" {
		t.Skip("HOCKET_TEMPORAL does not say where the server is installed; `make temporal` does that, and runs this")
	}
	address := startServer(t)
	o := newOffice(t, address)
	for file, text := range map[string]string{
		"config.yml":          "driver: temporal\ntemporal: {address: \"" + address + "\", queue: office, store: " + t.TempDir() + "}\n",
		"workflows/inner.yml": "name: inner\nsteps:\n  - {id: a, agent: shell, config: {command: [echo, of the inner run]}}\n",
		"workflows/outer.yml": `name: outer
limits: {max_steps: 9}
steps:
  - id: each
    for_each: '${["1","2","3","4","5","6"]}'
    agent: shell
    config: {command: "hocket run inner 2>&1 || true"}
`,
	} {
		if err := os.WriteFile(filepath.Join(o.dir, ".hocket", file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o.trust()
	o.prints("ready for runs", 0, "migrate")
	digest := strings.TrimSpace(o.hocket(0, "trust", "--print"))
	for _, name := range []string{"desk", "shelf"} {
		w, trust := o.command("worker", "--name", name, "--attempts", "3"), o.command("trust", "--trust", digest)
		w.Env = append(w.Env, "XDG_STATE_HOME="+filepath.Join(t.TempDir(), name))
		trust.Env = w.Env
		if text, err := trust.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Process.Kill(); _ = w.Wait() }()
	}
	for range 100 {
		if said, _ := o.command("doctor").Output(); strings.Contains(string(said), "desk") && strings.Contains(string(said), "shelf") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	out, err := o.command("run", "outer").Output()
	ran, refused := strings.Count(string(out), "of the inner run"), strings.Count(string(out), "nothing is left of max_steps of run outer-")
	if err != nil || ran < 2 || ran > 3 || ran+refused != 6 {
		t.Errorf("%v, %d runs, %d refused:\n%s", err, ran, refused, out)
	}
}
