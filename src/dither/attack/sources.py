"""Works that several attacks were taken from."""

from __future__ import annotations

from typing import Final

BOOK: Final = "Differential Privacy and Applications (Zhu et al. 2017)"
KENTUCKY: Final = "Liu, doctoral thesis, University of Kentucky (2015)"
ADELAIDE: Final = "Lu, Differentially Private Data Analytics, doctoral thesis, University of Adelaide (2021)"
KAR: Final = "A study on privacy preserving data publishing with differential privacy (Kar 2017)"
