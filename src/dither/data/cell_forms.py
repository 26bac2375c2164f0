"""How a column of strings writes numbers, days and moments, where that is not the one grammar of all tables.

A form is declared with its column, and is public. What a cell means under it is a function of that cell and the form
alone: no form is ever found while a question is answered. A form of numbers is an example of one: ``1.234,56 €`` has a
point between thousands, a comma before decimals and a unit that may be missing. The number of ``15 %`` is 15, and its
sign is required. A form of days and moments is a pattern, ``DD.MM.YYYY HH:MM``, or ``ISO``. Of those a column may have
several, if no text is two different days under two of them.

The patterns here are read alike by Python and by RE2, which engines use; ``emit_forms`` prints the same in SQL.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from dither.data.evaluation import cast
from dither.data.expressions import Kind, Value
from dither.errors import InvalidParameter

#: The form of days and moments that ISO 8601 has, with or without time and zone. Without a zone it is UTC.
ISO: Final = "ISO"
#: What counts as a blank: that of the keyboard, and those that programs put between thousands.
BLANKS: Final = " \u00a0\u202f\u2009"
#: A minus as typesetters write it.
MINUS: Final = "\u2212"
#: Two digits of a year up to this are of the century from 2000, as POSIX has it.
LAST_OF_2000: Final = 68
MONTHS: Final = "janfebmaraprmayjunjulaugsepoctnovdec"
_FULL_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_APOSTROPHES: Final = "'\u2019"
_SIGN: Final = f"([+{MINUS}-]?)"
_BLANK: Final = f"[{BLANKS}]*"
_UNIT: Final = re.compile(rf"[^0-9{BLANKS}\s+\-{MINUS}.,{_APOSTROPHES}()]{{1,16}}")
#: Units without which a number would be another one.
_REQUIRED_UNITS: Final = ("%", "\u2030", "\u2031")
_CURRENCIES: Final = frozenset(("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CAD", "AUD", "INR"))
_NUMBERS: Final = (
    "an example of a number that cannot be misread, such as 1234.56, '1.234,56', \"1'234.56 CHF\" or '15 %'"
)
_MOMENTS: Final = "ISO, or a pattern such as DD.MM.YYYY, MM/DD/YY, DD MMM YYYY or YYYY-MM-DD HH:MM:SS Z"
_PATTERN: Final = re.compile(
    r"(?P<date>[YMD]+(?:[./ -]|, )?[YMD]+(?:[./ -]|, )?[YMD]+)"
    r"(?:[ T](?P<time>HH:MM(?::SS)?)(?P<half> ?AM)?(?P<zone> ?Z)?)?"
)
_PARTS: Final = re.compile(r"(YYYY|YY|MMM|MM|DD)([./ -]|, )?(YYYY|YY|MMM|MM|DD)([./ -]|, )?(YYYY|YY|MMM|MM|DD)")
_ZONE: Final = rf"(Z|z|UTC|GMT|[+{MINUS}-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
_TIME: Final = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
_HALF_DAY: Final = r"(0?[1-9]|1[0-2]):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)? ?([AaPp])\.?[Mm]\.?"


@dataclass(frozen=True)
class NumberForm:
    """A way of writing numbers.

    Args:
        decimal: what stands before decimals, a point or a comma.
        mark: what stands between thousands; empty where nothing does. A blank means any blank.
        unit: what stands before or behind, such as a currency.

    """

    decimal: str
    mark: str = ""
    unit: str = ""

    @property
    def marks(self) -> str:
        """The signs that may be between thousands."""
        return {" ": BLANKS, "'": _APOSTROPHES}.get(self.mark, self.mark)

    @property
    def pattern(self) -> str:
        """What the whole string must match; its five groups, one after the other, are a sign and a number."""
        decimal = re.escape(self.decimal)
        core = rf"[0-9]+(?:{decimal}[0-9]*)?(?:[eE][+-]?[0-9]+)?|{decimal}[0-9]+(?:[eE][+-]?[0-9]+)?"
        if self.mark:
            core = rf"[0-9]{{1,3}}(?:[{self.marks}][0-9]{{3}})+(?:{decimal}[0-9]*)?|{core}"
        if not self.unit:
            return f"{_BLANK}()(){_SIGN}{_BLANK}()({core}){_BLANK}"
        unit, behind = _escaped(self.unit), "" if self.unit in _REQUIRED_UNITS else "?"
        first = f"(?:{_SIGN}{_BLANK}{unit}{_BLANK}|{unit}{_BLANK}{_SIGN}{_BLANK})({core}){_BLANK}"
        return f"{_BLANK}(?:{first}|{_SIGN}{_BLANK}({core}){_BLANK}(?:{unit}{_BLANK}){behind})"

    @property
    def translation(self) -> tuple[str, str]:
        """Signs to replace in what the groups hold, and those that replace them; where none does, they go."""
        is_comma = self.decimal == ","
        return MINUS + ("," if is_comma else "") + self.marks, "-" + ("." if is_comma else "")

    def read(self, text: str, kind: Kind) -> Value:
        """Return the number that a string is under this form, else NULL."""
        found = _compiled(self.pattern).fullmatch(text)
        if found is None:
            return None
        signs, others = self.translation
        table = {ord(sign): others[place] if place < len(others) else None for place, sign in enumerate(signs)}
        return cast("".join(part or "" for part in found.groups()).translate(table), kind)


@dataclass(frozen=True)
class MomentForm:
    """A way of writing days or moments.

    Args:
        parts: of the day, in order: YYYY or YY, MMM or MM, and DD.
        between: what stands between them.
        time: whether a time follows: "" never, "?" perhaps, "!" always.
        zone: the same of a zone behind the time; without one a moment is as it is written.
        is_half: whether times are written with AM and PM.

    """

    parts: tuple[str, str, str]
    between: tuple[str, str]
    time: str = ""
    zone: str = ""
    is_half: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What the groups of the pattern hold, in order: y, m, d, h, i, s, f (of a second), p (the half), z."""
        day = tuple({"Y": "y", "M": "m", "D": "d"}[part[0]] for part in self.parts)
        time = ("h", "i", "s", "f", *(("p",) if self.is_half else ())) if self.time else ()
        return (*day, *time, *(("z",) if self.zone else ()))

    @property
    def pattern(self) -> str:
        """What the whole string must match."""
        digits = "{2}" if self.between == ("", "") else "{1,2}"
        few = f"([0-9]{digits})"
        known = {"YYYY": "([0-9]{4})", "YY": "([0-9]{2})", "MMM": _month_names(), "MM": few, "DD": few}
        first, second, third = (known[part] for part in self.parts)
        day = f"{first}{re.escape(self.between[0])}{second}{re.escape(self.between[1])}{third}"
        zone = f"(?: ?{_ZONE})?" if self.zone == "?" else f" ?{_ZONE}" if self.zone else ""
        time = f"[ T]{_HALF_DAY if self.is_half else _TIME}{zone}"
        time = f"(?:{time})?" if self.time == "?" else time if self.time else ""
        return f"{_BLANK}{day}{time}{_BLANK}"

    @property
    def shape(self) -> tuple[str, ...]:
        """How the day looks if days, months and short years are not distinguished."""
        kinds = {"YYYY": "year", "MMM": "name"}
        first, second, third = (kinds.get(part, "digits") for part in self.parts)
        return first, self.between[0], second, self.between[1], third

    def read(self, text: str, kind: Kind) -> Value:
        """Return the day or the moment that a string is under this form, else NULL."""
        found = _compiled(self.pattern).fullmatch(text)
        if found is None:
            return None
        part = {name: value or "" for name, value in zip(self.names, found.groups(), strict=True)}
        hour = int(part.get("h") or 0)
        if self.is_half:
            hour = hour % 12 + (12 if part["p"] in "Pp" and part["p"] else 0)
        fraction = int(part.get("f", "").ljust(6, "0")[:6])
        try:
            day = (_year(part["y"]), _month(part["m"]), int(part["d"]))
            time = (hour, int(part.get("i") or 0), int(part.get("s") or 0), fraction)
            moment = datetime.datetime(*day, *time) - _offset(part.get("z", ""))
        except (ValueError, OverflowError):
            return None
        return moment.date() if kind is Kind.DATE else moment


