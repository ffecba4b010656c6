package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/workflow"
)

// Delete removes runs with their events and files, in one transaction, and returns those
// that it removed. The error has a *driver.HeldError for each that a process drives, and a
// *driver.UnknownRunError for each that does not exist; the others are removed. What other
// runs use too, such as the same definition, stays.
func (s *Store) Delete(ctx context.Context, runs ...string) (deleted []string, err error) {
	own, err := s.name()
	if err != nil {
		return nil, err
	}
	var errs []error
	left := runs
	err = patiently(ctx, func() error {
		var gone, held []string
		var wrong []error
		var busy error
		err := s.transact(func(tx *sql.Tx) error {
			gone, held, wrong, busy = nil, nil, nil, nil
			numbers := []int64{}
			for _, run := range left {
				number, _, err := s.free(tx, run, own)
				switch {
				case errors.As(err, new(*driver.HeldError)):
					held, busy = append(held, run), errors.Join(busy, err)
				case err != nil:
					wrong = append(wrong, err)
				default:
					gone, numbers = append(gone, run), append(numbers, number)
				}
			}
			return deleteRuns(tx, workflow.FormatJSON(numbers))
		})
		if err != nil {
			return err
		}
		deleted, errs, left = append(deleted, gone...), append(errs, wrong...), held
		return busy
	})
	errs = append(errs, err)
	for _, run := range deleted {
		errs = append(errs, explain(s.runFiles(run), os.RemoveAll(s.runFiles(run))))
		s.forget(run)
	}
	// Others wait while pages are moved, so only some are moved. The runs are deleted even if it
	// fails.
	_, _ = s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", maxFreed))
	return deleted, errors.Join(errs...)
}

// maxFreed is how many pages are returned to the system after runs were deleted. The others
// are reused.
const maxFreed = 4096

// deleteLoosePins deletes definitions that no run refers to.
const deleteLoosePins = "DELETE FROM pins WHERE hash NOT IN (SELECT pin FROM runs UNION ALL SELECT first FROM runs WHERE first IS NOT NULL UNION ALL SELECT pin FROM plans)"

// deleteRuns deletes the rows of runs, given as a JSON list of their numbers, and then what
// no other run refers to.
func deleteRuns(tx *sql.Tx, numbers string) error {
	const among = " IN (SELECT value FROM json_each(?))"
	for _, text := range []string{
		"CREATE TEMP TABLE loose AS SELECT DISTINCT unhex(p.value ->> 'hash') AS hash FROM events e, json_each(e.blobs) p WHERE e.blobs IS NOT NULL AND e.run" + among,
		"DELETE FROM events WHERE run" + among,
		"DELETE FROM inbox WHERE run" + among,
		"DELETE FROM asked WHERE run" + among,
		"DELETE FROM attempts WHERE run" + among,
		"DELETE FROM snapshots WHERE run" + among,
		"DELETE FROM plans WHERE run" + among,
		"INSERT INTO deleted (version, id) SELECT " + nextVersion + " + row_number() OVER () - 1, id FROM runs WHERE number" + among,
		"DELETE FROM runs WHERE number" + among,
	} {
		if _, err := tx.Exec(text, numbers); err != nil {
			return err
		}
	}
	for _, text := range []string{
		`DELETE FROM blobs WHERE hash IN (SELECT hash FROM loose EXCEPT
			SELECT unhex(p.value ->> 'hash') FROM events e, json_each(e.blobs) p WHERE e.blobs IS NOT NULL)`,
		"DROP TABLE loose",
		deleteLoosePins,
	} {
		if _, err := tx.Exec(text); err != nil {
			return err
		}
	}
	return nil
}

// Compact returns the space of everything deleted to the system, including what was left by a
// process that died while it deleted a run. Nothing can be written meanwhile. A journal of an older
// version is rewritten once.
func (s *Store) Compact(ctx context.Context) error {
	var mode int
	err := s.transact(func(tx *sql.Tx) error {
		if err := s.removeStrays(tx); err != nil {
			return err
		}
		return tx.QueryRow("PRAGMA auto_vacuum").Scan(&mode)
	})
	if err != nil {
		return err
	}
	statements := []string{"PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"}
	if mode == 0 {
		statements = []string{"PRAGMA auto_vacuum = INCREMENTAL", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"}
	}
	for _, text := range statements {
		if _, err := s.write.ExecContext(ctx, text); err != nil {
			return explain(s.file, err)
		}
	}
	return nil
}

// removeStrays removes the files of runs that are not in the journal. No run can be created
// within the transaction.
func (s *Store) removeStrays(tx *sql.Tx) error {
	logs := filepath.Join(s.dir, "logs")
	entries, _ := os.ReadDir(logs) // no directory: nothing was ever printed
	rows, err := tx.Query("SELECT id FROM runs")
	if err != nil {
		return err
	}
	defer rows.Close()
	known := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		known[fileNameOf(id)] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, e := range entries {
		if !known[e.Name()] {
			if err := os.RemoveAll(filepath.Join(logs, e.Name())); err != nil {
				return explain(logs, err)
			}
		}
	}
	return nil
}

// Recorded returns the size of the events of a run, including their long strings.
func (s *Store) Recorded(ctx context.Context, r Run) (size int64, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT coalesce((SELECT sum(octet_length(data)) FROM events WHERE run = ?1), 0) +
		coalesce((SELECT sum(octet_length(data)) FROM blobs WHERE hash IN (SELECT unhex(p.value ->> 'hash')
			FROM events e, json_each(e.blobs) p WHERE e.blobs IS NOT NULL AND e.run = ?1)), 0)`, r.number).Scan(&size)
	return size, explain(s.file, err)
}

// Bytes returns the size of a run, including its files.
func (s *Store) Bytes(ctx context.Context, r Run) (int64, error) {
	size, err := s.Recorded(ctx, r)
	if err != nil {
		return 0, err
	}
	err = filepath.WalkDir(s.runFiles(r.ID), func(_ string, f fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it has none, or is being deleted
			return nil
		}
		if err == nil && !f.IsDir() {
			if info, err := f.Info(); err == nil {
				size += info.Size()
			}
		}
		return err
	})
	return size, err
}
