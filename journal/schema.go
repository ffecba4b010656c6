package journal

import (
	"context"
	"database/sql"
	"fmt"
)

// magic marks a database as a journal of ours, in the file's header ("HCKT").
const magic = 0x48434b54

// migrations are the steps from an empty database to the newest schema. Step i
// leads from version i to i+1; the version is the database's user_version. A
// step that was released is never changed: a new one is added.
var migrations = []string{
	`CREATE TABLE pins (
		hash TEXT PRIMARY KEY,
		data TEXT NOT NULL
	);
	CREATE TABLE runs (
		number   INTEGER PRIMARY KEY,
		id       TEXT NOT NULL UNIQUE,
		workflow TEXT NOT NULL,
		digest   TEXT NOT NULL,
		pin      TEXT NOT NULL REFERENCES pins (hash),
		created  INTEGER NOT NULL,  -- microseconds since 1970, like all times here
		status   TEXT NOT NULL,     -- a cache; the events are the truth
		changed  INTEGER NOT NULL
	);
	CREATE TABLE events (
		run   INTEGER NOT NULL,
		seq   INTEGER NOT NULL,     -- from 1, without gaps
		data  TEXT NOT NULL,        -- JSON in one line
		blobs TEXT,                 -- where long strings were taken out, see blob.go
		PRIMARY KEY (run, seq)
	) WITHOUT ROWID;
	CREATE TABLE blobs (
		hash BLOB PRIMARY KEY,      -- SHA-256
		data TEXT NOT NULL
	);`,

	`CREATE TABLE inbox (
		id      INTEGER PRIMARY KEY AUTOINCREMENT,
		run     INTEGER NOT NULL,
		event   TEXT NOT NULL,
		sent    INTEGER NOT NULL,
		verdict TEXT,               -- NULL while nobody has looked at it
		reason  TEXT NOT NULL DEFAULT ''
	);
	CREATE INDEX inbox_waiting ON inbox (run) WHERE verdict IS NULL;
	ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT '';
	ALTER TABLE runs ADD COLUMN problem TEXT NOT NULL DEFAULT '';`,
}

// migrate brings the database to the newest schema. Several processes may do it
// at once: each step is a transaction that looks at the version again.
func migrate(ctx context.Context, db *sql.DB, file string) error {
	for {
		version, err := schemaVersion(ctx, db, file)
		if err != nil || version == len(migrations) {
			return err
		}
		if err := migrateStep(ctx, db, file); err != nil {
			return err
		}
	}
}

// schemaVersion reads the version, and refuses what is not ours to read.
func schemaVersion(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, file string) (int, error) {
	var version, app, tables int
	err := db.QueryRowContext(ctx, `SELECT
		(SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&version, &app, &tables)
	switch {
	case err != nil:
		return 0, explain(file, err)
	case app != magic && (app != 0 || version != 0 || tables != 0):
		return 0, &Error{File: file, Problem: NotDatabase, Detail: "it is the database of another program"}
	case version > len(migrations):
		return 0, &Error{File: file, Problem: Newer, Detail: fmt.Sprintf("its schema has version %d, this program knows version %d", version, len(migrations))}
	}
	return version, nil
}

func migrateStep(ctx context.Context, db *sql.DB, file string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return explain(file, err)
	}
	defer func() { _ = tx.Rollback() }() // says only that it is over already
	version, err := schemaVersion(ctx, tx, file)
	if err != nil || version == len(migrations) {
		return err
	}
	stamp := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", magic, version+1)
	for _, text := range []string{migrations[version], stamp} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return explain(file, fmt.Errorf("schema version %d: %w", version+1, err))
		}
	}
	return explain(file, tx.Commit())
}
