"""Streams: models that are updated as rows arrive.

Belongs here: learners in conversation, which are fed batches and answer each with a model. A row lies in one batch; the
number of batches is public and paid for in advance.
"""

from dither.learn.streams.incremental import IncrementalRegression, RunningRegression

__all__ = ["IncrementalRegression", "RunningRegression"]
