"""Times dp-accounting on the tasks of the accountants' benchmark; run by the rivals' interpreter, never imported."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant


def measured(ask: Callable[[], float]) -> dict[str, float]:
    """Return the least processor time of three runs after a first one, and the answer."""
    best, answer = float("inf"), 0.0
    for run in range(4):
        start = time.process_time()
        answer = float(ask())
        seconds = time.process_time() - start
        best = min(best, seconds) if run else best
    return {"seconds": best, "epsilon": answer}


def training(sigma: float, delta: float) -> float:
    """Return epsilon of 10,000 steps of sampled Gaussian noise."""
    step = privacy_loss_distribution.from_gaussian_mechanism(sigma, sampling_prob=0.01)
    return float(step.self_compose(10_000).get_epsilon_for_delta(delta))


def different(delta: float) -> float:
    """Return epsilon of 200 different Laplace mechanisms."""
    total = privacy_loss_distribution.from_laplace_mechanism(1990 / 398)
    for n in range(1, 200):
        total = total.compose(privacy_loss_distribution.from_laplace_mechanism((1990 + 30 * n) / 398))
    return float(total.get_epsilon_for_delta(delta))


def renyi(delta: float) -> float:
    """Return epsilon of the training by Renyi divergences."""
    accountant = rdp_privacy_accountant.RdpAccountant()
    step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1))
    accountant.compose(dp_accounting.SelfComposedDpEvent(step, 10_000))
    return float(accountant.get_epsilon(delta))


def main() -> None:
    """Print one JSON record: task to seconds and epsilon."""
    delta = float(sys.argv[1])
    figures = {
        f"10,000 sampled Gaussian steps, noise {sigma}": measured(partial(training, sigma, delta)) for sigma in (1, 4)
    }
    figures["200 different Laplace"] = measured(lambda: different(delta))
    figures["10,000 sampled Gaussian steps, noise 1, Renyi"] = measured(lambda: renyi(delta))
    sys.stdout.write(json.dumps(figures) + "\n")


main()
