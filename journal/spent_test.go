package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/engine"
)

// What was spent on days that are over is kept, but what is added or deleted later counts.
func TestSpent(t *testing.T) {
	s := openStore(t, t.TempDir())
	used := engine.Usage{CostUSD: 0.5, TokensIn: 3, TokensOut: 2}
	spend := func(run string, at ...time.Time) *Writer {
		w := createRun(t, s, run)
		for i, at := range at {
			appendEvents(t, w, engine.Envelope{Time: at, Event: &engine.TaskEnded{Address: fmt.Sprintf("work[%d]", i), Attempt: 1, Agent: "ann", Usage: used}})
		}
		return w
	}
	check := func(when string, since time.Time, want ...string) {
		t.Helper()
		all, err := s.Spent(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range all {
			got = append(got, fmt.Sprintf("%s %s %s %s%s %d $%g %d/%d", one.Day, one.Workflow, one.Run, one.Agent, one.Model, one.Attempts, one.Usage.CostUSD, one.Usage.TokensIn, one.Usage.TokensOut))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", when, d)
		}
	}
	east := time.FixedZone("", 10*3600)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	now := time.Now().UTC()
	today := now.Format(time.DateOnly)
	first := spend("a-1", noon, noon.Add(time.Hour), noon.Add(3*time.Hour), now)
	check("two days", start, "2026-01-02 demo a-1 ann 3 $1.5 9/6", today+" demo a-1 ann 1 $0.5 3/2")
	check("another zone", start.In(east), "2026-01-02 demo a-1 ann 2 $1 6/4", "2026-01-03 demo a-1 ann 1 $0.5 3/2", now.In(east).Format(time.DateOnly)+" demo a-1 ann 1 $0.5 3/2")
	check("today", now.Add(-time.Millisecond), today+" demo a-1 ann 1 $0.5 3/2")
	check("the future", now.Add(time.Hour))
	second := spend("b-1", noon, now)
	want := []string{"2026-01-02 demo a-1 ann 3 $1.5 9/6", "2026-01-02 demo b-1 ann 1 $0.5 3/2", today + " demo a-1 ann 1 $0.5 3/2", today + " demo b-1 ann 1 $0.5 3/2"}
	check("more", start, want...)
	check("again", start, want...)
	for _, w := range []*Writer{first, second} {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Delete(t.Context(), "a-1"); err != nil {
		t.Fatal(err)
	}
	check("deleted", start, want[1], want[3])
}

// BenchmarkSpent adds up 30 days with 10,000 runs of three attempts each, at first and again.
func BenchmarkSpent(b *testing.B) {
	s := openStore(b, b.TempDir())
	createRun(b, s, "a-1")
	now := time.Now()
	for _, q := range []string{
		`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i <= 10000)
		INSERT INTO runs (number, id, workflow, digest, pin, created, status, changed)
		SELECT i, printf('hello-%08x', i), 'hello', '', (SELECT pin FROM runs), ?1 - i * 250000000, 'success', ?1 FROM n`,
		`INSERT INTO attempts (run, address, attempt, session, model, usage, agent, ended)
		SELECT number, a.value, 1, '', 'large-1', '{"cost_usd":0.0123,"tokens_in":12345,"tokens_out":678}', 'writer', created + 1000
		FROM runs, json_each('["plan","draft","review"]') a WHERE runs.id <> 'a-1' AND ?1 > 0`,
	} {
		if _, err := s.write.Exec(q, now.UnixMicro()); err != nil {
			b.Fatal(err)
		}
	}
	ask := func() {
		if all, err := s.Spent(b.Context(), now.AddDate(0, 0, -30)); err != nil || len(all) < 10000 {
			b.Fatal(len(all), err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			s.spending.rows, s.spending.since = nil, time.Time{}
			ask()
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			ask()
		}
	})
}
