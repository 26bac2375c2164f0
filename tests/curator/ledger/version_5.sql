BEGIN TRANSACTION;
CREATE TABLE analysts (
    dataset TEXT NOT NULL REFERENCES datasets (name),
    analyst TEXT NOT NULL,
    quota TEXT,
    epsilon TEXT CHECK (epsilon IS NULL OR (typeof(epsilon) = 'text' AND length(epsilon) = 40 AND epsilon NOT GLOB '*[^0-9]*')),
    rho TEXT NOT NULL CHECK (typeof(rho) = 'text' AND length(rho) = 40 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK (typeof(delta) = 'text' AND length(delta) = 40 AND delta NOT GLOB '*[^0-9]*'),
    releases INTEGER NOT NULL CHECK (releases >= 0),
    PRIMARY KEY (dataset, analyst));
INSERT INTO "analysts" VALUES('visits','ana','{"epsilon":"1/2","kind":"pure","returned":"36036000000000000000000000000"}','0000000000144144000000000000000000000000','0000000000007201199999928650712564204228','0000000000000000000000000000000000000000',2);
CREATE TABLE datasets (
    name TEXT PRIMARY KEY NOT NULL,
    unit TEXT NOT NULL,
    budget TEXT NOT NULL,
    epsilon TEXT CHECK (epsilon IS NULL OR (typeof(epsilon) = 'text' AND length(epsilon) = 40 AND epsilon NOT GLOB '*[^0-9]*')),
    rho TEXT NOT NULL CHECK (typeof(rho) = 'text' AND length(rho) = 40 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK (typeof(delta) = 'text' AND length(delta) = 40 AND delta NOT GLOB '*[^0-9]*'),
    releases INTEGER NOT NULL CHECK (releases >= 0));
INSERT INTO "datasets" VALUES('visits','row','{"closed":true,"epsilon":"2","kind":"pure","returned":"36036000000000000000000000000"}','0000000000144144000000000000000000000000','0000000000007201199999928650712564204228','0000000000000000000000000000000000000000',2);
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    dataset TEXT,
    record TEXT NOT NULL CHECK (typeof(record) = 'text'),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "entries" VALUES(1,'visits','{"budget":{"epsilon":"2","kind":"pure"},"dataset":"visits","kind":"register","seq":1,"time":"2025-06-15T15:06:40.000+00:00","unit":"row"}','88f590d940b4d00079435da5e107062fc8931c77db55b7c4c9a07d4df8c091bd');
INSERT INTO "entries" VALUES(2,'visits','{"budget":{"closed":true,"epsilon":"2","kind":"pure"},"dataset":"visits","kind":"close","seq":2,"time":"2025-06-15T15:06:40.000+00:00"}','4de8bd05e63ae9c2a6d2fd993e86891edcf5e1bcc8e70cf0b2f3c634b28ffac4');
INSERT INTO "entries" VALUES(3,'visits','{"analyst":"ana","dataset":"visits","kind":"quota","quota":{"epsilon":"1/2","kind":"pure"},"seq":3,"time":"2025-06-15T15:06:40.000+00:00"}','d206d4cd20fa1c9a505b664fefc7cff346a956addea0f9e1ef46232f66b065b9');
INSERT INTO "entries" VALUES(4,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"","digest":"digest one","key":"first","kind":"reserve","seq":4,"time":"2025-06-15T15:06:40.000+00:00"}','5732863659dac21c9623bb72f3bb4f19bf55d2a161f18ade70f7f0cece5ab419');
INSERT INTO "entries" VALUES(5,'visits','{"analyst":"ana","dataset":"visits","key":"first","kind":"draw","seq":5,"time":"2025-06-15T15:06:40.000+00:00"}','0025d6533c5b39710819aefd78c5dfc37a165a77c07cd985cddf0c92b1811a95');
INSERT INTO "entries" VALUES(6,'visits','{"analyst":"ana","answer":"83331a5e274ed68d54e09fd859e39f92c0e833301485dbef3cfc216f778db5bd","dataset":"visits","key":"first","kind":"answer","seq":6,"time":"2025-06-15T15:06:40.000+00:00"}','edf4dd661fe4f532e2dbdbdeeb0304037752cbd2701c02f6e22690a0afaf245c');
INSERT INTO "entries" VALUES(7,'visits','{"analyst":"ana","dataset":"visits","epsilon":"36036000000000000000000000000","key":"first","kind":"return","seq":7,"time":"2025-06-15T15:06:40.000+00:00"}','b44910b27279f42132d7c5450dd66c498865aae2f88d7e275c6f9ab9c5c53594');
INSERT INTO "entries" VALUES(8,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"","digest":"digest two","key":"second","kind":"reserve","seq":8,"time":"2025-06-15T15:06:40.000+00:00"}','b9e7432410c58e28a22bf825fd074fe2ea20574eb63cc70aca2f05db72f5705d');
CREATE TABLE grants (
    person TEXT NOT NULL REFERENCES people (name),
    dataset TEXT NOT NULL REFERENCES datasets (name),
    most TEXT,
    usual TEXT,
    PRIMARY KEY (person, dataset));
INSERT INTO "grants" VALUES('ana','visits','{"epsilon": "1/5", "kind": "pure"}','{"epsilon": "1/10", "kind": "pure"}');
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "head" VALUES(1,'00000000000040008000000000000005',8,'b9e7432410c58e28a22bf825fd074fe2ea20574eb63cc70aca2f05db72f5705d');
CREATE TABLE people (
    name TEXT PRIMARY KEY NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('curator', 'analyst', 'auditor')),
    since TEXT NOT NULL,
    until TEXT);
INSERT INTO "people" VALUES('ana','analyst','2025-06-15T15:06:40.000+00:00',NULL);
CREATE TABLE requests (
    dataset TEXT NOT NULL,
    analyst TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    reserved INTEGER NOT NULL UNIQUE REFERENCES entries (seq),
    epsilon TEXT CHECK (epsilon IS NULL OR (typeof(epsilon) = 'text' AND length(epsilon) = 40 AND epsilon NOT GLOB '*[^0-9]*')),
    rho TEXT NOT NULL CHECK (typeof(rho) = 'text' AND length(rho) = 40 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK (typeof(delta) = 'text' AND length(delta) = 40 AND delta NOT GLOB '*[^0-9]*'),
    attempts INTEGER NOT NULL CHECK (attempts BETWEEN 1 AND 3),
    state TEXT NOT NULL CHECK (state IN ('reserved', 'answered', 'sealed')),
    answered INTEGER UNIQUE REFERENCES entries (seq),
    answer BLOB, drawn INTEGER REFERENCES entries (seq),
    CHECK ((state = 'answered') = (answered IS NOT NULL)),
    CHECK ((state = 'answered') = (answer IS NOT NULL)),
    PRIMARY KEY (dataset, analyst, key),
    FOREIGN KEY (dataset, analyst) REFERENCES analysts (dataset, analyst));
INSERT INTO "requests" VALUES('visits','ana','first','digest one',4,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1,'answered',6,X'616E73776572206F6E65',5);
INSERT INTO "requests" VALUES('visits','ana','second','digest two',8,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1,'reserved',NULL,NULL,NULL);
CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, since TEXT NOT NULL);
INSERT INTO "schema_versions" VALUES(1,'2025-06-15T15:06:40.000+00:00');
INSERT INTO "schema_versions" VALUES(2,'2025-06-15T15:06:40.000+00:00');
INSERT INTO "schema_versions" VALUES(3,'2025-06-15T15:06:40.000+00:00');
INSERT INTO "schema_versions" VALUES(4,'2025-06-15T15:06:40.000+00:00');
INSERT INTO "schema_versions" VALUES(5,'2025-06-15T15:06:40.000+00:00');
CREATE TABLE tokens (
    id TEXT PRIMARY KEY NOT NULL,
    person TEXT NOT NULL REFERENCES people (name),
    digest TEXT NOT NULL CHECK (length(digest) = 64),
    scopes TEXT NOT NULL,
    made TEXT NOT NULL,
    expires TEXT NOT NULL,
    used TEXT,
    revoked TEXT);
INSERT INTO "tokens" VALUES('0123456789abcdef','ana','0000000000000000000000000000000000000000000000000000000000000000','ask,read','2025-06-15T15:06:40+00:00','2025-09-13T15:06:40+00:00',NULL,NULL);
CREATE INDEX entries_of_dataset ON entries (dataset, seq);
CREATE INDEX unanswered ON requests (dataset, analyst) WHERE state <> 'answered';
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries never change'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries never go'); END;
CREATE TRIGGER head_advances BEFORE UPDATE ON head WHEN NEW.seq <= OLD.seq OR NEW.ledger <> OLD.ledger
    BEGIN SELECT RAISE(ABORT, 'the chain only grows'); END;
