package server

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff"
)

// How a request that changes something can be repeated.
const (
	byKey    = "with Idempotency-Key"
	harmless = "it changes nothing more" // the second one succeeds, or says that the first one did it
	nothing  = "it changes nothing"
)

// Every operation that is not only read can be repeated by a client that got no response.
func TestEveryRequestCanBeRepeated(t *testing.T) {
	decided := map[string]string{
		"start-run": byKey, "retry-run": byKey, "send-handoff": byKey, "add-memory": byKey,
		"cancel-run": harmless, "raise-limits": harmless, "resume-run": harmless, "delete-run": harmless, "answer-question": harmless,
		"save-workflow": harmless, "delete-memory": harmless, "approve-definition": harmless, "reject-definition": harmless, "trust-project": harmless,
		"check-text": nothing, "complete-text": nothing, "draw-text": nothing, "convert-text": nothing, "check-handoff": nothing,
	}
	f := newFixture(t, nil)
	var document struct {
		Paths map[string]map[string]struct {
			ID         string `json:"operationId"`
			Parameters []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(f.want(http.StatusOK, "GET", "/api/openapi.json", nil)), &document); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, path := range document.Paths {
		for method, o := range path {
			keyed := false
			for _, p := range o.Parameters {
				keyed = keyed || p.Name == "Idempotency-Key"
			}
			if how := decided[o.ID]; keyed != (how == byKey) || how == "" && method != "get" {
				t.Errorf("%s: a key is accepted: %t, but decided is %q", o.ID, keyed, how)
			}
			if method != "get" {
				seen++
			}
		}
	}
	if seen != len(decided) {
		t.Errorf("%d operations change something, and %d are decided about", seen, len(decided))
	}
}

// repeats sends a request with a key, again, and again after the server was killed. It returns the first response.
func (f *fixture) repeats(path string, body, other any) string {
	f.t.Helper()
	first := f.want(http.StatusCreated, "POST", f.path(path), body, "Idempotency-Key", "once")
	want := read[any](f.t, first)
	for range 2 {
		if again := f.want(http.StatusCreated, "POST", f.path(path), body, "Idempotency-Key", "once"); !reflect.DeepEqual(read[any](f.t, again), want) {
			f.t.Errorf("repeated: %s, first: %s", again, first)
		}
		f.stop()
		f.start()
		f.carryOut()
	}
	if p := read[Problem](f.t, f.want(http.StatusConflict, "POST", f.path(path), other, "Idempotency-Key", "once")); p.Type != "urn:hocket:key-used" || !strings.HasPrefix(p.Detail, "the Idempotency-Key was used for another request") {
		f.t.Errorf("another request with the key: %+v", p)
	}
	robot, err := f.access.Create("robot", []Scope{Start}, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	f.want(http.StatusCreated, "POST", f.path(path), other, "Idempotency-Key", "once", "Authorization", "Bearer "+robot) // keys belong to a token
	return first
}

// carryOut has handoffs carried out in this process.
func (f *fixture) carryOut() {
	f.s.handoffs = func(p *hocket.Project) *handoff.Sessions {
		all := handoff.Open(p, nil)
		all.Background = func() error { return all.Drive(context.WithoutCancel(f.t.Context())) }
		return all
	}
	powers, err := f.p.Powers()
	if err == nil {
		err = f.p.Trust(powers)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestHandoffIsSentOnce(t *testing.T) {
	f := newFixture(t, nil)
	f.carryOut()
	unnamed := strings.Replace(aRequest, `session_id="first"`, "", 1)
	sent := read[SentHandoffs](t, f.repeats("/handoffs", map[string]string{"text": unnamed}, map[string]string{"text": aRequest}))
	if runs := read[page[RunLine]](t, f.want(http.StatusOK, "GET", f.path("/runs"), nil)); len(runs.Items) != 2 || len(sent.Sessions) != 1 || runs.Items[1].ID != sent.Sessions[0] {
		t.Errorf("sent %+v, the runs are %+v", sent, runs.Items)
	}
}

func TestMemoryIsAddedOnce(t *testing.T) {
	f := newFixture(t, nil)
	first := read[Memory](t, f.repeats("/memories", map[string]any{"text": "The shop closes at noon", "tags": []string{"b", "a"}}, map[string]any{"text": "The shop closes at noon"}))
	if all, err := f.p.Memories(t.Context(), 0, 0, nil); err != nil || len(all) != 2 || all[1].ID != first.ID {
		t.Errorf("the memories are %+v, %v", all, err)
	}
}

// Saving the same text again succeeds, although the revision that was edited is not that of the file any more.
func TestSavingAgain(t *testing.T) {
	f := newFixture(t, nil)
	revision := read[Workflow](t, f.want(http.StatusOK, "GET", f.path("/workflows/hello"), nil)).Revision
	for _, body := range []map[string]string{{"text": hello + "# more\n", "revision": revision}, {"text": "name: new\nsteps:\n  - {id: a, agent: greeter, prompt: x}\n", "revision": "", "file": "new.yml"}} {
		name := strings.TrimSuffix(body["file"], ".yml")
		if name == "" {
			name = "hello"
		}
		first := f.want(http.StatusOK, "PUT", f.path("/workflows/"+name), body)
		if again := f.want(http.StatusOK, "PUT", f.path("/workflows/"+name), body); again != first {
			t.Errorf("again: %s, first: %s", again, first)
		}
		body["text"] += "# other\n"
		f.want(http.StatusConflict, "PUT", f.path("/workflows/"+name), body)
	}
}
