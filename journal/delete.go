package journal

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// Delete removes a run with its events and files. The error is a *HeldError when a
// process drives it. What other runs use too, such as the same definition, stays.
func (s *Store) Delete(ctx context.Context, run string) error {
	w, err := s.Writer(ctx, run)
	if err != nil {
		return err
	}
	err = s.transact(func(tx *sql.Tx) error {
		for _, text := range []string{
			"DELETE FROM events WHERE run = ?",
			"DELETE FROM inbox WHERE run = ?",
			"DELETE FROM questions WHERE run = ?",
			"DELETE FROM runs WHERE number = ?",
		} {
			if _, err := tx.Exec(text, w.number); err != nil {
				return err
			}
		}
		_, err := tx.Exec("DELETE FROM pins WHERE hash NOT IN (SELECT pin FROM runs)")
		return err
	})
	if err == nil {
		err = explain(s.runFiles(run), os.RemoveAll(s.runFiles(run)))
	}
	return errors.Join(err, w.Close())
}
