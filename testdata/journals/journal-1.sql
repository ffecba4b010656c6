-- A journal as the first version of the schema left it, with one run of three
-- events, the second of which has a long string.
CREATE TABLE pins (hash TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE runs (
	number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, workflow TEXT NOT NULL, digest TEXT NOT NULL,
	pin TEXT NOT NULL REFERENCES pins (hash), created INTEGER NOT NULL, status TEXT NOT NULL, changed INTEGER NOT NULL
);
CREATE TABLE events (run INTEGER NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, blobs TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID;
CREATE TABLE blobs (hash BLOB PRIMARY KEY, data TEXT NOT NULL);

INSERT INTO pins VALUES ('sha256:00', '{"bundle":{"Root":{"Name":"old"}}}');
INSERT INTO runs VALUES (1, 'old-1', 'old', 'sha256:01', 'sha256:00', 1767323045000006, 'waiting', 1767323045000006);
INSERT INTO events VALUES
	(1, 1, '{"type":"Started","time":"2026-01-02T03:04:05.000006Z","run":"old-1","version":1,"limits":{}}', NULL),
	(1, 2, '{"type":"TaskEnded","time":"2026-01-02T03:04:06.000006Z","address":"work[1]","attempt":1,"output":""}',
		'[{"at":98,"hash":"cbdd412b57e47325b1da9054156f81429f830e1e92e30c150f564f624ff2c094"}]'),
	(1, 3, '{"type":"TaskEnded","time":"2026-01-02T03:04:07.000006Z","address":"work[2]","attempt":1,"output":"x"}', NULL);
INSERT INTO blobs VALUES (X'cbdd412b57e47325b1da9054156f81429f830e1e92e30c150f564f624ff2c094', replace(hex(zeroblob(40000)), '0', 'y'));
PRAGMA application_id = 1212369748;
PRAGMA user_version = 1;
