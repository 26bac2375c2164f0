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
INSERT INTO "analysts" VALUES('visits','ana',NULL,'0000000000315315000000000000000000000000','0000000000029436426961176085158825927824','0000000000000000000000000000000000000000',3);
CREATE TABLE changes (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
INSERT INTO "changes" VALUES(1,1);
CREATE TABLE datasets (
    name TEXT PRIMARY KEY NOT NULL,
    unit TEXT NOT NULL,
    budget TEXT NOT NULL,
    epsilon TEXT CHECK (epsilon IS NULL OR (typeof(epsilon) = 'text' AND length(epsilon) = 40 AND epsilon NOT GLOB '*[^0-9]*')),
    rho TEXT NOT NULL CHECK (typeof(rho) = 'text' AND length(rho) = 40 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK (typeof(delta) = 'text' AND length(delta) = 40 AND delta NOT GLOB '*[^0-9]*'),
    releases INTEGER NOT NULL CHECK (releases >= 0));
INSERT INTO "datasets" VALUES('visits','row','{"epsilon":"1","kind":"pure"}','0000000000315315000000000000000000000000','0000000000029436426961176085158825927824','0000000000000000000000000000000000000000',3);
CREATE TABLE decisions (
    entry INTEGER PRIMARY KEY NOT NULL REFERENCES entries (seq),
    dataset TEXT NOT NULL REFERENCES datasets (name),
    kind TEXT NOT NULL,
    analyst TEXT NOT NULL,
    subject TEXT NOT NULL);
CREATE TABLE declarations (
    dataset TEXT PRIMARY KEY NOT NULL REFERENCES datasets (name),
    declared TEXT NOT NULL);
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    dataset TEXT,
    record TEXT NOT NULL CHECK (typeof(record) = 'text'),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "entries" VALUES(1,'visits','{"budget":{"epsilon":"1","kind":"pure"},"dataset":"visits","kind":"register","seq":1,"time":"2026-11-18T11:06:48.000+00:00","unit":"row"}','d0955be5a81ad2be6fe80783daa38c91c0deab0e28cef056484c65878bc53c62');
INSERT INTO "entries" VALUES(2,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"180180000000000000000000000000","rho":"22405923859206204767286346155"},"dataset":"visits","description":"SELECT COUNT(*) FROM visits","digest":"d1","edition":1,"key":"answered","kind":"reserve","seq":2,"time":"2026-11-18T11:06:49.000+00:00"}','6bd1117bf86c2e701486433e236e71ef1229f1887d2ec35450bb9b255d58cdcb');
INSERT INTO "entries" VALUES(3,'visits','{"analyst":"ana","dataset":"visits","key":"answered","kind":"draw","seq":3,"time":"2026-11-18T11:06:50.000+00:00"}','668110a51775c32a999b671d19c8f42a2c02e80988167bd3b3f57a97b09b609c');
INSERT INTO "entries" VALUES(4,'visits','{"analyst":"ana","answer":"216da54b5931a6d37cca8e29953361fe02c680bbd8b482343f508e32e8e9cc3b","dataset":"visits","key":"answered","kind":"answer","seq":4,"time":"2026-11-18T11:06:51.000+00:00"}','e4cc8858ecdc26def752e6164a18774f150c45a00c59d5ab32604fa5f9051321');
INSERT INTO "entries" VALUES(5,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"90090000000000000000000000000","rho":"5623304894483402430416973068"},"dataset":"visits","description":"","digest":"d2","edition":1,"key":"drawn","kind":"reserve","seq":5,"time":"2026-11-18T11:06:52.000+00:00"}','fe6fe2d31b433e09274a00deccdb787534097278d530f61ca5ee2c1575fe3c05');
INSERT INTO "entries" VALUES(6,'visits','{"analyst":"ana","dataset":"visits","key":"drawn","kind":"draw","seq":6,"time":"2026-11-18T11:06:53.000+00:00"}','e0203e414fe8ef38ac24907b7cb03931b9de359798140bff9665de67a03b2a0c');
INSERT INTO "entries" VALUES(7,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"45045000000000000000000000000","rho":"1407198207486477961122608601"},"dataset":"visits","description":"","digest":"d3","edition":1,"key":"reserved","kind":"reserve","seq":7,"time":"2026-11-18T11:06:54.000+00:00"}','4eb538250b3a27aa9058b5a16d4dbfb0f5a4bbb7be64acfb0f949ecfa68ae9db');
CREATE TABLE grants (
    person TEXT NOT NULL REFERENCES people (name),
    dataset TEXT NOT NULL REFERENCES datasets (name),
    most TEXT,
    usual TEXT,
    PRIMARY KEY (person, dataset));
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64), latest TEXT NOT NULL DEFAULT '');
INSERT INTO "head" VALUES(1,'ff4090b3e5e8460cbfafdd6771d09701',7,'4eb538250b3a27aa9058b5a16d4dbfb0f5a4bbb7be64acfb0f949ecfa68ae9db','2026-11-18T11:06:54.000+00:00');
CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES people (name),
    PRIMARY KEY (issuer, subject));
