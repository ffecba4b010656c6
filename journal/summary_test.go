package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

func find(t *testing.T, s *Store, id string) Run {
	t.Helper()
	r, err := s.Find(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantOpen(t *testing.T, s *Store, run string, want ...string) {
	t.Helper()
	open, err := s.Open(context.Background(), driver.QuestionFilter{Run: run})
	var got []string
	for _, q := range open {
		got = append(got, q.Run+" "+q.ID)
	}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("questions of %q: %q, %v, want %q", run, got, err, want)
	}
}

func asks(id string) (q driver.Question) {
	q.ID = id
	return q
}

func TestSummary(t *testing.T) {
	s := openStore(t, t.TempDir())
	n := keyed("a-1", "", "")
	n.Owner = driver.Owner{By: "ada", Via: "cli", Claimed: true}
	w, err := s.Create(n)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	other := createRun(t, s, "b-1")
	if r := find(t, s, "a-1"); r.Stale || !reflect.DeepEqual(r.Owner, n.Owner) || r.Status != engine.Running {
		t.Errorf("a new run: %+v", r)
	}
	appendEvents(t, w, ended(1, "x"))
	if r := find(t, s, "a-1"); !r.Stale {
		t.Errorf("an event was recorded, and the summary does not say that it is behind: %+v", r)
	}
	m := &Summary{
		Status: engine.Waiting, Due: start.Add(time.Hour), Usage: engine.RunUsage{Steps: 2, Usage: engine.Usage{TokensIn: 7}},
		Questions: list(asks("ok"), asks("work@1")),
	}
	if err := w.Append(Batch{Summary: m}); err != nil {
		t.Fatal(err)
	}
	if err := other.Append(Batch{Summary: &Summary{Status: engine.Waiting, Questions: list(asks("ok"))}}); err != nil {
		t.Fatal(err)
	}
	r := find(t, s, "a-1")
	if r.Stale || r.Status != m.Status || !r.Due.Equal(m.Due) || r.Usage != m.Usage || r.Open != 2 {
		t.Errorf("summary: %+v", r)
	}
	if stored, err := texts(t.Context(), s.read, "SELECT data FROM asked WHERE data LIKE '%a-1%'"); err != nil || len(stored) > 0 {
		t.Errorf("the run is stored twice: %q, %v", stored, err)
	}
	wantOpen(t, s, "a-1", "a-1 ok", "a-1 work@1")
	wantOpen(t, s, "", "a-1 ok", "a-1 work@1", "b-1 ok")

	appendEvents(t, w, ended(2, "x"))
	behind := find(t, s, "a-1")
	if err := s.Refresh(behind, 3, Summary{Status: engine.Running}); err != nil {
		t.Fatal(err)
	}
	if r := find(t, s, "a-1"); r.Stale || r.Status != engine.Running || r.Open != 0 || !r.Due.IsZero() {
		t.Errorf("refreshed: %+v", r)
	}
	if err := s.Refresh(behind, 3, Summary{Status: engine.Success}); err != nil || find(t, s, "a-1").Status != engine.Running {
		t.Errorf("a summary that somebody else has refreshed was replaced, %v", err)
	}
}

func TestFilter(t *testing.T) {
	s := openStore(t, t.TempDir())
	for _, n := range []NewRun{keyed("a-1", "", ""), keyed("b-1", "", ""), keyed("a-2", "", ""), keyed("a-3", "", "")} {
		n.Pin = testPin(n.ID[:1])
		if n.ID == "a-3" {
			n.Origin, n.Summary = "a-1", &Summary{Status: engine.Waiting}
		}
		if n.ID == "b-1" {
			n.Owner.Labels = map[string]string{"nightly": ""}
		}
		w, err := s.Create(n)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	for _, c := range []struct {
		f    driver.Filter
		want string
	}{
		{driver.Filter{}, "a-3 a-2 b-1 a-1 "},
		{driver.Filter{Limit: 2}, "a-3 a-2 "},
		{driver.Filter{Before: "a-2", Limit: 1}, "b-1 "},
		{driver.Filter{Workflow: "a"}, "a-3 a-2 a-1 "},
		{driver.Filter{Workflow: "a", Status: list(engine.Running, engine.Success)}, "a-2 a-1 "},
		{driver.Filter{Origin: "a-1"}, "a-3 "},
		{driver.Filter{Label: "nightly"}, "b-1 "},
		{driver.Filter{Without: "nightly"}, "a-3 a-2 a-1 "},
	} {
		runs, err := s.List(context.Background(), c.f)
		got := ""
		for _, r := range runs {
			got += r.ID + " "
		}
		if err != nil || got != c.want {
			t.Errorf("%+v selects %q, %v, want %q", c.f, got, err, c.want)
		}
	}
}

func TestAttemptsAreNoted(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "a-1")
	a := driver.AttemptID{Run: "a-1", Address: "work", Attempt: 1}
	note := func(session, model string) {
		t.Helper()
		if err := s.Note(a, session, model); err != nil {
			t.Fatal(err)
		}
	}
	check := func(session, model string, used engine.Usage) {
		t.Helper()
		gotSession, gotModel, err := s.Attempt(t.Context(), a)
		if err != nil || gotSession != session || gotModel != model {
			t.Errorf("kept %q %q, %v", gotSession, gotModel, err)
		}
		var gotUsed engine.Usage
		spent, err := s.Spent(t.Context(), time.Time{})
		for _, one := range spent {
			gotUsed = gotUsed.Plus(one.Usage)
		}
		if err != nil || gotUsed != used {
			t.Errorf("spent %+v, %v", gotUsed, err)
		}
	}
	check("", "", engine.Usage{})
	if err := errors.Join(os.MkdirAll(s.runFiles(a.Run), 0o700), os.WriteFile(s.beside(a, ".session"), []byte("old\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	check("old", "", engine.Usage{})
	note("s-1", "")
	note("", "model-2")
	check("s-1", "model-2", engine.Usage{})
	used := engine.Usage{CostUSD: 0.25, TokensIn: 10, TokensOut: 3}
	if err := w.Append(Batch{Events: list(endedWith("work", used))}); err != nil {
		t.Fatal(err)
	}
	check("s-1", "model-2", used)
}

// Space freed by deletion is reclaimed, even in a journal created before that was supported.
func TestCompact(t *testing.T) {
	for name, old := range map[string]bool{"new": false, "old": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if old {
				dir = foreign(t, firstVersion(t))
			}
			s := openStore(t, dir)
			size := func() int64 {
				t.Helper()
				info, err := os.Stat(s.file)
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			before := size()
			const runs = 5
			for i := range runs {
				w := createRun(t, s, fmt.Sprintf("large-%d", i))
				appendEvents(t, w, ended(1, strings.Repeat(fmt.Sprintf("%04d", i), 250_000)))
				w.Close()
			}
			for i := range runs {
				if _, err := s.Delete(t.Context(), fmt.Sprintf("large-%d", i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now := size(); now > before+1<<20 {
				t.Errorf("the journal takes %d bytes after all was deleted, and %d before", now, before)
			}
		})
	}
}

// Deleting a run deletes only what no other run shares.
func TestDelete(t *testing.T) {
	s := openStore(t, t.TempDir())
	ctx := context.Background()
	long := func(word string) string { return strings.Repeat(word, MaxInline) }
	for _, id := range []string{"a-1", "b-1"} {
		w := createRun(t, s, id)
		appendEvents(t, w, ended(1, long("shared")), ended(2, long(id)))
		if err := w.Log("work", 1).Keep(driver.Transcript, []byte("{}\n")); err != nil {
			t.Fatal(err)
		}
		if id == "a-1" {
			if deleted, err := s.Delete(ctx, id); err == nil || len(deleted) > 0 {
				t.Error("a run that is driven was deleted")
			}
		}
		w.Close()
	}
	deleted, err := s.Delete(ctx, "gone", "a-1")
	if !slices.Equal(deleted, []string{"a-1"}) || !errors.As(err, new(*driver.UnknownRunError)) {
		t.Fatal(deleted, err)
	}
	if _, err := s.Find(ctx, "a-1"); err == nil {
		t.Error("the run is still there")
	}
	if got := readEvents(t, s, "b-1"); len(got) != 3 {
		t.Errorf("the other run has %d events", len(got))
	}
	var blobs int
	if err := s.read.QueryRow("SELECT count(*) FROM blobs").Scan(&blobs); err != nil || blobs != 2 {
		t.Errorf("%d long strings are left, %v", blobs, err)
	}
	if _, err := os.Stat(s.runFiles("a-1")); !os.IsNotExist(err) {
		t.Errorf("files of the run are left: %v", err)
	}
	if _, err := os.Stat(s.runFiles("b-1")); err != nil {
		t.Error(err)
	}
}

// A process that dies while deleting a run leaves the run's files behind.
func TestCompactRemovesFilesWithoutARun(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	createRun(t, s, "Kept").Log("work", 1).Write([]byte("x"))
	for _, run := range []string{"Gone", "gone-2"} {
		if err := os.CopyFS(s.runFiles(run), os.DirFS(s.runFiles("Kept"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir(), "logs")); err != nil || len(left) != 1 || left[0].Name() != fileNameOf("Kept") {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestBegunIsNoted(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	if err := w.Append(Batch{Summary: &Summary{Status: engine.Running}}); err != nil {
		t.Fatal(err)
	}
	if find(t, s, "demo-1").Begun {
		t.Error("it has begun before anything was attempted")
	}
	used := list(endedWith("work", engine.Usage{TokensIn: 1}), endedWith("more", engine.Usage{TokensIn: 2}))
	if err := w.Append(Batch{Events: used, Begun: true, Summary: &Summary{Status: engine.Waiting}}); err != nil {
		t.Fatal(err)
	}
	if r := find(t, s, "demo-1"); !r.Begun || r.Status != engine.Waiting {
		t.Errorf("noted is %+v", r)
	}
	if spent, err := s.Spent(t.Context(), time.Time{}); err != nil || len(spent) != 1 || spent[0].Attempts != 2 || spent[0].Usage.TokensIn != 3 {
		t.Errorf("the two attempts have used %+v, %v", spent, err)
	}
}

// The last change of a run is updated when its status changes, and when a problem is recorded.
func TestChangedTime(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	for i, c := range []struct {
		status engine.Status
		want   time.Duration
	}{{engine.Running, 0}, {engine.Waiting, 1 * time.Minute}, {engine.Waiting, 1 * time.Minute}, {engine.Success, 3 * time.Minute}} {
		m := &Summary{Status: c.status, At: start.Add(time.Duration(i) * time.Minute)}
		if err := w.Append(Batch{Events: list(ended(i+1, "x")), Summary: m}); err != nil {
			t.Fatal(err)
		}
		if r := find(t, s, "demo-1"); !r.Changed.Equal(start.Add(c.want)) {
			t.Errorf("after %d it changed at %s", i, r.Changed)
		}
	}
	if err := w.Append(Batch{Events: list(ended(5, "x")), Problem: "broken"}); err != nil {
		t.Fatal(err)
	}
	if r := find(t, s, "demo-1"); r.Problem != "broken" || !r.Changed.After(start.Add(time.Hour)) {
		t.Errorf("with a problem it is %+v", r)
	}
}

// Nothing is left of runs that were deleted, except that they were.
func TestDeleteEverything(t *testing.T) {
	dir := t.TempDir()
	writeExample(t, dir)
	s := openStore(t, dir)
	if deleted, err := s.Delete(t.Context(), "demo-1", "demo-2"); err != nil || len(deleted) != 2 {
		t.Fatal(deleted, err)
	}
	for _, table := range []string{"runs", "events", "blobs", "pins", "inbox", "asked", "attempts", "snapshots"} {
		var n int
		if err := s.read.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d rows of %s are left, %v", n, table, err)
		}
	}
	var free int
	if err := s.read.QueryRow("PRAGMA freelist_count").Scan(&free); err != nil || free > 0 {
		t.Errorf("%d pages are free, %v", free, err)
	}
	if logs, err := os.ReadDir(filepath.Join(dir, "logs")); err != nil || len(logs) > 0 {
		t.Errorf("left are %v, %v", logs, err)
	}
}

// Runs that are driven stay; the others are deleted once.
func TestDeleteSome(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "held")
	createRun(t, s, "free").Close()
	deleted, err := s.Delete(t.Context(), "held", "free")
	if !slices.Equal(deleted, list("free")) || !errors.As(err, new(*driver.HeldError)) || errors.As(err, new(*driver.UnknownRunError)) {
		t.Errorf("%q were deleted, %v", deleted, err)
	}
	if deleted, err := s.Delete(t.Context()); err != nil || len(deleted) > 0 {
		t.Errorf("%q were deleted, %v", deleted, err)
	}
	find(t, s, "held")
	f := injectInto(t, s)
	for range 20 { // a machine may be so slow that the time is up before the second try
		f.calls = nil
		if _, err := s.Delete(t.Context(), "held"); err == nil {
			t.Fatal("it was deleted")
		}
		if len(with(f.calls, "begin")) > 1 {
			return
		}
	}
	t.Error("no one waits for the run to be released")
}

// Compacting returns everything that is free. It rewrites a journal only once.
func TestCompactReturnsEverything(t *testing.T) {
	for name, dir := range map[string]string{"new": t.TempDir(), "old": foreign(t, firstVersion(t))} {
		s := openStore(t, dir)
		appendEvents(t, createRun(t, s, "large"), ended(1, strings.Repeat("large", 100_000)))
		change(t, s, "DELETE FROM blobs")
		f := injectInto(t, s)
		for i := range 2 {
			calls := f.called(t, func() error { return s.Compact(t.Context()) })
			if rewritten := len(with(calls, "exec VACUUM")) > 0; rewritten != (name == "old" && i == 0) {
				t.Errorf("%s: the calls are %q", name, calls)
			}
		}
		var free, mode int
		if err := errors.Join(s.write.QueryRow("PRAGMA freelist_count").Scan(&free), s.write.QueryRow("PRAGMA auto_vacuum").Scan(&mode)); err != nil || free > 0 || mode != 2 {
			t.Errorf("%s: %d pages are free in mode %d, %v", name, free, mode, err)
		}
		if wal, err := os.Stat(s.file + "-wal"); err != nil || wal.Size() > 0 {
			t.Errorf("%s: the -wal file is not empty: %v", name, err)
		}
	}
}

// A question that is not asked any more is not open.
func TestQuestionIsOver(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	for _, questions := range [][]driver.Question{list(asks("one")), nil, list(asks("two")), list(asks("three"))} {
		if err := w.Append(Batch{Summary: &Summary{Status: engine.Waiting, Questions: questions}}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, q := range questions {
			want = append(want, "demo-1 "+q.ID)
		}
		wantOpen(t, s, "demo-1", want...)
	}
}

// For the questions of one run, or of a page, no others are read: 10,000 may wait.
func TestOnlySomeQuestionsAreRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	createRun(t, s, "demo-1")
	for query, args := range map[string][]any{askedBy: {"demo-1", 0, "", 5}, askedByAll: {0, "", 5}} {
		wantSearch(t, s, query, args)
	}
}

// wantSearch fails if a query does not use an index for each of two tables, or sorts.
func wantSearch(t *testing.T, s *Store, query string, args []any) {
	t.Helper()
	rows, err := s.read.DB.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	steps := 0
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		if steps++; !strings.HasPrefix(step, "SEARCH ") {
			t.Error(step)
		}
	}
	if err := rows.Err(); err != nil || steps != 2 {
		t.Error(steps, err)
	}
}
