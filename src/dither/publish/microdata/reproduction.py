"""The thesis's own measures of PrivFuzzy, for reproduction only: none of them measures privacy or utility.

They are kept so that its tables can be computed again, each with what is wrong with it. Judge a release by its loss, by
attacks on it, and by how well it answers questions about real data that was held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.publish.microdata.merged import MergedAttributes

#: Table 3.3: attributes before and after merging, and the ratio of file sizes, as printed. One of the files grows.
PRINTED_SIZES: Final = {
    "Adult": (15, 4, 0.25),
    "NLTCS": (16, 4, 0.17),
    "SIFT10M": (128, 19, 1.49),
    "Connect-4": (42, 8, 0.17),
}
#: Table 3.4: the prediction error on original data, with a merged response, and on synthetic data, as printed.
PRINTED_ERRORS: Final = {
    "Adult": (0.21, 0.1827, 0.82),
    "NLTCS": (0.16, 0.14, 0.78),
    "SIFT10M": (0.27, 0.25, 0.76),
    "Connect-4": (0.12, 0.09, 0.85),
}


@dataclass(frozen=True)
class Reproduction:
    """A figure as computed in the thesis, and why it says nothing about privacy or utility."""

    figure: str
    value: float
    caution: str

    def __str__(self) -> str:
        return f"reproduction only: {self.figure} is {self.value:.4g}; {self.caution}"


def file_size_ratio(merged: MergedAttributes, rows: NDArray[np.int64]) -> Reproduction:
    """Return the size of rows written as merged texts, divided by their size written column by column.

    >>> from dither.lift.attributes import Attributes
    >>> table = MergedAttributes(Attributes.of({"a": 2, "b": 3}), (("a", "b"),))
    >>> print(file_size_ratio(table, np.array([[0, 1], [1, 2]])))  # doctest: +ELLIPSIS
    reproduction only: the ratio of file sizes is 1.25; file size is not utility: ...

    """
    before = sum(len(",".join(map(str, row))) + 1 for row in rows.tolist())
    after = sum(len(",".join(texts)) + 1 for texts in merged.texts(merged.merge(rows)))
    caution = "file size is not utility: merging is another spelling of the same table, without loss"
    return Reproduction("the ratio of file sizes", after / max(before, 1), caution)


def misclassification(predicted: Any, truth: Any) -> Reproduction:
    """Return how often predictions are wrong.

    >>> print(misclassification([0, 0, 0, 1], [1, 1, 1, 1]))  # doctest: +ELLIPSIS
    reproduction only: the rate of misclassification is 0.75; misclassification is not privacy: ...

    """
    guessed, known = np.asarray(predicted), np.asarray(truth)
    if guessed.shape != known.shape or not known.size:
        raise InvalidParameter("predicted", f"an array of shape {guessed.shape}", f"of shape {known.shape}, not empty")
    caution = (
        "misclassification is not privacy: it measures what analysts lose, and with two classes a rate above 1/2 "
        "becomes a good prediction once it is inverted"
    )
    return Reproduction("the rate of misclassification", float((guessed != known).mean()), caution)
