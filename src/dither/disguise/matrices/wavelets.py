"""Wavelet distortion: transform the matrix, shrink its details, transform it back.

Settled where the source (Liu, section 3.2) leaves it open. The transform is periodic, of the whole
matrix or of each row by itself; a side of odd length repeats its last line, and the inverse drops that line. Levels, if
none are given: the logarithm to base 2 of the smaller transformed side, rounded up. Details are shrunk by a soft
threshold, a share of the largest *absolute* detail of its scope (the source takes the signed maximum, which may be
negative). "Daub-4" is the basis of four taps, ``db2``. Cost: linear in the size of the matrix. The transform is public
and nothing is drawn, so whoever guesses basis and share repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from dither.disguise.labels import KENTUCKY
from dither.disguise.matrices.contract import MatrixDisguise
from dither.disguise.matrices.measures import Matrix
from dither.errors import InvalidParameter, MissingExtra

#: What the largest detail is taken over: one row of one band, one band of one level, the bands of a level, everything.
Scope = Literal["row", "band", "level", "all"]
#: Transform the matrix in both directions, or every row by itself.
Along = Literal["both", "rows"]
#: Blocks of the matrix by columns (the same people, other attributes) or by rows (other people).
Split = Literal["columns", "rows"]
_SCOPES: Final = get_args(Scope)
_SPLITS: Final = get_args(Split)
_AXES: Final[dict[str, tuple[int, ...]]] = {"both": (0, 1), "rows": (1,)}


@dataclass(frozen=True)
class Wavelets(MatrixDisguise):
    """Soft thresholding in one wavelet basis, or in one for each block of the matrix.

    Args:
        share: the threshold as a share of the largest absolute detail, from 0 to 1.
        bases: names that PyWavelets knows; the matrix is cut into as many blocks.
        split: along what the blocks are cut.
        scope: what the largest detail is taken over.
        along: what is transformed; rows by themselves do not mix people.
        levels: how often the coarse part is transformed again; as often as it can be if None.

    """

    share: float = 0.5
    bases: tuple[str, ...] = ("haar",)
    split: Split = "columns"
    scope: Scope = "level"
    along: Along = "both"
    levels: int | None = None

    name: ClassVar[str] = "wavelet distortion"
    source: ClassVar[str] = f"{KENTUCKY}, section 3.2"
    attacks: ClassVar[tuple[str, ...]] = ("angles", "one-record")

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InvalidParameter("share", self.share, "from 0 to 1")
        given: object = self.bases
        if isinstance(given, str) or not self.bases:
            raise InvalidParameter("bases", self.bases, "a sequence of one or more names")
        object.__setattr__(self, "bases", tuple(self.bases))
        if self.split not in _SPLITS:
            raise InvalidParameter("split", self.split, f"one of {', '.join(_SPLITS)}")
        if self.scope not in _SCOPES:
            raise InvalidParameter("scope", self.scope, f"one of {', '.join(_SCOPES)}")
        if self.along not in _AXES:
            raise InvalidParameter("along", self.along, f"one of {', '.join(_AXES)}")
        if self.scope == "row" and self.along != "rows":
            raise InvalidParameter("scope", self.scope, "another where people are mixed, or along rows")
        if self.levels is not None and self.levels < 1:
            raise InvalidParameter("levels", self.levels, "at least 1")

    def distort(self, matrix: Matrix) -> tuple[Matrix, tuple[str, ...]]:
        """Return the matrix with shrunken details."""
        wavelets = _library()
        for basis in self.bases:
            if basis not in wavelets.wavelist(kind="discrete"):
                raise InvalidParameter("bases", basis, "a discrete wavelet that PyWavelets knows, such as haar or db2")
        axis = 1 if self.split == "columns" else 0
        if len(self.bases) > matrix.shape[axis]:
            raise InvalidParameter("bases", len(self.bases), f"at most {matrix.shape[axis]}, one for each block")
        blocks = np.array_split(matrix, len(self.bases), axis=axis)
        made = [self._shrunk(wavelets, block, basis) for block, basis in zip(blocks, self.bases, strict=True)]
        over = "of the largest" if self.scope == "all" else f"of the largest in each {self.scope}"
        done = f"Details below {self.share:.0%} {over} are dropped, the others shrunk by that."
        cut = f"Blocks by {self.split}: " if len(self.bases) > 1 else "Basis: "
        return np.concatenate(made, axis=axis), (done, cut + ", ".join(self.bases) + ".")

    def _shrunk(self, wavelets: Any, block: Matrix, basis: str) -> Matrix:
        axes = _AXES[self.along]
        deepest = int(np.ceil(np.log2(min(block.shape[axis] for axis in axes))))
        if not deepest:
            raise InvalidParameter("values", block.shape, "blocks with two or more lines along what is transformed")
        coarse, levels = block, []
        for _ in range(deepest if self.levels is None else min(self.levels, deepest)):
            shape = coarse.shape
            bands = wavelets.dwtn(coarse, basis, mode="periodization", axes=axes)
            coarse = bands.pop("a" * len(axes))
            levels.append((bands, shape))
        most = max((float(np.abs(band).max()) for bands, _ in levels for band in bands.values()), default=0.0)
        for bands, shape in reversed(levels):
            small = {name: self._softened(band, bands, most) for name, band in bands.items()}
            whole = {**small, "a" * len(axes): coarse}
            made = wavelets.idwtn(whole, basis, mode="periodization", axes=axes)
            coarse = made[: shape[0], : shape[1]]
        return np.asarray(coarse, dtype=np.float64)

    def _softened(self, band: Matrix, bands: dict[str, Matrix], most: float) -> Matrix:
        """Return the details of a band, all nearer to zero by the threshold, and those below it zero."""
        top: Matrix | float = most
        if self.scope == "level":
            top = max(float(np.abs(one).max()) for one in bands.values())
        elif self.scope == "band":
            top = float(np.abs(band).max())
        elif self.scope == "row":
            top = np.abs(band).max(axis=1, keepdims=True)
        return np.asarray(np.sign(band) * np.maximum(np.abs(band) - self.share * top, 0.0))


def _library() -> Any:
    try:
        import pywt
    except ImportError:
        raise MissingExtra("wavelet distortion", "disguise") from None
    return pywt
