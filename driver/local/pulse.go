package local

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pulse notices changes of the journal on behalf of everything in this process that waits for one:
// watchers, followers, and driven runs, for their inbox. One goroutine polls for all of them, and
// only while there is a listener.
type pulse struct {
	look  func() looker
	every time.Duration
	hurry chan struct{} // holds a token when this process has changed something
	// leases counts the changes to which runs are driven.
	leases atomic.Int64

	mu        sync.Mutex
	listeners map[hearing]map[*listener]bool
	number    int           // of listeners
	anew      bool          // there is a listener for mail that did not exist at the last look
	stop      chan struct{} // closed to end the goroutine; nil: none runs
	ended     chan struct{}
}

// listener waits for changes.
type listener struct {
	of   *pulse
	wake chan struct{} // holds a token when it is time to look
	to   hearing
	run  string // for mail
}

// hearing is what a listener waits for.
type hearing string

const (
	change hearing = "change" // something was recorded, or a process began or ceased to drive a run
	mail   hearing = "mail"   // a run has a message in its inbox, or the clock was set
	tick   hearing = "tick"   // some time has passed
)

func newPulse(every time.Duration, look func() looker) *pulse {
	return &pulse{look: look, every: every, hurry: make(chan struct{}, 1), listeners: map[hearing]map[*listener]bool{change: {}, mail: {}, tick: {}}}
}

// listen begins to wait. Earlier changes are not reported, so the first token is available
// at once; existing mail comes with the next look.
func (p *pulse) listen(to hearing, run string) *listener {
	l := &listener{of: p, wake: make(chan struct{}, 1), to: to, run: run}
	if to != mail {
		l.wake <- struct{}{}
	}
	p.add(l)
	if to != mail {
		p.changed(to) // the pace may change
	}
	return l
}

func (p *pulse) add(l *listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[l.to][l] = true
	p.number++
	p.anew = p.anew || l.to == mail
	if p.stop == nil {
		p.stop, p.ended = make(chan struct{}), make(chan struct{})
		go p.beat(p.look(), p.stop, p.ended) // it knows the clock before a listener sets an alarm
	}
}

// wait waits for the next token; false if ctx is done.
func (l *listener) wait(ctx context.Context) bool {
	select {
	case <-l.wake:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// close stops waiting. The last listener ends the goroutine, so that the journal is no longer used.
func (l *listener) close() {
	p := l.of
	p.mu.Lock()
	delete(p.listeners[l.to], l)
	p.number--
	var ended chan struct{}
	if p.number == 0 {
		close(p.stop)
		p.stop, ended = nil, p.ended
	}
	p.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// changed reports that this process has changed something, so that listeners need not wait
// for the next look.
func (p *pulse) changed(to hearing) {
	if !p.heard(to) {
		return
	}
	select {
	case p.hurry <- struct{}{}:
	default:
	}
}

// rest is the minimum time between two looks. However much is recorded, listeners are not woken
// more often.
const rest = 5 * time.Millisecond

func (p *pulse) beat(l looker, stop, ended chan struct{}) {
	defer close(ended)
	defer l.close()
	pace := p.pace(&l)
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	for {
		if now := p.pace(&l); now != pace {
			pace = now
			ticks.Reset(pace)
		}
		select {
		case <-stop:
			return
		case <-ticks.C:
			p.tell(tick, nil)
		case <-p.hurry:
			time.Sleep(rest)
		}
		l.look(p)
	}
}

// lull is the number of looks without a change after which the pulse slows down. Most of what a look
// costs is waking up, so a server at which nothing happens should not do so 50 times a second.
const lull = 50

// pace is the time between two looks. Mail, and the first change after a while, can wait a little longer.
func (p *pulse) pace(l *looker) time.Duration {
	if p.heard(tick) || p.heard(change) && l.same < lull {
		return p.every
	}
	return 4 * p.every
}

// tell wakes the listeners for something: all, or those of the given run.
func (p *pulse) tell(to hearing, meant map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.listeners[to] {
		if meant == nil || meant[l.run] {
			select {
			case l.wake <- struct{}{}:
			default:
			}
		}
	}
}

// newMail reports, once, whether there is a new listener for mail.
func (p *pulse) newMail() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	anew := p.anew
	p.anew = false
	return anew
}

// heard reports whether there is a listener for something.
func (p *pulse) heard(to hearing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.listeners[to]) > 0
}
