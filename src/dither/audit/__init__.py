"""Is the claim true? Lower bounds on what a mechanism really loses, from its outcomes alone.

Belongs here: black-box bounds on any mechanism or sampler, the pairs of inputs that are worth trying, replay of many
hostile pairs, audits of training by canaries, of noise against its law and of sensitivities by search, audits of
everything registered, and specimens of broken algorithms that an audit must catch. Does not belong here: the replay of
one pair, which is in ``dither.testing``; checks that need no chance, which are in ``dither.checks``. An audit refutes;
it never proves. ``python -m dither.audit`` audits all that is registered.

>>> from dither.mechanisms import RandomisedResponse
>>> verdict = audit(RandomisedResponse(epsilon=1), 0, 1, samples=50_000)
>>> verdict.is_refuted, verdict.tightness > 0.8
(False, True)
"""

from dither.audit.analysts import Analyst
from dither.audit.blackbox import Evidence, Verdict, audit, lower_bound
from dither.audit.bounds import lower_limit, upper_limit
from dither.audit.canaries import OneRun, audit_one_run
from dither.audit.explorer import Explored, explore
from dither.audit.goodness import Fit, noise_test, self_test
from dither.audit.greybox import GreyBox, Leak, grey_box
from dither.audit.moments import Moments
from dither.audit.pairs import Pair, pairs_of
from dither.audit.runs import audit_all, audit_example, audit_registered
from dither.audit.samplers import Sampler, sampler_of
from dither.audit.sequential import Outcome, Search, audit_until
from dither.audit.subjects import Subject, subject, subjects_of

__all__ = [
    "Analyst",
    "Evidence",
    "Explored",
    "Fit",
    "GreyBox",
    "Leak",
    "Moments",
    "OneRun",
    "Outcome",
    "Pair",
    "Sampler",
    "Search",
    "Subject",
    "Verdict",
    "audit",
    "audit_all",
    "audit_example",
    "audit_one_run",
    "audit_registered",
    "audit_until",
    "explore",
    "grey_box",
    "lower_bound",
    "lower_limit",
    "noise_test",
    "pairs_of",
    "sampler_of",
    "self_test",
    "subject",
    "subjects_of",
    "upper_limit",
]
