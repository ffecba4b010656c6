package journal

import "github.com/hocket-dev/hocket/internal/database"

// kind describes a journal as a database.
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
	`ALTER TABLE runs ADD COLUMN key TEXT;                          -- makes starting idempotent; NULL: none
	ALTER TABLE runs ADD COLUMN request TEXT NOT NULL DEFAULT ''; -- digest of what was asked for with the key
	ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT '{}'; -- JSON: who started it, and who may take it up
	ALTER TABLE runs ADD COLUMN due INTEGER;                      -- when it wants to be driven; a cache like status, as are
	ALTER TABLE runs ADD COLUMN usage TEXT NOT NULL DEFAULT '{}'; -- JSON of what it used, and the table asked
	ALTER TABLE runs ADD COLUMN noted INTEGER NOT NULL DEFAULT 0; -- seq of the last event that the caches know of
	ALTER TABLE runs ADD COLUMN version INTEGER NOT NULL DEFAULT 0; -- goes up with every change, over all runs
	CREATE UNIQUE INDEX runs_key ON runs (key) WHERE key IS NOT NULL;
	CREATE INDEX runs_version ON runs (version);
	CREATE INDEX runs_due ON runs (due) WHERE due IS NOT NULL;
	CREATE TABLE deleted (
		version INTEGER PRIMARY KEY, -- in one sequence with those of runs
		id      TEXT NOT NULL
	);
	CREATE TABLE asked (
		run  INTEGER NOT NULL,
		id   TEXT NOT NULL,          -- of an open question
		data TEXT NOT NULL,          -- JSON
		PRIMARY KEY (run, id)
	) WITHOUT ROWID;
	CREATE TABLE attempts (
		run     INTEGER NOT NULL,
		address TEXT NOT NULL,
		attempt INTEGER NOT NULL,
		session TEXT NOT NULL DEFAULT '',
		model   TEXT NOT NULL DEFAULT '',
		usage   TEXT NOT NULL DEFAULT '{}', -- JSON
		PRIMARY KEY (run, address, attempt)
	) WITHOUT ROWID;
	CREATE INDEX events_blobs ON events (run) WHERE blobs IS NOT NULL;`,
	// What attempts ask is recorded as events, and the table asked lists it.
	`DROP TABLE questions;`,
	`CREATE TABLE snapshots (
		run  INTEGER PRIMARY KEY,
		data BLOB NOT NULL           -- a cache of the engine's state; the events are the truth
	);`,
	`ALTER TABLE runs ADD COLUMN begun INTEGER NOT NULL DEFAULT 1; -- 0: no process has taken it up yet`,
	`ALTER TABLE events ADD COLUMN sum INTEGER; -- see checksum; NULL: an older version wrote the event`,
	`ALTER TABLE runs ADD COLUMN driver TEXT; -- the store that drives it, see lease.go; NULL: none`,
	`ALTER TABLE runs ADD COLUMN first TEXT;  -- the pin that it was started with; NULL: pin, which is the newest
	CREATE TABLE plans (
		run INTEGER NOT NULL,
		pin TEXT NOT NULL,           -- that an event of the run, or a message to it, may name
		PRIMARY KEY (run, pin)
	) WITHOUT ROWID;`,
	`ALTER TABLE attempts ADD COLUMN agent TEXT NOT NULL DEFAULT '';
	ALTER TABLE attempts ADD COLUMN ended INTEGER NOT NULL DEFAULT 0; -- 0: it costs nothing, or an older version wrote it`,
	`CREATE INDEX attempts_ended ON attempts (ended);`,
}
