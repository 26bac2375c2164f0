"""Print for every composed mechanism, or for those named, what its small instance shows: claim, bound, share, seconds.

    python tools/shares.py                       all of them
    python tools/shares.py counted-sparse ...    some
    python tools/shares.py --seconds 2           with a quarter of the draws of ``make audit``

The same instances, draws, limits and false alarm as in ``make audit``, without replays.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import process_time

from dither.audit.accounts import SECONDS_COMPOSED, Account, account
from dither.audit.small import audited, ranked
from dither.mechanisms import Composed, Example, Interactive, registered

#: What is left of a millionth when the whole audit divides it among all instances, about.
_FALSE_ALARM = 2e-9


def shown(name: str, seconds: float) -> tuple[Account, float] | None:
    """Return what the small instance of an algorithm shows, and the seconds that took; None if there is none."""
    start = process_time()
    one = audited(name)[-1]
    if not isinstance(one, Example):
        return None
    found = account(name, 0, ranked(one), samples=1_000_000, false_alarm=_FALSE_ALARM, seconds=seconds)
    return found, process_time() - start


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS_COMPOSED, help="of a core for a pair in full")
    parser.add_argument("--processes", type=int, default=2, help="that work at the same time")
    parser.add_argument("names", nargs="*", help="of composed mechanisms; by default all")
    given = parser.parse_args()
    planned = [name for name, one in registered().items() if issubclass(one.mechanism, Composed | Interactive)]
    with ProcessPoolExecutor(given.processes) as pool:
        for found in pool.map(partial(shown, seconds=given.seconds), given.names or planned):
            if found is not None:
                one, seconds = found
                said = f"{one.name:34} {one.claim[:34]:34} {one.bound:34} {one.share or 0:6.3f} {seconds:6.1f}"
                print(f"{said}  {one.samples:>8,} {one.pair}, {one.event}", *one.complaints, flush=True)


if __name__ == "__main__":
    main()
