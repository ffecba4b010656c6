-- A journal as version 3 of the schema left it, dumped from one that the program wrote:
-- a run that was killed in a step with effect: once, one that ended, and one that waits
-- at a gate. The row in questions is what an attempt asked when its process was killed.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE pins (
		hash TEXT PRIMARY KEY,
		data TEXT NOT NULL
	);
INSERT INTO pins VALUES('sha256:2c76e2588cbd36e52df37dfc4a7271ffb0d33c4a8236f182184d4ddecf77f007','{"bundle":{"Root":{"Name":"once","Description":"","Inputs":null,"State":null,"StatePos":null,"Agents":null,"Limits":{},"Output":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Body":{"Nodes":[{"Kind":"task","Step":{"Agent":"shell","Prompt":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Inputs":null,"Settings":{"command":"echo first"},"Pos":{"file":"once.yml","line":3,"column":24,"end_line":3,"end_column":29},"SettingsPos":{"command":{"file":"once.yml","line":3,"column":40,"end_line":3,"end_column":47}},"SettingsSrc":{"command":{"Text":"echo first","Pos":{"file":"once.yml","line":3,"column":49,"end_line":3,"end_column":59},"Indent":0}}},"ID":"first","Title":"","Join":{"Need":0,"Keep":false},"Group":"","Output":{"Var":"","Mode":"","Pattern":"","Schema":null,"Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"At":null},"Retry":{},"Timeout":0,"OnError":"","Once":false,"Labels":null,"Pos":{"file":"once.yml","line":3,"column":10,"end_line":3,"end_column":15}},{"Kind":"task","Step":{"Agent":"shell","Prompt":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Inputs":null,"Settings":{"command":"sleep 30"},"Pos":{"file":"once.yml","line":4,"column":25,"end_line":4,"end_column":30},"SettingsPos":{"command":{"file":"once.yml","line":4,"column":55,"end_line":4,"end_column":62}},"SettingsSrc":{"command":{"Text":"sleep 30","Pos":{"file":"once.yml","line":4,"column":64,"end_line":4,"end_column":72},"Indent":0}}},"ID":"deploy","Title":"","Join":{"Need":0,"Keep":false},"Group":"","Output":{"Var":"","Mode":"","Pattern":"","Schema":null,"Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"At":null},"Retry":{},"Timeout":0,"OnError":"","Once":true,"Labels":null,"Pos":{"file":"once.yml","line":4,"column":10,"end_line":4,"end_column":16}}],"Edges":[{"From":"first","To":"deploy","On":"","Label":"","When":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Pos":{"file":"once.yml","line":3,"column":10,"end_line":3,"end_column":15}}]},"Pos":{"file":"once.yml","line":1,"column":7,"end_line":1,"end_column":11}},"Called":{}},"sources":{"once.yml":"name: once\nsteps:\n  - {id: first, agent: shell, config: {command: echo first}}\n  - {id: deploy, agent: shell, effect: once, config: {command: sleep 30}}\n"},"agents":{"definitions":[]},"dir":"/tmp/v3/p"}');
INSERT INTO pins VALUES('sha256:8e9f0d3c369fd44d8fb65014c482f2af9ac456b213872bf82bcd0c57237499f9','{"bundle":{"Root":{"Name":"gated","Description":"","Inputs":null,"State":null,"StatePos":null,"Agents":null,"Limits":{},"Output":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Body":{"Nodes":[{"Kind":"task","Step":{"Agent":"shell","Prompt":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Inputs":null,"Settings":{"command":"echo draft"},"Pos":{"file":"gate.yml","line":3,"column":24,"end_line":3,"end_column":29},"SettingsPos":{"command":{"file":"gate.yml","line":3,"column":40,"end_line":3,"end_column":47}},"SettingsSrc":{"command":{"Text":"echo draft","Pos":{"file":"gate.yml","line":3,"column":49,"end_line":3,"end_column":59},"Indent":0}}},"ID":"draft","Title":"","Join":{"Need":0,"Keep":false},"Group":"","Output":{"Var":"","Mode":"","Pattern":"","Schema":null,"Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"At":null},"Retry":{},"Timeout":0,"OnError":"","Once":false,"Labels":null,"Pos":{"file":"gate.yml","line":3,"column":10,"end_line":3,"end_column":15}},{"Kind":"human","Step":{"Question":{"Text":"Publish ${nodes.draft.output}?","Src":{"Text":"Publish ${nodes.draft.output}?","Pos":{"file":"gate.yml","line":5,"column":12,"end_line":5,"end_column":42},"Indent":0}},"Options":null,"Custom":false,"Required":false},"ID":"ok","Title":"","Join":{"Need":0,"Keep":false},"Group":"","Output":{"Var":"","Mode":"","Pattern":"","Schema":null,"Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"At":null},"Retry":{},"Timeout":0,"OnError":"","Once":false,"Labels":null,"Pos":{"file":"gate.yml","line":4,"column":9,"end_line":4,"end_column":11}},{"Kind":"task","Step":{"Agent":"shell","Prompt":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Inputs":null,"Settings":{"command":"echo published"},"Pos":{"file":"gate.yml","line":7,"column":26,"end_line":7,"end_column":31},"SettingsPos":{"command":{"file":"gate.yml","line":7,"column":42,"end_line":7,"end_column":49}},"SettingsSrc":{"command":{"Text":"echo published","Pos":{"file":"gate.yml","line":7,"column":51,"end_line":7,"end_column":65},"Indent":0}}},"ID":"publish","Title":"","Join":{"Need":0,"Keep":false},"Group":"","Output":{"Var":"","Mode":"","Pattern":"","Schema":null,"Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"At":null},"Retry":{},"Timeout":0,"OnError":"","Once":false,"Labels":null,"Pos":{"file":"gate.yml","line":7,"column":10,"end_line":7,"end_column":17}}],"Edges":[{"From":"draft","To":"ok","On":"","Label":"","When":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Pos":{"file":"gate.yml","line":3,"column":10,"end_line":3,"end_column":15}},{"From":"ok","To":"publish","On":"","Label":"","When":{"Text":"","Src":{"Text":"","Pos":{"line":0,"column":0,"end_line":0,"end_column":0},"Indent":0}},"Pos":{"file":"gate.yml","line":4,"column":9,"end_line":4,"end_column":11}}]},"Pos":{"file":"gate.yml","line":1,"column":7,"end_line":1,"end_column":12}},"Called":{}},"sources":{"gate.yml":"name: gated\nsteps:\n  - {id: draft, agent: shell, config: {command: echo draft}}\n  - id: ok\n    human: Publish ${nodes.draft.output}?\n    config: {options: [\"yes\", \"no\"]}\n  - {id: publish, agent: shell, config: {command: echo published}}\n"},"agents":{"definitions":[]},"dir":"/tmp/v3/p"}');
CREATE TABLE runs (
		number   INTEGER PRIMARY KEY,
		id       TEXT NOT NULL UNIQUE,
		workflow TEXT NOT NULL,
		digest   TEXT NOT NULL,
		pin      TEXT NOT NULL REFERENCES pins (hash),
		created  INTEGER NOT NULL,  -- microseconds since 1970, like all times here
		status   TEXT NOT NULL,     -- a cache; the events are the truth
		changed  INTEGER NOT NULL
	, origin TEXT NOT NULL DEFAULT '', problem TEXT NOT NULL DEFAULT '');
