"""Ways over the ground, measured without the code that charges for them.

The shortest way over the ellipsoid by Vincenty's inverse formula (Direct and inverse solutions of geodesics
on the ellipsoid with application of nested equations, 1975), which is off by less than a millimetre. What is returned
is a little longer, so that no pair is said to be nearer than it is.
"""

from __future__ import annotations

import math
from typing import Final

#: WGS 84: the equatorial radius in metres, and the flattening.
_RADIUS: Final = 6_378_137.0
_FLATTENING: Final = 1 / 298.257223563
_ROUNDS: Final = 200
#: Beyond what the formula and its doubles are off, for ways of up to a thousand kilometres.
_RELATIVE, _ABSOLUTE = 2e-10, 2e-8

Place = tuple[float, float]


def ground_metres(here: Place, there: Place) -> float:
    """Return metres over the ellipsoid between two places in degrees of latitude and longitude, never too few.

    >>> round(ground_metres((0, 0), (0, 1)), 1), round(ground_metres((0, 0), (1, 0)), 1)
    (111319.5, 110574.4)

    """
    (north, east), (up, along) = here, there
    polar = _RADIUS * (1 - _FLATTENING)
    first, second = (math.atan((1 - _FLATTENING) * math.tan(math.radians(at))) for at in (north, up))
    apart = math.radians(along - east)
    (sin_1, cos_1), (sin_2, cos_2) = ((math.sin(at), math.cos(at)) for at in (first, second))
    # The difference of two sines loses digits for near places; that of the angles does not.
    turned = apart
    for _ in range(_ROUNDS):
        across = cos_2 * math.sin(turned)
        ahead = math.sin(second - first) + 2 * sin_1 * cos_2 * math.sin(turned / 2) ** 2
        sine = math.hypot(across, ahead)
        if sine == 0:
            return 0.0
        cosine = sin_1 * sin_2 + cos_1 * cos_2 * math.cos(turned)
        angle = math.atan2(sine, cosine)
        at_equator = cos_1 * cos_2 * math.sin(turned) / sine
        squared = 1 - at_equator**2
        middle = cosine - 2 * sin_1 * sin_2 / squared if squared > 1e-15 else 0.0
        c = _FLATTENING / 16 * squared * (4 + _FLATTENING * (4 - 3 * squared))
        before, turned = (
            turned,
            apart
            + (1 - c) * _FLATTENING * at_equator * (angle + c * sine * (middle + c * cosine * (2 * middle**2 - 1))),
        )
        if abs(turned - before) <= 1e-15 * max(abs(turned), 1e-9):
            break
    u = squared * (_RADIUS**2 - polar**2) / polar**2
    a = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
    b = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
    less = (
        b
        * sine
        * (middle + b / 4 * (cosine * (2 * middle**2 - 1) - b / 6 * middle * (4 * sine**2 - 3) * (4 * middle**2 - 3)))
    )
    return polar * a * (angle - less) * (1 + _RELATIVE) + _ABSOLUTE
