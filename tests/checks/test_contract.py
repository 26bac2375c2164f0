"""Every registered mechanism keeps the contract, on two of its examples; an audit tries all of them, in full."""

from __future__ import annotations

import pytest

from dither.checks import checks
from dither.mechanisms import find, registered

#: The first example of a class, and the last, which is most unlike it.
TRIED = 2


# Three confidences an example, 1e-10 each; and 1e-10 for the laws of all that is enlarged.
@pytest.mark.statistical(
    n=8000,
    false_alarm=TRIED * 4e-10,
    catches="intervals that cover less often than they say, a rate twice as large as stated",
)
@pytest.mark.parametrize("name", sorted(registered()))
def test_contract(name: str) -> None:
    """One test for each class: to know how many examples there are, they must be built, and that is not collecting."""
    examples = len(list(find(name).examples()))
    numbers = set()
    for title, check in checks(name, most=TRIED):
        numbers.add(int(title.removeprefix(f"{name}-").partition("-")[0]))
        try:
            check()
        except Exception as failure:
            failure.add_note(f"in {title}")
            raise
    assert numbers == {0, examples - 1}
