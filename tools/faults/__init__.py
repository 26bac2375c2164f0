"""Faults injected into the curator's ledger: processes that are killed at every step, and the state they leave."""