INSERT INTO runs VALUES(1,'once-0a7qty78','once','sha256:31258ac8916c426dc5ac6767deeae89e1b66a1b9185e7a2c865119ec72ead0ac','sha256:2c76e2588cbd36e52df37dfc4a7271ffb0d33c4a8236f182184d4ddecf77f007',1794829968529354,'running',1794829968529354,'','');
INSERT INTO runs VALUES(2,'gated-cnj019dq','gated','sha256:9a8c379d3591ae5c000c9cba6b3eed2a7a6f5c17c32579efed592223e9c1fb2b','sha256:8e9f0d3c369fd44d8fb65014c482f2af9ac456b213872bf82bcd0c57237499f9',1794829977300220,'success',1794829977463147,'','');
INSERT INTO runs VALUES(3,'gated-s7yw63t2','gated','sha256:9a8c379d3591ae5c000c9cba6b3eed2a7a6f5c17c32579efed592223e9c1fb2b','sha256:8e9f0d3c369fd44d8fb65014c482f2af9ac456b213872bf82bcd0c57237499f9',1794829977511819,'waiting',1794829977528825,'','');
CREATE TABLE events (
		run   INTEGER NOT NULL,
		seq   INTEGER NOT NULL,     -- from 1, without gaps
		data  TEXT NOT NULL,        -- JSON in one line
		blobs TEXT,                 -- where long strings were taken out, see blob.go
		PRIMARY KEY (run, seq)
	) WITHOUT ROWID;