Form = NumberForm | MomentForm
#: Patterns of days and moments that exports have.
LIKELY_MOMENTS: Final = (
    *("YYYY-MM-DD", "ISO", "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY", "MM-DD-YYYY", "YYYY/MM/DD"),
    *("YYYYMMDD", "DD.MM.YY", "DD/MM/YY", "MM/DD/YY", "DD MMM YYYY", "DD-MMM-YYYY", "DD-MMM-YY", "MMM DD, YYYY"),
    *("DD.MM.YYYY HH:MM", "DD/MM/YYYY HH:MM", "MM/DD/YYYY HH:MM", "DD-MM-YYYY HH:MM", "YYYY/MM/DD HH:MM"),
    *("DD/MM/YYYY HH:MM AM", "MM/DD/YYYY HH:MM AM", "DD.MM.YY HH:MM", "MM/DD/YY HH:MM", "DD/MM/YY HH:MM"),
)
AS_ISO: Final = MomentForm(("YYYY", "MM", "DD"), ("-", "-"), "?", "?")


def forms_of(parameter: str, written: tuple[str, ...], kind: Kind) -> tuple[Form, ...]:
    """Return the forms that a column declares; raise InvalidParameter for a form that could be misread.

    Of integers ``1,234`` has a mark between thousands; of reals it would be two numbers.

    Args:
        parameter: how errors call them.
        written: as they are declared.
        kind: of the column.

    >>> forms_of("form", ("1.234,56 €",), Kind.REAL)
    (NumberForm(decimal=',', mark='.', unit='€'),)
    >>> forms_of("form", ("DD/MM/YYYY", "MM/DD/YYYY"), Kind.DATE)
    Traceback (most recent call last):
    ...
    dither.errors.InvalidParameter: form must be patterns under which no text is two different days, \
got ('DD/MM/YYYY', 'MM/DD/YYYY')

    """
    if kind in (Kind.TEXT, Kind.BOOLEAN):
        raise InvalidParameter(parameter, _shown(written), f"absent for a {kind.value}")
    if not written:
        raise InvalidParameter(parameter, written, _NUMBERS if kind.is_number else _MOMENTS)
    if kind.is_number:
        if len(written) > 1:
            rule = "one form: under two of them 1.234 could be two numbers. Put it in quotes if it has a comma"
            raise InvalidParameter(parameter, written, rule)
        return (_number_form(parameter, written[0], kind),)
    found = tuple(_moment_form(parameter, one) for one in written)
    for place, one in enumerate(found):
        if any(one.shape == other.shape and one.parts != other.parts for other in found[:place]):
            raise InvalidParameter(parameter, written, "patterns under which no text is two different days")
    return found


