"""``make bench``: how fast and how accurate, beside which rival.

Belongs here: runners, metrics and tables of measurements that are made for the project's own pages. Comparisons that a
user runs are in ``dither.bench``. Machines are shared and noisy: every figure is printed as a ratio to something
measured in the same run, with the load of the machine.
"""
