"""Whatever a target is stated in, the method that is made for it is within it, or the target is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import PrefixSums, registered
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.release import perform
from dither.privacy import ZCDP, ApproxDP, GaussianDP, Loss, PureDP
from dither.privacy.losses import states_rho
from dither.publish import microdata, synthetic
from dither.testing.calibrations import calibrated_names, calibrated_with, is_taken

Method = Mechanism[Any, Any]
TARGETS: tuple[Loss, ...] = (
    PureDP(1),
    PureDP(1, rho="1/100"),
    ZCDP("1/10"),
    ApproxDP(1, "1e-6"),
    ApproxDP(1, "1e-6", rho="1/1000"),
    # Rationals that do not fit into a scale of 64 bits, and roots that do not end.
    PureDP("314159265358979/1000000000000000"),
    ZCDP("314159265358979/10000000000000000"),
)

_D, _S = microdata, synthetic
#: All methods of publishing that are made for a loss: with parameters from their examples and their registration.
METHODS: list[type[Any]] = [
    registered()[name].mechanism
    for name in calibrated_names()
    if registered()[name].mechanism.__module__.startswith("dither.publish.") or name == PrefixSums.name
]
#: Methods that spend a budget step by step, and the name of its field.
SPENDERS: dict[type[Any], str] = {
    **dict.fromkeys((_S.AdaptiveIterative, _S.Mwem, _S.GraphicalMwem, _S.PrivBayes, _D.PrivFuzzy), "budget"),
    _S.JunctionTreeSynthesis: "clusters",
    **dict.fromkeys((_D.DiffGen, _D.DiffPart), "budget"),
}


def made(method: type[Any], target: Loss) -> Any:
    return method.calibrated(target, **calibrated_with(method.name))


def is_for(method: type[Method], target: Loss) -> bool:
    return is_taken(registered()[method.name].takes, target)


def test_every_method_that_is_made_for_a_target_is_tried_or_says_where_it_is() -> None:
    published = [entry for entry in registered().values() if entry.mechanism.__module__.startswith("dither.publish.")]
    made = {entry.mechanism: entry.made_for for entry in published if hasattr(entry.mechanism, "calibrated")}
    untried = {method.__name__: said for method, said in made.items() if method not in METHODS}
    assert untried.keys() == {"FoundBins"}
    assert all(isinstance(said, str) and said.endswith(".") for said in untried.values())
    assert len(METHODS) > 110


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_a_method_is_within_the_target_it_was_made_for_and_uses_half_of_it(method: type[Any]) -> None:
    for target in TARGETS:
        if not is_for(method, target):
            with pytest.raises((NoGuarantee, InvalidParameter)):
                made(method, target)
            continue
        found = made(method, target)
        assert found.loss(1) <= target
        # Many small epsilons have less rho together than their sum: where both are stated, some of either is left.
        assert states_rho(target) or not found.loss(2) <= target
    # Neither an epsilon nor a rho promises the curve of Gaussian noise.
    with pytest.raises((NoGuarantee, InvalidParameter)):
        made(method, GaussianDP(1))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_a_method_is_within_a_loss_of_very_long_fractions(method: type[Any]) -> None:
    """Sums of fractions of more than 2048 bits are rounded up, so that shares of the whole may be more than it."""
    target = PureDP(Fraction(3**950 + 1, 2**1507 + 7**530))
    if is_for(method, target):
        found = made(method, target)
        assert found.loss(1) <= target
        assert not found.loss(2) <= target


@pytest.mark.parametrize("method", SPENDERS, ids=lambda method: method.__name__)
def test_a_rho_beside_the_epsilon_of_a_budget_is_kept_while_it_is_spent(method: type[Any]) -> None:
    budget, example = PureDP(3, rho="1/100"), next(iter(registered()[method.name].examples()))
    spender = replace(made(method, PureDP(3)), **{SPENDERS[method]: budget})
    assert perform(spender, example.data, stability=1) is not None
