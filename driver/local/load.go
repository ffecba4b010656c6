package local

import (
	"context"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// load replays a run without driving it.
func load(ctx context.Context, store *journal.Store, run string) (*engine.Run, []engine.Envelope, error) {
	pin, err := store.Pin(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	var events []engine.Envelope
	r, err := driver.Replay(run, pin.Bundle, store.Events(ctx, run, 0), func(_ *engine.Run, e engine.Envelope, _ []engine.Command) {
		events = append(events, e)
	})
	return r, events, err
}
