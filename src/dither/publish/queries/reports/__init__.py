"""Reports: one answer made of several private releases, and of public tables, by post-processing alone.

``views`` is the closed tree of what is done with released tables, ``evaluation`` computes it in plain Python,
``measures`` has its aggregates and windows, ``totals`` makes the totals of grouping sets agree; ``report`` is the
record that holds the private queries and the view, ``mechanism`` prices and releases it, ``presenting`` makes its table
and ``quoting`` says its price. Only ``mechanism`` reaches private rows; all else sees released numbers.
"""
