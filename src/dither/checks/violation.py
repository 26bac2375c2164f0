"""The exception of a failed check."""

from __future__ import annotations


class ContractViolation(AssertionError):
    """A mechanism violates the contract of registered mechanisms."""


def require(condition: bool, complaint: str) -> None:
    """Raise ContractViolation with ``complaint`` unless ``condition`` holds."""
    if not condition:
        raise ContractViolation(complaint)
