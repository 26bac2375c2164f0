"""What is promised: losses, units and metrics, plans, filters and conversions. Mathematics only.

Belongs here: anything that can be said about privacy without data and without noise. Does not belong here: samplers,
mechanisms, budgets that are stored somewhere.
"""

from dither.privacy.calibration import calibrate, gaussian_sigma, laplace_scale
from dither.privacy.conversions import pure_to_zcdp, zcdp_delta, zcdp_epsilon, zcdp_rho
from dither.privacy.distances import (
    DIFFERENT,
    EDGE,
    EVENT,
    EVENT_REPLACED,
    L1,
    L2,
    LARGEST,
    NODE,
    ONE_WAY,
    RATING,
    ROW,
    ROW_REPLACED,
    Distance,
    Metric,
    Relation,
    Unit,
    place,
    user,
    w_event,
)
from dither.privacy.filters import Filter, Odometer
from dither.privacy.losses import NOTHING, ZCDP, ApproxDP, Loss, PureDP, compose
from dither.privacy.plans import Best, Parallel, Plan, Repeat, Repeats, Sampled, Sequence, Use, Within

__all__ = [
    "DIFFERENT",
    "EDGE",
    "EVENT",
    "EVENT_REPLACED",
    "L1",
    "L2",
    "LARGEST",
    "NODE",
    "NOTHING",
    "ONE_WAY",
    "RATING",
    "ROW",
    "ROW_REPLACED",
    "ZCDP",
    "ApproxDP",
    "Best",
    "Distance",
    "Filter",
    "Loss",
    "Metric",
    "Odometer",
    "Parallel",
    "Plan",
    "PureDP",
    "Relation",
    "Repeat",
    "Repeats",
    "Sampled",
    "Sequence",
    "Unit",
    "Use",
    "Within",
    "calibrate",
    "compose",
    "gaussian_sigma",
    "laplace_scale",
    "place",
    "pure_to_zcdp",
    "user",
    "w_event",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
