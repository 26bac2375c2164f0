"""Rows that are not independent people: groups that change together, and notions of privacy made for correlated rows.

Belongs here: what is priced for several rows at once, and notions that protect less or other things than one record,
each with its own unit and name. Does not belong here: mechanisms for one row or one person, which are everywhere else.
"""

from dither.publish.correlated.groups import Grouped, for_one
from dither.publish.correlated.personal_plans import plan_personal_queries
from dither.publish.correlated.policy_plans import plan_policy_histogram, plan_policy_queries

__all__ = ["Grouped", "for_one", "plan_personal_queries", "plan_policy_histogram", "plan_policy_queries"]
