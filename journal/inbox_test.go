package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/engine"
)

func TestInbox(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	driver, sender := openStore(t, dir), openStore(t, dir)
	w := createRun(t, driver, "demo-1")
	createRun(t, driver, "demo-2")

	answer := &engine.Answered{ID: "gate", Value: "yes", By: "ann"}
	cancel := &engine.CancelAsked{Reason: "enough"}
	raise := &engine.LimitRaised{}
	var ids []int64
	for _, ev := range []engine.Event{answer, cancel, raise} {
		id, err := sender.Send(ctx, "demo-1", ev, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if _, err := sender.Send(ctx, "demo-2", cancel, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := sender.Send(ctx, "nope", cancel, time.Now()); err == nil {
		t.Error("a message to an unknown run was taken")
	}
	if gone, err := sender.Withdraw(ids[2]); err != nil || !gone {
		t.Errorf("Withdraw = %v, %v", gone, err)
	}

	got, err := w.Inbox(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var events []engine.Event
	for _, m := range got {
		events = append(events, m.Event)
		if _, ok, err := sender.Verdict(ctx, m.ID); ok || err != nil {
			t.Errorf("message %d has a verdict before anybody looked (%v)", m.ID, err)
		}
	}
	if diff := cmp.Diff([]engine.Event{answer, cancel}, events); diff != "" {
		t.Fatalf("inbox (-want +got):\n%s", diff)
	}

	verdicts := []Verdict{{ID: ids[0]}, {ID: ids[1], Refused: "the run is over"}}
	if err := w.Append(Batch{Events: []engine.Envelope{{Time: start, Event: answer}}, Verdicts: verdicts}); err != nil {
		t.Fatal(err)
	}
	for _, want := range verdicts {
		v, ok, err := sender.Verdict(ctx, want.ID)
		if err != nil || !ok || v != want {
			t.Errorf("Verdict(%d) = %+v, %v, %v", want.ID, v, ok, err)
		}
		if gone, err := sender.Withdraw(want.ID); err != nil || gone {
			t.Errorf("a settled message could be withdrawn (%v)", err)
		}
	}
	var withdrawn *WithdrawnError
	if _, _, err := sender.Verdict(ctx, ids[2]); !errors.As(err, &withdrawn) {
		t.Errorf("the verdict on a withdrawn message is %v", err)
	}
	last, err := sender.Send(ctx, "demo-1", cancel, start)
	if err != nil {
		t.Fatal(err)
	}
	if mail, err := w.Inbox(ctx); err != nil || len(mail) != 1 || !mail[0].Sent.Equal(start) {
		t.Errorf("the inbox has %v, %v", mail, err)
	}
	if err := w.Append(Batch{Events: []engine.Envelope{{Time: start, Event: cancel}}, Verdicts: []Verdict{{ID: last}}}); err != nil {
		t.Fatal(err)
	}
	if rest, err := w.Inbox(ctx); err != nil || len(rest) != 0 {
		t.Errorf("%d messages are left (%v)", len(rest), err)
	}
}
