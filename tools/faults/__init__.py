"""Faults put into the curator's ledger on purpose: processes that are killed at every step, and what is left then."""
