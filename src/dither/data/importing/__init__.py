"""Importing: an owner's file is read once, strictly, and becomes Parquet of declared types before the first query.

What a row is must not be decided by a lenient parser while answering: one odd cell would then decide what becomes of
other people's rows. ``csv_grammar`` says what a CSV file is and takes a file whole or refuses it, ``raw_parquet`` hands
its texts over byte by byte, ``conversion`` makes cells of their declared kinds or NULL, and ``sources`` knows a file
again. What is refused here is refused to the owner, who is adding the file: messages name file, line and reason, and
never the content of a cell.
"""
