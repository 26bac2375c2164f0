"""Local reports: each person randomises one answer at home, and no one has to be trusted.

Belongs here: the laws by which an answer becomes a report, the document that a survey publishes, the client half that
reads one answer and writes one report, and the server half that reads reports and writes estimates with intervals.
Does not belong here: the book in which a device counts what it has spent (``curator.device``), how reports travel
(``service``), a coordinator of several holders (``federate``). Nothing here imports ``curator``.

How it fits together, and what a further randomiser brings:

- ``document.Document``: question, domain, randomiser and its parameters, as small versioned JSON. Its digest is in
  every report; a report of another digest is dropped. A kind of domain registers in ``domains.DOMAINS``.
- ``clients.half.Half``: the client half of a randomiser, with the standard library and ``noise.client_words`` alone. It
  has ``cells`` values, a payload of ``widths`` bits, the worst ``ratio`` of the probabilities of a report, ``draw``.
  It is listed in ``clients.client.HALVES``. The order in which it reads words is fixed by a document's version.
- ``randomiser.Randomiser``: the registered primitive of the same law, in blocks, in the metric ``DIFFERENT``; its loss
  is the logarithm of the half's ratio, rounded up. It is listed in ``randomiser.RANDOMISERS``.
- ``frequencies.oracle.Oracle``: a randomiser from whose reports the share of each value is estimated; the server of
  another quantity has a base class beside it.
- What depends on the answer is drawn by whole weights, each at least 1, with a power of two as their sum, at most 2^32;
  ``weights`` finds the largest whose loss is within a target. All else is uniform, by rejection.

What a book counts is the unit ``ANSWER``: one answer replaced by any other. Importing the client half loads no NumPy.
"""
