"""The tables of a ledger, and how a ledger of an earlier version becomes one of this version.

``entries`` is the ledger: an append-only chain. All other tables say again what the chain says, so that a debit need
not read all of it; ``verify`` compares. Triggers and checks are a second fence behind the code: entries never change,
sums never fall, a draw is never taken back, an answer is never replaced.

A version is a list of statements that lead to it from the version before. Versions that were released never change.
"""

from __future__ import annotations

from dither.curator.ledger.amounts import WIDTH

_DIGITS = f"typeof({{0}}) = 'text' AND length({{0}}) = {WIDTH} AND {{0}} NOT GLOB '*[^0-9]*'"


def _figures(text: str) -> str:
    """Return the columns of an amount, for SQLite, whose integers are too short for it."""
    epsilon, rho, delta = (_DIGITS.format(name) for name in ("epsilon", "rho", "delta"))
    columns = f"""
    epsilon TEXT CHECK (epsilon IS NULL OR ({epsilon})),
    rho TEXT NOT NULL CHECK ({rho}),
    delta TEXT NOT NULL CHECK ({delta})"""
    return text.replace("<figures>", columns.strip())


_SQLITE_1 = (
    """CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64))""",
    """CREATE TABLE entries (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    dataset TEXT,
    record TEXT NOT NULL CHECK (typeof(record) = 'text'),
    hash TEXT NOT NULL CHECK (length(hash) = 64))""",
    "CREATE INDEX entries_of_dataset ON entries (dataset, seq)",
    _figures("""CREATE TABLE datasets (
    name TEXT PRIMARY KEY NOT NULL,
    unit TEXT NOT NULL,
    budget TEXT NOT NULL,
    <figures>,
    releases INTEGER NOT NULL CHECK (releases >= 0))"""),
    _figures("""CREATE TABLE analysts (
    dataset TEXT NOT NULL REFERENCES datasets (name),
    analyst TEXT NOT NULL,
    quota TEXT,
    <figures>,
    releases INTEGER NOT NULL CHECK (releases >= 0),
    PRIMARY KEY (dataset, analyst))"""),
    _figures("""CREATE TABLE requests (
    dataset TEXT NOT NULL,
    analyst TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    reserved INTEGER NOT NULL UNIQUE REFERENCES entries (seq),
    <figures>,
    attempts INTEGER NOT NULL CHECK (attempts BETWEEN 1 AND 3),
    state TEXT NOT NULL CHECK (state IN ('reserved', 'answered', 'sealed')),
    answered INTEGER UNIQUE REFERENCES entries (seq),
    answer BLOB,
    CHECK ((state = 'answered') = (answered IS NOT NULL)),
    CHECK ((state = 'answered') = (answer IS NOT NULL)),
    PRIMARY KEY (dataset, analyst, key),
    FOREIGN KEY (dataset, analyst) REFERENCES analysts (dataset, analyst))"""),
    "CREATE INDEX unanswered ON requests (dataset, analyst) WHERE state <> 'answered'",
    """CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries never change'); END""",
    """CREATE TRIGGER entries_remain BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries never go'); END""",
    """CREATE TRIGGER head_advances BEFORE UPDATE ON head WHEN NEW.seq <= OLD.seq OR NEW.ledger <> OLD.ledger
    BEGIN SELECT RAISE(ABORT, 'the chain only grows'); END""",
    """CREATE TRIGGER datasets_remain BEFORE DELETE ON datasets
    BEGIN SELECT RAISE(ABORT, 'data sets never go'); END""",
    *(
        f"""CREATE TRIGGER {table}_spend BEFORE UPDATE ON {table}
    WHEN NEW.rho < OLD.rho OR NEW.delta < OLD.delta OR NEW.releases < OLD.releases
      OR (NEW.epsilon IS NOT NULL AND (OLD.epsilon IS NULL OR NEW.epsilon < OLD.epsilon))
    BEGIN SELECT RAISE(ABORT, 'sums never fall'); END"""
        for table in ("datasets", "analysts")
    ),
    """CREATE TRIGGER answers_stay BEFORE UPDATE ON requests WHEN OLD.state <> 'reserved'
    BEGIN SELECT RAISE(ABORT, 'a settled request never changes'); END""",
    """CREATE TRIGGER requests_remain BEFORE DELETE ON requests
    BEGIN SELECT RAISE(ABORT, 'requests never go'); END""",
)

_FIGURES = f"""epsilon NUMERIC({WIDTH}, 0) CHECK (epsilon >= 0),
    rho NUMERIC({WIDTH}, 0) NOT NULL CHECK (rho >= 0),
    delta NUMERIC({WIDTH}, 0) NOT NULL CHECK (delta >= 0)"""


def _refusal(name: str, table: str, event: str, text: str, when: str = "TRUE") -> tuple[str, str]:
    """Return a trigger of PostgreSQL, and its function, which the server wants apart."""
    function = f"""CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{text}' USING ERRCODE = 'integrity_constraint_violation'; END $$"""
    trigger = f"""CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW WHEN ({when})
    EXECUTE FUNCTION {name}()"""
    return function, trigger


