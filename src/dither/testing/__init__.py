"""Scripted and seeded entropy, exact enumeration, recorders and hostile data: for tests and experiments only.

Belongs here: what makes noise predictable or remembers private values. Nothing here may be imported by a mechanism,
a session or a service; a service refuses to start with entropy from here.
"""

from dither.testing.entropy import ScriptedEntropy, ScriptExhausted, SeededEntropy
from dither.testing.enumeration import Enumeration, enumerate_outcomes
from dither.testing.replay import RecordingRunner, Violation, record, replay

__all__ = [
    "Enumeration",
    "RecordingRunner",
    "ScriptExhausted",
    "ScriptedEntropy",
    "SeededEntropy",
    "Violation",
    "enumerate_outcomes",
    "record",
    "replay",
]
