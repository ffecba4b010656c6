package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// TestPowerLoss drops what was written after the last fsync.
//
// A recorder between SQLite and the disk logs every write and sync, and when each Append
// returned. Power may fail after any of these operations. Data synced before that is on
// the disk; each sector written since may or may not be, in any order. Whatever survives,
// every event whose Append had returned must be there, and the batch in progress must be
// there completely or not at all.
func TestPowerLoss(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 5
	}
	h := writeHistory(t, Options{})
	if h.checkpoints() < 3 {
		t.Errorf("only %d checkpoints happened; the test must see more", h.checkpoints())
	}
	if lost := h.failAt(t, every); lost > 0 {
		t.Errorf("acknowledged events were lost at %d points", lost)
	}
}

// TestPowerLossIsNoticed shows that the test above can fail: without an fsync per commit,
// events are lost.
func TestPowerLossIsNoticed(t *testing.T) {
	h := writeHistory(t, Options{Relaxed: true})
	if lost := h.failAt(t, 20); lost == 0 {
		t.Error("synchronous=NORMAL lost nothing; the simulation cannot be right")
	}
}

// history is the sequence of disk operations while batches were appended.
type history struct {
	ops   []op
	marks []mark
}

// mark records that a number of events were acknowledged after a number of operations.
type mark struct{ ops, events int }

// writeHistory appends small and large batches, with checkpoints in between.
func writeHistory(t *testing.T, o Options) history {
	t.Helper()
	record()
	o.vfs = recorderName
	s, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.write.Exec("PRAGMA wal_autocheckpoint = 25"); err != nil {
		t.Fatal(err)
	}
	w := createRun(t, s, "demo-1")
	defer w.Close()
	h := history{marks: []mark{{len(recorded()), w.Recorded()}}}
	for i := range 40 {
		var batch []engine.Envelope
		for range []int{1, 3, 17}[i%3] {
			n := w.Recorded() + len(batch)
			batch = append(batch, ended(n, strings.Repeat(fmt.Sprint(n, " "), 1+n%200)))
		}
		if i%10 == 9 {
			batch = append(batch, ended(w.Recorded()+len(batch), strings.Repeat(fmt.Sprint(i), MaxInline)))
		}
		appendEvents(t, w, batch...)
		h.marks = append(h.marks, mark{len(recorded()), w.Recorded()})
	}
	h.ops = recorded()
	return h
}

// checkpoints returns how often the database file itself was synced after the first
// acknowledgement.
func (h history) checkpoints() int {
	n := 0
	for _, o := range h.ops[h.marks[0].ops:] {
		if o.kind == opSync && o.file == fileName {
			n++
		}
	}
	return n
}

// failAt simulates a power failure after every so many operations, and returns at how
// many of those points acknowledged events are lost. Any other damage fails the test.
func (h history) failAt(t *testing.T, every int) (lost int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	d := disk{}
	dir := t.TempDir()
	next := 0 // the next mark to pass
	for i, o := range h.ops {
		d.do(o)
		for next < len(h.marks) && h.marks[next].ops <= i+1 {
			next++
		}
		if next == 0 || i%every != 0 {
			continue // nothing acknowledged yet, or this point is skipped
		}
		acknowledged, underWay := h.marks[next-1].events, h.marks[min(next, len(h.marks)-1)].events
		switch n := d.fail(rng).events(t, dir); {
		case n < acknowledged:
			lost++
		case n != acknowledged && n != underWay:
			t.Fatalf("%d events are there; %d were acknowledged, %d with those under way", n, acknowledged, underWay)
		}
	}
	return lost
}

// disk maps file names to what the disk holds for certain and what it may hold.
type disk map[string]*content

type content struct {
	synced  []byte
	pending []op // since the last sync
}

func (d disk) do(o op) {
	c := d[o.file]
	if c == nil {
		c = &content{}
		d[o.file] = c
	}
	switch o.kind {
	case opWrite, opTruncate:
		c.pending = append(c.pending, o)
	case opSync:
		for _, p := range c.pending {
			c.synced = apply(c.synced, p, func() bool { return true })
		}
		c.pending = nil
	case opDelete: // happens only before the first event is acknowledged
		delete(d, o.file)
	}
}

// files are the files that survive a power failure.
type files map[string][]byte

// fail simulates a power failure: each pending operation, and each sector of a pending
// write, survives at random.
func (d disk) fail(rng *rand.Rand) files {
	left := files{}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		luck := rng.Float64() // chance of survival: none, half, or nearly all
		data := slices.Clone(d[name].synced)
		for _, p := range d[name].pending {
			data = apply(data, p, func() bool { return rng.Float64() < luck })
		}
		left[name] = data
	}
	return left
}

// apply applies to a file's content the part of an operation that reached the disk.
func apply(data []byte, o op, reached func() bool) []byte {
	const sector = 512
	if o.kind == opTruncate {
		if reached() && int64(len(data)) > o.at {
			return data[:o.at]
		}
		return data
	}
	for from := 0; from < len(o.data); {
		at := int(o.at) + from
		n := min(sector-at%sector, len(o.data)-from)
		if reached() {
			if grow := at + n - len(data); grow > 0 {
				data = append(data, make([]byte, grow)...)
			}
			copy(data[at:], o.data[from:from+n])
		}
		from += n
	}
	return data
}

// events counts the surviving events and checks that they are complete.
func (f files) events(t *testing.T, dir string) int {
	t.Helper()
	file := filepath.Join(dir, fileName)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(file + suffix)
	}
	for name, data := range f {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openWith(file, "_pragma", "synchronous(OFF)") // recovers the WAL
	if err != nil {
		return 0 // not even the tables are there
	}
	defer s.Close()
	n := 0
	for ev, err := range s.Events(context.Background(), "demo-1", 0) {
		var unknown *driver.UnknownRunError
		if errors.As(err, &unknown) {
			return 0
		}
		if err != nil {
			t.Fatalf("after a power failure: event %d: %v", n+1, err)
		}
		if e, ok := ev.Event.(*engine.TaskEnded); ok && e.Address != fmt.Sprintf("work[%d]", n) {
			t.Fatalf("event %d is of %s", n+1, e.Address)
		}
		n++
	}
	return n
}
