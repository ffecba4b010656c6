package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

const manyItems = "name: many\nlimits: {max_steps: 100000, max_parallel: 50}\ninputs: {items: {type: array, required: true}}\nsteps:\n  - {id: one, for_each: \"${inputs.items}\", as: item, agent: greeter, prompt: a}\n"

// manySteps runs a workflow with a number of steps, and returns the run.
func (f *fixture) manySteps(n int) *hocket.Run {
	f.t.Helper()
	w, err := f.p.Load("many")
	if err != nil {
		f.t.Fatal(err)
	}
	replies, found := hocket.ReadReplies("replies.yml", []byte("one: done\n"))
	if found.Errors() {
		f.t.Fatal(found)
	}
	items := make([]any, n)
	for i := range items {
		items[i] = i
	}
	run, err := f.p.Start(f.t.Context(), w, map[string]any{"items": items}, hocket.WithReplies(replies))
	if err == nil {
		_, err = run.Wait(f.t.Context())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return run
}

// history reads the pages of a history, and returns its entries.
func (f *fixture) history(run string, limit int) (all []string) {
	f.t.Helper()
	for after := "0.0"; after != ""; {
		p := read[page[Event]](f.t, f.want(http.StatusOK, "GET", f.path(fmt.Sprintf("/runs/%s/history?limit=%d&after=%s", run, limit, after)), nil))
		for _, e := range p.Items {
			text, err := json.Marshal(e)
			if err != nil {
				f.t.Fatal(err)
			}
			all = append(all, string(text))
		}
		after = p.Next
	}
	return all
}

// Who reads a history page by page does not make the server replay the run for every page.
func TestHistoryInPages(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/many.yml": manyItems, ".hocket/config.yml": "driver: counted\n"})
	run := f.manySteps(50)
	whole := f.history(run.ID(), 1000)
	f.reads.Store(0)
	for _, limit := range []int{7, 1} {
		got := f.history(run.ID(), limit)
		if len(got) != len(whole) || len(got) < 200 {
			t.Fatalf("%d entries in pages of %d, want %d", len(got), limit, len(whole))
		}
		for i := range got {
			if got[i] != whole[i] {
				t.Fatalf("entry %d in pages of %d is\n%s\nwant\n%s", i, limit, got[i], whole[i])
			}
		}
	}
	if n := f.reads.Load(); n > 6 {
		t.Errorf("the run was replayed %d times", n)
	}
}

// What has happened since is in the next page: only what is recorded is kept.
func TestHistoryGoesOn(t *testing.T) {
	f := newFixture(t, nil)
	run := f.begin("gated")
	r := f.until(run, "waiting")
	before := f.history(run, 1)
	f.want(http.StatusOK, "POST", f.path("/runs/"+run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": r.Open[0].Digest})
	f.until(run, "success")
	after := f.history(run, 1)
	if whole := f.history(run, 1000); len(before) >= len(whole) || len(after) != len(whole) {
		t.Errorf("%d entries, then %d of %d", len(before), len(after), len(whole))
	}
}

var historySteps = flag.Int("server-history", 200, "how many steps the run of TestLongHistory has")

// TestLongHistory logs how long reading a history takes in pages of 200, and at once.
func TestLongHistory(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/many.yml": manyItems, ".hocket/config.yml": "driver: counted\n"})
	run := f.manySteps(*historySteps)
	begun := time.Now()
	whole := 0
	for range run.History(t.Context(), hocket.EventID{}) {
		whole++
	}
	once := time.Since(begun)
	f.reads.Store(0)
	begun = time.Now()
	n := len(f.history(run.ID(), 200))
	t.Logf("%d entries: read at once %v; in pages of 200 %v, %d replays", n, once, time.Since(begun), f.reads.Load())
	if n != whole {
		t.Errorf("%d entries in pages, %d at once", n, whole)
	}
}
