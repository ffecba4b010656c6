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
