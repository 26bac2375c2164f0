"""Receipts that outsiders can check: entries of the ledger as leaves of a tree whose head is signed.

Belongs here: the tree, checkpoints, receipts and what verifies them without a folder or a server. Does not belong here:
what is debited, and when, which is the ledger's.
"""

from __future__ import annotations

from dither.curator.receipts.checkpoint import Checkpoint, PublicKey, read_checkpoint
from dither.curator.receipts.cosigning import WitnessKey, cosigned, cosigned_at
from dither.curator.receipts.keyring import begin_anew, take_key
from dither.curator.receipts.log import FOLDER, Log
from dither.curator.receipts.receipt import (
    Stated,
    Verified,
    is_statement,
    read_receipt,
    receipt_text,
    verify_receipt,
    verify_statement,
)
from dither.curator.receipts.succession import successor

__all__ = [
    "FOLDER",
    "Checkpoint",
    "Log",
    "PublicKey",
    "Stated",
    "Verified",
    "WitnessKey",
    "begin_anew",
    "cosigned",
    "cosigned_at",
    "is_statement",
    "read_checkpoint",
    "read_receipt",
    "receipt_text",
    "successor",
    "take_key",
    "verify_receipt",
    "verify_statement",
]
