"""Streams that outlive a process: a query is paid for once, and answered tick by tick, for as long as it runs.

Belongs here: the book in which a stream keeps what it has counted and released, the order in which things become
durable, and what a caller holds. Does not belong here: what is measured, and how it is noised (``publish.streams``).
"""
