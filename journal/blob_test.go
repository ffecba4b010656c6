package journal

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

func TestLongStringsAreStoredOnceByHash(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	long := strings.Repeat("a \"quoted\" \\ line\n\u2028<&>\x01", 10_000)
	want := []engine.Envelope{
		started("demo-1"),
		ended(1, long),
		ended(2, "short"),
		ended(3, long),
		ended(4, strings.Repeat("z", MaxInline-1000)), // stays inline
	}
	appendEvents(t, w, want[1])
	appendEvents(t, w, want[2:]...)
	wantEvents(t, s, "demo-1", want)

	var blobs, biggest int
	if err := s.read.QueryRow("SELECT (SELECT count(*) FROM blobs), (SELECT max(length(data)) FROM events)").Scan(&blobs, &biggest); err != nil {
		t.Fatal(err)
	}
	if blobs != 1 {
		t.Errorf("%d blobs are stored for two equal strings", blobs)
	}
	if biggest > MaxInline {
		t.Errorf("an event of %d bytes is stored inline", biggest)
	}
}

// A long text is the output of a task only if it is stored in its place.
func TestLongStringsThatAreNoOutput(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	long := strings.Repeat("why ", MaxInline)
	fails := func(i int, output string) engine.Envelope {
		e := ended(i, output)
		e.Event.(*engine.TaskEnded).Fault = &engine.Fault{Kind: engine.FaultError, Message: long}
		return e
	}
	want := []engine.Envelope{started("demo-1"), fails(1, ""), fails(2, "short"), fails(3, long+"!"), ended(4, long)}
	appendEvents(t, w, want[1:]...)
	wantEvents(t, s, "demo-1", want)
	for e, err := range s.Brief(t.Context(), "demo-1", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if ev := e.Event.(*engine.TaskEnded); (ev.Stored > 0) != (ev.Fault == nil) {
			t.Errorf("event %d: the output is stored as event %d", e.Seq, ev.Stored)
		}
	}
}

// The output of an event can be read alone, even if other strings of the event are long.
func TestOutputAmongLongStrings(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	long := strings.Repeat("long", MaxInline)
	for i, output := range []string{"short", "", long} {
		e := engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: "work", Attempt: 1, Output: output, Fault: &engine.Fault{Message: long}}}
		appendEvents(t, w, e)
		if got, err := s.Output(t.Context(), "demo-1", i+2); err != nil || got != output {
			t.Errorf("the output has %d bytes, %v, want %d", len(got), err, len(output))
		}
	}
	appendEvents(t, w, ended(4, "plain"))
	if got, err := s.Output(t.Context(), "demo-1", 5); err != nil || got != "plain" {
		t.Errorf("the output is %q, %v", got, err)
	}
	change(t, s, "DELETE FROM blobs")
	if _, err := s.Output(t.Context(), "demo-1", 2); !IsProblem(err, Corrupt) || !strings.Contains(err.Error(), "value ") {
		t.Errorf("without the long strings, the output is %v", err)
	}
	if _, err := s.Output(t.Context(), "demo-1", 1); !IsProblem(err, Corrupt) {
		t.Errorf("the start of a run has an output: %v", err)
	}
}

