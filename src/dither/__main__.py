"""``python -m dither``: the command, where its script is not on the path."""

from dither.cli import command

if __name__ == "__main__":
    command()
