"""Why it matters: attacks on releases that promise nothing, each with a defended run beside it.

Belongs here: what an attacker computes from a release, shown on generated data, once where nothing is protected or only
in a way that does not count, and once against what dither releases. Does not belong here: attempts to refute a
mechanism's own promise (``audit``), and real data. Attacks stand in families, one module each: to add one, write a
function under ``@attack`` in the module of its family, and add its row to ``docs/attacks.md``.
"""

from dither.attack.harness import InferenceAttack
from dither.attack.outcome import Curve, Outcome, ceiling
from dither.attack.page import page, write_page
from dither.attack.registry import Attack, attack, attacks, find_attack

__all__ = [
    "Attack",
    "Curve",
    "InferenceAttack",
    "Outcome",
    "attack",
    "attacks",
    "ceiling",
    "find_attack",
    "page",
    "write_page",
]
