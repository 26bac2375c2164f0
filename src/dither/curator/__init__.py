"""The door: whoever wants an answer from private data comes through here, and pays first.

Belongs here: the ledger that budgets are debited to, the catalogue of data sets, the session that prices a request,
reserves its loss, runs it and stores the answer, and the quotes, receipts and release cards that come of it. Does not
belong here: privacy mathematics, mechanisms, noise, engines and queries, which lie below, and the words of a command
line or of HTTP, which lie above.
"""
