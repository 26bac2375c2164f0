"""Every registered mechanism keeps the contract, on every example."""

from __future__ import annotations

import pytest

from dither.checks import checks
from dither.mechanisms import find, registered

#: No class has more examples: what is declared of chance below holds for all of them together.
MOST_EXAMPLES = 30


# Three confidences an example, 1e-10 each; and 1e-10 for the laws of all that is enlarged.
@pytest.mark.statistical(
    n=8000,
    false_alarm=MOST_EXAMPLES * 4e-10,
    catches="intervals that cover less often than they say, a rate twice as large as stated",
)
@pytest.mark.parametrize("name", sorted(registered()))
def test_contract(name: str) -> None:
    """One test for each class: to know how many examples there are, they must be built, and that is not collecting."""
    assert 0 < len(list(find(name).examples())) <= MOST_EXAMPLES
    for title, check in checks(name):
        try:
            check()
        except Exception as failure:
            failure.add_note(f"in {title}")
            raise
