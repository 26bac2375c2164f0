"""Workbooks as Excel writes them, part by part, so that no library decides what is in a file of a test."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TO = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
#: The style of days and moments.
_STYLES = f'<styleSheet xmlns="{_MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>'


class Day(float):
    """The number of a day or a moment, shown as such."""


def rows_of(rows: Sequence[Sequence[Any]]) -> str:
    """Return rows of cells as XML; None is no cell, and a text that begins with < is a cell's content as it is."""
    return "".join(
        f'<row r="{place}">' + "".join(_cell(f"{chr(65 + at)}{place}", cell) for at, cell in enumerate(row)) + "</row>"
        for place, row in enumerate(rows, 1)
    )


def write_workbook(path: Path, sheets: Mapping[str, str], behind: str = "") -> None:
    """Write a workbook.

    Args:
        path: a new file.
        sheets: the rows of each sheet, as XML.
        behind: what follows the rows of every sheet.

    """
    numbers = list(enumerate(sheets, 1))
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in numbers)
    linked = "".join(
        f'<Relationship Id="r{n}" Type="{_TO}/worksheet" Target="worksheets/s{n}.xml"/>' for n, _ in numbers
    )
    whole = f'<Relationship Id="b" Type="{_TO}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{whole}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_TO}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{linked}'
        f'<Relationship Id="s" Type="{_TO}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
    }
    for number, name in numbers:
        body = f"<sheetData>{sheets[name]}</sheetData>{behind}"
        parts[f"xl/worksheets/s{number}.xml"] = f'<worksheet xmlns="{_MAIN}">{body}</worksheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in parts.items():
            archive.writestr(part, text)


def _cell(at: str, cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        text = cell if cell.startswith("<") else f"<is><t>{cell}</t></is>"
        return f'<c r="{at}"{"" if cell.startswith("<f") else " t=" + chr(34) + "inlineStr" + chr(34)}>{text}</c>'
    if isinstance(cell, bool):
        return f'<c r="{at}" t="b"><v>{int(cell)}</v></c>'
    return f'<c r="{at}"{" s=" + chr(34) + "1" + chr(34) if isinstance(cell, Day) else ""}><v>{cell}</v></c>'
