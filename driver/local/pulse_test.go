package local

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-dev/hocket/journal"
)

// counted returns a pulse without a journal, and how often it has looked.
func counted(every time.Duration) (*pulse, *atomic.Int64) {
	looks := &atomic.Int64{}
	p := newPulse(every, func() looker {
		return looker{clock: &fixedClock{now: time.Unix(0, 0)}, journal: func() (*journal.Store, error) { looks.Add(1); return nil, nil }}
	})
	return p, looks
}

// Watchers make a pulse look often until nothing has changed for a while, mail four times less, and
// without a listener it does not look.
func TestPaceOfAPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, looks := counted(time.Second)
		within := func(d time.Duration, want int64) {
			t.Helper()
			time.Sleep(rest + time.Millisecond)
			looks.Store(0)
			time.Sleep(d)
			if n := looks.Load(); n < want-1 || n > want+1 {
				t.Errorf("it looked %d times, want %d", n, want)
			}
		}
		within(time.Minute, 0)
		letters := p.listen(mail, "a")
		within(time.Minute, 15)
		watcher := p.listen(change, "")
		within(30*time.Second, 30)
		time.Sleep(lull * time.Second)
		within(time.Minute, 15)
		watcher.close()
		p.changed(mail)
		within(time.Minute, 15)
		reader := p.listen(tick, "")
		within(time.Minute, 60)
		letters.close()
		within(time.Minute, 60)
		reader.close()
		within(time.Minute, 0)
		p.changed(mail)
		if len(p.hurry) > 0 {
			t.Error("someone is in a hurry for nobody")
		}
	})
}

// What this process has changed is looked at immediately, and not too often.
func TestHurryOfAPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, looks := counted(time.Hour)
		l := p.listen(mail, "a")
		defer l.close()
		synctest.Wait()
		for range 3 {
			p.changed(mail)
		}
		time.Sleep(2*rest + time.Millisecond)
		synctest.Wait()
		if n := looks.Load(); n < 1 || n > 2 {
			t.Errorf("it looked %d times", n)
		}
	})
}

// A listener is woken for what it listens to, and mail only for its own run.
func TestListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := counted(time.Hour)
		one, two, watcher := p.listen(mail, "one"), p.listen(mail, "two"), p.listen(change, "")
		woken := func(l *listener) int { n := len(l.wake); drain(l); return n }
		if !p.newMail() || p.newMail() {
			t.Error("new listeners for mail are not noticed once")
		}
		if woken(one) != 0 || woken(watcher) != 1 {
			t.Error("a watcher looks at once, and mail comes with the next look")
		}
		for _, c := range []struct {
			to                hearing
			meant             map[string]bool
			one, two, watcher int
		}{
			{mail, map[string]bool{"two": true}, 0, 1, 0},
			{mail, nil, 1, 1, 0},
			{change, nil, 0, 0, 1},
			{tick, nil, 0, 0, 0},
		} {
			p.tell(c.to, c.meant)
			p.tell(c.to, c.meant)
			if a, b, c2 := woken(one), woken(two), woken(watcher); a != c.one || b != c.two || c2 != c.watcher {
				t.Errorf("%s for %v woke %d, %d, %d", c.to, c.meant, a, b, c2)
			}
		}
		two.close()
		if p.tell(mail, nil); woken(two) != 0 || woken(one) != 1 || !p.heard(mail) {
			t.Error("a closed listener is woken, or the other is not")
		}
		watcher.close()
		if p.heard(change) || p.stop == nil {
			t.Error("a closed listener listens, or nobody looks for the other")
		}
		one.close()
		if p.stop != nil || p.heard(mail) {
			t.Error("a pulse without listeners looks")
		}
	})
}

func drain(l *listener) {
	select {
	case <-l.wake:
	default:
	}
}

// Whoever waits stops when its context is done, even if there is something to see.
func TestWaiting(t *testing.T) {
	p, _ := counted(time.Hour)
	l := p.listen(change, "")
	defer l.close()
	if !l.wait(t.Context()) {
		t.Error("the first look does not come at once")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l.wait(ctx) {
		t.Error("it does not end")
	}
	l.wake <- struct{}{}
	if l.wait(ctx) {
		t.Error("it does not end when there is something to see")
	}
}

// If the journal cannot be looked at, everyone looks: their next call returns the error.
func TestPulseThatFails(t *testing.T) {
	p, _ := counted(time.Hour)
	watcher, letters := p.listen(change, ""), p.listen(mail, "a")
	defer watcher.close()
	defer letters.close()
	<-watcher.wake
	l := looker{clock: systemClock{}, journal: func() (*journal.Store, error) { return nil, errors.New("no disk") }}
	l.drift = l.drifted()
	l.look(p)
	if len(watcher.wake) != 1 || len(letters.wake) != 1 {
		t.Errorf("woken are %d and %d", len(watcher.wake), len(letters.wake))
	}
}
