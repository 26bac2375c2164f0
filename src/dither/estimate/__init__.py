"""Post-processing: estimates computed from released numbers, and their errors.

Belongs here: consistency, least squares, projections and other estimates, and the laws of the noise that was added.
Does not belong here: raw data, noise, losses. Nothing here sees a private value, so nothing here costs any privacy.
"""
