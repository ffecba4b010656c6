package database

import (
	"context"
	"database/sql"
	"fmt"
)

// migrate brings a database to the newest schema. Several processes may do it at once: each
// step is a transaction that checks the version again.
func (k *Kind) migrate(ctx context.Context, db *sql.DB, file string) error {
	for {
		newest, err := k.Newest(ctx, db, file)
		if err != nil || newest {
			return err
		}
		if err := Transact(ctx, db, func(tx *sql.Tx) error { return k.step(ctx, tx, file) }); err != nil {
			return err
		}
	}
}

func (k *Kind) step(ctx context.Context, tx *sql.Tx, file string) error {
	version, err := k.version(ctx, tx, file)
	if err != nil || version == len(k.Steps) {
		return err
	}
	stamp := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", k.Magic, version+1)
	for _, text := range []string{k.Steps[version], stamp} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("schema version %d: %w", version+1, err)
		}
	}
	return nil
}

// Newest reports whether a database has the newest schema, and rejects databases that are
// not ours.
func (k *Kind) Newest(ctx context.Context, db *sql.DB, file string) (bool, error) {
	version, err := k.version(ctx, db, file)
	return version == len(k.Steps), err
}

func (k *Kind) version(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, file string) (int, error) {
	var version, app, tables int
	err := db.QueryRowContext(ctx, `SELECT
		(SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&version, &app, &tables)
	switch {
	case err != nil:
		return 0, k.Explain(file, err)
	case app != k.Magic && (app != 0 || version != 0 || tables != 0):
		return 0, &Error{Kind: k, File: file, Problem: NotDatabase, Detail: "it is the database of another program"}
	case version < 0:
		return 0, &Error{Kind: k, File: file, Problem: Corrupt, Detail: fmt.Sprintf("its schema has version %d", version)}
	case version > len(k.Steps):
		return 0, &Error{Kind: k, File: file, Problem: Newer, Detail: fmt.Sprintf("its schema has version %d, but this program supports version %d", version, len(k.Steps))}
	}
	return version, nil
}
