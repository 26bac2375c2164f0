"""Is it true? Lower bounds on what a mechanism really loses, from its outcomes alone.

Belongs here: black-box bounds on any mechanism or sampler, the pairs of inputs that are worth trying, audits of
everything registered, and specimens of broken algorithms that an audit must catch. Does not belong here: grey-box
replay of a plan, which is in ``dither.testing``; checks that need no chance, which are in ``dither.checks``. An audit
refutes; it never proves. ``python -m dither.audit`` audits all that is registered.

>>> from dither.mechanisms import RandomisedResponse
>>> verdict = audit(RandomisedResponse(epsilon=1), 0, 1, samples=50_000)
>>> verdict.is_refuted, verdict.tightness > 0.8
(False, True)
"""

from dither.audit.blackbox import Evidence, Verdict, audit, lower_bound
from dither.audit.bounds import lower_limit, upper_limit
from dither.audit.pairs import Pair, pairs_of
from dither.audit.runs import audit_all, audit_example, audit_registered
from dither.audit.samplers import Sampler, sampler_of

__all__ = [
    "Evidence",
    "Pair",
    "Sampler",
    "Verdict",
    "audit",
    "audit_all",
    "audit_example",
    "audit_registered",
    "lower_bound",
    "lower_limit",
    "pairs_of",
    "sampler_of",
    "upper_limit",
]
