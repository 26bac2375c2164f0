"""``dither demo``: the main job on generated data, with a report."""

from dither.cli.demo.run import run

__all__ = ["run"]
