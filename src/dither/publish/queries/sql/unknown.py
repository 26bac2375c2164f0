"""Refusals of what is not understood: the reason that is true of it, and the nearest thing that can be asked."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dither.errors import Unanswerable
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.spelling import nearest

if TYPE_CHECKING:
    from sqlglot import exp

#: Functions of a row that are understood, by the names that people write: what a misspelt name is compared with.
FUNCTIONS: Final = (
    *("ABS", "SIGN", "CEIL", "CEILING", "FLOOR", "ROUND", "TRUNC", "TRUNCATE", "SQRT", "EXP", "LN", "LOG", "LOG10"),
    *("LOG2", "POWER", "POW", "SQUARE", "MOD", "DIV", "PI", "RADIANS", "DEGREES", "GREATEST", "LEAST", "CLAMP"),
    *("WIDTH_BUCKET", "SAFE_DIVIDE", "SAFE_ADD", "SAFE_SUBTRACT", "SAFE_MULTIPLY", "SAFE_NEGATE", "XOR", "BITAND"),
    *("BITOR", "BITXOR", "COALESCE", "IFNULL", "NVL", "NVL2", "NULLIF", "ISNULL", "ZEROIFNULL", "NULLIFZERO"),
    *("DECODE", "IF", "IFF", "IIF", "EQUAL_NULL", "CAST", "TRY_CAST", "SAFE_CAST"),
    *("LOWER", "LCASE", "UPPER", "UCASE", "TRIM", "LTRIM", "RTRIM", "BTRIM", "LENGTH", "LEN", "CHAR_LENGTH"),
    *("CHARACTER_LENGTH", "SUBSTRING", "SUBSTR", "LEFT", "RIGHT", "LPAD", "RPAD", "REPLACE", "CONCAT", "CONCAT_WS"),
    *("POSITION", "STRPOS", "INSTR", "LOCATE", "CHARINDEX", "SPLIT_PART", "STARTS_WITH", "STARTSWITH", "PREFIX"),
    *("ENDS_WITH", "ENDSWITH", "SUFFIX", "CONTAINS", "CONTAINS_SUBSTR"),
    *("YEAR", "QUARTER", "MONTH", "WEEK", "WEEKOFYEAR", "ISOYEAR", "DAY", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR"),
    *("ISODOW", "HOUR", "MINUTE", "SECOND", "EPOCH", "UNIX_SECONDS", "UNIX_TIMESTAMP", "EXTRACT", "DATE_PART"),
    *("DATEPART", "DATE_TRUNC", "DATETRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "DATE_DIFF", "DATEDIFF"),
    *("TIMESTAMPDIFF", "TIMESTAMP_DIFF", "DATETIME_DIFF", "DATE_ADD", "DATEADD", "DATE_SUB", "TIMESTAMPADD"),
    *("TIMESTAMP_ADD", "TIMESTAMP_SUB", "DATETIME_ADD", "DATETIME_SUB", "ADD_MONTHS", "LAST_DAY", "MAKE_DATE"),
    *("DATE", "TO_DATE", "DAYNAME", "MONTHNAME", "STRFTIME", "TO_CHAR", "FORMAT_DATE"),
)
#: Aggregates that are understood.
AGGREGATES: Final = (
    *("COUNT", "COUNT_IF", "COUNTIF", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE", "QUANTILE_CONT"),
    *("PERCENTILE_CONT", "PERCENTILE_DISC", "APPROX_QUANTILE", "APPROX_QUANTILES", "VARIANCE", "VAR_SAMP", "VAR_POP"),
    *("STDDEV", "STDDEV_SAMP", "STDDEV_POP", "COVAR_POP", "CORR", "MODE", "APPROX_TOP_K"),
    *("ANON_COUNT", "ANON_SUM", "ANON_AVG", "DP_INTERVAL_LOW", "DP_INTERVAL_HIGH"),
)
_SCALARS: Final = (
    "arithmetic, CASE, COALESCE, LOWER, TRIM, SUBSTRING, LIKE, EXTRACT, DATE_TRUNC, CAST and kin are understood"
)
_PATTERN: Final = (
    "patterns differ between engines, and some take time that depends on a cell",
    "use LIKE, STARTS_WITH, CONTAINS or SPLIT_PART",
)
_LIST: Final = (
    "a declared column holds one value, not a list, record or JSON",
    "declare what is needed as a separate column, or as a table with a row for each element",
)
_MOMENT: Final = (
    "is not a function of the row alone",
    "write the date or number that is meant as a constant, such as DATE '2024-01-31'",
)
_LAST_BITS: Final = (
    "differs in its last bits from engine to engine",
    "use EXP, LN, POWER and SQRT, or declare the computed column",
)
_HASH: Final = ("is not computed here: anyone who can guess a value can hash it", "compare the value itself")
_SUBQUERY: Final = (
    "a subquery inside an expression looks at rows of other people",
    "ask two queries, this one first, and write its answer as a number in the other; or tie it to the same person "
    "(WHERE t.id = outer.id)",
)
#: By node of the reader, or by name: the sentence begins with the word where it starts with a verb.
_REASONS: Final = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("rand", "random", "randn", "uuid", "now", "currentdate", "currenttimestamp", "currenttime", "today"),
                *("currentdatetime", "gen_random_uuid", "localtimestamp", "localtime", "currentuser", "sessionuser"),
                *("version", "getenv", "setseed", "nextval", "getdate", "sysdate", "systimestamp", "curdate"),
                *("current_date", "current_timestamp", "current_time", "current_datetime", "getutcdate", "user"),
                *("currenttimestampltz", "utctimestamp", "utcdate", "utctime", "currentschema", "currentdatabase"),
                *("currentcatalog", "currentrole", "sysdatetime", "clock_timestamp", "txid_current", "rand_cauchy"),
            ),
            _MOMENT,
        ),
        **dict.fromkeys(("subquery", "select", "exists", "all"), _SUBQUERY),
        **dict.fromkeys(
            (
                *("similarto", "regexplike", "regexpilike", "glob", "regexpextract", "regexpreplace", "regexpsplit"),
                *("regexp_contains", "regexpcount", "regexpinstr", "regexpextractall", "regexp", "regexpfullmatch"),
                *("regexp_full_match", "regexp_substr", "regexp_count", "regexp_instr", "regexp_extract_all"),
            ),
            _PATTERN,
        ),
        **dict.fromkeys(
            (
                *("sin", "cos", "tan", "cot", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "cbrt", "csc"),
                *("sec", "asinh", "acosh", "atanh", "log1p", "expm1", "gamma", "lgamma", "erf", "factorial"),
            ),
            _LAST_BITS,
        ),
        **dict.fromkeys(
            (
                *("md5", "md5digest", "sha", "sha2", "sha1", "hash", "crc32", "farmfingerprint", "farm_fingerprint"),
                *("xxhash64", "murmur_hash", "sha256", "sha512", "fnv", "standardhash"),
            ),
            _HASH,
        ),
        **dict.fromkeys(
            (
                *("array", "list", "bracket", "struct", "map", "unnest", "explode", "arraycontains", "arraysize"),
                *("jsonextract", "jsonextractscalar", "lambda", "split", "list_value", "array_length", "posexplode"),
                *("jsonextractarray", "parsejson", "json_value", "json_query", "arraylength", "generateseries"),
                *("jsonvalue", "tostruct", "arrayconcat", "arrayfilter", "transform", "flatten", "arrayany"),
            ),
            _LIST,
        ),
        **dict.fromkeys(
            ("dp_interval_low", "dp_interval_high"),
            (
                "an end of an interval is a separate output: nothing is computed from it",
                "write SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n)",
            ),
        ),
        "bounded": (
            "bounds per group belong to aggregates of the outermost SELECT",
            "write SUM(CLAMP(x, low, high)) here",
        ),
        "window": (
            "a window beside or inside an aggregate is not understood",
            "compute it in a subquery in FROM, partitioned by the privacy id, and aggregate its rows",
        ),
        **dict.fromkeys(
            ("placeholder", "parameter", "sessionparameter"),
            ("a parameter has no value here", "write the value itself"),
        ),
        "star": ("a star means raw rows", "ask for COUNT(*) or name columns inside an aggregate"),
        **dict.fromkeys(
            ("tuple", "aliases"),
            ("several values in brackets are no value", "compare each separately: a = 1 AND b = 2"),
        ),
        "interval": (
            "an INTERVAL alone has no place among values",
            "add it to a date or timestamp, or compare DATEDIFF('day', a, b) with a number",
        ),
        "any": ("ANY of a list or subquery is not understood", "write x IN (1, 2, 3)"),
        "collate": ("COLLATE compares text in another order", "compare LOWER(x): text is ordered by code points"),
        "attimezone": ("AT TIME ZONE moves a timestamp, and timestamps have no zone here", "add an INTERVAL of hours"),
        "kwarg": ("=> names an argument that is not known here", "remove it, or see CLAMP(x, low, high)"),
        **dict.fromkeys(
            ("monthsbetween", "age"),
            ("counts parts of months, which have no one length", "write DATEDIFF('month', earlier, later)"),
        ),
        **dict.fromkeys(
            ("strtotime", "strtodate", "tsordstodate", "strptime", "try_strptime", "to_timestamp", "parse_date"),
            ("reads text by a pattern of the engine", "write CAST(x AS DATE): text is read as YYYY-MM-DD"),
        ),
        **dict.fromkeys(
            ("date_format", "format", "format_timestamp", "format_datetime"),
            ("writes a date by a pattern of one system", "write STRFTIME(x, '%Y-%m'), or DATE_TRUNC('month', x)"),
        ),
    }
)
#: What people mean by names that are like no other.
_SYNONYMS: Final = MappingProxyType(
    {
        "MEAN": "AVG",
        "AVERAGE": "AVG",
        "TOTAL": "SUM",
        "STDEV": "STDDEV",
        "SUBSTR_COUNT": "LENGTH",
        "TO_NUMBER": "CAST",
        "EOMONTH": "LAST_DAY",
    }
)
#: Reasons that are a predicate: the function's name goes before them.
_PREDICATES: Final = (_MOMENT, _LAST_BITS, _HASH)


def refusal_of(parsed: Parsed, node: exp.Expression) -> Unanswerable:
    """Return the refusal of a function or construct that has no meaning here."""
    shown = parsed.word(node)
    name = shown.lower() if node.key == "anonymous" else node.key
    if name in ("rollup", "cube", "groupingsets"):
        return parsed.refusal(node, f"{shown} makes groups of groups", "ask a query for each grouping")
    found = _REASONS.get(name)
    if found is not None:
        reason, instead = found
        is_predicate = found in _PREDICATES or reason.startswith(("counts", "reads", "writes"))
        if found in (_PATTERN, _LIST):
            return parsed.refusal(node, f"{shown}: {reason}", instead)
        return parsed.refusal(node, f"{shown} {reason}" if is_predicate else reason, instead)
    if node.key != "anonymous":
        return parsed.refusal(node, f"{shown} is not among the functions that every engine computes alike", _SCALARS)
    like = _SYNONYMS.get(shown) or nearest(shown, (*FUNCTIONS, *AGGREGATES))
    if like is not None:
        return parsed.refusal(node, f"{shown} is not a function that is known here", f"did you mean {like}?")
    return parsed.refusal(node, f"{shown} is not a function that is known here", _SCALARS)


def refuse_unknown_functions(parsed: Parsed, select: exp.Expression) -> None:
    """Reject names of functions in SELECT that nobody knows: a misspelt aggregate would pass for raw rows."""
    for item in select.expressions:
        for node in item.walk():
            if node.key == "anonymous":
                name = parsed.word(node)
                if name not in FUNCTIONS and name not in AGGREGATES:
                    raise refusal_of(parsed, node)
