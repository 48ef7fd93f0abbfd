"""Reading tables for the commands: CSV, TSV, Excel or Parquet, with errors a person understands.

What is ambiguous in text is not guessed: "1,234" stays text. What was done to a table on the way,
such as a column that got another name, is said at once, and kept for the page.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

from parsimon._checks import did_you_mean, shorten
from parsimon.cli.printing import say
from parsimon.cli.row_widths import Layout, check_widths, note_table, read_layout
from parsimon.cli.text_files import memory_size, open_text
from parsimon.exceptions import InvalidInputError, MissingDependencyError, ParsimonError

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.report.findings import Treatment

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
_EXCEL = (".xlsx", ".xlsm")
_OTHER_SHEETS = (".xls", ".xlsb", ".ods")
TABLE_ENDINGS = frozenset({*SEPARATORS, *PARQUET, *_EXCEL, *_OTHER_SHEETS})
_ABOVE_HEADER = " Line 1 looks like a comment: remove what stands above the header."
_NAMES = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})?\s*")


class FileTable(NamedTuple):
    """The table of a file, and what was done to it when it was read."""

    frame: "pd.DataFrame"
    treatments: tuple["Treatment", ...] = ()

    def having(self, *treatments: "Treatment") -> "FileTable":
        """Return the table with more that is to be said of it."""
        return self._replace(treatments=(*self.treatments, *treatments))


def with_header(frame: "pd.DataFrame", header: Iterable[Any], *, n_beyond: int = 0) -> FileTable:
    """Name the columns; those without a name and without a value are left out.

    n_beyond: Rows that have empty cells beyond the header.
    """
    from parsimon.report.findings import Treatment

    found = ["" if one is None else str(one).strip() for one in header]
    empty = [not name and bool(frame.iloc[:, k].isna().all()) for k, name in enumerate(found)]
    names = own_names(found)
    said = [
        Treatment(kind="column_renamed", column=own, value=name)
        for own, name, gone in zip(names, found, empty, strict=True)
        if own != name and not gone
    ]
    if any(empty) or n_beyond:
        said.append(Treatment(kind="columns_unnamed", count=sum(empty) or 1))
    frame = frame.set_axis(names, axis=1)
    return FileTable(frame.loc[:, [not gone for gone in empty]], tuple(said))


def own_names(header: Iterable[str]) -> list[str]:
    """Return a name of its own for each column, as pandas makes it: "x.1", "Unnamed: 3"."""
    cells = [name or f"Unnamed: {place}" for place, name in enumerate(header)]
    taken, result = set(cells), []
    seen: dict[str, int] = {}
    for name in cells:
        own, count = name, seen.get(name, 0)
        while count and (own := f"{name}.{count}") in taken:
            count += 1
        seen[name] = count + 1
        taken.add(own)
        result.append(own)
    return result


def read_rows(path: Path, *, has_header: bool = True) -> "pd.DataFrame":
    """Return a table with at least one row; gzip and the like are unpacked on the way."""
    return read_file(path, has_header=has_header).frame


def read_file(path: Path, *, has_header: bool = True) -> FileTable:
    """Return a table with at least one row, and say what was done to it."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidInputError(f"The table {path} {what}; give a CSV, TSV, Excel or Parquet file.")
    table = _read(path, has_header)
    if not len(table.frame):
        raise InvalidInputError(f"The table {path} has no rows.")
    if table.treatments:
        from parsimon.report.sections.table.treatments import treatment_sentences

        for sentence in treatment_sentences(table.treatments):
            say(sentence, err=True)
    return table._replace(frame=table.frame.reset_index(drop=True))