def read_cell(text: str, forms: tuple[Form, ...], kind: Kind) -> Value:
    """Return the value of a string under the first of the declared forms that reads it; NULL where none does.

    >>> read_cell("-1.234,5 €", forms_of("form", ("1.234,56 €",), Kind.REAL), Kind.REAL)
    -1234.5
    >>> read_cell("2024-12-31T23:30:00.5-01:00", forms_of("form", ("ISO",), Kind.TIMESTAMP), Kind.TIMESTAMP)
    datetime.datetime(2025, 1, 1, 0, 30, 0, 500000)
    """
    return next((value for form in forms if (value := form.read(text, kind)) is not None), None)


def likely_form(example: str, kind: Kind) -> str:
    """Return the only likely form that reads an example, and does not repeat it; empty without one.

    >>> likely_form("-8.777,25€", Kind.REAL), likely_form("31.12.2024", Kind.DATE), likely_form("1/2/2024", Kind.DATE)
    ('1.234,5 €', 'DD.MM.YYYY', '')
    """
    if kind.is_number:
        shown = example.strip(BLANKS).replace(MINUS, "-").replace("-", "").replace("+", "").strip(BLANKS)
        try:
            found = forms_of("form", (shown,), kind)
        except InvalidParameter:
            return ""
        (form,) = found
        if not isinstance(form, NumberForm) or form.read(example, kind) is None:
            return ""
        unit = form.unit
        is_known = not unit or unit in _REQUIRED_UNITS or unit in _CURRENCIES or unicodedata.category(unit[0]) == "Sc"
        return _written(form, kind, is_before=bool(unit) and shown.startswith(unit)) if is_known else ""
    if kind not in (Kind.DATE, Kind.TIMESTAMP):
        return ""
    fitting = [one for one in LIKELY_MOMENTS if read_cell(example, forms_of("form", (one,), kind), kind) is not None]
    values = {read_cell(example, forms_of("form", (one,), kind), kind) for one in fitting}
    return fitting[0] if len(values) == 1 else ""


