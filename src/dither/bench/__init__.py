"""Comparisons for users: the accuracy of each method, beside others and beside trivial ones, at equal loss.

Belongs here: runners, metrics and tables of the verbs ``dither bench``. Rivals run in their own environments and are
never part of the product; they, and measurements for the project's own pages, are in ``tools`` of the checkout.
"""
