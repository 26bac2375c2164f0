"""``python -m tools.faults``: kill the clients of a ledger, again and again, and count what goes wrong."""

from __future__ import annotations

from tools.faults.ledger import main

if __name__ == "__main__":
    main()
