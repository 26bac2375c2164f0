"""What a session can be asked for, a module for each kind of release, over one door to the rows.

Belongs here: reading the words of a request, pricing it, saying what its digest covers, and presenting what was
released. Does not belong here: how anything is released, which is in ``dither.publish`` and ``dither.learn``.
"""
