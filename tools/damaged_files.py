"""Ways in which a file of a table is damaged on its way, and what must then be said of it.

A damaged file is refused with a sentence, or it is read: then the target is what it was, and what
was done to the file is said.
"""

import csv
import io
import zipfile
from collections.abc import Callable
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np

Rows = list[list[str]]


class Damage(NamedTuple):
    """How a file is damaged.

    make: Gives its text or bytes; the first row is the header, and the last column the target.
    refused: What the sentence says if the file is refused; empty if it must be read.
    said: The kind of treatment that a file that is read must have; empty for none.
    encoding: None for that of the table.
    place: Where the target is in a file that was read.
    ending: Of its name.
    """

    make: Callable[[np.random.Generator, Rows, str, int], str | bytes]
    refused: str = ""
    said: str = ""
    encoding: str | None = None
    place: int = -1
    ending: str = ".csv"


def written(rows: Rows, mark: str, quoting: int) -> str:
    """Return rows as a file has them."""
    text = io.StringIO()
    csv.writer(text, delimiter=mark, quoting=quoting).writerows(rows)
    return text.getvalue()


def _with_trailing(_: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    header, *others = rows
    return written([header, *([*row, ""] for row in others)], mark, quoting)


def _with_name_twice(rng: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    cells = [f"{one:.3f}" for one in rng.normal(size=len(rows) - 1)]
    more = [rows[0][0], *cells]
    return written([[one, *row] for one, row in zip(more, rows, strict=True)], mark, quoting)


def _with_target_twice(_: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    return written([[*row, row[-1]] for row in rows], mark, quoting)


def _with_stray_cell(rng: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    place = int(rng.integers(1, len(rows)))
    wide = [*rows[:place], [*rows[place], "stray"], *rows[place + 1 :]]
    return written(wide, mark, quoting)


def _with_short_row(rng: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    place = int(rng.integers(1, len(rows)))
    return written([*rows[:place], rows[place][:-1], *rows[place + 1 :]], mark, quoting)


def _with_long_cell(rng: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    place = int(rng.integers(1, len(rows)))
    long = ["1" + " " * 60_000 + "x", *rows[place][1:]]
    return written([*rows[:place], long, *rows[place + 1 :]], mark, quoting)


def _with_comment(rng: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    place = int(rng.integers(1, len(rows) + 1))
    before, after = written(rows[:place], mark, quoting), written(rows[place:], mark, quoting)
    return f"{before}# a note\r\n{after}"


def _with_open_quote(_: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    header, first, *others = rows
    begin = written([header], mark, quoting)
    return f'{begin}"{mark.join(["open", *first[1:]])}\r\n{written(others, mark, quoting)}'


_XML = {
    "[Content_Types].xml": (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/xl/workbook.xml" ContentType="application/'
        'vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/'
        'vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Target="xl/workbook.xml" Type="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships/officeDocument"/></Relationships>'
    ),
    "xl/_rels/workbook.xml.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Target="worksheets/sheet1.xml" Type="http://schemas.'
        'openxmlformats.org/officeDocument/2006/relationships/worksheet"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r='
        '"http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<sheets><sheet name="t" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
}
_SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
_FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'


def _with_far_cell(_: np.random.Generator, rows: Rows, mark: str, quoting: int) -> bytes:
    """Return a workbook with one cell in its last corner; the same bytes every time."""
    del mark, quoting
    cells = [
        "".join(f'<c t="inlineStr"><is><t>{escape(_visible(one))}</t></is></c>' for one in row)
        for row in rows
    ]
    sheet = _SHEET + "".join(f"<row>{one}</row>" for one in cells) + _FAR
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (*_XML.items(), ("xl/worksheets/sheet1.xml", sheet)):
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def _visible(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return "".join(one for one in text if one >= " ")


def _unchanged(_: np.random.Generator, rows: Rows, mark: str, quoting: int) -> str:
    return written(rows, mark, quoting)


DAMAGES = {
    "unharmed": Damage(_unchanged),
    "trailing separators": Damage(_with_trailing, said="columns_unnamed"),
    "renamed column": Damage(_with_name_twice, said="column_renamed"),
    "target twice": Damage(_with_target_twice, said="column_renamed", place=-2),
    # In a single row it looks as if the row had a name, as R writes them.
    "stray cell": Damage(_with_stray_cell, refused=" cells", said="row_names"),
    # Of a single row it looks as if the header were too wide.
    "short row": Damage(_with_short_row, refused="but no row has more", said="rows_short"),
    "far cell": Damage(_with_far_cell, refused="as far as XFD1048576", ending=".xlsx"),
    "long cell": Damage(_with_long_cell),
    "comment": Damage(_with_comment, refused="looks like a comment"),
    "open quote": Damage(_with_open_quote, refused="has no partner"),
    "UTF-32": Damage(_unchanged, encoding="utf-32"),
    "UTF-16 without a mark": Damage(_unchanged, encoding="utf-16-le"),
}
