package handoff_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/handoff"
)

// mortal is a driver that records only some runs, as if its process died then.
type mortal struct {
	driver.Driver
	left atomic.Int64
}

func (d *mortal) Start(ctx context.Context, spec driver.Spec) (driver.Created, error) {
	if d.left.Add(-1) < 0 {
		return driver.Created{}, errors.New("the process died")
	}
	return d.Driver.Start(ctx, spec)
}

// keyed sends requests with a key, and returns the ids of their sessions.
func (o *office) keyed(key string, requests ...string) (ids []string, err error) {
	o.Helper()
	sent, err := o.Send(o.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(requests...)), Key: key})
	if sent != nil {
		for _, one := range sent.Sessions {
			ids = append(ids, one.ID)
		}
	}
	return ids, err
}

func (o *office) wantSessions(n int) {
	o.Helper()
	if runs, err := o.p.Runs(o.Context(), hocket.Filter{}); err != nil || len(runs) != n {
		o.Errorf("there are %d runs, want %d (%v)", len(runs), n, err)
	}
}

// An order that is repeated with its key has the same sessions, with or without ids of their own, at any time.
func TestSendWithKey(t *testing.T) {
	o := newOffice(t, "")
	order := []string{request(to("a", `depends_on="b"`), ""), request(to("b"), ""), request(`target_agent="worker"`, "")}
	first, err := o.keyed("order 1", order...)
	if err != nil || len(first) != 3 {
		t.Fatal(first, err)
	}
	if again, err := o.keyed("order 1", order...); err != nil || !slices.Equal(again, first) {
		t.Errorf("the order again: %q, %v", again, err)
	}
	o.drive()
	if again, err := o.keyed("order 1", order...); err != nil || !slices.Equal(again, first) {
		t.Errorf("the order again after its sessions have ended: %q, %v", again, err)
	}
	if checks, err := o.Checks(); err != nil || len(checks) != 1 {
		t.Errorf("%d checks, %v", len(checks), err)
	}
	for _, other := range [][]string{{request(to("c"), "")}, order[:2], append(order, request(to("d"), ""))} {
		if ids, err := o.keyed("order 1", other...); !errors.As(err, new(*hocket.KeyError)) || len(ids) > 0 {
			t.Errorf("another order with the same key: %q, %v", ids, err)
		}
	}
	o.wantSessions(3)
	if ids, err := o.keyed("order 2", order[2]); err != nil || len(ids) != 1 || slices.Contains(first, ids[0]) {
		t.Errorf("with another key: %q, %v", ids, err)
	}
	o.wantSessions(4)
}

// Of several processes that send the same order at once, one does.
func TestSendWithKeyAtOnce(t *testing.T) {
	o := newOffice(t, "")
	ids := make([][]string, 6)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			var err error
			if ids[i], err = o.keyed("order 1", request(`target_agent="worker"`, "")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, one := range ids {
		if !slices.Equal(one, ids[0]) {
			t.Errorf("%q and %q", one, ids[0])
		}
	}
	o.wantSessions(1)
	marks, err := os.ReadDir(filepath.Join(o.p.State(), "handoff-open"))
	if err != nil || len(marks) != 1 {
		t.Errorf("%d sessions are marked as open, %v", len(marks), err)
	}
}

// If the process dies while it sends an order, repeating it sends the rest.
func TestSendWithKeyAfterACrash(t *testing.T) {
	var d *mortal
	o := newOffice(t, "driver: mortal\n", func(o *hocket.Options) {
		o.Drivers = map[string]hocket.OpenDriver{"mortal": func(s hocket.DriverSetup) (driver.Driver, error) {
			inner, err := local.Open(s.State, local.Options{})
			d = &mortal{Driver: inner}
			d.left.Store(1)
			return d, err
		}}
	})
	order := []string{request(to("a", `depends_on="b"`), ""), request(to("b"), "")}
	if ids, err := o.keyed("order 1", order...); err == nil || len(ids) != 1 || ids[0] != "b" {
		t.Fatalf("sent %q, %v", ids, err)
	}
	d.left.Store(10)
	if ids, err := o.keyed("order 1", order[0]); !errors.As(err, new(*hocket.KeyError)) {
		t.Errorf("another order with the same key: %q, %v", ids, err)
	}
	if ids, err := o.keyed("order 1", order...); err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("the order again: %q, %v", ids, err)
	}
	o.wantSessions(2)
}

// A message is left once, and who repeats the order hears that it was.
func TestMessageWithKey(t *testing.T) {
	o := newOffice(t, "")
	for range 2 {
		sent, err := o.Send(t.Context(), handoff.Order{File: "work.md", Text: []byte(fenced(strings.Replace(request(`target_agent="worker"`, ""), "<mode>spawn", "<mode>conversation_only", 1))), Key: "order 1"})
		if err != nil || !slices.Equal(sent.Messaged, []string{"worker"}) {
			t.Errorf("%+v, %v", sent, err)
		}
	}
}

// overtaken is a driver during whose first search for a key something else happens.
type overtaken struct {
	driver.Driver
	by func()
}

func (d *overtaken) StartedWith(ctx context.Context, key, request string) (string, error) {
	run, err := d.Driver.StartedWith(ctx, key, request)
	if by := d.by; by != nil {
		d.by = nil
		by()
	}
	return run, err
}

// If the same order is sent by another process at the same time, both have its sessions, also if it names them.
func TestSendWithKeyOvertaken(t *testing.T) {
	var d *overtaken
	o := newOffice(t, "driver: overtaken\n", func(o *hocket.Options) {
		o.Drivers = map[string]hocket.OpenDriver{"overtaken": func(s hocket.DriverSetup) (driver.Driver, error) {
			inner, err := local.Open(s.State, local.Options{})
			d = &overtaken{Driver: inner}
			return d, err
		}}
	})
	order := []string{request(to("a", `depends_on="b"`), ""), request(to("b"), "")}
	if _, err := o.p.Runs(t.Context(), hocket.Filter{}); err != nil {
		t.Fatal(err)
	}
	d.by = func() {
		if ids, err := o.keyed("order 1", order...); err != nil || len(ids) != 2 {
			t.Errorf("the other sent %q, %v", ids, err)
		}
	}
	if ids, err := o.keyed("order 1", order...); err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("sent %q, %v", ids, err)
	}
	o.wantSessions(2)
}
