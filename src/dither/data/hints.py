"""Guesses from the name of a column: a kind, bounds, that it is a category, or that it identifies a person.

Names and declared types are public; values are not, and nothing here ever sees one. Every hint is printed as a comment
for the curator to take or leave: what protects people is decided by people.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dither.data.expressions import Kind


@dataclass(frozen=True)
class Hint:
    """The guesses from a name.

    Args:
        kind: the kind of the column, where no type is declared.
        bounds: bounds as they would be written in a schema, or empty.
        is_category: whether its values are probably few and known in advance.

    """

    kind: Kind | None = None
    bounds: str = ""
    is_category: bool = False


_WHOLE: Final = {
    "age": "[0, 120]",
    "year": "[1900, 2100]",
    "quarter": "[1, 4]",
    "month": "[1, 12]",
    "week": "[1, 53]",
    "weekday": "[1, 7]",
    "hour": "[0, 23]",
    "minute": "[0, 59]",
    "second": "[0, 59]",
    "rating": "[1, 5]",
    "stars": "[1, 5]",
    "children": "[0, 10]",
    "count": "[0, 100]",
    "quantity": "[0, 100]",
    "days": "[0, 365]",
}
_REAL: Final = {
    "percent": "[0, 100]",
    "percentage": "[0, 100]",
    "pct": "[0, 100]",
    "share": "[0, 1]",
    "ratio": "[0, 1]",
    "fraction": "[0, 1]",
    "probability": "[0, 1]",
    "score": "[0, 100]",
    "grade": "[0, 100]",
    "price": "[0, 1000]",
    "cost": "[0, 1000]",
    "amount": "[0, 1000]",
    "fee": "[0, 1000]",
    "income": "[0, 200000]",
    "salary": "[0, 200000]",
    "wage": "[0, 200000]",
    "latitude": "[-90, 90]",
    "longitude": "[-180, 180]",
    "height": "[0, 250]",
    "weight": "[0, 300]",
    "bmi": "[10, 80]",
    "temperature": "[-50, 60]",
    "distance": "[0, 1000]",
    "duration": "[0, 1000]",
}
_CATEGORIES: Final = frozenset(
    [
        "sex",
        "gender",
        "region",
        "country",
        "state",
        "province",
        "county",
        "district",
        "department",
        "ward",
        "category",
        "class",
        "type",
        "kind",
        "group",
        "status",
        "level",
        "stage",
        "education",
        "occupation",
        "sector",
        "industry",
        "language",
        "currency",
        "colour",
        "color",
        "race",
        "ethnicity",
        "religion",
        "diagnosis",
        "severity",
        "outcome",
    ]
)
_PEOPLE: Final = frozenset(
    [
        "patient",
        "person",
        "user",
        "customer",
        "client",
        "member",
        "citizen",
        "subject",
        "respondent",
        "participant",
        "employee",
        "worker",
        "student",
        "pupil",
        "household",
        "account",
        "subscriber",
        "passenger",
        "driver",
        "voter",
        "taxpayer",
        "email",
        "phone",
        "ssn",
    ]
)
_IDS: Final = frozenset(["id", "ids", "uid", "uuid", "guid", "key", "identifier", "pseudonym"])
#: What numbers something: "education_num" is a number and not an education, and how large it may be nobody can guess.
_NUMBERS: Final = frozenset(["num", "number", "nr"])
#: What columns are to an attacker of a disguised table, by a word of their names.
_ROLES: Final = {
    "identifier": _PEOPLE | _IDS | {"name", "surname", "firstname", "lastname", "passport", "iban", "address"},
    "quasi": frozenset(
        [
            "age",
            "sex",
            "gender",
            "born",
            "birthday",
            "birth",
            "birthdate",
            "zip",
            "postcode",
            "postal",
            "region",
            "country",
            "state",
            "province",
            "county",
            "district",
            "city",
            "town",
            "education",
            "occupation",
            "job",
            "race",
            "ethnicity",
            "nationality",
            "marital",
            "language",
        ]
    ),
    "sensitive": frozenset(
        [
            "diagnosis",
            "disease",
            "illness",
            "severity",
            "religion",
            "income",
            "salary",
            "wage",
            "bmi",
            "debt",
            "drug",
            "medication",
            "ward",
            "grade",
        ]
    ),
}
#: Words for the first and the second coordinate of a position, and whether they are degrees.
_POSITIONS: Final = (
    (frozenset({"lat", "latitude"}), frozenset({"lon", "lng", "long", "longitude"}), True),
    (frozenset({"northing"}), frozenset({"easting"}), False),
    (frozenset({"y"}), frozenset({"x"}), False),
)
_PLAIN: Final = re.compile("[A-Za-z_][A-Za-z0-9_]{0,62}")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words(name: str) -> list[str]:
    """Return the words of a name in lower case.

    >>> words("patientID"), words("BIRTH_year2")
    (['patient', 'id'], ['birth', 'year', '2'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def hint(name: str) -> Hint:
    """Return the guesses from a name; the last word counts most.

    >>> hint("patient_age").bounds, hint("home_region").is_category, hint("visit_date").kind
    ('[0, 120]', True, <Kind.DATE: 'date'>)
    """
    parts = words(name)
    for word in reversed(parts):
        if word in _IDS or word in _NUMBERS:
            return Hint()
        if word in _WHOLE:
            return Hint(Kind.INTEGER, _WHOLE[word])
        if word in _REAL:
            return Hint(Kind.REAL, _REAL[word])
        if word in _CATEGORIES:
            return Hint(Kind.TEXT, is_category=True)
        if word in ("date", "day", "born", "birthday"):
            return Hint(Kind.DATE)
        if word in ("time", "timestamp", "at", "datetime"):
            return Hint(Kind.TIMESTAMP)
    return Hint(Kind.BOOLEAN) if parts and parts[0] in ("is", "has", "was", "did") else Hint()


def position_pairs(names: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return pairs of columns that hold positions by their names, and whether these are latitudes and longitudes.

    >>> position_pairs(["id", "pickup_lat", "pickup_lng", "Latitude", "Longitude", "Easting", "Northing"])
    [('pickup_lat', 'pickup_lng', True), ('Latitude', 'Longitude', True), ('Northing', 'Easting', False)]
    """
    split = {name: words(name) for name in names}
    found = []
    for firsts, seconds, are_degrees in _POSITIONS:
        for one in names:
            if not firsts.intersection(split[one]):
                continue
            rest = [word for word in split[one] if word not in firsts]
            other = [
                name
                for name in names
                if seconds.intersection(split[name]) and [word for word in split[name] if word not in seconds] == rest
            ]
            if len(other) == 1:
                found.append((one, other[0], are_degrees))
    return found


def role_of(name: str) -> str | None:
    """Return what a column may be to an attacker, by its name; None where the name does not say.

    >>> role_of("patient_id"), role_of("homePostcode"), role_of("main diagnosis"), role_of("note")
    ('identifier', 'quasi', 'sensitive', None)
    """
    parts = words(name)
    found = {word: role for role, known in _ROLES.items() for word in known}
    return next((found[word] for word in reversed(parts) if word in found), None)


def plain_name(name: str, prefix: str) -> str:
    """Return a name that a schema allows, close to what was given.

    Args:
        name: any text.
        prefix: what comes first where nothing, or a digit, would.

    >>> plain_name("Total Spend (£)", "c"), plain_name("Größe", "c"), plain_name("2024", "c"), plain_name("☃", "c")
    ('Total_Spend', 'Grosse', 'c_2024', 'c')

    """
    if _PLAIN.fullmatch(name) and not name.startswith("__"):
        return name
    letters = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    bare = "".join(sign for sign in letters if not unicodedata.combining(sign))
    plain = re.sub("[^A-Za-z0-9_]+", "_", bare).strip("_")
    return (plain if plain and not plain[0].isdigit() else f"{prefix}_{plain}".rstrip("_"))[:63]


def plain_names(names: Sequence[str]) -> list[str]:
    """Return a name for each column that a schema allows, all different even without regard to case.

    A name that is plain stays as it is; of those that differ in case alone, the first one does.

    >>> plain_names(["education-num", "Name", "name", "education_num", ""])
    ['education_num_2', 'Name', 'name_2', 'education_num', 'c']
    """
    first = {name.lower(): place for place, name in reversed(list(enumerate(names))) if plain_name(name, "c") == name}
    taken, found = set(first), []
    for place, name in enumerate(names):
        plain = plain_name(name, "c")
        if first.get(plain.lower()) != place:
            numbered = (f"{plain[:59]}_{number}" for number in itertools.count(2))
            plain = next(one for one in itertools.chain([plain], numbered) if one.lower() not in taken)
        taken.add(plain.lower())
        found.append(plain)
    return found


def id_candidates(names: Iterable[str]) -> list[str]:
    """Return the columns that may identify a person, the likeliest first.

    >>> id_candidates(["visit_id", "age", "patient", "region"])
    ['patient', 'visit_id']
    """

    def rank(name: str) -> int:
        parts = words(name)
        is_id, is_person = bool(_IDS & set(parts)), bool(_PEOPLE & set(parts))
        if is_person and hint(name) != Hint():
            return 0  # an attribute of a person, such as patient_age
        return 2 * is_person + is_id

    ranked = [(rank(name), name) for name in names]
    return [name for points, name in sorted(ranked, key=lambda pair: -pair[0]) if points > 0]
