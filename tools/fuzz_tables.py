"""Hostile tables through `parsimon report --fast`, and what must hold whatever a table holds.

    python -m tools.fuzz_tables --tables 300 --results fuzz.jsonl

Each table is made from its number alone, so that a failure can be had again with `--only NUMBER`.
With `--results` each table that is done is a line of that file, and a run that was stopped goes on
after it, unless the code has changed since. The last line is the verdict.
"""

import argparse
import csv
import hashlib
import io
import json
import signal
import string
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tools import damaged_files, fuzz_writes
from tools.damaged_files import DAMAGES, Damage, written

# Seconds of processor time, so that other work on the machine is no fault of a table.
LIMIT = 120.0
_MARKUP = (
    "<script>fuzz()</script>",
    '"><img src=x onerror=fuzz()>',
    "</script><svg onload=fuzz()>",
    "<b>bold</b> & 'quoted' \"twice\"",
    "{{ 7 * 7 }}",
    "${fuzz()}",
    "`fuzz` $x^2$ #let x = 1",
    "[link](javascript:fuzz())",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
)
_STRANGE = (
    "",
    " ",
    "größe",
    "価格",
    "👩‍🔬",
    "\u202eteg",
    "a\tb",
    "a\nb",
    "nan",
    "None",
    "0",
    "%s %d",
)
_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1")
Column = list[Any]


class HostileTable(NamedTuple):
    """The bytes of a file, its name, and the column to ask for.

    sound: The bytes of the same table before the file was damaged.
    """

    name: str
    data: bytes
    target: str
    kinds: tuple[str, ...]
    sound: bytes
    damage: Damage


def hostile_table(number: int) -> HostileTable:
    """Return the table of a number; the same one every time."""
    rng = np.random.default_rng([14, number])
    n = int(rng.choice([1, 2, 5, 8, 20, 40, 60], p=[0.03, 0.04, 0.13, 0.1, 0.3, 0.3, 0.1]))
    kinds = [str(kind) for kind in rng.choice(list(COLUMNS), size=rng.integers(1, 6))]
    wanted = str(rng.choice(list(TARGETS)))
    columns = [COLUMNS[kind](rng, n) for kind in kinds]
    names = _names(rng, len(kinds) + 1)
    columns.append(TARGETS[wanted](rng, n, columns))
    mark = str(rng.choice([",", ";", "\t"], p=[0.7, 0.2, 0.1]))
    quoting = int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    encoding = str(rng.choice(_ENCODINGS, p=[0.6, 0.1, 0.1, 0.1, 0.1]))
    rows = [names, *([str(cell) for cell in row] for row in zip(*columns, strict=True))]
    # Half of the files arrive as they were sent.
    harm = list(DAMAGES)[max(0, int(rng.integers(1 - len(DAMAGES), len(DAMAGES))))]
    damage = DAMAGES[harm]
    plain = encoding if damage.encoding is None else "utf-8"
    sound = written(rows, mark, quoting).encode(plain, "replace")
    made = damage.make(rng, rows, mark, quoting)
    data = made.encode(damage.encoding or encoding, "replace") if isinstance(made, str) else made
    about = (*kinds, wanted, encoding, harm)
    name = f"table{number}{damage.ending}"
    return HostileTable(name, data, names[-1].strip(), about, sound, damage)


def _names(rng: np.random.Generator, n: int) -> list[str]:
    """Return names of columns; few are what they should be, and some occur twice."""
    ways: list[Callable[[], str]] = [
        lambda: str(rng.choice(_MARKUP)),
        lambda: str(rng.choice(_STRANGE)),
        lambda: "".join(rng.choice(list(string.printable[:94]), size=rng.integers(1, 12))),
        lambda: "long " * int(rng.integers(20, 60)),
        lambda: f"x{rng.integers(3)}",
    ]
    names = [ways[rng.choice(len(ways), p=[0.25, 0.2, 0.15, 0.05, 0.35])]() for _ in range(n - 1)]
    last = str(rng.choice(["y", _MARKUP[0], _MARKUP[1], "größe", "class of it"]))
    return [*names, last]


def _numbers(rng: np.random.Generator, n: int) -> Column:
    return list(rng.normal(size=n).round(3))


def _with_holes(rng: np.random.Generator, n: int) -> Column:
    holes = rng.choice(["", "NA", "?", "-", "inf", "-999"], size=n)
    return [
        hole if gone else value
        for value, hole, gone in zip(_numbers(rng, n), holes, rng.random(n) < 0.3, strict=True)
    ]


def _mixed(rng: np.random.Generator, n: int) -> Column:
    ways = [1, "two", 3.5, "", "2020-01-01", "True", "1,200", "12%", "€ 4", "<b>x</b>", "1e400"]
    return [ways[place] for place in rng.integers(len(ways), size=n)]


def _levels(rng: np.random.Generator, n: int, k: int) -> Column:
    named = [*_MARKUP[:3], *(f"level {place}" for place in range(k))][:k]
    return [named[place] for place in rng.integers(len(named), size=n)]


