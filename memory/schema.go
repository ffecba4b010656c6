package memory

import "github.com/hocket-dev/hocket/internal/database"

// kind is what memories are as a database.
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
	// What is forgotten leaves the index too, and nothing of it stays in the file. The
	// index is made anew, see index.go.
	`DROP TABLE words;
	CREATE VIRTUAL TABLE words USING fts5 (text, tags, content='', tokenize='unicode61 remove_diacritics 0');
	INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
	ALTER TABLE totals ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0; -- by which version of words.go`,
}
