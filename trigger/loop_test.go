package trigger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
)

// newLoop returns a project with a workflow that writes a file which its own trigger watches. The clock is that of the
// machine, as runs have their times from it.
func newLoop(t *testing.T, command string) *fixture {
	t.Helper()
	f := newFixture(t, map[string]string{
		".hocket/workflows/report.yml": "name: report\nsteps:\n  - {id: a, agent: shell, config: {command: '" + command + "'}}\n",
		".hocket/triggers/new.yml":     "workflow: report\nfiles: {paths: \"inbox/*.csv\", settle: 1ms}\n",
	})
	f.s = New(f.p, Options{})
	f.s.tick(t.Context())
	f.s.scan(t.Context())
	return f
}

// rounds looks twice, so that files have settled, and drives what that has started, several times. It returns how many
// runs there are.
func (f *fixture) rounds(n int) (total int) {
	f.Helper()
	for range n {
		f.s.watching["new"].retry = time.Time{} // two seconds have passed
		f.s.scan(f.Context())
		time.Sleep(2 * time.Millisecond)
		f.s.scan(f.Context())
		pending, err := f.p.Runs(f.Context(), hocket.Filter{})
		if err != nil {
			f.Fatal(err)
		}
		total = len(pending)
		for i := len(pending) - 1; i >= 0; i-- {
			if !pending[i].Status.Done() {
				f.drive(pending[i].ID)
			}
		}
	}
	return total
}

// A workflow that starts itself is stopped, says why, and continues when somebody else writes a file.
func TestOwnFiles(t *testing.T) {
	f := newLoop(t, "printf x >> inbox/log.csv")
	f.write("inbox/a.csv", "1")
	const most = maxChain + 1 // the first was for the file of a person
	if runs := f.rounds(most + 5); runs != most {
		t.Errorf("there are %d runs, want %d", runs, most)
	}
	if why := f.why("new"); !strings.Contains(why, "its own trigger watches") || len(f.s.mustRead(t, "new").Fired) != most+1 {
		t.Errorf("the firings are %+v", f.s.mustRead(t, "new").Fired)
	}
	f.write("inbox/b.csv", "1")
	if runs := f.rounds(2); runs != most+2 { // for b.csv, and for what has waited
		t.Errorf("after a change by somebody else there are %d runs, want %d", runs, most+2)
	}
}

// Files that somebody else writes while runs are in progress all fire. Those that look like a chain wait for the next one
// that is written while no run is in progress.
func TestBusyInbox(t *testing.T) {
	f := newLoop(t, "printf %s x")
	for i := range 3 * maxChain {
		f.write(fmt.Sprintf("inbox/%d.csv", i), "1")
		f.rounds(1)
	}
	if runs := f.rounds(1); runs != 3*maxChain {
		t.Errorf("there are %d runs, want %d", runs, 3*maxChain)
	}
}