def column(table: "pd.DataFrame", name: str) -> "pd.Series":
    """Return a column, or say which there are."""
    if name not in table.columns and table.shape[1] == 1:
        raise InvalidInputError(
            f"The table has one column, {str(table.columns[0])!r}, and no {name!r}; cells must be "
            "cut at commas, semicolons, tabs or bars."
        )
    if name not in table.columns:
        remark = str(table.columns[0]).startswith("#")
        raise InvalidInputError(
            f"The table has no column {name!r}; its columns are {shorten(list(table), 12)}."
            f"{_ABOVE_HEADER if remark else did_you_mean(name, list(table))}"
        )
    found = table[name]
    if found.ndim > 1:
        raise InvalidInputError(f"The table has {found.shape[1]} columns called {name!r}.")
    return found


def _read(path: Path, has_header: bool = True) -> FileTable:
    import pandas as pd

    endings = [ending.lower() for ending in path.suffixes]
    last = endings[-1] if endings else ""
    if last in _OTHER_SHEETS:
        raise InvalidInputError(
            f"The workbook {path} is of another kind; save it as .xlsx or as CSV."
        )
    try:
        if last in PARQUET:
            return _read_parquet(path)
        if last in _EXCEL:
            return read_workbook(path)
        kind = next((e for e in reversed(endings) if e in SEPARATORS), ".csv")
        return read_text(path, SEPARATORS[kind], has_header=has_header)
    except ParsimonError:
        raise
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError(f"The table {path} is empty.") from error
    # A broken file makes its reader raise anything.
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InvalidInputError(f"The table {path} cannot be read: {reason}") from error


def _read_parquet(path: Path) -> FileTable:
    """Return a table of Parquet, in which a few bytes may stand for any number of equal cells."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow; install it with: pip install 'parsimon[parquet]'."
        ) from error
    import pandas as pd

    about = parquet.read_metadata(path)
    size = 8 * about.num_rows * about.num_columns
    if size > memory_size() // 2:
        raise InvalidInputError(
            f"The table {path} has {about.num_rows:,} rows and {about.num_columns:,} columns, "
            f"{size / 1e9:.1f} GB, which is too much for the memory of this machine; give a part "
            "of it."
        )
    frame = pd.read_parquet(path)
    return with_header(frame, frame.columns)


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path is not None and not path.parent.is_dir():
        raise InvalidInputError(f"The folder {path.parent} does not exist; make it first.")
    if path is not None and path.is_dir():
        raise InvalidInputError(f"{path} is a folder; give the name of a file.")


def read_text(path: Path, usual: str, *, has_header: bool = True) -> FileTable:
    """Return a table of text; `usual` is what its name says that cells are cut at."""
    layout = read_layout(path, usual, has_header=has_header)
    check_widths(path, layout)
    note_table(path, layout)
    if layout.encoding in _NAMES:
        say(f"{path} is not UTF-8 text; it is read as {_NAMES[layout.encoding]}.", err=True)
    table = _read_cells(path, layout)
    if layout.mark != ",":
        table = _with_decimal_commas(table)
    if layout.header is None:
        return FileTable(table)
    header = layout.header.cells
    if layout.has_row_names:
        table = table.iloc[:, 1:]
    return with_header(table, header, n_beyond=layout.n_trailing).having(*_remarks(layout))


def _read_cells(path: Path, layout: Layout) -> "pd.DataFrame":
    """Return the cells below the header, as wide as it is; cells beyond it are known as empty."""
    import pandas as pd

    width = layout.width + layout.has_row_names
    with open_text(path, layout.encoding) as text:
        return pd.read_csv(
            text,
            sep=layout.mark,
            header=None if layout.header is None else 0,
            names=list(range(width)),
            usecols=list(range(width)),
            index_col=False,
            low_memory=False,
        )


def _remarks(layout: Layout) -> Iterator["Treatment"]:
    from parsimon.report.findings import Treatment

    if layout.has_row_names:
        yield Treatment(kind="row_names", count=layout.n_rows)
    if layout.n_short < layout.n_rows and layout.n_short:
        rest = layout.n_short - len(layout.short)
        listed = ", ".join(f"{one:,}" for one in layout.short)
        lines = f"{listed} and {rest:,} more" if rest else listed
        yield Treatment(kind="rows_short", count=layout.n_short, value=lines)


def _with_decimal_commas(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table with numbers such as "3,5" read, where nothing else can be meant."""
    for place, cells in enumerate(_texts(table)):
        if cells is not None and _has_decimal_comma(cells):
            numbers = table.iloc[:, place].str.replace(",", ".", regex=False).astype(float)
            table = table.copy(deep=False)
            table.isetitem(place, numbers.to_numpy())
    return table


