package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/server"
)

// A step below a server with several runs cannot use the budget of another one.
func TestBudgetOfAnotherRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere, the environment is all there is")
	}
	k := newKilled(t, map[string]string{
		".hocket/workflows/inner.yml": "name: inner\nsteps:\n" + strings.Repeat("  - {agent: shell, config: {command: echo x >>count}}\n", 3),
		".hocket/workflows/big.yml":   "name: big\nlimits: {max_steps: 500}\nsteps: [{id: a, agent: shell, config: {command: \"echo $HOCKET_RUN >big; while ! test -e end; do sleep 0.05; done\"}}]\n",
		".hocket/workflows/small.yml": "name: small\nlimits: {max_steps: 2}\nsteps: [{id: a, agent: shell, config: {command: [sh, small.sh]}}]\n",
		"small.sh":                    "hocket run inner.yml\nexec env HOCKET_RUN=$(cat big) sh -c 'for i in 1 2 3; do hocket run inner; done; touch end; true'\n",
	})
	k.env = append(k.env, "PATH="+filepath.Dir(k.program)+":"+os.Getenv("PATH"))
	k.start()
	defer func() { k.kill() }()
	base := k.runs()
	for _, name := range []string{"big", "small"} {
		if status, text := k.do("POST", base, "", map[string]any{"workflow": name}); status != 201 {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(k.dir, "big")); err == nil {
				break
			}
		}
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, text := k.do("GET", base+"?workflow=small", "", nil)
		var page struct{ Items []server.RunLine }
		if err := json.Unmarshal(text, &page); err != nil || len(page.Items) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		if page.Items[0].Status == "success" {
			text, _ := os.ReadFile(filepath.Join(k.dir, "count"))
			if n := strings.Count(string(text), "x"); n > 1 {
				t.Errorf("%d steps ran inside of a run with 2", n)
			}
			return
		}
	}
	t.Fatal("the run has not ended")
}

// A server with several projects tells each program where its own run is stored, so that a run inside of it uses
// the budget of that run, and not that of another project.
func TestStateOfEachProject(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere, the environment is all there is")
	}
	k := newKilled(t, map[string]string{
		".hocket/workflows/outer.yml": "name: outer\nsteps:\n  - {id: a, agent: shell, config: {command: \"touch started; while ! test -e go; do sleep 0.02; done\"}}\n" +
			"  - {id: b, agent: shell, config: {command: \"hocket -C ../inner run inner\"}}\n",
	})
	base := filepath.Dir(k.dir)
	hold := filepath.Join(base, "hold")
	for file, text := range map[string]string{
		filepath.Join(hold, ".hocket/workflows/hold.yml"):           "name: hold\nlimits: {max_steps: 1}\nsteps: [{id: a, agent: shell, config: {command: \"touch started; while ! test -e end; do sleep 0.02; done\"}}]\n",
		filepath.Join(base, "inner", ".hocket/workflows/inner.yml"): "name: inner\nsteps: [{id: a, agent: shell, config: {command: echo x}}]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k.env = append(k.env, "PATH="+filepath.Dir(k.program)+":"+os.Getenv("PATH"))
	k.more = []string{k.dir, hold}
	k.start()
	defer func() { k.kill() }()
	for _, one := range [][2]string{{k.dir, "outer"}, {hold, "hold"}} {
		if status, text := k.do("POST", "/api/projects/"+filepath.Base(one[0])+"/runs", "", map[string]any{"workflow": one[1]}); status != 201 {
			t.Fatalf("%s: %d %s", one[1], status, text)
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(one[0], "started")); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(one[1] + " has not started")
			}
		}
	}
	if err := os.WriteFile(filepath.Join(k.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.WriteFile(filepath.Join(hold, "end"), nil, 0o644) }()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, text := k.do("GET", "/api/projects/"+filepath.Base(k.dir)+"/runs", "", nil)
		var page struct{ Items []server.RunLine }
		if err := json.Unmarshal(text, &page); err != nil || len(page.Items) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		switch page.Items[0].Status {
		case "success":
			return
		case "error":
			_, text := k.do("GET", "/api/projects/"+filepath.Base(k.dir)+"/runs/"+page.Items[0].ID, "", nil)
			t.Fatalf("a run inside of it was refused: %.2000s", text)
		}
	}
	t.Fatal("the run has not ended")
}
