package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// spending is what was spent on earlier days. Reading the attempts of 10,000 runs takes a quarter of a
// second. The days before today change only when a run is deleted, so their sums are kept.
type spending struct {
	mu           sync.Mutex
	since, until time.Time
	basis        basis
	rows         []driver.Spent
}

// basis tells whether attempts were added or deleted: how many there are, and the sum of their times.
type basis struct {
	attempts int
	ended    float64
}

// Spent adds up what attempts that ended since a time have cost, by day, workflow, run, agent and model, in
// this order. The days are those of the zone of since. What a fork took over is not counted again.
func (s *Store) Spent(ctx context.Context, since time.Time) ([]driver.Spent, error) {
	year, month, day := time.Now().In(since.Location()).Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, since.Location())
	if !since.Before(today) {
		return s.spentBetween(ctx, since, time.Time{})
	}
	earlier, err := s.spentBefore(ctx, since, today)
	if err != nil {
		return nil, err
	}
	rows, err := s.spentBetween(ctx, today, time.Time{})
	return slices.Concat(earlier, rows), err
}

// spentBefore is spentBetween for days that are over.
func (s *Store) spentBefore(ctx context.Context, since, until time.Time) ([]driver.Spent, error) {
	kept := &s.spending
	kept.mu.Lock()
	defer kept.mu.Unlock()
	var now basis
	if err := s.read.QueryRowContext(ctx, `SELECT count(*), total(ended) FROM attempts WHERE ended >= ? AND ended < ?`,
		since.UnixMicro(), until.UnixMicro()).Scan(&now.attempts, &now.ended); err != nil {
		return nil, explain(s.file, err)
	}
	if kept.since.Equal(since) && kept.until.Equal(until) && kept.basis == now {
		return kept.rows, nil
	}
	rows, err := s.spentBetween(ctx, since, until)
	if err != nil {
		return nil, err
	}
	kept.since, kept.until, kept.basis, kept.rows = since, until, now, rows
	return rows, nil
}

// spentBetween reads what was spent from one time until another; zero: until now.
func (s *Store) spentBetween(ctx context.Context, since, until time.Time) ([]driver.Spent, error) {
	end := int64(math.MaxInt64)
	if !until.IsZero() {
		end = until.UnixMicro()
	}
	rows, err := s.read.QueryContext(ctx, `SELECT r.id, r.workflow, a.address, a.agent, a.model, a.usage, a.ended FROM attempts a JOIN runs r ON r.number = a.run
		WHERE a.ended >= ?1 AND a.ended < ?2 AND a.ended >= r.created`, since.UnixMicro(), end)
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	sums := map[driver.Spent]*driver.Spent{}
	for rows.Next() {
		var one driver.Spent
		var address, text string
		var ended int64
		if err := rows.Scan(&one.Run, &one.Workflow, &address, &one.Agent, &one.Model, &text, &ended); err != nil {
			return nil, explain(s.file, err)
		}
		var used engine.Usage
		if err := json.Unmarshal([]byte(text), &used); err != nil {
			return nil, s.damaged("", fmt.Errorf("usage of %s in run %s: %w", address, one.Run, err))
		}
		one.Day = time.UnixMicro(ended).In(since.Location()).Format(time.DateOnly)
		sum := sums[one]
		if sum == nil {
			sum = &driver.Spent{Day: one.Day, Run: one.Run, Workflow: one.Workflow, Agent: one.Agent, Model: one.Model}
			sums[one] = sum
		}
		sum.Attempts++
		sum.Usage = sum.Usage.Plus(used)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(s.file, err)
	}
	all := make([]driver.Spent, 0, len(sums))
	for _, sum := range sums {
		all = append(all, *sum)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model)) < 0
	})
	return all, nil
}