_FALLS = """NEW.rho < OLD.rho OR NEW.delta < OLD.delta OR NEW.releases < OLD.releases
      OR (NEW.epsilon IS NOT NULL AND (OLD.epsilon IS NULL OR NEW.epsilon < OLD.epsilon))"""

_POSTGRES_1 = (
    """CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT NOT NULL,
    seq BIGINT NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64))""",
    """CREATE TABLE entries (
    seq BIGINT PRIMARY KEY CHECK (seq > 0),
    dataset TEXT COLLATE "C",
    record TEXT NOT NULL,
    hash TEXT NOT NULL CHECK (length(hash) = 64))""",
    "CREATE INDEX entries_of_dataset ON entries (dataset, seq)",
    f"""CREATE TABLE datasets (
    name TEXT COLLATE "C" PRIMARY KEY,
    unit TEXT NOT NULL,
    budget TEXT NOT NULL,
    {_FIGURES},
    releases BIGINT NOT NULL CHECK (releases >= 0))""",
    f"""CREATE TABLE analysts (
    dataset TEXT COLLATE "C" NOT NULL REFERENCES datasets (name),
    analyst TEXT COLLATE "C" NOT NULL,
    quota TEXT,
    {_FIGURES},
    releases BIGINT NOT NULL CHECK (releases >= 0),
    PRIMARY KEY (dataset, analyst))""",
    f"""CREATE TABLE requests (
    dataset TEXT COLLATE "C" NOT NULL,
    analyst TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    digest TEXT NOT NULL,
    reserved BIGINT NOT NULL UNIQUE REFERENCES entries (seq),
    {_FIGURES},
    attempts INTEGER NOT NULL CHECK (attempts BETWEEN 1 AND 3),
    state TEXT NOT NULL CHECK (state IN ('reserved', 'answered', 'sealed')),
    answered BIGINT UNIQUE REFERENCES entries (seq),
    answer BYTEA,
    CHECK ((state = 'answered') = (answered IS NOT NULL)),
    CHECK ((state = 'answered') = (answer IS NOT NULL)),
    PRIMARY KEY (dataset, analyst, key),
    FOREIGN KEY (dataset, analyst) REFERENCES analysts (dataset, analyst))""",
    "CREATE INDEX unanswered ON requests (dataset, analyst) WHERE state <> 'answered'",
    *_refusal("entries_stay", "entries", "UPDATE OR DELETE", "entries never change"),
    *_refusal(
        "head_advances",
        "head",
        "UPDATE",
        "the chain only grows",
        "NEW.seq <= OLD.seq OR NEW.ledger <> OLD.ledger",
    ),
    *_refusal("datasets_remain", "datasets", "DELETE", "data sets never go"),
    *_refusal("datasets_spend", "datasets", "UPDATE", "sums never fall", _FALLS),
    *_refusal("analysts_spend", "analysts", "UPDATE", "sums never fall", _FALLS),
    *_refusal("answers_stay", "requests", "UPDATE", "a settled request never changes", "OLD.state <> 'reserved'"),
    *_refusal("requests_remain", "requests", "DELETE", "requests never go"),
)

# Version 2: whether noise was drawn for a request, and which entry says so.
_SQLITE_2 = (
    "ALTER TABLE requests ADD COLUMN drawn INTEGER REFERENCES entries (seq)",
    """CREATE TRIGGER draws_stay BEFORE UPDATE ON requests WHEN OLD.drawn IS NOT NULL AND NEW.drawn IS NOT OLD.drawn
    BEGIN SELECT RAISE(ABORT, 'a draw is never taken back'); END""",
)
_POSTGRES_2 = (
    "ALTER TABLE requests ADD COLUMN drawn BIGINT UNIQUE REFERENCES entries (seq)",
    *_refusal(
        "draws_stay",
        "requests",
        "UPDATE",
        "a draw is never taken back",
        "OLD.drawn IS NOT NULL AND NEW.drawn IS DISTINCT FROM OLD.drawn",
    ),
)

# Version 3: the text of a budget may say what else its owner decided (``standing``), and entries of new kinds say when.
# Nothing changes in the tables; a package that would not understand such a text is told so by the number.

# Version 4: the text of a limit may say what releases gave back (``returns``), and entries say when. Likewise.


# Version 5: who may come in from elsewhere, what they are granted, and the tokens they show.
def _people(text: str) -> tuple[str, ...]:
    """Return the tables of people; ``text`` is the type of texts that are compared."""
    return (
        f"""CREATE TABLE people (
    name {text} PRIMARY KEY NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('curator', 'analyst', 'auditor')),
    since TEXT NOT NULL,
    until TEXT)""",
        f"""CREATE TABLE grants (
    person {text} NOT NULL REFERENCES people (name),
    dataset {text} NOT NULL REFERENCES datasets (name),
    most TEXT,
    usual TEXT,
    PRIMARY KEY (person, dataset))""",
        f"""CREATE TABLE tokens (
    id {text} PRIMARY KEY NOT NULL,
    person {text} NOT NULL REFERENCES people (name),
    digest TEXT NOT NULL CHECK (length(digest) = 64),
    scopes TEXT NOT NULL,
    made TEXT NOT NULL,
    expires TEXT NOT NULL,
    used TEXT,
    revoked TEXT)""",
    )


