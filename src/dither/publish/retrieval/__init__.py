"""Retrieval: inner products of two vectors, of which neither side shows its own.

Belongs here: vectors that are released with noise to be multiplied with another's, as they are or as few wavelet
coefficients, and what is known of the product. A server pays once for its vector, a client for each of its own. Does
not belong here: tables of counts that are read by themselves (``publish.histograms``).
"""

from dither.publish.retrieval.products import Product, inner_product, product_variance
from dither.publish.retrieval.sent import SentVector
from dither.publish.retrieval.shared_vector import SharedVector

__all__ = ["Product", "SentVector", "SharedVector", "inner_product", "product_variance"]
