"""Networks: trained privately by noisy sums of gradients, or on public features.

Belongs here: what is learned by PyTorch or by networks of integers, the features made before learning, and what
trains a module of the user's own. Does not belong here: linear models (``learn.linear``). PyTorch is the extra
'deep'; it is imported when something here needs it, and nothing in this room imports it on the way in.
"""

from dither.learn.deep.noisy_gradients import NoisyGradients

__all__ = ["NoisyGradients"]
