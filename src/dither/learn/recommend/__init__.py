"""Recommenders: models of items that are learned from the ratings of people.

Belongs here: mechanisms that release a model of items, of whose training one person is the unit, and what such a model
says to one person. Does not belong here: how ratings are declared and read (``data``, ``lift``), sets of items bought
together (``learn.itemsets``).
"""

from dither.learn.recommend.item_covariance import ItemCovariance, ItemCovarianceModel
from dither.learn.recommend.item_means import ItemMeans, ItemMeansModel
from dither.learn.recommend.personal import ItemModel, Personal

__all__ = ["ItemCovariance", "ItemCovarianceModel", "ItemMeans", "ItemMeansModel", "ItemModel", "Personal"]
