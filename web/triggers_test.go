package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTriggersOnThePage shows what triggers a project has, what they did, and why they do nothing.
func TestTriggersOnThePage(t *testing.T) {
	f := newClone(t, map[string]string{
		".hocket/triggers/nightly.yml": "workflow: hello\nschedule: \"0 3 * * *\"\nzone: Europe/Berlin\n",
		".hocket/triggers/wrong.yml":   "workflow: helo\nafter: hello\n",
		".hocket/triggers/off.yml":     "workflow: hello\nafter: hello\nenabled: false\n",
	})
	state, err := json.Marshal(map[string]any{"cause": "other", "since": time.Now(), "fired": []map[string]any{
		{"key": "2026-11-17T02:00:00Z", "at": time.Now(), "run": "hello-1"}, {"key": "2026-11-18T02:00:00Z", "at": time.Now(), "why": "<b>it was not over</b>"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(f.p.State(), "triggers"), 0o700); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(f.p.State(), "triggers", "nightly.json")); err == nil {
			break // the server has begun to serve it
		}
	}
	if err := os.WriteFile(filepath.Join(f.p.State(), "triggers", "nightly.json"), state, 0o600); err != nil {
		t.Fatal(err)
	}
	page := f.get(f.client(), "/projects/shop", http.StatusOK)
	for _, want := range []string{
		"at 0 3 * * * (Europe/Berlin)", "not trusted", "unknown workflow &#34;helo&#34;", "disabled",
		`href="/projects/shop/runs/hello-1"`, "no run: &lt;b&gt;it was not over&lt;/b&gt;", "2 firings",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %q:\n%s", want, page[strings.Index(page, `id="triggers"`):])
		}
	}
}
