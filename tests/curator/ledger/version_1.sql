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
INSERT INTO "analysts" VALUES('visits','ana','{"epsilon":"1","kind":"pure"}','0000000000144144000000000000000000000000','0000000000007201199999928650712564204228','0000000000000000000000000000000000000000',2);
INSERT INTO "analysts" VALUES('visits','ben',NULL,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1);
INSERT INTO "analysts" VALUES('trips','ben',NULL,NULL,'0000000000007207200000000000000000000000','0000000000000000000000000000000000000000',1);
CREATE TABLE datasets (
    name TEXT PRIMARY KEY NOT NULL,
    unit TEXT NOT NULL,
    budget TEXT NOT NULL,
    epsilon TEXT CHECK (epsilon IS NULL OR (typeof(epsilon) = 'text' AND length(epsilon) = 40 AND epsilon NOT GLOB '*[^0-9]*')),
    rho TEXT NOT NULL CHECK (typeof(rho) = 'text' AND length(rho) = 40 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK (typeof(delta) = 'text' AND length(delta) = 40 AND delta NOT GLOB '*[^0-9]*'),
    releases INTEGER NOT NULL CHECK (releases >= 0));
INSERT INTO "datasets" VALUES('visits','rows of one person','{"delta":"1/1000000","epsilon":"2","kind":"approx"}','0000000000216216000000000000000000000000','0000000000010801799999892976068846306342','0000000000000000000000000000000000000000',3);
INSERT INTO "datasets" VALUES('trips','row','{"kind":"zcdp","rho":"1/10"}',NULL,'0000000000007207200000000000000000000000','0000000000000000000000000000000000000000',1);
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    dataset TEXT,
    record TEXT NOT NULL CHECK (typeof(record) = 'text'),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "entries" VALUES(1,'visits','{"budget":{"delta":"1/1000000","epsilon":"1","kind":"approx"},"dataset":"visits","kind":"register","seq":1,"time":"2026-01-01T00:00:00.000+00:00","unit":"rows of one person"}','b0988122582c05d2fee214cc8ad0bbaf18223109903ac995a6d3aa53289d7481');
INSERT INTO "entries" VALUES(2,'visits','{"budget":{"delta":"1/1000000","epsilon":"2","kind":"approx"},"dataset":"visits","kind":"raise","reason":"a larger study","seq":2,"time":"2026-01-01T00:00:00.000+00:00"}','6851be3236114a922bea459035fe66c2288167be85e49faafae396f807b29642');
INSERT INTO "entries" VALUES(3,'visits','{"analyst":"ana","dataset":"visits","kind":"quota","quota":{"epsilon":"1","kind":"pure"},"seq":3,"time":"2026-01-01T00:00:00.000+00:00"}','34f1b415b90f2f7a4beeb66511ce740aedb1b9ef452c8550da293cf82d741e53');
INSERT INTO "entries" VALUES(4,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"SELECT count(*) FROM visits","digest":"digest one","key":"first","kind":"reserve","seq":4,"time":"2026-01-01T00:00:00.000+00:00"}','053e7ce5e6971bf519cacfb732246f3f59fc4d89c6153abc3dafaa2d1fdd790e');
INSERT INTO "entries" VALUES(5,'visits','{"analyst":"ana","answer":"83331a5e274ed68d54e09fd859e39f92c0e833301485dbef3cfc216f778db5bd","dataset":"visits","key":"first","kind":"answer","seq":5,"time":"2026-01-01T00:00:00.000+00:00"}','4257f4dc21b382d9fa31a0592b02b0b52d768ef0fad6f064af71f1bd448b1c31');
INSERT INTO "entries" VALUES(6,'visits','{"analyst":"ana","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"","digest":"digest two","key":"second","kind":"reserve","seq":6,"time":"2026-01-01T00:00:00.000+00:00"}','34aa0e53c51548a5f20dd550f034e98044ccdfda5f42466b9d9a21cd1b6f9626');
INSERT INTO "entries" VALUES(7,'visits','{"analyst":"ana","attempt":2,"dataset":"visits","key":"second","kind":"renew","seq":7,"time":"2026-01-01T00:00:00.000+00:00"}','6509dd059c21378f7a64fec05ff598302eb740b92436446f87293b22ed2e5d07');
INSERT INTO "entries" VALUES(8,'visits','{"analyst":"ana","attempt":3,"dataset":"visits","key":"second","kind":"renew","seq":8,"time":"2026-01-01T00:00:00.000+00:00"}','1c44b07b75afea1b415c7a43d67fbfa04e9736950bc84f2a1c2c4e94a5e494a9');
INSERT INTO "entries" VALUES(9,'visits','{"analyst":"ana","dataset":"visits","key":"second","kind":"seal","seq":9,"time":"2026-01-01T00:00:00.000+00:00"}','ac4f0c6be3bd6b093c442ed6666a8446735e58ba47c2fef084c2a81106a6815a');
INSERT INTO "entries" VALUES(10,'visits','{"analyst":"ben","charge":{"delta":"0","epsilon":"72072000000000000000000000000","rho":"3600599999964325356282102114"},"dataset":"visits","description":"","digest":"digest three","key":"third","kind":"reserve","seq":10,"time":"2026-01-01T00:00:00.000+00:00"}','f6da3cc2677c42f48bd6c4658ea083386aab19076aa124d5d704b71efe669caf');
INSERT INTO "entries" VALUES(11,'trips','{"budget":{"kind":"zcdp","rho":"1/10"},"dataset":"trips","kind":"register","seq":11,"time":"2026-01-01T00:00:00.000+00:00","unit":"row"}','04ad93d70959b239ce02c19dba32e014cac0047009161302d06e0c076d8bac35');
INSERT INTO "entries" VALUES(12,'trips','{"analyst":"ben","charge":{"delta":"0","epsilon":null,"rho":"7207200000000000000000000000"},"dataset":"trips","description":"","digest":"digest four","key":"fourth","kind":"reserve","seq":12,"time":"2026-01-01T00:00:00.000+00:00"}','a854ba5a1a1cb5e6a564b17bccb1fb5a8abb61132b90da1c0c0e023a78e2e83b');
INSERT INTO "entries" VALUES(13,'trips','{"analyst":"ben","answer":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","dataset":"trips","key":"fourth","kind":"answer","seq":13,"time":"2026-01-01T00:00:00.000+00:00"}','4fed0f57ffb3026ddb758ae9f50fe827bd39e3490e558b7ee29dcc3543e48856');
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64));
INSERT INTO "head" VALUES(1,'00000000000040008000000000000001',13,'4fed0f57ffb3026ddb758ae9f50fe827bd39e3490e558b7ee29dcc3543e48856');
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
    answer BLOB,
    CHECK ((state = 'answered') = (answered IS NOT NULL)),
    CHECK ((state = 'answered') = (answer IS NOT NULL)),
    PRIMARY KEY (dataset, analyst, key),
    FOREIGN KEY (dataset, analyst) REFERENCES analysts (dataset, analyst));
INSERT INTO "requests" VALUES('visits','ana','first','digest one',4,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1,'answered',5,X'616E73776572206F6E65');
INSERT INTO "requests" VALUES('visits','ana','second','digest two',6,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',3,'sealed',NULL,NULL);
INSERT INTO "requests" VALUES('visits','ben','third','digest three',10,'0000000000072072000000000000000000000000','0000000000003600599999964325356282102114','0000000000000000000000000000000000000000',1,'reserved',NULL,NULL);
INSERT INTO "requests" VALUES('trips','ben','fourth','digest four',12,NULL,'0000000000007207200000000000000000000000','0000000000000000000000000000000000000000',1,'answered',13,X'');
CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, since TEXT NOT NULL);
INSERT INTO "schema_versions" VALUES(1,'2026-01-01T00:00:00.000+00:00');
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
COMMIT;
