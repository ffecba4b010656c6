package local_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// yields returns how many values a sequence yields, and its errors.
func yields[T any](all iter.Seq2[T, error], each func(T)) (n int, errs []error) {
	for v, err := range all {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		n++
		if each != nil {
			each(v)
		}
	}
	return n, errs
}

// Whatever fails while a run is read, the error comes once, and nothing after it.
func TestReadingThatFails(t *testing.T) {
	a := driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}
	for damage, fails := range map[string]string{
		"":                  "",
		"DELETE FROM runs":  "events, followed events, log, followed log",
		"DROP TABLE events": "events, followed events, log, followed log",
		"UPDATE events SET data = 'x' WHERE seq = 1": "events, followed events, followed log",
		"ALTER TABLE runs DROP COLUMN owner":         "followed events, log, followed log",
	} {
		t.Run(damage, func(t *testing.T) {
			dir := t.TempDir()
			example(t, dir)
			d := openDriver(t, dir)
			store, err := journal.Open(dir, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			w, err := store.Writer(t.Context(), "demo-1") // so that the run counts as driven
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if damage != "" {
				changeSnapshots(t, dir, damage)
			}
			ctx := t.Context()
			var failed []string
			check := func(name string, n int, errs []error) {
				if len(errs) > 1 || len(errs) == 1 && n > 0 {
					t.Errorf("%s: %d values and %v", name, n, errs)
				}
				if len(errs) > 0 {
					failed = append(failed, name)
				}
			}
			n, errs := yields(d.Events(ctx, "demo-1", 0, false), nil)
			check("events", n, errs)
			if damage == "" && n != 3 {
				t.Errorf("%d events", n)
			}
			if damage != "" { // otherwise it waits for more
				n, errs = yields(d.Events(ctx, "demo-1", 0, true), nil)
				check("followed events", n, errs)
			}
			n, errs = yields(d.Read(ctx, a, driver.Output, 0, false), nil)
			check("log", n, errs)
			n, errs = yields(d.Read(ctx, a, driver.Output, 0, true), nil)
			check("followed log", n, errs)
			if got := strings.Join(failed, ", "); got != fails {
				t.Errorf("%s failed, want %s", got, fails)
			}
		})
	}
}

// A log that cannot be read gives its error once.
func TestReadADamagedLog(t *testing.T) {
	dir := t.TempDir()
	example(t, dir)
	d := openDriver(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "logs", "demo-2", "streams*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := errors.Join(os.Remove(files[0]), os.Mkdir(files[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	a := driver.AttemptID{Run: "demo-2", Address: "a", Attempt: 1}
	for _, follow := range []bool{false, true} {
		if n, errs := yields(d.Read(t.Context(), a, driver.Output, 0, follow), nil); n != 0 || len(errs) != 1 {
			t.Errorf("%d pieces, %v", n, errs)
		}
	}
	if kept, err := d.Kept(t.Context(), a); err == nil {
		t.Errorf("%+v", kept)
	}
}

// Whoever follows an attempt sees all that it prints, each piece once, until it has ended.
func TestFollowAnAttempt(t *testing.T) {
	s := openStore(t)
	d := openWith(t, s.Dir(), local.Options{Poll: time.Millisecond})
	a := driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}
	sp := spec(chain(task("a", "x"), gate("ok", "yes")))
	if _, err := d.Start(t.Context(), sp); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text := ""
		_, errs := yields(d.Read(context.Background(), a, driver.Output, 1, true), func(p driver.Piece) {
			text += string(p.Text)
			read <- text
		})
		if len(errs) > 0 {
			t.Error(errs)
		}
		close(read)
	}()
	res, err := d.Drive(t.Context(), "demo-1", driver.Work{Agents: agentFunc(func(_ context.Context, _ *engine.StartTask, log agent.Log) driver.Outcome {
		for i, want := range []string{"ne\n", "ne\ntwo\n"} {
			log([]byte([]string{"one\n", "two\n"}[i]))
			if got := <-read; got != want {
				t.Errorf("read is %q, want %q", got, want)
			}
		}
		return driver.Outcome{}
	})})
	if err != nil || res.Status != engine.Waiting {
		t.Errorf("%s, %v", res.Status, err)
	}
	for text := range read {
		t.Errorf("then %q", text)
	}
}