def _written(form: NumberForm, kind: Kind, *, is_before: bool) -> str:
    """Return a form as it is declared: made up, because a cell of a file must not enter a schema."""
    whole = f"1{form.mark}234" if form.mark else "12"
    number = whole if kind is Kind.INTEGER else f"{whole}{form.decimal}5"
    if not form.unit:
        return number
    return f"{form.unit} {number}" if is_before else f"{number} {form.unit}"


def likely_forms(cells: Sequence[str]) -> list[tuple[Kind, tuple[str, ...]]]:
    """Return kinds and forms that read all of some cells, for their owner to confirm; the likeliest first.

    Where days and months could be told apart in two ways, none is returned.

    >>> likely_forms(["1.234,50 €", "3,5 €"]), likely_forms(["31.12.2024", "2024-01-01T10:00:00Z"])
    ([(<Kind.REAL: 'real'>, ('1.234,5 €',))], [(<Kind.TIMESTAMP: 'timestamp'>, ('ISO', 'DD.MM.YYYY'))])
    >>> likely_forms(["01/02/2024"]), likely_forms(["north", "south"]), likely_forms(["13/02/2024", "01/02/2024"])
    ([], [], [(<Kind.DATE: 'date'>, ('DD/MM/YYYY',))])
    """
    if not cells:
        return []
    # The longest ones show most signs.
    for example in sorted(set(cells), key=lambda cell: (-len(set(cell) - set("0123456789")), -len(cell), cell))[:5]:
        for kind in (Kind.INTEGER, Kind.REAL):
            form = likely_form(example, kind)
            found = forms_of("form", (form,), kind) if form else ()
            # Without a mark or a unit it is the one grammar, or a decimal comma, which a table declares.
            is_own = any(isinstance(one, NumberForm) and (one.mark or one.unit) for one in found)
            if is_own and all(read_cell(cell, found, kind) is not None for cell in cells):
                return [(kind, (form,))]
    return _likely_moments(cells)


def _likely_moments(cells: Sequence[str]) -> list[tuple[Kind, tuple[str, ...]]]:
    forms = {one: _moment_form("form", one) for one in LIKELY_MOMENTS}
    read = {
        one: {cell: value for cell in cells if (value := form.read(cell, Kind.TIMESTAMP)) is not None}
        for one, form in forms.items()
    }
    chosen: list[str] = []
    left = set(cells)
    while left:
        best = max(LIKELY_MOMENTS, key=lambda one: len(left & read[one].keys()))
        taken = {cell: value for cell, value in read[best].items() if cell in left}
        others = (read[other] for other in LIKELY_MOMENTS if taken.keys() <= read[other].keys())
        if not taken or any(other[cell] != value for other in others for cell, value in taken.items()):
            return []
        chosen.append(best)
        left -= taken.keys()
    has_time = any(forms[one].time for one in chosen) and any(":" in cell for cell in cells)
    kind = Kind.TIMESTAMP if has_time else Kind.DATE
    try:
        forms_of("form", tuple(chosen), kind)
    except InvalidParameter:
        return []
    return [(kind, tuple(chosen))]


def typed_cell(text: str, kind: Kind) -> Value:
    """Return the value of a cell that its file stores as a number, a truth value or a moment, by its canonical text."""
    return AS_ISO.read(text, kind) if kind in (Kind.DATE, Kind.TIMESTAMP) else cast(text, kind)


