package local

import (
	"context"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// load replays a run without driving it.
func load(ctx context.Context, store *journal.Store, run string) (*engine.Run, error) {
	pin, err := store.FirstPin(ctx, run)
	if err != nil {
		return nil, err
	}
	return driver.Replay(run, pin.Bundle, loader(store, run), store.Brief(ctx, run, 0), nil)
}

// loader loads the outputs of a run, even after its driver was told to stop.
func loader(s *journal.Store, run string) driver.Load {
	return func(seq int) (string, error) { return s.Output(context.Background(), run, seq) }
}
