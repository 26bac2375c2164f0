"""Two owners of one table, WITHOUT a formal guarantee: each has some columns, and neither shows its rows to the other.

Belongs here: a protocol by which both learn whether their columns together are k-anonymous, and the table that is
released if they are. Both follow the protocol and may remember all that they see; what that is, the outcome lists.
"""

from dither.disguise.parties.agreement import Agreement, Message, Side, agree
from dither.disguise.parties.commutative import PRIME, CommutativeKey, square_of

__all__ = ["PRIME", "Agreement", "CommutativeKey", "Message", "Side", "agree", "square_of"]
