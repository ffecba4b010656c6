package temporal

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/hocket-dev/hocket/driver"
)

// That a run is unknown does not say that it was deleted: the server may have lost its runs, or be another one, and the store has nothing of a
// run whose steps print nothing. So whoever deletes a run leaves a note in the store, for the machines that have worked for it:
//
//	deleted/MONTH/RUN

// deletions is the folder of these notes.
const deletions = "deleted"

// deletionMonths is for how many months they are kept, with the current one. A machine that is away for longer keeps what it has.
const deletionMonths = 6

func deletionKey(month, run string) string { return deletions + "/" + month + "/" + part(run) }

// deletionFolders returns the months of which notes are kept, the current one first.
func deletionFolders(now time.Time) (months []string) {
	now = now.UTC()
	for i := range deletionMonths {
		months = append(months, time.Date(now.Year(), now.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC).Format("2006-01"))
	}
	return months
}

// noteDeletion records that a run was deleted.
func (d *Driver) noteDeletion(ctx context.Context, run, origin string) error {
	return putJSON(ctx, d.o.Store, deletionKey(deletionFolders(d.o.Now())[0], run), driver.Deletion{Origin: origin})
}

// Deleted returns what was recorded when a run was deleted; nil if it was not.
func (d *Driver) Deleted(ctx context.Context, run string) (*driver.Deletion, error) {
	if _, _, err := d.facts(ctx, run); !errors.As(err, new(*driver.UnknownRunError)) {
		return nil, err
	}
	for _, month := range deletionFolders(d.o.Now()) {
		var noted driver.Deletion
		err := getJSON(ctx, d.o.Store, deletionKey(month, run), &noted)
		switch {
		case err == nil:
			return &noted, nil
		case errors.Is(err, errPlain): // anybody can have written it
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return nil, nil
}

// forgetDeletions removes the notes of earlier months. Workers do that when they start.
func (d *Driver) forgetDeletions(ctx context.Context) error {
	keys, err := d.o.Store.List(ctx, deletions)
	if err != nil {
		return err
	}
	oldest := deletionFolders(d.o.Now())[deletionMonths-1]
	var old []string
	for _, key := range keys {
		if dir := path.Dir(key); path.Base(dir) < oldest && !slices.Contains(old, dir) {
			old = append(old, dir)
		}
	}
	for _, dir := range old {
		err = errors.Join(err, d.o.Store.Delete(ctx, dir))
	}
	return err
}
