"""What people look at: one HTML page and one way to draw, for every report, the console and notebooks.

Belongs here: markup, the style sheet, tables, charts in SVG. Texts come in and text goes out: everything that is not
``Markup`` is escaped, and a page loads nothing from outside and runs no script. Does not belong here: what a report
says, and anything about privacy; a caller that draws private figures says so on its page.
"""
