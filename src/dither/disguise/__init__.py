"""Disguises, WITHOUT a formal guarantee: k-anonymity and its kin, what they leave to an attacker, what they cost.

Belongs here: makers of anonymous tables, distorted matrices and reweighted networks, checkers of such releases wherever
they were made, and measures of risk and lost information. Does not belong here: anything with a loss. Nothing of this
room is a mechanism, can be named in a plan, a request or a session, or is imported by ``curator``.
"""
