"""The one style sheet: light and dark as the reader prefers, narrow screens, paper.

Colours are variables. A chart names them through classes and has the light colours as attributes besides, so that a
program that knows no style sheets still draws it.
"""

from __future__ import annotations

from typing import Final

#: The colours of what is drawn, light and dark: series first, then what frames them.
COLOURS: Final = {
    "s1": ("#3b72a8", "#7fb2e5"),
    "s2": ("#e07b1a", "#f5a45c"),
    "s3": ("#3f8f5b", "#74c791"),
    "s4": ("#a3479a", "#d892d0"),
    "s5": ("#8a6d1f", "#d1b45c"),
    "s6": ("#5f6771", "#a9b1bb"),
    "ink": ("#1d2126", "#e6e8eb"),
    "soft": ("#59616b", "#a4acb6"),
    "line": ("#dfe2e6", "#343a42"),
    "axis": ("#8b939d", "#7b838d"),
    "ground": ("#ffffff", "#15181c"),
    "panel": ("#f5f6f8", "#1e2227"),
    "alarm": ("#b3261e", "#f2837a"),
    "pale": ("#fdecea", "#43211f"),
    "event": ("#fbe7a8", "#4d4322"),
    "cold": ("#a34a00", "#f2a765"),
    "warm": ("#1f5f9e", "#79b4ec"),
}
#: How many series have a colour of their own.
SERIES: Final = 6


def _variables(place: int) -> str:
    return " ".join(f"--dither-{name}: {both[place]};" for name, both in COLOURS.items())


#: What a chart needs where it stands alone. Programs that draw SVG without knowing variables pass over rules within
#: ``@media``, and keep the colours of the attributes.
CHART_STYLE: Final = (
    "@media all {\n"
    f":root {{ color-scheme: light dark; {_variables(0)} }}\n"
    + "".join(
        f".dither-chart .f-{name} {{ fill: var(--dither-{name}); }} "
        f".dither-chart .l-{name} {{ stroke: var(--dither-{name}); }}\n"
        for name in COLOURS
    )
    + ".dither-chart text { font-variant-numeric: tabular-nums; }\n"
    ".dither-chart { max-width: 100%; height: auto; }\n}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} }} }}\n"
)
PAGE_STYLE: Final = (
    CHART_STYLE
    + """
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 68rem; margin: 2.5rem auto; padding: 0 1.2rem;
  color: var(--dither-ink); background: var(--dither-ground); }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .6rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid var(--dither-line); }
h1, h2, p, li, summary, figcaption, code { overflow-wrap: break-word; }
p, ul { max-width: 46rem; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .92rem; }
td, th { border-bottom: 1px solid var(--dither-line); padding: .32rem .8rem; text-align: left; vertical-align: top; }
td:first-child, th:first-child { padding-left: .3rem; }
th { font-weight: 600; vertical-align: bottom; }
th, thead tr:last-child td { border-bottom-color: var(--dither-axis); }
tbody tr:hover td { background: var(--dither-panel); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
th.group { text-align: center; border-bottom: 1px solid var(--dither-line); }
tr.bad td, tr.bad:hover td { background: var(--dither-pale); }
small, .note, figcaption { color: var(--dither-soft); font-size: .88rem; }
.alarm { color: #fff; background: #b3261e; padding: .8rem 1rem; border-radius: .35rem; font-weight: 600;
  print-color-adjust: exact; }
pre { background: var(--dither-panel); padding: .9rem 1rem; border-radius: .35rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font-size: .88rem; }
code { font-size: .92em; }
a { color: var(--dither-s1); }
details { margin: .5rem 0 1.2rem; } summary { cursor: pointer; }
.figures { display: flex; flex-wrap: wrap; gap: 1.6rem 2rem; align-items: flex-start; }
figure { margin: 1rem 0; max-width: 100%; } .figures figure { margin: 0; }
figcaption { max-width: 46rem; margin-top: .3rem; }
h1 wbr { display: none; }
@media screen and (max-width: 40rem) {
  h1 { font-size: 1.4rem; } h1 wbr { display: inline; } td, th { padding: .3rem .5rem; }
}
@media print {
  body { max-width: none; margin: 0; font-size: 11pt; }
  table, pre { font-size: 9pt; } td, th { padding: .2rem .3rem; }
  h2 { break-after: avoid; } tr, figure, .alarm { break-inside: avoid; } .scroll { overflow: visible; }
}
"""
)
