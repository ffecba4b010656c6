package handoff_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/handoff"
)

// shaky is a driver that fails the first time its runs are watched.
type shaky struct {
	driver.Driver
	failed atomic.Bool
}

func (s *shaky) Watch(ctx context.Context, since int64) iter.Seq2[driver.Change, error] {
	if s.failed.Swap(true) {
		return s.Driver.Watch(ctx, since)
	}
	return func(yield func(driver.Change, error) bool) { yield(driver.Change{}, errors.New("the disk is slow")) }
}

// Waiting for a session does not miss its end, even if watching its run fails for a moment.
func TestWaitAfterAFailure(t *testing.T) {
	o := newOffice(t, "driver: shaky\n", func(o *hocket.Options) {
		o.Drivers = map[string]hocket.OpenDriver{"shaky": func(s hocket.DriverSetup) (driver.Driver, error) {
			d, err := local.Open(s.State, local.Options{})
			return &shaky{Driver: d}, err
		}}
	})
	run := o.send(request(to("s1"), ""))[0].Run()
	if _, err := run.Drive(t.Context(), hocket.Front{}); err != nil {
		t.Fatal(err)
	}
	waited := 0
	if err := o.Wait(t.Context(), []string{"s1"}, nil, func(one *handoff.Session) error { waited++; return nil }); err != nil || waited != 1 {
		t.Errorf("%d, %v", waited, err)
	}
	if len(o.problems) != 1 || o.problems[0] != "the disk is slow" {
		t.Errorf("%q", o.problems)
	}
}
