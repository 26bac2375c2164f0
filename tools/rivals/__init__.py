"""Other libraries of the field, each in an environment of its own, and never part of the product.

Scripts that are named after a library are run by that library's interpreter and never imported.
"""
