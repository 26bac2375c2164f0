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
INSERT INTO "analysts" VALUES('visits','ana','{"epsilon":"1","kind":"pure"}','0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1);
INSERT INTO "analysts" VALUES('visits','ben',NULL,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1);
CREATE TABLE datasets (
    name TEXT PRIMARY KEY NOT NULL,
    unit TEXT NOT NULL,
    budget TEXT NOT NULL,
    epsilon TEXT CHECK (epsilon IS NULL OR (typeof(epsilon) = 'text' AND length(epsilon) = 40 AND epsilon NOT GLOB '*[^0-9]*')),
    rho TEXT NOT NULL CHECK (typeof(rho) = 'text' AND length(rho) = 40 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK (typeof(delta) = 'text' AND length(delta) = 40 AND delta NOT GLOB '*[^0-9]*'),
    releases INTEGER NOT NULL CHECK (releases >= 0));
INSERT INTO "datasets" VALUES('visits','rows of one person','{"delta":"1/1000000","epsilon":"2","kind":"approx"}','0000000000144144000000000000000000000000','0000000000007201199999928650712564204228','0000000000000000000000000000000000000000',2);
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    dataset TEXT,
    record TEXT NOT NULL CHECK (typeof(record) = 'text'),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "entries" VALUES(1,'visits','{"budget":{"delta":"1/1000000","epsilon":"1","kind":"approx"},"dataset":"visits","kind":"register","seq":1,"time":"2026-01-01T00:00:00.000+00:00","unit":"rows of one person"}','29dffe5707eca5e330dfb6fb38f28fc5acf361d8436f5e6d3d238e565b12999a');
INSERT INTO "entries" VALUES(2,'visits','{"analyst":"ana","dataset":"visits","kind":"quota","quota":{"epsilon":"1","kind":"pure"},"seq":2,"time":"2026-01-01T00:00:00.000+00:00"}','f89c71558ebb67ebb53757ac00f1c75a5bc86b3a2b268dac5775d6528a8aaac6');
INSERT INTO "entries" VALUES(3,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"SELECT COUNT(*) FROM visits","digest":"digest one","key":"first","kind":"reserve","seq":3,"time":"2026-01-01T00:00:00.000+00:00"}','b82587a0b809e3e3007ff7bf0b9f550c1e8ce0bc5ead1093626770f09c88e985');
INSERT INTO "entries" VALUES(4,'visits','{"analyst":"ana","dataset":"visits","key":"first","kind":"draw","seq":4,"time":"2026-01-01T00:00:00.000+00:00"}','6d20c8e8c715a09757ce79ecad292f17a07b49e693a5691dddd47c7d4fda3410');
INSERT INTO "entries" VALUES(5,'visits','{"analyst":"ana","answer":"83331a5e274ed68d54e09fd859e39f92c0e833301485dbef3cfc216f778db5bd","dataset":"visits","key":"first","kind":"answer","seq":5,"time":"2026-01-01T00:00:00.000+00:00"}','9275da19ee6be7cd6cb6138bc98c154cfc26ebd06317e234afdfad7c69a06ba8');
INSERT INTO "entries" VALUES(6,'visits','{"analyst":"ben","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"","digest":"digest two","key":"second","kind":"reserve","seq":6,"time":"2026-01-01T00:00:00.000+00:00"}','d3890b1862710c48de13abc62ebde9cd07e9ea2997619d263c9e8b5a523f0729');
INSERT INTO "entries" VALUES(7,'visits','{"analyst":"ben","dataset":"visits","key":"second","kind":"draw","seq":7,"time":"2026-01-01T00:00:00.000+00:00"}','681c5fda5c199c8489f8655dd6fe32284f4ad7d92db3d11d4af9f82cb0b50c32');
INSERT INTO "entries" VALUES(8,'visits','{"analyst":"ben","dataset":"visits","key":"second","kind":"seal","seq":8,"time":"2026-01-01T00:00:00.000+00:00"}','c168be68dd3180549da0e11544cbcc9f5dd7c36811dcaf06616206e16fda1b6d');
INSERT INTO "entries" VALUES(9,'visits','{"budget":{"delta":"1/1000000","epsilon":"2","kind":"approx"},"dataset":"visits","kind":"raise","reason":"a larger study","seq":9,"time":"2026-01-01T00:00:00.000+00:00"}','3e1d823cd9e441d4a24fcc46e78b4e858f470178e4658e77e8b2a4c191a624de');
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "head" VALUES(1,'00000000000040008000000000000002',9,'3e1d823cd9e441d4a24fcc46e78b4e858f470178e4658e77e8b2a4c191a624de');
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
INSERT INTO "requests" VALUES('visits','ana','first','digest one',3,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1,'answered',5,X'616E73776572206F6E65',4);
INSERT INTO "requests" VALUES('visits','ben','second','digest two',6,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1,'sealed',NULL,NULL,7);
CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, since TEXT NOT NULL);
INSERT INTO "schema_versions" VALUES(1,'2026-01-01T00:00:00.000+00:00');
INSERT INTO "schema_versions" VALUES(2,'2026-01-01T00:00:00.000+00:00');
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
