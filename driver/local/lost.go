package local

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/journal"
)

// endLost ends the programs that attempts left running when the process that drove the run died. It
// runs before the attempts are recorded as lost, so that no two attempts at a step run at the same
// time. The note says where programs may still be running that cannot be found from here; "" if
// nowhere.
func endLost(r *engine.Run, w *journal.Writer) (note string, err error) {
	if !interrupted(r) {
		return "", nil
	}
	err = process.EndLeft(w.Run()+"/", 0) // see engine.StartTask.Key
	if errors.Is(err, process.ErrUnseen) {
		return "programs that the run started before its process died may still be running: they cannot be found on this system", nil
	}
	if err != nil {
		return "", &driver.LeftRunningError{Run: w.Run(), Cause: err}
	}
	if host, err := os.Hostname(); err == nil && w.Before().Host != "" && w.Before().Host != host {
		note = fmt.Sprintf("the process that drove the run died on %s: programs that it started may still be running there", w.Before().Host)
	}
	return note, nil
}

// endLostOf does the same for a run that is only read, unless a process drives it.
func endLostOf(ctx context.Context, s *journal.Store, run string, r *engine.Run) (note string, err error) {
	if !interrupted(r) {
		return "", nil
	}
	w, err := s.Writer(ctx, run)
	var held *driver.HeldError
	if errors.As(err, &held) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	note, err = endLost(r, w)
	return note, errors.Join(err, w.Close())
}
