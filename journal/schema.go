package journal

import "github.com/hocket-dev/hocket/internal/database"

// kind is what a journal is as a database.
var kind = &database.Kind{
	Name:  "journal",
	Magic: 0x48434b54, // "HCKT"
	Steps: migrations,
	Advice: map[Problem]string{
		Full:     "resume the run then",
		ReadOnly: "what was recorded can still be shown",
		Corrupt:  "what can still be read can be shown",
		Broken:   "what was recorded before can still be shown",
	},
}

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

	`CREATE TABLE questions (
		run     INTEGER NOT NULL,
		address TEXT NOT NULL,      -- of the step whose attempt asks
		number  INTEGER NOT NULL,   -- from 1; no two questions of a step have the same
		asked   INTEGER NOT NULL,
		data    TEXT,               -- JSON; NULL when the question is over
		PRIMARY KEY (run, address, number)
	) WITHOUT ROWID;
	CREATE INDEX questions_open ON questions (run) WHERE data IS NOT NULL;`,
}
