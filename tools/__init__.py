"""For those who work on the project: proofs, catalogue, benchmarks, rivals, mutants, fault injection.

Belongs here: what a checkout needs and an installation does not. Nothing of it is in the wheel. Scripts are run by
their path (``python tools/proofs.py``), packages by their name from the checkout's folder (``python -m tools.bench``).
They may import any room; no room imports them.
"""
