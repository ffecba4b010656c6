package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/engine"
)

// chunk is how many events are read at once: SQLite joins them into one text, because a
// call per row costs three times as much as the row.
const chunk = 512

// ahead is how many chunks may wait for the caller. Processing the first event of a run
// that begins with many steps takes as long as reading many others.
const ahead = 64

// Events reads the events of a run after a sequence number, in order. Nothing follows an
// error; what came before it was recorded.
func (s *Store) Events(ctx context.Context, run string, after int) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		for e, err := range s.Brief(ctx, run, after) {
			if ev, ok := e.Event.(*engine.TaskEnded); ok && ev.Stored > 0 {
				ev.Output, err = s.Output(ctx, run, ev.Stored)
				ev.Stored = 0
			}
			if err != nil {
				yield(engine.Envelope{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Brief is Events without the long outputs of tasks, which [Store.Output] returns: if one
// is omitted, Stored is set. The next events are read and decoded while the caller works on
// the previous ones.
func (s *Store) Brief(ctx context.Context, run string, after int) iter.Seq2[engine.Envelope, error] {
	return func(yield func(engine.Envelope, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		decoded := make(chan part, ahead)
		go func() {
			defer close(decoded)
			s.decode(ctx, run, after, decoded)
		}()
		defer func() { // the reader must be done before the caller closes the store
			cancel()
			for range decoded {
			}
		}()
		for p := range decoded {
			for _, e := range p.events {
				if !yield(e, nil) {
					return
				}
			}
			if p.err != nil {
				yield(engine.Envelope{}, p.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(engine.Envelope{}, err)
		}
	}
}

// part is a piece of a run on its way from the reader to the caller.
type part struct {
	events []engine.Envelope
	err    error // after the events
}

func (s *Store) decode(ctx context.Context, run string, after int, out chan<- part) {
	send := func(p part) bool {
		select {
		case out <- p:
			return p.err == nil
		case <-ctx.Done():
			return false
		}
	}
	var p part // small at first: followers read a few events at a time
	seq, dec := after, decoder{}
	for line, err := range s.lines(ctx, run, after) {
		seq++
		var e engine.Envelope
		if err == nil {
			if e, err = dec.decode(line.data); err != nil {
				err = s.damaged("", fmt.Errorf("event %d of run %s: %w", seq, run, err))
			} else if line.places != "" {
				e.Event.(*engine.TaskEnded).Stored = seq
			} else {
				err = s.addBundle(ctx, run, e.Event)
			}
		}
		if err != nil {
			p.err = err
			break
		}
		e.Seq = seq
		p.events = append(p.events, e)
		if len(p.events) == chunk {
			if !send(p) {
				return
			}
			p = part{events: make([]engine.Envelope, 0, chunk)}
		}
	}
	send(p)
}

// lines reads the events of a run as they are stored: one JSON text each. If one has
// places, the output of a task is omitted.
func (s *Store) lines(ctx context.Context, run string, after int) iter.Seq2[storedLine, error] {
	return func(yield func(storedLine, error) bool) {
		number, err := s.number(ctx, run)
		if err != nil {
			yield(storedLine{}, err)
			return
		}
		for first := after + 1; ; first += chunk {
			read, failed := s.chunk(ctx, number, first)
			for i, line := range read {
				if err := s.complete(ctx, number, first+i, &line); err != nil {
					failed = err
					break
				}
				if !yield(line, nil) {
					return
				}
			}
			if failed != nil {
				yield(storedLine{}, explain(s.file, fmt.Errorf("run %s: %w", run, failed)))
				return
			}
			if len(read) < chunk {
				return
			}
		}
	}
}

// chunk reads the events from first on, as many as are read at once. With an error, it returns
// those before it.
func (s *Store) chunk(ctx context.Context, number int64, first int) ([]storedLine, error) {
	var joined, sums string
	var n, last, blobs int
	err := s.read.QueryRowContext(ctx, `SELECT coalesce(group_concat(data, char(10)), ''), coalesce(group_concat(coalesce(sum, ''), char(10)), ''),
		count(*), coalesce(max(seq), 0), count(blobs)
		FROM (SELECT seq, data, blobs, sum FROM events WHERE run = ? AND seq >= ? AND seq < ? ORDER BY seq)`,
		number, first, first+chunk).Scan(&joined, &sums, &n, &last, &blobs)
	if err != nil || blobs > 0 || n > 0 && last != first+n-1 {
		return s.oneByOne(ctx, number, first)
	}
	if n == 0 && first == 1 {
		return nil, s.damaged("the run has no events", nil)
	}
	lines := make([]storedLine, n)
	for i := range lines {
		lines[i].data, joined, _ = strings.Cut(joined, "\n")
		lines[i].sum, sums, _ = strings.Cut(sums, "\n")
	}
	return lines, nil
}

// complete verifies an event, and restores its long strings, except for the output of a task.
func (s *Store) complete(ctx context.Context, number int64, seq int, line *storedLine) error {
	if err := s.verify(number, seq, *line); err != nil {
		return err
	}
	if line.places == "" {
		return nil
	}
	if _, ok := line.output(); ok {
		return nil
	}
	data, err := s.putBack(ctx, line.data, line.places)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return s.damaged("", fmt.Errorf("event %d: %w", seq, err))
	}
	line.data, line.places = data, ""
	return nil
}

// storedLine is an event as it is stored, without its long strings. An older version stored
// no sum.
type storedLine struct{ data, places, sum string }

// output returns the hash of what was removed, if that is exactly the output of a task.
func (l storedLine) output() (hash string, ok bool) {
	var ps []place
	if !strings.HasPrefix(l.data, taskEnded) || json.Unmarshal([]byte(l.places), &ps) != nil || len(ps) != 1 {
		return "", false
	}
	rest, found := strings.CutPrefix(l.data[min(ps[0].At, len(l.data)):], `""`)
	return ps[0].Hash, found && strings.HasSuffix(l.data[:len(l.data)-len(rest)-2], `,"output":`)
}

// Output returns the output of the task whose end is an event of a run.
func (s *Store) Output(ctx context.Context, run string, seq int) (string, error) {
	line, err := s.line(s.read.QueryRowContext(ctx, oneLine, run, seq), run, seq)
	if err != nil {
		return "", err
	}
	text, err := s.taskOutput(ctx, line)
	if err != nil && ctx.Err() == nil {
		err = s.damaged("", fmt.Errorf("event %d of run %s: %w", seq, run, err))
	}
	return text, err
}

const oneLine = `SELECT r.number, e.data, coalesce(e.blobs, ''), coalesce(e.sum, '') FROM events e JOIN runs r ON r.number = e.run WHERE r.id = ? AND e.seq = ?`

// line returns an event as it is stored, from the row that oneLine selects.
func (s *Store) line(from *sql.Row, run string, seq int) (line storedLine, err error) {
	var number int64
	if err = from.Scan(&number, &line.data, &line.places, &line.sum); err == nil {
		err = s.verify(number, seq, line)
	}
	if err != nil {
		err = explain(s.file, fmt.Errorf("event %d of run %s: %w", seq, run, err))
	}
	return line, err
}

func (s *Store) taskOutput(ctx context.Context, line storedLine) (string, error) {
	if hash, ok := line.output(); ok {
		return s.blob(ctx, hash)
	}
	data := line.data
	if line.places != "" {
		var err error
		if data, err = s.putBack(ctx, data, line.places); err != nil {
			return "", err
		}
	}
	e, err := engine.Decode([]byte(data))
	if err != nil {
		return "", err
	}
	ended, ok := e.Event.(*engine.TaskEnded)
	if !ok {
		return "", fmt.Errorf("%T has no output", e.Event)
	}
	return ended.Output, nil
}

// verify checks that an event is as it was recorded.
func (s *Store) verify(run int64, seq int, line storedLine) error {
	if line.sum == "" || line.sum == strconv.FormatUint(uint64(checksum(run, seq, line.data, line.places)), 10) {
		return nil
	}
	return s.damaged(fmt.Sprintf("event %d does not match its checksum", seq), nil)
}

// oneByOne is chunk for events that have long strings, or that a damaged file yields only up to
// some point. It releases its connection before anything else is read: readers that each held
// one and waited for a second would deadlock.
func (s *Store) oneByOne(ctx context.Context, number int64, first int) ([]storedLine, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT seq, data, coalesce(blobs, ''), coalesce(sum, '') FROM events WHERE run = ? AND seq >= ? AND seq < ? ORDER BY seq", number, first, first+chunk)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var lines []storedLine
	for rows.Next() {
		var seq int
		var line storedLine
		if err := rows.Scan(&seq, &line.data, &line.places, &line.sum); err != nil {
			return lines, err
		}
		if want := first + len(lines); seq != want {
			return lines, s.damaged(fmt.Sprintf("event %d is missing", want), nil)
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}