// What is stored about an attempt has its files, if there are any.
func TestKept(t *testing.T) {
	s := openStore(t)
	start(t, s, chain(task("a", "x"), task("b", "y")), work{Agents: attemptFunc(func(_ context.Context, _ string, task *engine.StartTask, at driver.Attempt) driver.Outcome {
		at.Note("session-1", "model-1")
		at.Keep(driver.Prompt, []byte("prompt"))
		at.Keep(driver.Output, []byte("printed"))
		if task.Node == "a" {
			if err := errors.Join(os.MkdirAll(at.Artifacts, 0o700), os.WriteFile(filepath.Join(at.Artifacts, "f"), []byte("file"), 0o600)); err != nil {
				t.Error(err)
			}
		}
		return driver.Outcome{Usage: engine.Usage{TokensIn: 7}}
	})})
	d := openDriver(t, s.Dir())
	for _, node := range []string{"a", "b"} {
		kept, err := d.Kept(t.Context(), driver.AttemptID{Run: "demo-1", Address: node, Attempt: 1})
		if err != nil || kept.Session != "session-1" || kept.Model != "model-1" || kept.Sizes[driver.Prompt] != 6 || kept.Sizes[driver.Output] != 7 {
			t.Errorf("%s: %+v, %v", node, kept, err)
		}
		if (kept.Dir != "") != (node == "a") || (kept.Files != nil) != (node == "a") {
			t.Errorf("%s: the files are %q", node, kept.Dir)
		}
	}
	if err := os.WriteFile(s.Artifacts(driver.AttemptID{Run: "demo-1", Address: "b", Attempt: 1}), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := d.Kept(t.Context(), driver.AttemptID{Run: "demo-1", Address: "b", Attempt: 1}); err != nil || kept.Dir != "" {
		t.Errorf("%+v, %v", kept, err)
	}
	if _, err := d.Kept(t.Context(), driver.AttemptID{Run: "demo-7", Address: "b", Attempt: 1}); !errors.As(err, new(*driver.UnknownRunError)) {
		t.Errorf("an unknown run: %v", err)
	}
	changeSnapshots(t, s.Dir(), "DROP TABLE attempts")
	if kept, err := d.Kept(t.Context(), driver.AttemptID{Run: "demo-1", Address: "a", Attempt: 1}); err == nil {
		t.Errorf("%+v", kept)
	}
}

// Questions are those of one run or of all, and those of an unknown run are an error.
func TestQuestions(t *testing.T) {
	dir := t.TempDir()
	d := openDriver(t, dir)
	for _, run := range []string{"one", "two"} {
		s := spec(chain(gate("ok", "yes")))
		s.Run = run
		_, err := d.Start(t.Context(), s)
		if err == nil {
			_, err = d.Drive(t.Context(), run, driver.Work{Agents: echo})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for run, want := range map[string]string{"": "one two ", "one": "one ", "two": "two ", "three": ""} {
		questions, err := d.Questions(t.Context(), driver.QuestionFilter{Run: run})
		got := ""
		for _, q := range questions {
			got += q.Run + " "
		}
		if got != want || (err != nil) != (run == "three") {
			t.Errorf("those of %q are of %s, %v", run, got, err)
		}
	}
}

// Whatever this process records, its watchers learn of it at once and not with the next poll.
func TestWatchersInThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openWith(t, t.TempDir(), local.Options{Poll: 1000 * time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for c, err := range d.Watch(ctx, 0) {
				if err != nil {
					t.Error(err)
					return
				}
				if text := c.Run + " " + string(c.Kind) + " " + string(c.Info.Status); !slices.Contains(seen, text) {
					seen = append(seen, text)
				}
			}
		}()
		began := time.Now()
		wants := func(what string, err error, want ...string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if err != nil || !slices.Equal(seen, want) {
				t.Errorf("%s: seen are %q, %v; want %q", what, seen, err, want)
			}
			seen = nil
		}
		wants("first look", nil) // or it could fall between the two records of a start
		s := spec(chain(gate("ok", "yes"), task("b", "x")))
		_, err := d.Start(t.Context(), s)
		wants("start", err, "demo-1 appeared running")
		_, err = d.Drive(t.Context(), "demo-1", driver.Work{Agents: echo})
		wants("drive", err, "demo-1 moved waiting")
		_, err = d.Act(t.Context(), "demo-1", &engine.Answered{ID: "ok", Value: "yes"})
		wants("act", err, "demo-1 moved running")
		_, err = d.Fork(t.Context(), driver.ForkSpec{From: "demo-1", Address: "ok", Run: "demo-2"})
		wants("fork", err, "demo-1 moved running", "demo-2 appeared waiting")
		err = d.Delete(t.Context(), "demo-2")
		wants("delete", err, "demo-2 deleted ")
		_, err = d.Act(t.Context(), "demo-1", &engine.CancelAsked{})
		wants("cancel", err, "demo-1 moved cancelled")
		removed, err := d.Collect(t.Context(), driver.Retention{Age: 1}, nil, false)
		wants("collect", err, "demo-1 deleted ")
		if len(removed) != 1 || time.Since(began) > time.Hour {
			t.Errorf("%+v after %s", removed, time.Since(began))
		}
		cancel()
		<-done
	})
}

// Whoever watches sees the first error and nothing more, and none when it leaves.
func TestWatchThatFails(t *testing.T) {
	dir := t.TempDir()
	example(t, dir)
	d := openWith(t, dir, local.Options{Poll: time.Millisecond})
	n, errs := yields(d.Watch(t.Context(), 0), func(c driver.Change) {
		if c.Run == "lost-1" {
			changeSnapshots(t, dir, "DROP TABLE runs")
		}
	})
	if n != 3 || len(errs) != 1 {
		t.Errorf("%d changes, %v", n, errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, errs := yields(d.Watch(ctx, 0), nil); n != 0 || len(errs) != 0 {
		t.Errorf("%d changes, %v", n, errs)
	}
}

// Runs are removed by age, number and size. Those that are not over are kept, and the last one that
// ended unless it is too old.
func TestCollect(t *testing.T) {
	s := openStore(t)
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	sizes := map[string]int64{}
	for i, status := range []engine.Status{engine.Success, engine.Waiting, engine.Failed, engine.Success} {
		id := fmt.Sprint("run-", i+1)
		w, err := s.Create(journal.NewRun{ID: id, Pin: &driver.Pin{Bundle: chain(task("a", ""))}, Created: noon,
			Events:  []engine.Envelope{{Time: noon, Clock: 1, Event: &engine.Started{Run: id, Version: engine.Version, Inputs: map[string]any{"x": strings.Repeat("x", 1000*(i+1))}}}},
			Summary: &journal.Summary{Status: status, At: noon.Add(time.Duration(i) * time.Minute)}})
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if sizes[id], err = s.Bytes(t.Context(), r); err != nil || sizes[id] < 1000 {
			t.Fatal(sizes, err)
		}
	}
	all := sizes["run-1"] + sizes["run-2"] + sizes["run-3"] + sizes["run-4"]
	d := openWith(t, s.Dir(), local.Options{Clock: &setClock{now: noon.Add(10 * time.Minute)}})
	for _, c := range []struct {
		keep driver.Retention
		want string
	}{
		{driver.Retention{}, ""},
		{driver.Retention{Age: 10 * time.Minute}, ""},
		{driver.Retention{Age: 10*time.Minute - 1}, "run-1"},
		{driver.Retention{Age: time.Minute}, "run-1 run-3 run-4"},
		{driver.Retention{Runs: 4}, ""},
		{driver.Retention{Runs: 3}, "run-1"},
		{driver.Retention{Runs: 2}, "run-1 run-3"},
		{driver.Retention{Runs: 1}, "run-1 run-3"},
		{driver.Retention{Size: all}, ""},
		{driver.Retention{Size: all - 1}, "run-1"},
		{driver.Retention{Size: all - sizes["run-1"]}, "run-1"},
		{driver.Retention{Size: all - sizes["run-1"] - 1}, "run-1 run-3"},
		{driver.Retention{Size: 1}, "run-1 run-3"},
		{driver.Retention{Size: all - 1, Runs: 2}, "run-1 run-3"},
	} {
		surplus, err := d.Collect(t.Context(), c.keep, nil, true)
		var ids []string
		for _, r := range surplus {
			ids = append(ids, r.ID)
			if r.Size != sizes[r.ID] {
				t.Errorf("%s has %d bytes, want %d", r.ID, r.Size, sizes[r.ID])
			}
		}
		if got := strings.Join(ids, " "); got != c.want || err != nil {
			t.Errorf("%+v: %s, %v; want %s", c.keep, got, err, c.want)
		}
	}
	changeSnapshots(t, s.Dir(), "UPDATE runs SET owner = '{' WHERE id = 'run-3'")
	if surplus, err := d.Collect(t.Context(), driver.Retention{Age: time.Minute}, nil, true); err != nil || len(surplus) != 2 {
		t.Errorf("a damaged run is surplus: %+v, %v", surplus, err)
	}
	changeSnapshots(t, s.Dir(), "UPDATE runs SET owner = '{}' WHERE id = 'run-3'")
	local.Refuse(t, s.Dir(), func() error { return errors.New("it was refused") }, "DELETE ON runs")
	if removed, err := d.Collect(t.Context(), driver.Retention{Runs: 1}, nil, false); err == nil || len(removed) > 0 {
		t.Errorf("%+v, %v", removed, err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "logs"), nil, 0o600); err != nil { // their files cannot be read
		t.Fatal(err)
	}
	for _, keep := range []driver.Retention{{Age: 1}, {Size: 1}} {
		if surplus, err := d.Collect(t.Context(), keep, nil, true); err == nil {
			t.Errorf("%+v: %+v", keep, surplus)
		}
	}
}

// Whoever follows a run that is deleted meanwhile learns it, once.
func TestFollowARunThatIsDeleted(t *testing.T) {
	dir := t.TempDir()
	example(t, dir)
	d := openWith(t, dir, local.Options{Poll: time.Millisecond})
	store, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w, err := store.Writer(t.Context(), "lost-1") // so that it counts as driven
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, errs := yields(d.Events(ctx, "lost-1", 1, true), func(engine.Envelope) { changeSnapshots(t, dir, "DELETE FROM runs WHERE id = 'lost-1'") })
	if len(errs) != 1 || !errors.As(errs[0], new(*driver.UnknownRunError)) {
		t.Errorf("its events: %v", errs)
	}
	a := driver.AttemptID{Run: "lost-1", Address: "a", Attempt: 1}
	if over, _, err := local.AttemptEnded(t.Context(), store, a, 0); !over || !errors.As(err, new(*driver.UnknownRunError)) {
		t.Errorf("%t, %v", over, err)
	}
}
