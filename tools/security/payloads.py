"""Texts that have broken into other services: SQL, templates, shells, formats, look-alikes, and paths of every kind."""

from __future__ import annotations

import itertools
from typing import Final

_QUOTES: Final = ("'", '"', "`", "')", '")', "';", "'))", "\\'", "%27", "ʼ", "＇", "$$", "]]", "*/")
_TAILS: Final = (
    *(
        "OR 1=1",
        "OR 'a'='a",
        "OR 1=1 --",
        "; DROP TABLE visits",
        "; ATTACH '/tmp/x' AS x",
        "UNION SELECT * FROM visits",
    ),
    *("UNION SELECT note FROM visits", "; COPY visits TO '/tmp/x'", "; INSTALL httpfs; LOAD httpfs", "/**/OR/**/1=1"),
    *("; SELECT pg_sleep(60)", "; PRAGMA database_list", "; SET memory_limit='1KB'", "AND 1=(SELECT COUNT(*) FROM x)"),
    *("; EXPORT DATABASE '/tmp/x'", "|| getenv('HOME')", "; CALL duckdb_settings()", "; VACUUM", "-- ", "#"),
    *("; SELECT * FROM read_csv('/etc/passwd')", "; SELECT * FROM read_text('/etc/shadow')", "; CHECKPOINT"),
)
_BARE: Final = (
    *("{{7*7}}", "${7*7}", "#{7*7}", "<%= 7*7 %>", "{%print(1)%}", "${jndi:ldap://127.0.0.1/x}", "%n%n%n%n", "%s%s%s"),
    *("{0.__class__}", "{self.__init__.__globals__}", "__import__('os').system('id')", "().__class__.__mro__"),
    *(
        "$(id)",
        "`id`",
        "| id",
        "; id",
        "&& id",
        "\nid\n",
        "!!python/object/apply:os.system ['id']",
        "cos\nsystem\n(S'id'",
    ),
    *(
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "=cmd|'/c calc'!A0",
        "@SUM(1)",
    ),
    *("\r\nSet-Cookie: a=b", "\r\n\r\nHTTP/1.1 200 OK", "%0d%0aX: y", "\x00", "a\x00b", "\ud7ff", "\u202e", "\ufeff"),
    *("", " ", "\t", "\n", "null", "None", "undefined", "true", "NaN", "Infinity", "-0", "1e400", "0x10", "1_000", "٣"),
    *("9" * 400, "1/0", "1/" + "9" * 300, "-1", "0", "0.1e-999", "A" * 70_000, "é" * 1000, "a.b.c", "visits.visits"),
    *(
        "curator",
        "Curat0r",
        "ｃurator",
        "same-1",
        "select",
        "information_schema.tables",
        "sqlite_master",
        "duckdb_tables()",
    ),
)
_UP: Final = ("..", "../", "..\\", "%2e%2e%2f", "..%2f", "%252e%252e%252f", "..%c0%af", "....//", "..;/", "．．/")
_PLACES: Final = (
    *("etc/passwd", "proc/self/environ", "proc/self/mem", "dev/random", "home", "ledger.sqlite", "receipts/key"),
    *("dither.yaml", "windows/win.ini", "boot.ini"),
)
_WHOLE: Final = (
    *(
        "/etc/passwd",
        "/etc/passwd\x00.csv",
        "file:///etc/passwd",
        "file://localhost/etc/passwd",
        "\\\\127.0.0.1\\c$\\x",
    ),
    *(
        "//127.0.0.1/c$/x",
        "C:\\boot.ini",
        "C:/boot.ini",
        "\\\\?\\C:\\boot.ini",
        "~/.ssh/id_rsa",
        "~root/.profile",
        "/dev/stdin",
    ),
    *("/dev/fd/0", "/proc/self/fd/0", "/proc/self/cwd/dither.yaml", "http://127.0.0.1:1/x", "https://127.0.0.1:1/x"),
    *("ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "s3://bucket/x", "hf://datasets/x", "postgresql://127.0.0.1/x"),
    *(
        "sqlite:///etc/passwd",
        "jar:file:///x!/y",
        "php://filter/x",
        "data:text/csv,a",
        "dict://127.0.0.1:1/x",
        "zip:///x",
    ),
    *("con", "nul", "aux", "lpt1", ".", "/", "*", "?", "**/*", "[a-z]*", "/var/*.csv", "x.parquet", "x.csv.gz", "x.db"),
)


def injections() -> tuple[str, ...]:
    """Return 500 texts that mean something to a parser, a template or a shell."""
    made = [f"heart{quote} {tail}" for quote, tail in itertools.product(_QUOTES, _TAILS)]
    made += [f"{first}{second}" for first, second in itertools.product(_BARE[:25], ("'", "--", ";", "%00", "\\"))]
    return tuple(dict.fromkeys([*_BARE, *made]))[:500]


def paths() -> tuple[str, ...]:
    """Return 200 texts that mean a place to a file system, an engine or a network."""
    made = [up * depth + place for depth, up, place in itertools.product((1, 4), _UP, _PLACES)]
    return tuple(dict.fromkeys([*_WHOLE, *made]))[:200]
