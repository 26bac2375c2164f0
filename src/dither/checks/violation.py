"""What a failed check raises."""

from __future__ import annotations


class ContractViolation(AssertionError):
    """A mechanism does not satisfy the contract that every registered one must."""


def require(condition: bool, complaint: str) -> None:
    """Raise ContractViolation with ``complaint`` unless ``condition`` holds."""
    if not condition:
        raise ContractViolation(complaint)
