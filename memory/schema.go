package memory

import (
	"context"
	"database/sql"
	"fmt"
)

// magic marks a database as memories of ours, in the file's header ("HCKM").
const magic = 0x48434b4d

// migrations are the steps from an empty database to the newest schema. Step i
// leads from version i to i+1; the version is the database's user_version. A step
// that was released is never changed: a new one is added.
var migrations = []string{
	`CREATE TABLE memories (
		id      INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never used again
		text    TEXT NOT NULL,
		tags    TEXT NOT NULL,     -- JSON list, sorted
		source  TEXT NOT NULL,
		created INTEGER NOT NULL   -- microseconds since 1970
	);
	CREATE TABLE totals (          -- one row
		memories INTEGER NOT NULL,
		words    INTEGER NOT NULL
	);
	INSERT INTO totals VALUES (0, 0);
	CREATE TABLE terms (           -- how many memories have a word, see words.go
		term     TEXT PRIMARY KEY,
		memories INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE VIRTUAL TABLE words USING fts5 (text, tags, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');`,
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
		return 0, &Error{File: file, Problem: "it is the database of another program", Advice: "move it away, or name another directory with --state"}
	case version > len(migrations):
		return 0, &Error{File: file, Problem: fmt.Sprintf("it was written by a newer version of hocket: its schema has version %d, this program knows version %d", version, len(migrations)), Advice: "update hocket, or name another directory with --state"}
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
