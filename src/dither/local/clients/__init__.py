"""Client halves: one answer in, one report out, with the standard library and ``noise.client_words`` alone.

Belongs here: ``Client``, and for each randomiser the half that draws its payloads. Does not belong here: whether a
device may report at all and what it has spent (``curator.device``); estimates (``local.server``).
"""

from dither.local.clients.client import (
    HALVES,
    Client,
    draw_report,
    half_of,
    octets_of,
    packed,
    scripted,
)
from dither.local.clients.half import Half

__all__ = ["HALVES", "Client", "Half", "draw_report", "half_of", "octets_of", "packed", "scripted"]