// A fork has the long outputs of the run that it repeats, even when that is deleted.
func TestForkHasLongOutputs(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	long := strings.Repeat("long", MaxInline)
	appendEvents(t, w, ended(1, long))
	fork := keyed("demo-2", "", "")
	fork.Origin, fork.Events = "demo-1", list(started("demo-2"), engine.Envelope{Time: start, Event: &engine.TaskEnded{Address: "work[1]", Attempt: 1, Stored: 2}})
	again, err := s.Create(fork)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	w.Close()
	if _, err := s.Delete(t.Context(), "demo-1"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Output(t.Context(), "demo-2", 2); err != nil || got != long {
		t.Errorf("the output has %d bytes, %v", len(got), err)
	}
}

func TestLongStringsDeepInValues(t *testing.T) {
	s := openStore(t, t.TempDir())
	long := strings.Repeat("é", MaxInline)
	inputs := map[string]any{
		"deep":      []any{map[string]any{"x": long, "y": []any{long + "!", "short", nil, true, json.Number("1e400")}}},
		"":          long,
		long + "":   "the key stays",
		"$blob":     "a value that looks like a mark",
		"reference": map[string]any{"at": json.Number("3"), "hash": "00"},
	}
	first := engine.Envelope{Time: start, Event: &engine.Started{Run: "demo-1", Version: engine.Version, Inputs: inputs}}
	w, err := s.Create(NewRun{ID: "demo-1", Pin: testPin("demo"), Events: []engine.Envelope{first}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got, ok := readEvents(t, s, "demo-1")[0].Event.(*engine.Started)
	if !ok {
		t.Fatal("the first event is not Started")
	}
	if diff := cmp.Diff(inputs, got.Inputs); diff != "" {
		t.Error("the inputs changed on their way through the journal")
	}
}

func TestDamagedValueIsFound(t *testing.T) {
	damages := []string{
		"UPDATE blobs SET data = data || 'x'",
		"DELETE FROM blobs",
		"UPDATE events SET blobs = '[{\"at\":1,\"hash\":\"00\"}]' WHERE blobs IS NOT NULL",
		"UPDATE events SET blobs = 'x' WHERE blobs IS NOT NULL",
	}
	for _, damage := range damages {
		s := openStore(t, t.TempDir())
		w := createRun(t, s, "demo-1")
		appendEvents(t, w, ended(1, "before"), ended(2, strings.Repeat("x", 2*MaxInline)), ended(3, "after"))
		if _, err := s.write.Exec(damage); err != nil {
			t.Fatal(err)
		}
		n, last := 0, error(nil)
		for _, err := range s.Events(context.Background(), "demo-1", 0) {
			if last = err; err == nil {
				n++
			}
		}
		if n != 2 || !IsProblem(last, Corrupt) {
			t.Errorf("%s: %d events, then %v", damage, n, last)
		}
	}
}

// putBack restores whatever takeOut removed, for any text.
func TestTakeOutAndPutBack(t *testing.T) {
	s := openStore(t, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringN(1, 20, -1).Draw(t, "piece")
		n := rapid.SampledFrom([]int{1, 10, MaxInline / len(piece), 2 * MaxInline / len(piece)})
		value := map[string]any{
			piece: strings.Repeat(piece, n.Draw(t, "n1")),
			"b":   []any{strings.Repeat(piece, n.Draw(t, "n2")), strings.Repeat(piece, n.Draw(t, "n3"))},
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		r, err := takeOut(string(text))
		if err != nil {
			t.Fatal(err)
		}
		back := r.data
		if r.blobs != nil {
			for _, b := range r.blobs {
				if _, err := s.write.Exec("INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING", b.hash, b.text); err != nil {
					t.Fatal(err)
				}
			}
			if back, err = s.putBack(context.Background(), r.data, r.places()); err != nil {
				t.Fatal(err)
			}
		}
		var want, got any
		if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal([]byte(back), &got)); err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(want, got) {
			t.Fatalf("%q became %q", text, back)
		}
	})
}

// Whoever has read enough of a run with long strings gets no more of it.
func TestLongStringsReadInPart(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	events := list(endedWith(strings.Repeat("long", MaxInline), engine.Usage{}))
	for i := range 2 * chunk {
		events = append(events, ended(i+1, "x"))
	}
	appendEvents(t, w, events...)
	for _, err := range s.lines(t.Context(), "demo-1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		break // Go panics if the iterator goes on
	}
	if n := len(readEvents(t, s, "demo-1")); n != 2*chunk+2 {
		t.Errorf("%d events", n)
	}
}

func TestPinWithoutWorkflow(t *testing.T) {
	if _, err := decodePin([]byte("{}")); err == nil || !strings.Contains(err.Error(), "it has no workflow") {
		t.Error(err)
	}
}

// Places that do not fit the text are damage, and not a reason to crash.
func TestPlacesThatDoNotFit(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	appendEvents(t, w, ended(1, strings.Repeat("long", MaxInline)))
	var places string
	if err := s.write.QueryRow("SELECT blobs FROM events WHERE blobs IS NOT NULL").Scan(&places); err != nil {
		t.Fatal(err)
	}
	var ps []place
	if err := json.Unmarshal([]byte(places), &ps); err != nil || len(ps) != 1 {
		t.Fatal(places, err)
	}
	at := func(n int, hash string) string {
		return workflow.FormatJSON([]any{map[string]any{"at": n, "hash": hash}})
	}
	if text, err := s.putBack(t.Context(), `["", ""]`, at(1, ps[0].Hash)); err != nil || len(text) < MaxInline {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for name, places := range map[string]string{
		"before": at(-1, ps[0].Hash), "behind": at(7, ps[0].Hash), "elsewhere": at(2, ps[0].Hash), "no hash": at(1, "zz"), "no list": "x", "unknown": at(1, "00"),
		"twice": "[" + strings.Trim(at(1, ps[0].Hash), "[]") + "," + strings.Trim(at(1, ps[0].Hash), "[]") + "]",
	} {
		if _, err := s.putBack(t.Context(), `["", ""]`, places); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPinThatWasExchanged(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	_, other, err := encodePin(testPin("other"))
	if err == nil {
		_, err = s.write.Exec("UPDATE pins SET data = ?", other)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.lastPin.Store(nil)
	if _, err := s.Pin(t.Context(), "demo-1"); err == nil || !strings.Contains(err.Error(), "does not match its hash") {
		t.Error(err)
	}
}

// A run that begins with the results of another may also have results of its own.
func TestForkWithOwnResult(t *testing.T) {
	s := openStore(t, t.TempDir())
	appendEvents(t, createRun(t, s, "demo-1"), ended(1, "x"))
	n := keyed("demo-2", "", "")
	n.Origin, n.Events = "demo-1", list(started("demo-2"), ended(1, "own"))
	if _, err := s.Create(n); err != nil {
		t.Fatal(err)
	}
	if events := readEvents(t, s, "demo-2"); len(events) != 2 || events[1].Event.(*engine.TaskEnded).Output != "own" {
		t.Errorf("%v", events)
	}
}
