"""The public contract suite: a new algorithm is covered by being registered.

Belongs here: what every mechanism must satisfy whatever it does. Does not belong here: what one mechanism's output
should look like; that is in its own tests. ``check_mechanism`` runs everything on a registered class, your own
included; ``checks`` gives the single checks for a test runner to report one by one.

>>> from dither.mechanisms import RandomisedResponse
>>> check_mechanism(RandomisedResponse)
"""

from dither.checks.contract import MECHANISM_CHECKS, Check, check_mechanism, checks
from dither.checks.violation import ContractViolation

__all__ = ["MECHANISM_CHECKS", "Check", "ContractViolation", "check_mechanism", "checks"]
