"""The compared methods: one module for each kind of release, with its methods, queries and data.

Belongs here: which methods there are, how an instance is made for a trial, how its error is measured, and where the
data comes from. Does not belong here: running, resuming and ranking trials (``comparison``), speed.
"""