def _dates(rng: np.random.Generator, n: int) -> Column:
    form = str(rng.choice(["%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%dT%H:%M:%S", "%b %d %Y"]))
    seconds = rng.integers(0, 2_000_000_000, size=n)
    return [time.strftime(form, time.gmtime(int(one))) for one in seconds]


COLUMNS: dict[str, Callable[[np.random.Generator, int], Column]] = {
    "numbers": _numbers,
    "counts": lambda rng, n: list(rng.poisson(1.0, size=n)),
    "holes": _with_holes,
    "mixed": _mixed,
    "two levels": lambda rng, n: _levels(rng, n, 2),
    "30 levels": lambda rng, n: _levels(rng, n, 30),
    "names": lambda rng, n: [f"{_MARKUP[k % 10]} {rng.integers(10**9)}" for k in range(n)],
    "dates": _dates,
    "empty": lambda _, n: [""] * n,
    "constant": lambda _, n: ["same"] * n,
    "huge": lambda rng, n: [f"{value:.6e}" for value in rng.normal(size=n) * 1e200],
    "tiny": lambda rng, n: [f"{value:.6e}" for value in rng.normal(size=n) * 1e-200],
    "far apart": lambda rng, n: [f"{10.0**value:.4e}" for value in rng.uniform(-300, 300, size=n)],
    "large offset": lambda rng, n: [1e15 + value for value in rng.normal(size=n)],
    "long text": lambda rng, n: ["word " * int(k) for k in rng.integers(1, 400, size=n)],
    "identifier": lambda _, n: list(range(1, n + 1)),
    "truth": lambda rng, n: [bool(one) for one in rng.integers(2, size=n)],
    "decimal commas": lambda rng, n: [f"{one:.2f}".replace(".", ",") for one in rng.normal(size=n)],
    "odd characters": lambda rng, n: [str(rng.choice(_STRANGE)) for _ in range(n)],
}


def _related(rng: np.random.Generator, n: int, columns: list[Column]) -> Any:
    """Return numbers that the first column has a part in, if it holds any."""
    first = [one if isinstance(one, float) else 0.0 for one in columns[0]]
    return np.array(first) + 0.5 * rng.normal(size=n)


TARGETS: dict[str, Callable[[np.random.Generator, int, list[Column]], Column]] = {
    "two classes": lambda rng, n, columns: [
        "yes" if one > 0 else "no" for one in _related(rng, n, columns)
    ],
    "classes of markup": lambda rng, n, columns: [
        _MARKUP[0] if one > 0 else _MARKUP[1] for one in _related(rng, n, columns)
    ],
    "one class": lambda _, n, __: ["only"] * n,
    "three classes": lambda rng, n, columns: [
        "abc"[place] for place in np.digitize(_related(rng, n, columns), [-0.5, 0.5])
    ],
    "30 classes": lambda rng, n, _: [f"class {place}" for place in rng.integers(30, size=n)],
    "a rare class": lambda _, n, __: ["rare" if k < 2 else "usual" for k in range(n)],
    "a number": lambda rng, n, columns: list(_related(rng, n, columns)),
    "a huge number": lambda rng, n, columns: list(1e250 * _related(rng, n, columns)),
    "a tiny number": lambda rng, n, columns: list(1e-250 * _related(rng, n, columns)),
    "counts": lambda rng, n, _: list(rng.poisson(3.0, size=n)),
    "only missing": lambda _, n, __: [""] * n,
    "holes": lambda rng, n, _: _with_holes(rng, n),
    "mixed": lambda rng, n, _: _mixed(rng, n),
    "dates": lambda rng, n, _: _dates(rng, n),
}


class PageReader(HTMLParser):
    """Collects what a page would run because of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_script = tag == "script" and ("type", "application/json") not in attrs
        for name, value in attrs:
            text = (value or "").strip().lower()
            handler = name.startswith("on") and "fuzz" in text
            if handler or (name in ("href", "src") and text.startswith("javascript:")):
                self.runs.append(f"<{tag} {name}={value!r}>")

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip().startswith("fuzz()"):
            self.runs.append("a script that calls fuzz()")


class TooLong(BaseException):
    """A table took longer than it may; no `except Exception` keeps it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `TooLong` after so many seconds of processor time."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def complaints(table: HostileTable, folder: Path, limit: float = LIMIT) -> list[str]:
    """Return what went wrong with a table, nothing if all is well."""
    from click.testing import CliRunner

    from parsimon.cli import main

    path, out = folder / table.name, folder / "out"
    (folder / "sound.csv").write_bytes(table.sound)
    path.write_bytes(table.data)
    out.mkdir()
    found = _misread(table, path, folder / "sound.csv")
    if found:
        return found
    options = ["--target", table.target, "--fast", "--depth", "1", "--jobs", "1", "--json"]
    try:
        with within(limit):
            result = CliRunner().invoke(main, ["report", str(path), "--out", str(out), *options])
            found += _wrong_exit(result, "report")
            if result.exit_code == 0 and not found:
                found += _wrong_files(out)
                model = next(out.glob("*.skops"))
                again = ["predict", str(model), str(path), "--explain"]
                found += _wrong_exit(CliRunner().invoke(main, again), "predict", may_fail=False)
            elif list(out.iterdir()):
                found.append(f"files were left: {[one.name for one in out.iterdir()]}")
    except TooLong:
        return [f"it took more than {limit:g} s"]
    return found


