"""Every learner that is calibrated to a loss keeps within it, in whatever way the loss is stated, or refuses it."""

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from dither.errors import DitherError, InvalidParameter, NoGuarantee
from dither.learn.linear import GradientDescent
from dither.mechanisms import registered
from dither.mechanisms.core.purse import Purse
from dither.privacy import ROW_REPLACED, ZCDP, ApproxDP, GaussianDP, Loss, PureDP
from dither.privacy.losses import states_rho

LEARNERS: dict[str, Any] = {
    name: entry.mechanism
    for name, entry in registered().items()
    if entry.mechanism.__module__.startswith("dither.learn.") and hasattr(entry.mechanism, "calibrated")
}
TARGETS: tuple[Loss, ...] = (
    PureDP(1),
    PureDP(1, rho="1/100"),
    ZCDP("1/7"),
    ApproxDP("2/3", "1e-6"),
    ApproxDP(1, "1e-6", rho="1/1000"),
)
#: What ``calibrated`` asks for beside the fields of a learner, or gets for speed.
MORE: dict[str, dict[str, Any]] = {
    "binary-estimation": {"threshold": 2},
    "compressed-classifier": {"classes": 3},
    "image-features": {"classes": 3},
    "kernel-machine": {"classes": 3, "features": 4},
    "minibatch-descent": {"steps": 1, "rate": 1},
    "guarded-classifier": {
        "build": lambda loss: GradientDescent.calibrated(loss, lower=[0], upper=[1], classes=2),
        "classes": 2,
    },
}


def asked(name: str, target: Loss) -> Iterator[dict[str, Any]]:
    """Yield the public parameters of a learner's examples, as far as ``calibrated`` takes them."""
    taken = inspect.signature(LEARNERS[name].calibrated).parameters
    for example in registered()[name].examples():
        own = {field.name for field in fields(example.mechanism)} & set(taken)
        public = {key: getattr(example.mechanism, key) for key in own} | MORE.get(name, {})
        if "candidates" in taken and name.endswith("-tuning"):
            # Candidates are within the target by themselves, or a third of it where one of three runs is kept.
            share = Purse.within(target).share("1/3" if name == "repeated-tuning" else 1).loss
            public |= {"candidates": candidates(share), "classes": 2}
        if name == "held-out-score":
            public = {"learner": candidates(Purse.within(target).loss)[0], "classes": 2}
        yield public


def candidates(target: Loss) -> list[GradientDescent]:
    return [GradientDescent.calibrated(target, lower=[0], upper=[1], classes=2, steps=steps) for steps in (1, 2)]


def refuses(name: str, target: Loss, public: dict[str, Any]) -> bool:
    """Whether a learner cannot keep such a loss: what it says then is tested where the learner is."""
    is_pure, has_delta = Purse.within(target).is_pure, isinstance(target, ApproxDP)
    return {
        "bootstrap-means": not is_pure,
        "minibatch-descent": states_rho(target)
        or isinstance(target, ZCDP)
        or (not has_delta and public.get("unit") == ROW_REPLACED),
        **dict.fromkeys(("network-descent", "noisy-gradients"), not has_delta or states_rho(target)),
        "noisy-mixture": is_pure and public.get("shape") == "full",
        "point-learner": not has_delta,
        "repeated-tuning": not isinstance(target, PureDP),
        "support-selection": public.get("votes") == "whole" and not has_delta,
    }.get(name, False)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_calibrated_keeps_within_the_target(name: str) -> None:
    for target in TARGETS:
        for public in asked(name, target):
            if refuses(name, target, public):
                with pytest.raises(DitherError):
                    LEARNERS[name].calibrated(target, **public)
            else:
                assert LEARNERS[name].calibrated(target, **public).loss(1) <= target, (target, public)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_gaussian_loss_is_refused(name: str) -> None:
    """No epsilon and no rho is within it."""
    public = next(asked(name, PureDP(1)))
    with pytest.raises((InvalidParameter, NoGuarantee)):
        LEARNERS[name].calibrated(GaussianDP(1), **public)
