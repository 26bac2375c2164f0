"""A first use, tried: a messy export registered by the wizard, and natural mistakes made with the real command.

``python -m tools.trial`` counts what is typed from the file to the first private table, in a pseudo-terminal, and makes
each mistake: it must be refused with its documented exit code, cost nothing, show no traceback, and name the next thing
to type. It prints a table and exits with 1 where something misses.
"""
