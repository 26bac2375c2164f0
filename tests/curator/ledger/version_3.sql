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
INSERT INTO "analysts" VALUES('visits','ana','{"epsilon":"1/2","kind":"pure"}','0000000000216216000000000000000000000000','0000000000017967143417183956658983070096','0000000000000000000000000000000000000000',2);
CREATE TABLE datasets (
    name TEXT PRIMARY KEY NOT NULL,
    unit TEXT NOT NULL,
    budget TEXT NOT NULL,
    epsilon TEXT CHECK (epsilon IS NULL OR (typeof(epsilon) = 'text' AND length(epsilon) = 40 AND epsilon NOT GLOB '*[^0-9]*')),
    rho TEXT NOT NULL CHECK (typeof(rho) = 'text' AND length(rho) = 40 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK (typeof(delta) = 'text' AND length(delta) = 40 AND delta NOT GLOB '*[^0-9]*'),
    releases INTEGER NOT NULL CHECK (releases >= 0));
INSERT INTO "datasets" VALUES('visits','row','{"called":["calls"],"closed":true,"edition":2,"epsilon":"1","kind":"pure","since":8}','0000000000216216000000000000000000000000','0000000000017967143417183956658983070096','0000000000000000000000000000000000000000',2);
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    dataset TEXT,
    record TEXT NOT NULL CHECK (typeof(record) = 'text'),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "entries" VALUES(1,'visits','{"budget":{"epsilon":"1","kind":"pure"},"dataset":"visits","kind":"register","seq":1,"time":"2025-06-15T15:06:40.000+00:00","unit":"row"}','e09cd7f1d418dcfd26a46e294d756dc2b2f70a1a0546784e738678bd463b3de3');
INSERT INTO "entries" VALUES(2,'visits','{"budget":{"closed":true,"epsilon":"1","kind":"pure"},"dataset":"visits","kind":"close","seq":2,"time":"2025-06-15T15:06:40.000+00:00"}','4a0323565edf90f8840a6cbdfb0ab6fb5b28eaa5f7b82b90c5b4744bf95f2423');
INSERT INTO "entries" VALUES(3,'visits','{"analyst":"ana","dataset":"visits","kind":"quota","quota":{"epsilon":"1/2","kind":"pure"},"seq":3,"time":"2025-06-15T15:06:40.000+00:00"}','8956fc0440753978e194ae1d4a2f4a59a2ca6fa5b46652e58f6522b22960fa24');
INSERT INTO "entries" VALUES(4,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"","digest":"digest one","key":"first","kind":"reserve","seq":4,"time":"2025-06-15T15:06:40.000+00:00"}','127b4156570b8690356ae7e4928b141310d1d0cc02d2dc213d4f287a12cffd51');
INSERT INTO "entries" VALUES(5,'visits','{"analyst":"ana","dataset":"visits","key":"first","kind":"draw","seq":5,"time":"2025-06-15T15:06:40.000+00:00"}','a6744552aa32a119270cdf53c23737f5f4418c12440046caeae9ad698a09552a');
INSERT INTO "entries" VALUES(6,'visits','{"analyst":"ana","answer":"83331a5e274ed68d54e09fd859e39f92c0e833301485dbef3cfc216f778db5bd","dataset":"visits","key":"first","kind":"answer","seq":6,"time":"2025-06-15T15:06:40.000+00:00"}','aa75978749a09899264de45cdae77f80618798c272f169e4d3e6a5503b9198a4');
INSERT INTO "entries" VALUES(7,'visits','{"budget":{"called":["calls"],"closed":true,"epsilon":"1","kind":"pure"},"dataset":"visits","kind":"rename","name":"calls","reason":"","seq":7,"time":"2025-06-15T15:06:40.000+00:00"}','45b52287afffa6b894d604c311172ba27b9a6716d9a6c64db8f3c0ee764df226');
INSERT INTO "entries" VALUES(8,'visits','{"budget":{"called":["calls"],"closed":true,"edition":2,"epsilon":"1","kind":"pure","since":8},"dataset":"visits","kind":"edition","seq":8,"time":"2025-06-15T15:06:40.000+00:00"}','989bab6709a5b649e92115fe5b1dae0734606698937dd3d1a43730f23188c7ac');
INSERT INTO "entries" VALUES(9,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"144144000000000000000000000000","rho":"14366543417219631302700967982"},"dataset":"visits","description":"","digest":"digest two","key":"second","kind":"reserve","seq":9,"time":"2025-06-15T15:06:40.000+00:00"}','4019c2c6464bfcdf6018952ab3febbcf5e10fe160014fc43b93d31c5964938f4');
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "head" VALUES(1,'00000000000040008000000000000003',9,'4019c2c6464bfcdf6018952ab3febbcf5e10fe160014fc43b93d31c5964938f4');
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
INSERT INTO "requests" VALUES('visits','ana','second','digest two',9,'0000000000144144000000000000000000000000','0000000000014366543417219631302700967982','0000000000000000000000000000000000000000',1,'reserved',NULL,NULL,NULL);
CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, since TEXT NOT NULL);
INSERT INTO "schema_versions" VALUES(1,'2025-06-15T15:06:40.000+00:00');
INSERT INTO "schema_versions" VALUES(2,'2025-06-15T15:06:40.000+00:00');
INSERT INTO "schema_versions" VALUES(3,'2025-06-15T15:06:40.000+00:00');
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