INSERT INTO events VALUES(1,1,'{"type":"Started","time":"2026-11-16T11:52:48.52935423Z","run":"once-0a7qty78","version":1,"limits":{"steps":100,"parallel":10,"depth":5,"runtime":1800000000000}}',NULL);
INSERT INTO events VALUES(1,2,'{"type":"TaskEnded","time":"2026-11-16T11:52:48.53521667Z","address":"first","attempt":1,"output":"first"}',NULL);
INSERT INTO events VALUES(2,1,'{"type":"Started","time":"2026-11-16T11:52:57.30022079Z","run":"gated-cnj019dq","version":1,"limits":{"steps":100,"parallel":10,"depth":5,"runtime":1800000000000}}',NULL);
INSERT INTO events VALUES(2,2,'{"type":"TaskEnded","time":"2026-11-16T11:52:57.309144395Z","address":"draft","attempt":1,"output":"draft"}',NULL);
INSERT INTO events VALUES(2,3,'{"type":"HumanAnswered","time":"2026-11-16T11:52:57.438393629Z","address":"ok","value":"yes","by":"root","unattended":true}',NULL);
INSERT INTO events VALUES(2,4,'{"type":"Recovered","time":"2026-11-16T11:52:57.459332078Z","unsettled":true}',NULL);
INSERT INTO events VALUES(2,5,'{"type":"TaskEnded","time":"2026-11-16T11:52:57.462481364Z","address":"publish","attempt":1,"output":"published"}',NULL);
INSERT INTO events VALUES(3,1,'{"type":"Started","time":"2026-11-16T11:52:57.511819177Z","run":"gated-s7yw63t2","version":1,"limits":{"steps":100,"parallel":10,"depth":5,"runtime":1800000000000}}',NULL);
INSERT INTO events VALUES(3,2,'{"type":"TaskEnded","time":"2026-11-16T11:52:57.521259123Z","address":"draft","attempt":1,"output":"draft"}',NULL);
CREATE TABLE blobs (
		hash BLOB PRIMARY KEY,      -- SHA-256
		data TEXT NOT NULL
	);
CREATE TABLE inbox (
		id      INTEGER PRIMARY KEY AUTOINCREMENT,
		run     INTEGER NOT NULL,
		event   TEXT NOT NULL,
		sent    INTEGER NOT NULL,
		verdict TEXT,               -- NULL while nobody has looked at it
		reason  TEXT NOT NULL DEFAULT ''
	);
CREATE TABLE questions (
		run     INTEGER NOT NULL,
		address TEXT NOT NULL,      -- of the step whose attempt asks
		number  INTEGER NOT NULL,   -- from 1; no two questions of a step have the same
		asked   INTEGER NOT NULL,
		data    TEXT,               -- JSON; NULL when the question is over
		PRIMARY KEY (run, address, number)
	) WITHOUT ROWID;
CREATE INDEX inbox_waiting ON inbox (run) WHERE verdict IS NULL;
CREATE INDEX questions_open ON questions (run) WHERE data IS NOT NULL;
INSERT INTO questions VALUES(1,'first',1,1794829968000000,'{"text":"May I?","options":["allow","deny"]}');
COMMIT;
PRAGMA application_id = 1212369748; PRAGMA user_version = 3;
