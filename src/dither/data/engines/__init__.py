"""Engines: where rows live, and how a request becomes a few exact integers.

An engine prints relations and expressions in its own SQL, with forms that cannot raise, and returns Python integers.
``connect`` opens the engine that a data set names. Nothing an engine returns is public: it goes to a mechanism.
"""

from dither.data.engines.protocol import Engine, connect, release_of

__all__ = ["Engine", "connect", "release_of"]