def _number_form(parameter: str, written: str, kind: Kind) -> NumberForm:
    whole = re.fullmatch(rf"{_BLANK}(?P<before>[^0-9]*?){_BLANK}(?P<core>[0-9].*?){_BLANK}(?P<behind>[^0-9]*)", written)
    if whole is None:
        raise InvalidParameter(parameter, written, _NUMBERS)
    core, unit = whole["core"], (whole["before"] + whole["behind"]).strip(BLANKS)
    is_beside_one = bool(whole["before"]) != bool(whole["behind"])
    if unit and (not is_beside_one or not _UNIT.fullmatch(unit)):
        raise InvalidParameter(parameter, written, _NUMBERS)
    core = "".join(" " if sign in BLANKS else "'" if sign in _APOSTROPHES else sign for sign in core)
    if not re.fullmatch(r"[0-9]+(?:[., '][0-9]+)*", core):
        raise InvalidParameter(parameter, written, _NUMBERS)
    separators = re.findall("[^0-9]", core)
    *marks, last = separators or [""]
    if not separators:
        return NumberForm(".", "", unit)
    is_grouped = re.fullmatch(r"[0-9]{1,3}(?:[., '][0-9]{3})*", core[: core.rindex(last)]) is not None
    decimals = len(core) - core.rindex(last) - 1
    if len(set(marks)) > 1 or (marks and not is_grouped):
        raise InvalidParameter(parameter, written, _NUMBERS)
    if (marks and marks[0] == last) or last in " '":
        # All are between thousands: of a point or a comma the other one is before decimals.
        if (marks and marks[0] != last) or decimals != 3 or (last in " '" and kind is Kind.REAL):
            raise InvalidParameter(parameter, written, _NUMBERS)
        return NumberForm("," if last == "." else ".", last, unit)
    if not marks and decimals == 3 and is_grouped and kind is Kind.INTEGER:
        return NumberForm("," if last == "." else ".", last, unit)
    if not marks and decimals == 3 and is_grouped:
        both = f"'{_example(core, last, is_mark=True)}' or '{_example(core, last, is_mark=False)}'"
        raise InvalidParameter(parameter, written, f"{_NUMBERS}: this is two numbers, so write {both}")
    return NumberForm(last, marks[0] if marks else "", unit)


def _example(core: str, last: str, *, is_mark: bool) -> str:
    """Return an example with three digits behind one separator as it would be for one of two numbers."""
    other = "," if last == "." else "."
    return f"{core}{other}5" if is_mark else core[:-1]


def _moment_form(parameter: str, written: str) -> MomentForm:
    if written == ISO:
        return AS_ISO
    whole = _PATTERN.fullmatch(written)
    day = _PARTS.fullmatch(whole["date"]) if whole else None
    if whole is None or day is None or {day[1][0], day[3][0], day[5][0]} != {"Y", "M", "D"}:
        raise InvalidParameter(parameter, written, _MOMENTS)
    between = (day[2] or "", day[4] or "")
    is_compact = "" in between
    if is_compact and (between != ("", "") or "MMM" in (day[1], day[3], day[5]) or "YYYY" not in (day[1], day[5])):
        raise InvalidParameter(parameter, written, _MOMENTS)
    has_time = "!" if whole["time"] else ""
    zone = "!" if whole["zone"] else ""
    return MomentForm((day[1], day[3], day[5]), between, has_time, zone, is_half=bool(whole["half"]))


def _month_names() -> str:
    """Return a pattern of English months in any case, in full or by three letters with or without a point."""

    def any_case(word: str) -> str:
        return "".join(f"[{sign.upper()}{sign.lower()}]" for sign in word)

    return "(" + "|".join(f"{any_case(name[:3])}(?:{any_case(name[3:])})?" for name in _FULL_MONTHS) + r")\.?"


def _year(text: str) -> int:
    year = int(text)
    return year if len(text) > 2 else year + (2000 if year <= LAST_OF_2000 else 1900)


def _month(text: str) -> int:
    return MONTHS.index(text[:3].lower()) // 3 + 1 if text[0].isalpha() else int(text)


def _offset(zone: str) -> datetime.timedelta:
    if len(zone) < 3 or zone[0].isalpha():
        return datetime.timedelta()
    digits = zone[1:].replace(":", "")
    offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return offset if zone[0] == "+" else -offset


def _escaped(unit: str) -> str:
    return "".join(f"\\{sign}" if sign in r"\^$|?*+[]{}()." else sign for sign in unit)


def _shown(written: tuple[str, ...]) -> str | tuple[str, ...]:
    return written[0] if len(written) == 1 else written


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