def _texts(table: "pd.DataFrame") -> Iterator[list[str] | None]:
    """Yield the cells of each column that is all text, None for others."""
    for place in range(table.shape[1]):
        cells: list[Any] = table.iloc[:, place].dropna().tolist()
        yield cells if cells and all(isinstance(one, str) for one in cells) else None


def _has_decimal_comma(cells: list[str]) -> bool:
    """Return whether all cells are numbers and a comma in one of them cannot mean thousands."""
    return all(map(_COMMA_NUMBER.fullmatch, cells)) and not all(map(_THOUSANDS.fullmatch, cells))


# Excel's own limits.
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384
# A larger sheet of which a smaller share holds something has a stray cell.
_LARGE, _LEAST_SHARE = 2_000_000, 0.01
# Parts of a workbook that Excel wrote are some ten levels deep.
_DEEPEST = 100
_TIMES_MEMORY = 10
_PLACE = re.compile(r"([A-Za-z]{1,7})([0-9]{1,20})")


def read_workbook(path: Path) -> FileTable:
    """Return the first sheet of a workbook."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingDependencyError(
            "Excel files need openpyxl; install it with: pip install openpyxl."
        ) from error
    with zipfile.ZipFile(path) as archive:
        _check_parts(path, archive)
    book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
    try:
        first, *others = book.worksheets
        if others:
            n, title = 1 + len(others), first.title
            say(f"Of the {n} sheets of {path} the first is read: {title}.", err=True)
        place = first._worksheet_path
    finally:
        book.close()
    with zipfile.ZipFile(path) as archive:
        sheet = _SheetCells(f"The sheet {first.title!r} of {path}").look_through(archive, place)
    sheet.check_size()
    if not sheet.rows:
        raise InvalidInputError(f"The table {path} is empty.")
    return _read_sheet(path, first.title, sheet)


def _read_sheet(path: Path, title: str, sheet: "_SheetCells") -> FileTable:
    import pandas as pd

    above = sheet.first_row - 1
    with pd.ExcelFile(path, engine="openpyxl") as book:
        header = pd.read_excel(
            book, sheet_name=title, header=None, skiprows=above, nrows=1, dtype=object
        )
        names = ["" if pd.isna(one) else one for one in header.iloc[0]]
        names += [""] * (sheet.last_column - len(names))
        places = list(range(len(names)))
        frame = pd.read_excel(
            book, sheet_name=title, header=None, skiprows=sheet.first_row, names=places
        )
    return with_header(frame, names).having(*sheet.remarks(names))


def _check_parts(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse parts that unpack to too much or are nested without end; sheets come later."""
    size = sum(one.file_size for one in archive.infolist())
    if size > memory_size() // _TIMES_MEMORY:
        raise InvalidInputError(
            f"The workbook {path} unpacks to {size / 1e9:.1f} GB, which is too much for the memory "
            "of this machine; give a part of it, or save it as CSV."
        )
    for one in archive.infolist():
        is_sheet = one.filename.startswith("xl/worksheets/")
        if one.filename.endswith((".xml", ".rels")) and not is_sheet:
            _Parts(f"The workbook {path}").look_through(archive, one.filename)


