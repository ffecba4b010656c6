package server

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

func TestTheSameKeyStartsOneRun(t *testing.T) {
	f := newFixture(t, nil)
	ids := make([]string, 20)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() { ids[i] = f.begin("hello", "Idempotency-Key", "one") })
	}
	wait.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the runs are %v", ids)
			break
		}
	}
	f.want(http.StatusConflict, "POST", f.path("/runs"), map[string]any{"workflow": "gated"}, "Idempotency-Key", "one")
	// Keys of different tokens are different.
	token, err := f.access.Create("ci", []Scope{Start}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if id := f.begin("hello", "Idempotency-Key", "one", "Authorization", "Bearer "+token); id == ids[0] {
		t.Error("another token got the run")
	}
}

// A run that waits is not driven, and continues after an answer of another process.
func TestAnsweredElsewhere(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	for end := time.Now().Add(10 * time.Second); f.until(run, "waiting").Driven; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a waiting run is driven")
		}
	}
	other, err := hocket.Open(f.dir, hocket.Options{By: "grace", Via: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r, err := other.Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Answer(t.Context(), "approve", hocket.Answer{Value: "yes"}); err != nil {
		t.Fatal(err)
	}
	f.until(run, "success")
	f.want(http.StatusConflict, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "no", "digest": "sha256:x"})
}

// A retry that is due later is made by the server, without anyone asking for it.
func TestDueLater(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/flaky.yml": "name: flaky\nsteps:\n  - id: a\n    agent: shell\n    retry: {attempts: 2, delay: 1500ms}\n    config: {command: 'test -e done || { touch done; exit 1; }'}\n",
	})
	run := f.begin("flaky")
	if r := f.until(run, "success"); r.Steps[0].Attempts != 2 {
		t.Errorf("the step has %d attempts", r.Steps[0].Attempts)
	}
}

// The server continues its own runs after a restart, and leaves those of others alone.
func TestRestart(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/slow.yml": "name: slow\nsteps:\n  - {id: a, agent: greeter, prompt: x}\n  - {id: b, agent: shell, config: {command: 'while ! test -e go; do sleep 0.02; done'}}\n",
	})
	own := f.begin("slow")
	f.until(own, "running")
	other, err := hocket.Open(f.dir, hocket.Options{Via: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := other.Load("slow")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	theirs, err := other.Start(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.until(theirs.ID(), "running")
	interrupt() // in their terminal
	_, _ = theirs.Wait(context.Background())
	other.Close()
	f.until(theirs.ID(), "interrupted")
	farewellFor(t, 50*time.Millisecond)
	f.stop()
	f.start()
	f.until(own, "running")
	if err := os.WriteFile(f.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.until(own, "success")
	f.until(theirs.ID(), "interrupted")
	// Handed to the server, it is the server's.
	f.want(http.StatusOK, "POST", f.path("/runs/"+theirs.ID()+"/resume"), nil)
	f.until(theirs.ID(), "success")
}

func TestSave(t *testing.T) {
	f := newFixture(t, nil)
	w := read[Workflow](t, f.want(http.StatusOK, "GET", f.path("/workflows/hello"), nil))
	save := func(status int, text, revision string) string {
		t.Helper()
		return f.want(status, "PUT", f.path("/workflows/hello"), map[string]string{"text": text, "revision": revision})
	}
	changed := strings.Replace(w.Text, "again", "once more", 1)
	now := read[Workflow](t, save(http.StatusOK, changed, w.Revision))
	if now.Text != changed || now.Revision == w.Revision || now.Digest == w.Digest {
		t.Errorf("saved: %+v", now)
	}
	if text := save(http.StatusConflict, "other", w.Revision); !strings.Contains(text, "urn:hocket:revision") {
		t.Errorf("the conflict is %s", text)
	}
	// Many at once: one wins.
	var mu sync.Mutex
	won := 0
	var wait sync.WaitGroup
	for i := range 10 {
		wait.Go(func() {
			res := f.request("PUT", f.path("/workflows/hello"), map[string]string{"text": changed + fmt.Sprintf("# %d\n", i), "revision": now.Revision})
			mu.Lock()
			defer mu.Unlock()
			if res.StatusCode == http.StatusOK {
				won++
			}
		})
	}
	wait.Wait()
	if won != 1 {
		t.Errorf("%d of 10 were saved", won)
	}
	f.want(http.StatusOK, "PUT", f.path("/workflows/fresh"), map[string]string{"text": hello, "revision": "", "file": "fresh.yml"})
	f.want(http.StatusConflict, "PUT", f.path("/workflows/fresh"), map[string]string{"text": hello + "# other\n", "revision": "", "file": "fresh.yml"})
	broken := read[Workflow](t, f.want(http.StatusOK, "PUT", f.path("/workflows/broken"), map[string]string{"text": "name: broken\nsteps:\n  - {id: a, agent: nobody}\n", "revision": "", "file": "broken.yml"}))
	if broken.Valid || len(broken.Diagnostics) == 0 {
		t.Errorf("broken: %+v", broken)
	}
	f.want(http.StatusUnprocessableEntity, "POST", f.path("/runs"), map[string]string{"workflow": "broken"})
}

func TestConvert(t *testing.T) {
	f := newFixture(t, nil)
	for _, to := range []string{"xml", "mermaid", "plantuml", "yaml", ""} {
		c := read[Converted](t, f.want(http.StatusOK, "POST", f.path("/convert?to="+to), map[string]string{"file": "hello.yml", "text": hello}))
		back := read[Workflow](t, f.want(http.StatusOK, "POST", f.path("/check"), map[string]string{"file": "hello." + map[string]string{"xml": "xml", "mermaid": "md", "plantuml": "puml", "yaml": "yml", "": "yml"}[to], "text": c.Text}))
		want := read[Workflow](t, f.want(http.StatusOK, "GET", f.path("/workflows/hello"), nil))
		if !back.Valid || back.Digest != want.Digest {
			t.Errorf("%s: %+v\n%s", to, back, c.Text)
		}
	}
	for _, as := range []string{"tree", "json", "mermaid", "plantuml", "dot", "svg"} {
		if text := f.want(http.StatusOK, "GET", f.path("/workflows/hello/graph?as="+as), nil); !strings.Contains(text, "greet") {
			t.Errorf("%s: %s", as, text)
		}
	}
	f.want(http.StatusUnprocessableEntity, "POST", f.path("/convert?to=xml"), map[string]string{"file": "x.yml", "text": "steps: ["})
}

// A server that stops starts no step, and lets the one that runs end.
func TestStop(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/slow.yml": "name: slow\nsteps:\n  - {id: a, agent: shell, config: {command: 'touch began; while ! test -e go; do sleep 0.02; done; echo first'}}\n  - {id: b, agent: shell, effect: once, config: {command: 'echo second'}}\n",
	})
	run := f.begin("slow")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(f.dir + "/began"); err == nil {
			break
		}
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.stop()
	}()
	time.Sleep(50 * time.Millisecond) // it has noticed
	if err := os.WriteFile(f.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-stopped
	p, err := hocket.Open(f.dir, hocket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.State(t.Context())
	if err != nil || s.Result.Steps[0].Status != "success" || s.Result.Steps[0].Attempts != 1 {
		t.Errorf("after the stop: %+v, %v", s.Result, err)
	}
	p.Close()
	f.start()
	if r := f.until(run, "success"); len(r.Steps) != 2 || r.Steps[1].Attempts != 1 {
		t.Errorf("after the restart: %+v", r.Steps)
	}
}
