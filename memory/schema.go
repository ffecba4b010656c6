package memory

import "github.com/hocket-dev/hocket/internal/database"

// kind describes the database of memories.
var kind = &database.Kind{
	Name:  "memories",
	Magic: 0x48434b4d, // "HCKM"
	Steps: migrations,
}

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
	// Deleting a memory also removes it from the index, so that nothing stays in the file.
	// The index is rebuilt, see index.go.
	`DROP TABLE words;
	CREATE VIRTUAL TABLE words USING fts5 (text, tags, content='', tokenize='unicode61 remove_diacritics 0');
	INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
	ALTER TABLE totals ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0; -- by which version of words.go`,
	`ALTER TABLE memories ADD COLUMN key TEXT; -- see AddOnce
	CREATE UNIQUE INDEX memories_key ON memories (key) WHERE key IS NOT NULL;`,
}