class _Parts:
    """Looks through the XML of a part, so far as it is not too deep."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._depth = 0

    def look_through(self, archive: zipfile.ZipFile, part: str) -> Any:
        """Read a part from its beginning to its end, keeping nothing of it."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.text
        with archive.open(part.lstrip("/")) as file:
            parser.ParseFile(file)
        return self

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidInputError(
                f"{self.name} is nested more than {_DEEPEST} levels deep, as no table is; save it "
                "again with Excel, or as CSV."
            )
        self.begin(tag.rpartition(" ")[2], attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self.end(tag.rpartition(" ")[2])

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """See an element."""

    def end(self, tag: str) -> None:
        """See the end of an element."""

    def text(self, text: str) -> None:
        """See text."""


class _SheetCells(_Parts):
    """Counts the cells of a sheet that hold something, and formulas that were never computed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.rows = self.n_filled = 0
        self.first_row = self.last_row = self.last_column = 0
        self.farthest = {"row": "", "column": ""}
        self.uncomputed: Counter[int] = Counter()
        self._row = self._column = 0
        self._in_value = self._has_value = self._has_formula = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "row":
            self._row = self._row + 1 if "r" not in attributes else self._number(attributes["r"])
            self._column = 0
        elif tag == "c":
            self._column += 1
            if "r" in attributes:
                self._move(attributes["r"])
            self._has_formula = False
            # The result of a formula may be a text without letters.
            self._has_value = attributes.get("t") == "str"
        elif tag in ("v", "is"):
            self._in_value = True
        elif tag == "f":
            self._has_formula = True

    def text(self, text: str) -> None:
        self._has_value |= self._in_value and bool(text)

    def end(self, tag: str) -> None:
        if tag in ("v", "is"):
            self._in_value = False
        if tag != "c":
            return
        if self._has_formula and not self._has_value:
            self.uncomputed[self._column] += 1
        elif self._has_value:
            self._keep()

    def _keep(self) -> None:
        self.n_filled += 1
        self.first_row = self.first_row or self._row
        if self._row > self.last_row:
            self.rows += 1
            self.last_row, self.farthest["row"] = self._row, self._here()
        if self._column > self.last_column:
            self.last_column, self.farthest["column"] = self._column, self._here()

    def _here(self) -> str:
        from openpyxl.utils import get_column_letter

        return f"{get_column_letter(self._column)}{self._row}"

    def _number(self, text: str) -> int:
        row = int(text) if text.isdecimal() and len(text) < 10 else 0
        if not 1 <= row <= _MOST_ROWS:
            raise InvalidInputError(f"{self.name} has a row {text[:20]!r}, which no sheet has.")
        return row

    def _move(self, place: str) -> None:
        """Go to a cell that says where it is."""
        found = _PLACE.fullmatch(place)
        column = 0
        for letter in found[1].upper() if found else "":
            column = 26 * column + ord(letter) - 64
        if found is None or not 1 <= column <= _MOST_COLUMNS:
            raise InvalidInputError(f"{self.name} has a cell {place[:20]!r}, which no sheet has.")
        self._row, self._column = self._number(found[2]), column

    def check_size(self) -> None:
        """Refuse a sheet in which a cell lies so far from the others that all is empty between."""
        size = self.last_row * self.last_column
        if size > _LARGE and self.n_filled < _LEAST_SHARE * size:
            far = " and ".join(dict.fromkeys(self.farthest.values()))
            raise InvalidInputError(
                f"{self.name} goes as far as {far}, but only {self.n_filled:,} of its {size:,} "
                "cells hold something; delete the rows or columns that were left over."
            )

    def remarks(self, names: list[Any]) -> "tuple[Treatment, ...]":
        """Return what is to be said of formulas."""
        from parsimon.report.findings import Treatment

        known = {place: str(name) for place, name in enumerate(names, start=1)}
        return tuple(
            Treatment(kind="formulas_uncomputed", column=known.get(place) or "", count=count)
            for place, count in sorted(self.uncomputed.items())
        )
