"""Values and sets: which of very many values are frequent, and how many people hold each item.

Belongs here: laws by which a word of a huge domain, or a set, becomes one report, and the search for what is frequent.
Does not belong here: their client halves (``local.clients``), frequencies of answers that can be listed.
"""

from dither.local.hitters.prefixes import Found, PrefixHashing
from dither.local.hitters.sets import PaddedSet

__all__ = ["Found", "PaddedSet", "PrefixHashing"]