_SQLITE_5 = _people("TEXT")
_POSTGRES_5 = _people('TEXT COLLATE "C"')


# Version 6: which entries are about single releases (approvals, publications), requests that are waited for elsewhere,
# what is declared about data sets, and the latest time that an entry has carried. The texts of budgets and quotas may
# say at which stage a data set is and on what terms a quota is granted.
def _governed(text: str, number: str) -> tuple[str, ...]:
    """Return the tables; ``text`` is the type of texts that are compared, ``number`` that of an entry's number."""
    return (
        "ALTER TABLE head ADD COLUMN latest TEXT NOT NULL DEFAULT ''",
        f"""CREATE TABLE decisions (
    entry {number} PRIMARY KEY NOT NULL REFERENCES entries (seq),
    dataset {text} NOT NULL REFERENCES datasets (name),
    kind TEXT NOT NULL,
    analyst {text} NOT NULL,
    subject {text} NOT NULL)""",
        "CREATE INDEX decisions_about ON decisions (dataset, analyst, subject)",
        f"""CREATE TABLE jobs (
    dataset {text} NOT NULL REFERENCES datasets (name),
    analyst {text} NOT NULL,
    key {text} NOT NULL,
    id {text} NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    asked TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'failed', 'cancelled')),
    problem TEXT,
    since TEXT NOT NULL,
    PRIMARY KEY (dataset, analyst, key))""",
        f"""CREATE TABLE declarations (
    dataset {text} PRIMARY KEY NOT NULL REFERENCES datasets (name),
    declared TEXT NOT NULL)""",
    )


_REMAIN = "decisions never change"
_SQLITE_6 = (
    *_governed("TEXT", "INTEGER"),
    f"""CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions
    BEGIN SELECT RAISE(ABORT, '{_REMAIN}'); END""",
    f"""CREATE TRIGGER decisions_remain BEFORE DELETE ON decisions
    BEGIN SELECT RAISE(ABORT, '{_REMAIN}'); END""",
)
_POSTGRES_6 = (
    *_governed('TEXT COLLATE "C"', "BIGINT"),
    *_refusal("decisions_stay", "decisions", "UPDATE OR DELETE", _REMAIN),
)


# Version 7: by whom else people are known, who sign in at an issuer of OpenID Connect.
def _identities(text: str) -> tuple[str, ...]:
    """Return the table; ``text`` is the type of texts that are compared."""
    return (
        f"""CREATE TABLE identities (
    issuer {text} NOT NULL,
    subject {text} NOT NULL,
    person {text} NOT NULL REFERENCES people (name),
    PRIMARY KEY (issuer, subject))""",
    )


_SQLITE_7 = _identities("TEXT")
_POSTGRES_7 = _identities('TEXT COLLATE "C"')


# Version 8: how often something was decided, and the key that signs for all machines that share the ledger. Entries may
# take an approval back, or a question (``approvals``).
def _counted(number: str) -> tuple[str, ...]:
    """Return the tables; ``number`` is the type of a number that grows."""
    return (
        f"CREATE TABLE changes (one INTEGER PRIMARY KEY CHECK (one = 1), number {number} NOT NULL)",
        "INSERT INTO changes (one, number) VALUES (1, 0)",
        "CREATE INDEX jobs_since ON jobs (since)",
        "CREATE TABLE signing (one INTEGER PRIMARY KEY CHECK (one = 1), key TEXT NOT NULL, salts TEXT NOT NULL)",
    )


_SQLITE_8 = _counted("INTEGER")
_POSTGRES_8 = _counted("BIGINT")

# Version 9: the entry of a draw may have a proof, by which the same noise is known when it is drawn again, and a
# request that has one may be begun again after its draw. Nothing changes in the tables; an older package would not
# understand such entries.

#: The table of versions itself; it never changes.
VERSIONS = "CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, since TEXT NOT NULL)"

SQLITE: dict[int, tuple[str, ...]] = {
    1: _SQLITE_1,
    2: _SQLITE_2,
    3: (),
    4: (),
    5: _SQLITE_5,
    6: _SQLITE_6,
    7: _SQLITE_7,
    8: _SQLITE_8,
    9: (),
}
POSTGRES: dict[int, tuple[str, ...]] = {
    1: _POSTGRES_1,
    2: _POSTGRES_2,
    3: (),
    4: (),
    5: _POSTGRES_5,
    6: _POSTGRES_6,
    7: _POSTGRES_7,
    8: _POSTGRES_8,
    9: (),
}
