"""Synthetic tables: models of private records, made of noisy marginals, from which new records are drawn.

Belongs here: methods that select, measure and generate, the models that they release, and from declared columns to
codes and back. Does not belong here: estimates from released numbers, which are in ``dither.estimate``. A method sees
its records through their marginals only, and pays for each one that it looks at.
"""

from dither.publish.synthetic.models import Model
from dither.publish.synthetic.records import CodedRecords, Records, records_of

__all__ = ["CodedRecords", "Model", "Records", "records_of"]
