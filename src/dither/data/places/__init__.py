"""Places: a plane in metres over a declared box, the public cells and regions of it.

Belongs here: what is public about where rows may lie (``box``; ``extent`` where no metres are needed), how latitude and
longitude become metres and how wrong those metres can be (``projection``), cells (``grid``), named areas (``regions``)
and the cells of each (``region_map``). Does not belong here: noise, prices, and anything that lets a value out.
"""

from dither.data.places.box import Box
from dither.data.places.extent import Extent
from dither.data.places.grid import CellGrid
from dither.data.places.projection import Projection
from dither.data.places.region_map import RegionMap, region_map
from dither.data.places.regions import Region, Regions, read_regions

__all__ = [
    "Box",
    "CellGrid",
    "Extent",
    "Projection",
    "Region",
    "RegionMap",
    "Regions",
    "read_regions",
    "region_map",
]
