"""The mechanism interface and what all mechanisms share; the algorithms themselves live elsewhere.

A ``Mechanism`` and its plan (``mechanism``), the runner that walks it, the spec on the wire, registration, the
library's door (``release``), what private values may be (``values``, ``grid``), what a loss buys (``purse``), and the
parts that several primitives have in common. It imports no algorithm.
"""
