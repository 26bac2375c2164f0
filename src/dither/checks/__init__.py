"""The public contract suite: a new algorithm is covered by being registered.

Belongs here: what every mechanism must satisfy. Does not belong here: what one mechanism's output
should look like; that is in its own tests. ``check_mechanism`` runs everything on a registered class, your own
included; ``checks`` gives the single checks for a test runner to report one by one. ``check_estimator`` begins where a
caller of an estimator begins, at the rows and labels that ``fit`` is given; ``check_records`` at the constructors of
what a mechanism holds; ``check_extreme_numbers`` at the numbers that they are given. ``run_design`` tries instances
with other parameters than the examples have, in which every allowed pair of values occurs.

>>> from dither.mechanisms import RandomisedResponse
>>> check_mechanism(RandomisedResponse)
"""

from dither.checks.contract import MECHANISM_CHECKS, Check, check_mechanism, checks
from dither.checks.designs import check_design, run_design
from dither.checks.estimators import check_estimator
from dither.checks.extremes import check_extreme_numbers
from dither.checks.records import check_records
from dither.checks.violation import ContractViolation

__all__ = [
    "MECHANISM_CHECKS",
    "Check",
    "ContractViolation",
    "check_design",
    "check_estimator",
    "check_extreme_numbers",
    "check_mechanism",
    "check_records",
    "checks",
    "run_design",
]
