"""What a curator publishes from private tables.

Belongs here: mechanisms whose input is data of a declared kind and whose output is a table, a histogram, a set of
answers, synthetic rows. Does not belong here: models (``learn``), reports that people randomise at home (``local``),
budgets and sessions (``curator``).
"""
