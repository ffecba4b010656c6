package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
)

// twoDrivers: one drives the run, and the other reports that it is taken. A run that a living process has claimed
// is taken too.
func twoDrivers(t *scene, w World) {
	if !w.Traits().Exclusive {
		t.Skip("several processes work for a run")
	}
	twoDrive(t, w)
	claimHolds(t, w)
}

func twoDrive(t *scene, w World) {
	began, release := make(chan struct{}), make(chan struct{})
	d := open(t, w, func(_ context.Context, task *engine.StartTask) Outcome {
		close(began)
		<-release
		return Outcome{Output: task.Node}
	})
	b := bundle(chain(task("a", "")))
	call := goStart(t, d, starting(b))
	await(t, "the attempt", began)
	second := open(t, w, func(context.Context, *engine.StartTask) Outcome {
		t.Error("the second driver begins an attempt")
		return Outcome{}
	})
	if res, err := second.Resume(t.Context(), runID); err == nil {
		t.Errorf("a second driver returned %s", outline(res))
	} else if errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, d, b, res)
	want(t, res, `success "a"`, `a success "a"`)
}

// claimHolds: while the process that has claimed a run is alive, the run counts as driven, and no other process takes
// it. Watchers are told when the process dies.
func claimHolds(t *scene, w World) {
	d, other := open(t, w, echo), open(t, w, echo)
	s := starting(bundle(chain(task("a", "x"))))
	s.Run = "left"
	spec := s.spec()
	spec.Owner.Claimed = true
	if _, err := d.raw.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if i, err := other.raw.Info(t.Context(), s.Run); err != nil || i.Pending || !i.Driven {
		t.Errorf("%+v, %v", i, err)
	}
	if res, err := other.Resume(t.Context(), s.Run); !errors.As(err, new(*driver.HeldError)) {
		t.Errorf("another process took a claimed run up: %s, %v", outline(res), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes := make(chan driver.Change, 100)
	go func() {
		for c, err := range other.raw.Watch(ctx, 0) {
			if err != nil {
				t.Error(err)
			}
			changes <- c
		}
	}()
	until := waitFor(t, changes)
	until("claimed", func(c driver.Change) bool { return c.Run == s.Run && c.Info.Driven })
	seen, err := other.raw.Count(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	d.Kill()
	until("abandoned", func(c driver.Change) bool { return c.Run == s.Run && !c.Info.Driven && !c.Info.Pending })
	wantSince(t, other.raw, seen.Version, "changed "+s.Run)
}