CREATE TRIGGER datasets_remain BEFORE DELETE ON datasets
    BEGIN SELECT RAISE(ABORT, 'data sets never go'); END;
CREATE TRIGGER datasets_spend BEFORE UPDATE ON datasets
    WHEN NEW.rho < OLD.rho OR NEW.delta < OLD.delta OR NEW.releases < OLD.releases
      OR (NEW.epsilon IS NOT NULL AND (OLD.epsilon IS NULL OR NEW.epsilon < OLD.epsilon))
    BEGIN SELECT RAISE(ABORT, 'sums never fall'); END;
CREATE TRIGGER analysts_spend BEFORE UPDATE ON analysts
    WHEN NEW.rho < OLD.rho OR NEW.delta < OLD.delta OR NEW.releases < OLD.releases
      OR (NEW.epsilon IS NOT NULL AND (OLD.epsilon IS NULL OR NEW.epsilon < OLD.epsilon))
    BEGIN SELECT RAISE(ABORT, 'sums never fall'); END;
CREATE TRIGGER answers_stay BEFORE UPDATE ON requests WHEN OLD.state <> 'reserved'
    BEGIN SELECT RAISE(ABORT, 'a settled request never changes'); END;
CREATE TRIGGER requests_remain BEFORE DELETE ON requests
    BEGIN SELECT RAISE(ABORT, 'requests never go'); END;
CREATE TRIGGER draws_stay BEFORE UPDATE ON requests WHEN OLD.drawn IS NOT NULL AND NEW.drawn IS NOT OLD.drawn
    BEGIN SELECT RAISE(ABORT, 'a draw is never taken back'); END;
COMMIT;
