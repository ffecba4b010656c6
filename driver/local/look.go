package local

import (
	"context"
	"time"

	"github.com/hocket-dev/hocket/journal"
)

// looker is the state of a pulse's goroutine.
type looker struct {
	journal func() (*journal.Store, error)
	clock   Clock
	drift   time.Duration // of the wall clock relative to the monotonic one

	store *journal.Store
	pulse *journal.Pulse
	last  journal.Beat
	same  int // looks since the last change

	leases []string // the processes that were alive
	next   int      // the one to check next
}

func (d *Driver) look() looker {
	l := looker{journal: d.reading, clock: d.o.Clock}
	l.drift = l.drifted()
	return l
}

func (l *looker) drifted() time.Duration {
	return time.Duration(l.clock.Now().UnixNano()) - l.clock.Elapsed()
}

func (l *looker) close() {
	if l.pulse != nil {
		_ = l.pulse.Close() // it was only read
	}
}

// look tells the listeners what has changed. If it fails, it wakes them all: their next
// call returns the error.
func (l *looker) look(p *pulse) {
	ctx := context.Background()
	l.same++
	// Setting the clock triggers no alarm, and a computer that slept has missed some.
	if drift := l.drifted(); (drift - l.drift).Abs() > time.Second/10 {
		l.drift = drift
		p.tell(mail, nil)
	}
	err := l.open(ctx)
	if err == nil && l.pulse == nil {
		return
	}
	var now journal.Beat
	if err == nil {
		now, err = l.pulse.Beat(ctx)
	}
	if err != nil {
		p.tell(change, nil)
		p.tell(mail, nil)
		return
	}
	moved := !now.Leases.Equal(l.last.Leases)
	recorded := now.Data != l.last.Data
	l.last = now
	if moved || recorded {
		l.same = 0
	}
	if moved { // even without a listener: a later one must know who drives
		l.list()
	}
	if p.heard(change) {
		if !moved && l.killed() {
			l.list()
			moved = true
		}
		if moved {
			p.leases.Add(1)
		}
		if moved || recorded {
			p.tell(change, nil)
		}
	}
	if p.heard(mail) && (p.newMail() || recorded) {
		l.deliver(ctx, p)
	}
}

// open connects to the journal, if there is one. It fails if the driver was closed: a
// connection in use outlives that.
func (l *looker) open(ctx context.Context) error {
	s, err := l.journal()
	if err != nil || s == nil || l.pulse != nil {
		return err
	}
	l.store = s
	l.pulse, err = s.Pulse(ctx)
	return err
}

// deliver wakes the runs that have mail.
func (l *looker) deliver(ctx context.Context, p *pulse) {
	runs, err := l.store.Mail(ctx)
	if err != nil {
		p.tell(mail, nil)
		return
	}
	if len(runs) == 0 {
		return
	}
	meant := make(map[string]bool, len(runs))
	for _, run := range runs {
		meant[run] = true
	}
	p.tell(mail, meant)
}

func (l *looker) list() {
	l.leases = l.leases[:0]
	for name := range l.store.Leases() {
		if l.store.Lives(name) {
			l.leases = append(l.leases, name)
		}
	}
}

// tries is how many processes are checked at a time. A killed process changes no file.
const tries = 16

// killed reports whether a process that was alive is gone.
func (l *looker) killed() bool {
	for range min(tries, len(l.leases)) {
		l.next = (l.next + 1) % len(l.leases)
		if !l.store.Lives(l.leases[l.next]) {
			return true
		}
	}
	return false
}
