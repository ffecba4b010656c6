-- What the second version of the schema added to the first: an inbox, with a
-- message that waits, and where a run came from.
CREATE TABLE inbox (
	id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, event TEXT NOT NULL, sent INTEGER NOT NULL,
	verdict TEXT, reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX inbox_waiting ON inbox (run) WHERE verdict IS NULL;
ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN problem TEXT NOT NULL DEFAULT '';

INSERT INTO inbox (run, event, sent) VALUES
	(1, '{"type":"CancelAsked","time":"2026-01-02T03:04:08.000006Z"}', 1767323045000006);
UPDATE runs SET origin = 'older-1';
PRAGMA user_version = 2;
