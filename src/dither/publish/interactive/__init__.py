"""Conversations: any number of counting questions about one table, for one price.

Belongs here: models that are measured first, their corrections while questions come, what is known of each answer, and
how a WHERE becomes a set of cells. Does not belong here: what keeps a conversation alive (``curator.conversations``).
"""

from dither.publish.interactive.construction import Answer, Conversation, IterativeConstruction, ModelFirst
from dither.publish.interactive.lifted_conversation import LiftedConversation

__all__ = ["Answer", "Conversation", "IterativeConstruction", "LiftedConversation", "ModelFirst"]
