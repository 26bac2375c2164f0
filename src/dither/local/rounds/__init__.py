"""Many rounds: reports of a response that a device stores, at a price that does not grow with the rounds.

Belongs here: laws with a permanent response that is drawn once and reports of it in every round, what many rounds lose
together (also where the value changes, and each round costs), and estimates for each round. Does not belong here: their
client halves (``local.clients.chains``), the book of a device (``curator.device``).
"""

from dither.local.rounds.chain import ChainOracle, RoundLosses
from dither.local.rounds.hashed import MemoisedHashing
from dither.local.rounds.kary import MemoisedKary
from dither.local.rounds.rappor import RapporResponse

__all__ = ["ChainOracle", "MemoisedHashing", "MemoisedKary", "RapporResponse", "RoundLosses"]
