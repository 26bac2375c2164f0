"""Pages in a real browser: what they look like, and what is wrong with how they look.

``looking`` opens a page in Chromium and returns its faults, ``everything`` makes one page of every kind that the
product writes, ``screenshots`` takes the pictures of the documentation. ``python -m tools.browser`` looks at every page
in every way, and at the built site where there is one. A new room adds its pages to ``everything``.
"""
