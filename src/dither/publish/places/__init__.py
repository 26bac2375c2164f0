"""Places out: one report of one device, maps and journeys of many people, crowds and paths.

Belongs here: what lets places out with a guarantee, and what is computed from such releases. Does not belong here: the
geometry of boxes and cells (``data.places``), counts on grids and trees (``publish.histograms``).
"""
