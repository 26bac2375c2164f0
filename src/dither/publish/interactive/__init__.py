"""Conversations: any number of counting questions about one table, for one price.

Belongs here: models that are measured first, their corrections while questions come, what is known of each answer, and
how a WHERE becomes a set of cells. Does not belong here: what keeps a conversation alive (``curator.conversations``).
"""

from dither.publish.interactive.construction import Answer, Conversation
from dither.publish.interactive.cuts import CutConversation
from dither.publish.interactive.disjunctions import DisjunctionConversation
from dither.publish.interactive.distances import DistanceConversation
from dither.publish.interactive.iterative_construction import IterativeConstruction
from dither.publish.interactive.lifted_conversation import LiftedConversation
from dither.publish.interactive.lifted_questions import LiftedQuestions
from dither.publish.interactive.minimisers import MinimisingConversation
from dither.publish.interactive.model_first import ModelFirst
from dither.publish.interactive.product_first import ProductFirst
from dither.publish.interactive.published_model import PublishedModel
from dither.publish.interactive.query_model import QueryModel

__all__ = [
    "Answer",
    "Conversation",
    "CutConversation",
    "DisjunctionConversation",
    "DistanceConversation",
    "IterativeConstruction",
    "LiftedConversation",
    "LiftedQuestions",
    "MinimisingConversation",
    "ModelFirst",
    "ProductFirst",
    "PublishedModel",
    "QueryModel",
]