def _misread(table: HostileTable, path: Path, sound: Path) -> list[str]:
    """Return what is wrong with how a file is read, beside the same one without its damage."""
    from parsimon.cli.tables import read_file
    from parsimon.exceptions import InvalidInputError
    from parsimon.statistician.prepare.cells import write_cell

    damage = table.damage
    try:
        with redirect_stderr(io.StringIO()):
            before = read_file(sound)
    except InvalidInputError:
        return []
    try:
        with redirect_stderr(io.StringIO()):
            after = read_file(path)
    except InvalidInputError as error:
        ok = damage.refused and damage.refused in str(error)
        return [] if ok else [f"a file was refused: {str(error)[:300]}"]
    if damage.refused and not damage.said:
        return ["a damaged file was read without a word"]
    kinds = {one.kind for one in after.treatments}
    if damage.said and damage.said not in kinds:
        return [f"nothing was said of {damage.said}, only of {sorted(kinds)}"]
    was, became = before.frame.iloc[:, -1], after.frame.iloc[:, damage.place]
    if damage.said == "row_names":
        return []
    # A short row has no target any more.
    known = became.notna() if damage.said == "rows_short" else slice(None)
    same = list(map(write_cell, was[known])) == list(map(write_cell, became[known]))
    return [] if same and len(was) == len(became) else ["the target was read as something else"]


def _wrong_exit(result: Any, command: str, *, may_fail: bool = True) -> list[str]:
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        return [f"{command} raised {type(error).__name__}: {str(error)[:200]}"]
    if result.exit_code == 0:
        return []
    last = result.stderr.strip().splitlines()[-1:] or [""]
    if not may_fail or result.exit_code not in (1, 2) or not last[0].startswith("Error: "):
        return [f"{command} ended with {result.exit_code}: {last[0][:300]}"]
    return []


def _wrong_files(out: Path) -> list[str]:
    kinds = sorted(path.suffix for path in out.iterdir())
    if kinds != [".html", ".json", ".skops"]:
        return [f"there are other files than a page, findings and a model: {kinds}"]
    reader = PageReader()
    reader.feed(next(out.glob("*.html")).read_text(encoding="utf-8"))
    return [f"the page would run {one}" for one in reader.runs]


class Results:
    """Complaints about tables, kept in a file if there is one: a line of JSON for each table."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._code = file, _code()
        self.known: dict[int, list[str]] = {}
        for line in file.read_text().splitlines() if file is not None and file.exists() else ():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                # A stop may cut a line short.
                continue
            if entry["code"] == self._code:
                self.known[entry["table"]] = entry["complaints"]

    def add(self, number: int, wrong: list[str]) -> None:
        """Keep what is wrong with a table, nothing if all is well."""
        self.known[number] = wrong
        if self._file is not None:
            entry = {"table": number, "complaints": wrong, "code": self._code}
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(f"{json.dumps(entry)}\n")


def _code() -> str:
    """Return a digest of the package and of these files."""
    import parsimon

    package = Path(parsimon.__file__).parent
    digest = hashlib.sha256(Path(damaged_files.__file__).read_bytes())
    for file in (Path(__file__), *sorted(package.rglob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def verdict(known: dict[int, list[str]], numbers: range) -> str:
    """Return in one line how many tables were run, and which have complaints."""
    bad = [number for number in numbers if known[number]]
    if not bad:
        return f"{len(numbers)} hostile tables: nothing to complain of."
    named = ", ".join(map(str, bad[:20])) + (", ..." if len(bad) > 20 else "")
    return f"{len(numbers)} hostile tables: complaints about {len(bad)} ({named})."


def main() -> int:
    """Run tables one after another, print what is wrong with any, and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="Number of the first table.")
    parser.add_argument("--only", type=int, help="Run this table alone, and keep its file.")
    parser.add_argument("--results", type=Path, help="Keep results here, and go on from there.")
    parser.add_argument("--writes", type=int, default=8, help="Runs of `tools.fuzz_writes`.")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.tables)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
        Path(hostile_table(options.only).name).write_bytes(hostile_table(options.only).data)
    results = Results(options.results)
    for place, number in enumerate(numbers):
        table = hostile_table(number)
        if number not in results.known or options.only is not None:
            with tempfile.TemporaryDirectory() as folder:
                results.add(number, complaints(table, Path(folder)))
        for one in results.known[number]:
            print(f"table {number} ({', '.join(table.kinds)}): {one}", flush=True)
        if place % 25 == 24:
            print(f"{place + 1} of {len(numbers)} tables done", file=sys.stderr, flush=True)
    written = options.only is not None or fuzz_writes.fuzz(range(options.writes))
    print(verdict(results.known, numbers))
    return int(any(results.known[number] for number in numbers) or not written)


if __name__ == "__main__":
    sys.exit(main())
