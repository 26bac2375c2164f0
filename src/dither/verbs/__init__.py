"""The verbs: each is declared once as a function from public arguments to an ``Offer``.

Belongs here: groups of verbs by what they are about, and the arguments that they share. A declaration costs nothing to
import; a room that plans is imported when a verb is called. Does not belong here: planning, presenting and mechanisms,
which are in the rooms that publish and learn; and doors: session, command, HTTP, client and forms are derived.
"""
