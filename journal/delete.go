package journal

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// Delete removes a run with its events and files. The error is a *driver.HeldError when a
// process drives it. What other runs use too, such as the same definition, stays.
func (s *Store) Delete(ctx context.Context, run string) error {
	w, err := s.Writer(ctx, run)
	if err != nil {
		return err
	}
	err = s.transact(func(tx *sql.Tx) error { return w.delete(tx) })
	if err == nil {
		err = explain(s.runFiles(run), os.RemoveAll(s.runFiles(run)))
	}
	return errors.Join(err, w.Close())
}

func (w *Writer) delete(tx *sql.Tx) error {
	if err := w.deleteBlobs(tx); err != nil {
		return err
	}
	for _, text := range []string{
		"DELETE FROM events WHERE run = ?",
		"DELETE FROM inbox WHERE run = ?",
		"DELETE FROM asked WHERE run = ?",
		"DELETE FROM attempts WHERE run = ?",
		"DELETE FROM snapshots WHERE run = ?",
		"INSERT INTO deleted (version, id) SELECT " + nextVersion + ", id FROM runs WHERE number = ?",
		"DELETE FROM runs WHERE number = ?",
	} {
		if _, err := tx.Exec(text, w.number); err != nil {
			return err
		}
	}
	_, err := tx.Exec("DELETE FROM pins WHERE hash NOT IN (SELECT pin FROM runs)")
	return err
}

// deleteBlobs deletes the long strings that no other run has.
func (w *Writer) deleteBlobs(tx *sql.Tx) error {
	const hashes = `SELECT DISTINCT p.value ->> 'hash' FROM events e, json_each(e.blobs) p WHERE e.blobs IS NOT NULL AND e.run `
	rows, err := tx.Query(hashes+"= ?1 EXCEPT "+hashes+"<> ?1", w.number)
	if err != nil {
		return err
	}
	defer rows.Close()
	var alone []string
	for rows.Next() {
		var hash string
		if err := rows.Scan(&hash); err != nil {
			return err
		}
		alone = append(alone, hash)
	}
	for _, hash := range alone {
		if _, err := tx.Exec("DELETE FROM blobs WHERE hash = unhex(?)", hash); err != nil {
			return err
		}
	}
	return rows.Err()
}
