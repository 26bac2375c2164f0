"""Streams: models that follow rows as they come.

Belongs here: learners in conversation, which are fed batches and answer each with a model. A row lies in one batch; the
number of batches is public and paid for beforehand.
"""

from dither.learn.streams.incremental import IncrementalRegression, RunningRegression

__all__ = ["IncrementalRegression", "RunningRegression"]
