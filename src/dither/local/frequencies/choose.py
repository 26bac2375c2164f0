"""The choice of a frequency oracle by exact variance, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dither.errors import NoGuarantee
from dither.exact import whole
from dither.local.frequencies.hadamard import HadamardResponse
from dither.local.frequencies.hashing import LocalHashing
from dither.local.frequencies.kary import KaryResponse
from dither.local.frequencies.oracle import Oracle
from dither.local.frequencies.subset import SubsetResponse
from dither.local.frequencies.unary import UnaryResponse
from dither.privacy import Loss

#: Beyond this number of answers a report of one bit for each is no longer considered.
_MOST_BITS: Final = 2**14
#: Beyond this one a server cannot list the answers; local hashing can still be asked about some of them.
_MOST_LISTED: Final = 2**22
#: Of oracles whose variances are as close as this, the one with the shortest report is taken.
_AS_GOOD: Final = 1.02

ORACLES: Final[Mapping[str, Callable[..., Oracle]]] = MappingProxyType(
    {
        KaryResponse.name: KaryResponse.calibrated,
        SubsetResponse.name: SubsetResponse.calibrated,
        UnaryResponse.name: UnaryResponse.calibrated,
        HadamardResponse.name: HadamardResponse.calibrated,
        LocalHashing.name: LocalHashing.calibrated,
    }
)
_LISTED: Final = {KaryResponse.name, HadamardResponse.name}
_BITWISE: Final = {SubsetResponse.name, UnaryResponse.name}


@dataclass(frozen=True)
class Choice:
    """An oracle, and why it was taken.

    Args:
        oracle: that was taken.
        why: a sentence.
        errors: the sum of the variances of all shares for one report, by the names of all that were compared.

    """

    oracle: Oracle
    why: str
    errors: Mapping[str, float]


def choose_oracle(within: Loss, categories: int) -> Choice:
    """Return the frequency oracle with the least exact variance; of those within 2 % of it, the shortest report.

    Args:
        within: the loss of one report.
        categories: the number of answers.

    >>> from dither.privacy import PureDP
    >>> choose_oracle(PureDP(1), 3).oracle.name, choose_oracle(PureDP(1), 10**6).oracle.name
    ('kary-response', 'local-hashing')

    """
    count = whole("categories", categories, least=2, most=2**40)
    known: dict[str, Oracle] = {}
    for name, calibrated in ORACLES.items():
        most = _MOST_LISTED if name in _LISTED else _MOST_BITS if name in _BITWISE else 2**40
        if count <= most:
            try:
                known[name] = calibrated(within, categories=count)
            except NoGuarantee:
                # With very many answers its weights have no grid point below the target.
                continue
    if not known:
        # The reason why one of them cannot be had is that of all.
        KaryResponse.calibrated(within, categories=count)
    errors = {name: oracle.squared_error for name, oracle in known.items()}
    least = min(errors.values())
    good = [name for name in known if errors[name] <= least * _AS_GOOD]
    best = min(good, key=lambda name: (known[name].half.size, errors[name]))
    others = sorted((errors[name] / errors[best], name) for name in known if name != best)
    compared = ", ".join(f"{name} {share:.3g}" for share, name in others)
    why = (
        f"the least variance of {len(known)} oracles" if errors[best] == least else f"{best} is within 2 % of the least"
    )
    bits = known[best].half.size
    told = f"{best}: {why}, in {bits} bits a report" + (
        f" (variance of the others relative to it: {compared})" if others else ""
    )
    return Choice(known[best], told, MappingProxyType(errors))
