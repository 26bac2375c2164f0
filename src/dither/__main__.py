"""``python -m dither``: the command, where its script is not on the path."""

from dither.cli import main

main()
