package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/server"
)

// A server that gets SIGTERM lets the attempt in progress end, starts no further step, and exits without an error. The
// next server continues.
func TestSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	k := newKilled(t, map[string]string{
		".hocket/workflows/two.yml": "name: two\nsteps:\n  - {id: a, agent: shell, config: {command: \"touch started; while ! test -e go; do sleep 0.02; done; echo a >>done\"}}\n" +
			"  - {id: b, agent: shell, config: {command: echo b >>done}}\n",
	})
	k.start()
	base := k.runs()
	if status, text := k.do("POST", base, "", map[string]any{"workflow": "two"}); status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	content := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(k.dir, name))
		return string(text)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(k.dir, "started")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the run has not started")
		}
	}
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	for _, try := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", base, "", 200}, // what happens can still be seen
		{"POST", base, `{"workflow": "two"}`, 503},
		{"GET", "/healthz", "", 503},
	} {
		r, err := http.NewRequest(try.method, "http://"+k.address+try.path, strings.NewReader(try.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+k.secret)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != try.status || try.status == 503 && !strings.Contains(string(text), "stopping") {
			t.Errorf("%s %s after the signal: %d %s", try.method, try.path, res.StatusCode, text)
		}
	}
	if err := os.WriteFile(filepath.Join(k.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("the server exits with %v", err)
	}
	if got := content("done"); got != "a\n" {
		t.Errorf("after the signal: %q", got)
	}
	k.start()
	defer k.kill()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, text := k.do("GET", base, "", nil)
		var page struct{ Items []server.RunLine }
		if err := json.Unmarshal(text, &page); err == nil && len(page.Items) == 1 && page.Items[0].Status == "success" {
			if got := content("done"); got != "a\nb\n" {
				t.Errorf("in the end: %q", got)
			}
			return
		}
	}
	t.Error("the next server has not continued the run")
}
