"""Sums so far from jax-privacy's factors; run by the rivals' interpreter, never imported by dither.

Argument: numbers of ticks with commas between. The last line is a record: for each number of ticks the largest standard
error at rho 1/2 of the square-root factor and of the optimised buffers, how many these are, and the seconds they took.
"""

import json
import math
import sys
import time

import jax

jax.config.update("jax_enable_x64", True)

from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz  # noqa: E402


def errors(ticks: int) -> dict[str, float]:
    """Return the largest standard errors over a stream of that length."""
    strategy, noising = (
        toeplitz.optimal_max_error_strategy_coefs(ticks),
        toeplitz.optimal_max_error_noising_coefs(ticks),
    )
    largest = float(toeplitz.per_query_error(noising_coef=noising)[-1])
    square = float(toeplitz.sensitivity_squared(strategy)) * largest
    start = time.process_time()
    made = buffered_toeplitz.optimize(n=ticks)
    seconds = time.process_time() - start
    buffers = float(buffered_toeplitz.max_loss(made, ticks))
    return {
        "root": math.sqrt(square),
        "buffers": math.sqrt(buffers),
        "number": len(made.buf_decay),
        "seconds": seconds,
    }


def main() -> None:
    """Print one JSON record."""
    lengths = [int(one) for one in sys.argv[1].split(",")]
    sys.stdout.write(json.dumps({ticks: errors(ticks) for ticks in lengths}) + "\n")


if __name__ == "__main__":
    main()
