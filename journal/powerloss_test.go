package journal

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/hocket-dev/hocket/engine"
)

// disk is what the two files of a journal hold at one moment.
type disk struct {
	db, wal  []byte
	recorded int // events acknowledged at that moment
}

// TestPowerLoss drops what was written after the last fsync.
//
// A child appends batches and acknowledges each. At an acknowledgement all that
// was written is synced, so the files are copied there. A power failure between
// two acknowledgements leaves any mixture of the sectors of both, but not across
// an fsync: the WAL is synced before a checkpoint touches the database. So the
// files after a failure are (1) the old database and a mixture of the WALs, or
// (2) a mixture of the databases and the new WAL. Whatever the mixture, every
// acknowledged event must be there, and of the batch under way all or nothing.
func TestPowerLoss(t *testing.T) {
	batches, tries := 50, 4
	if testing.Short() {
		batches, tries = 20, 2
	}
	dir := t.TempDir()
	c := startChild(t, "ack", dir)
	before := look(t, c, dir)
	rng := rand.New(rand.NewPCG(7, 7))
	checkpoints := 0
	for range batches {
		fmt.Fprintln(c.stdin, "go")
		after := look(t, c, dir)
		torn := []disk{{before.db, before.wal, 0}, {before.db, after.wal, 0}, {after.db, after.wal, 0}}
		for range tries {
			torn = append(torn, disk{before.db, mix(rng, before.wal, after.wal), 0})
			if !bytes.Equal(before.db, after.db) {
				torn = append(torn, disk{mix(rng, before.db, after.db), after.wal, 0})
			}
		}
		if !bytes.Equal(before.db, after.db) {
			checkpoints++
		}
		for _, d := range torn {
			survives(t, d, before.recorded, after.recorded)
		}
		before = after
	}
	if checkpoints < 5 {
		t.Errorf("only %d checkpoints happened; the test must see more", checkpoints)
	}
}

// look waits for an acknowledgement and copies the files.
func look(t *testing.T, c *child, dir string) disk {
	t.Helper()
	n, err := strconv.Atoi(c.line(t))
	if err != nil {
		t.Fatal(err)
	}
	d := disk{recorded: n}
	if d.db, err = os.ReadFile(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	if d.wal, err = os.ReadFile(filepath.Join(dir, fileName+"-wal")); err != nil {
		t.Fatal(err)
	}
	return d
}

// mix takes each sector from one of the two, and a length in between.
func mix(rng *rand.Rand, old, new []byte) []byte {
	const sector = 512
	short, long := min(len(old), len(new)), max(len(old), len(new))
	out := make([]byte, short+rng.IntN(long-short+1))
	bias := rng.Float64() // few, half or most of the new ones
	for from := 0; from < len(out); from += sector {
		src := old
		if rng.Float64() < bias {
			src = new
		}
		if from < len(src) {
			copy(out[from:min(from+sector, len(out))], src[from:])
		}
	}
	return out
}

func survives(t *testing.T, d disk, least, most int) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{fileName: d.db, fileName + "-wal": d.wal} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openWith(filepath.Join(dir, fileName), "_pragma", "synchronous(OFF)") // recovers the WAL
	if err != nil {
		t.Fatalf("after %d acknowledged events: %v", least, err)
	}
	defer s.Close()
	n := 0
	for ev, err := range s.Events(context.Background(), "demo-1") {
		if err != nil {
			t.Fatalf("after %d acknowledged events: event %d: %v", least, n+1, err)
		}
		if e, ok := ev.(*engine.TaskEnded); ok && e.Address != fmt.Sprintf("work[%d]", n) {
			t.Fatalf("event %d is of %s", n+1, e.Address)
		}
		n++
	}
	if n != least && n != most {
		t.Fatalf("%d events are there; %d were acknowledged, %d were under way", n, least, most)
	}
	if n%7 == 0 { // reading the whole file takes its time
		if err := s.Check(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
