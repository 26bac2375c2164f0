"""Specimens: algorithms that were published with a promise they do not keep, each with the pair that shows it.

Belongs here: what a source claims to be private and is not, as small as it can be and be refuted, with the way it is
refuted and what to use instead. Nothing here is registered, reachable from the wire or imported by any other room; the
command ``dither specimens``, the audit of everything and the tests are its only users. **Never run one on data that
matters.**

>>> found = refute(find("exponential-without-two"))
>>> found.is_refuted, found.bound
(True, 'epsilon >= 1.22')
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from dither.audit.specimens import (
    choice,
    composition,
    correlated,
    distributed,
    graphs,
    learning,
    locations,
    noise,
    recommenders,
    sparse_vector,
    streams,
    tables,
    tags,
    theses,
)
from dither.audit.specimens.record import NONE_YET, Odds, Source, Specimen
from dither.audit.specimens.refutation import Refutation, refute
from dither.errors import InvalidParameter

__all__ = ["NONE_YET", "SPECIMENS", "Odds", "Refutation", "Source", "Specimen", "find", "refute"]

_FAMILIES = (
    sparse_vector,
    noise,
    choice,
    composition,
    correlated,
    streams,
    tables,
    graphs,
    learning,
    recommenders,
    tags,
    locations,
    distributed,
    theses,
)

#: Every specimen by its name, family by family.
SPECIMENS: Mapping[str, Specimen] = MappingProxyType(
    {specimen.name: specimen for family in _FAMILIES for specimen in family.SPECIMENS}
)


def find(name: str) -> Specimen:
    """Return the specimen of that name."""
    if name not in SPECIMENS:
        near = difflib.get_close_matches(name[:64], SPECIMENS, n=3) or list(SPECIMENS)[:3]
        raise InvalidParameter("name", name[:64], f"the name of a specimen, such as {', '.join(near)}")
    return SPECIMENS[name]