CREATE TABLE jobs (
    dataset TEXT NOT NULL REFERENCES datasets (name),
    analyst TEXT NOT NULL,
    key TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    asked TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'failed', 'cancelled')),
    problem TEXT,
    since TEXT NOT NULL,
    PRIMARY KEY (dataset, analyst, key));
CREATE TABLE people (
    name TEXT PRIMARY KEY NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('curator', 'analyst', 'auditor')),
    since TEXT NOT NULL,
    until TEXT);
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
INSERT INTO "requests" VALUES('visits','ana','answered','d1',2,'0000000000180180000000000000000000000000','0000000000022405923859206204767286346155','0000000000000000000000000000000000000000',1,'answered',4,X'31303432',3);
INSERT INTO "requests" VALUES('visits','ana','drawn','d2',5,'0000000000090090000000000000000000000000','0000000000005623304894483402430416973068','0000000000000000000000000000000000000000',1,'reserved',NULL,NULL,6);
INSERT INTO "requests" VALUES('visits','ana','reserved','d3',7,'0000000000045045000000000000000000000000','0000000000001407198207486477961122608601','0000000000000000000000000000000000000000',1,'reserved',NULL,NULL,NULL);
CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, since TEXT NOT NULL);
INSERT INTO "schema_versions" VALUES(1,'2026-11-18T11:06:40.000+00:00');
INSERT INTO "schema_versions" VALUES(2,'2026-11-18T11:06:41.000+00:00');
INSERT INTO "schema_versions" VALUES(3,'2026-11-18T11:06:42.000+00:00');
INSERT INTO "schema_versions" VALUES(4,'2026-11-18T11:06:43.000+00:00');
INSERT INTO "schema_versions" VALUES(5,'2026-11-18T11:06:44.000+00:00');
INSERT INTO "schema_versions" VALUES(6,'2026-11-18T11:06:45.000+00:00');
INSERT INTO "schema_versions" VALUES(7,'2026-11-18T11:06:46.000+00:00');
INSERT INTO "schema_versions" VALUES(8,'2026-11-18T11:06:47.000+00:00');
CREATE TABLE signing (one INTEGER PRIMARY KEY CHECK (one = 1), key TEXT NOT NULL, salts TEXT NOT NULL);
CREATE TABLE tokens (
    id TEXT PRIMARY KEY NOT NULL,
    person TEXT NOT NULL REFERENCES people (name),
    digest TEXT NOT NULL CHECK (length(digest) = 64),
    scopes TEXT NOT NULL,
    made TEXT NOT NULL,
    expires TEXT NOT NULL,
    used TEXT,
    revoked TEXT);
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
CREATE INDEX decisions_about ON decisions (dataset, analyst, subject);
CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions
    BEGIN SELECT RAISE(ABORT, 'decisions never change'); END;
CREATE TRIGGER decisions_remain BEFORE DELETE ON decisions
    BEGIN SELECT RAISE(ABORT, 'decisions never change'); END;
CREATE INDEX jobs_since ON jobs (since);
COMMIT;
