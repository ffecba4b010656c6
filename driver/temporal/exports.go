package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/hocket-dev/hocket/driver"
)

// ClaimExport lets one caller export events of a run. The claims of a run are a chain: the key is where one begins, and the
// value where it ends and the next one begins. A key is created only once, so nobody can claim the same.
func (d *Driver) ClaimExport(ctx context.Context, run string, after, through int) (claimed int, mine bool, err error) {
	if through > after {
		err := d.o.Store.Create(ctx, exportKey(run, after), []byte(strconv.Itoa(through)))
		if !errors.Is(err, fs.ErrExist) {
			return through, err == nil, err
		}
	}
	keys, err := d.o.Store.List(ctx, runKey(run, "exports"))
	if err != nil || len(keys) == 0 {
		return 0, false, err
	}
	last, err := d.o.Store.Get(ctx, keys[len(keys)-1])
	if err == nil {
		claimed, err = strconv.Atoi(string(last))
	}
	if err != nil {
		return 0, false, fmt.Errorf("temporal: read the exports of run %s: %w", run, err)
	}
	return claimed, false, nil
}

// exportKey returns a key whose order is that of the numbers.
func exportKey(run string, after int) string {
	return runKey(run, "exports", fmt.Sprintf("%012d", after))
}

// Noted returns the session and the model of an attempt.
func (d *Driver) Noted(ctx context.Context, a driver.AttemptID) (session, model string, err error) {
	n, err := d.noted(ctx, a)
	return n.Session, n.Model, err
}
