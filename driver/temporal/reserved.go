package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

func reservationKey(outer string, after int) string {
	return runKey(outer, "inside", fmt.Sprintf("%06d", after))
}

// Reserve stores what a run inside of another one may use. It is deleted with the outer run.
func (d *Driver) Reserve(ctx context.Context, outer string, after int, reservation []byte) error {
	return d.o.Store.Create(ctx, reservationKey(outer, after), reservation)
}

// Reserved returns what runs inside of another one may use. It does not list the folder, of which a network file system may show an old state.
func (d *Driver) Reserved(ctx context.Context, outer string) (all [][]byte, err error) {
	for {
		one, err := d.o.Store.Get(ctx, reservationKey(outer, len(all)))
		if errors.Is(err, fs.ErrNotExist) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
