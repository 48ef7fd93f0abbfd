"""The files of a report: where they go, how they are written, what makes them again."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parsimon._writing import all_or_none
from parsimon.cli.options import SHOWING
from parsimon.cli.printing import note_standing, say, visible
from parsimon.cli.running import analysed
from parsimon.cli.sources import Source, needed_target
from parsimon.cli.tables import check_target
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from parsimon.report.findings import ReportFindings, Treatment

# What other formats end in, and what is called on an analysis to write each file.
_PAGE_ENDINGS = (".html", ".htm")
_OTHER_ENDINGS = {".pdf": "--pdf", ".json": "--json", ".md": "--markdown", ".skops": None}
_ENDINGS = {"PDF": ".pdf", "Findings": ".json", "Markdown": ".md"}
_WRITERS = {
    "Report": "to_html",
    "PDF": "to_pdf",
    "Findings": "to_json",
    "Markdown": "to_markdown",
    "Model": "save",
    "Features": "to_csv",
}


def write_page(
    context: click.Context,
    analyse: Callable[..., Any],
    source: Source,
    ending: str,
    *,
    model_of: str = "",
    features_file: Path | None = None,
    out: Path | None,
    pdf: bool,
    as_json: bool,
    markdown: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Analyse a table, write its page and what goes beside it, and say what was found.

    ending: Of the page's name, unless `out` names it.
    model_of: What a model that is saved beside it predicts; none is if that is empty.
    options: Of `analyse`, and of where and how long the work is done.
    """
    beside = {"PDF": pdf, "Findings": as_json, "Markdown": markdown, "Model": bool(model_of)}
    places = _find_places(source.name, out, ending, beside)
    if features_file is not None:
        places["Features"] = features_file
    _check_places(places)
    command = command_line(context, needed_target(source))
    place = places["Report"]
    with analysed(analyse, source, place, name=source.name, command=command, **options) as analysis:
        write_files(analysis, places, source.treatments)
    if quiet:
        return
    show_summary(analysis.findings, places)
    if model_of:
        say(f"Predict   parsimon predict {shlex.quote(str(places['Model']))} {model_of}.csv")


def _find_places(
    name: str, out: Path | None, ending: str, beside: Mapping[str, bool]
) -> dict[str, Path]:
    """Return where each file goes: all in the folder of the page, and named after it.

    beside: Which files are wanted beside the page.
    """
    folder = Path() if out is None else out
    if out is None or out.is_dir():
        page = folder / f"{file_name(name)}-{ending}.html"
    elif out.suffix.lower() in _OTHER_ENDINGS:
        option = _OTHER_ENDINGS[out.suffix.lower()]
        advice = f", and {option} writes {out} beside it" if option else ""
        raise InvalidInputError(
            f"--out names the page, not {out}; give {out.with_suffix('.html').name}{advice}."
        )
    else:
        is_page = out.suffix.lower() in _PAGE_ENDINGS
        page = out if is_page else out.with_name(f"{out.name}.html")
    model = model_name(page.stem.removesuffix(f"-{ending}"))
    places = {kind: page.with_suffix(end) for kind, end in _ENDINGS.items()}
    places["Model"] = page.with_name(model)
    return {"Report": page} | {kind: place for kind, place in places.items() if beside[kind]}


def model_name(table: str) -> str:
    """Return what the file of a model is called, after a table or a page."""
    return f"{table}-model.skops"


def _check_places(places: Mapping[str, Path]) -> None:
    for path in places.values():
        check_target(path)
        if not os.access(path.parent, os.W_OK):
            raise InvalidInputError(f"Nothing can be written to the folder {path.parent}.")
    if "PDF" in places:
        from parsimon.report import check_pdf

        check_pdf()


def command_line(context: click.Context, target: str) -> str:
    """Return the command that gives these findings again."""
    words = ["parsimon", context.info_name or "", context.params["table"], "--target", target]
    for option in context.command.params:
        name, value = option.name or "", context.params.get(option.name or "")
        nothing = value is None or value is False or value == ()
        if nothing or name in SHOWING or name == "target":
            continue
        if value == option.get_default(context) and name != "seed":
            continue
        if value is True:
            words.append(option.opts[0])
            continue
        for one in value if isinstance(value, tuple) else (value,):
            said = str(one).removesuffix(".0") if isinstance(one, float) else str(one)
            words += [option.opts[0], said]
    return shlex.join(words)


def write_files(
    analysis: Any, places: Mapping[str, Path], reading: "Sequence[Treatment]" = ()
) -> None:
    """Write all files or none.

    reading: What was done to the table when it was read, for the page to say.
    """
    if reading:
        run = analysis.findings.run
        run = replace(run, reading=(*reading, *run.reading))
        analysis = replace(analysis, findings=replace(analysis.findings, run=run))
    with all_or_none():
        for kind, path in places.items():
            getattr(analysis, _WRITERS[kind])(path)
    note_standing("all files are written")


def show_summary(findings: "ReportFindings", places: Mapping[str, Path]) -> None:
    """Print what was found, which files there are now, and how long it took.

    The time is told here alone: on a page it would tell equal findings apart.
    """
    from parsimon.report.sections import duration, summary_lines

    # A terminal breaks long lines anywhere; a file or a pipe gets them whole.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in summary_lines(findings):
        say(line if width is None else click.wrap_text(visible(line), width))
    say()
    for kind, path in places.items():
        say(f"{kind:<9} {path}  ({_size(path)})")
    say(f"Time      {duration(findings.run.seconds)}")


def file_name(name: str) -> str:
    """Return a table's name as a file may have it."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "table"


def _size(path: Path) -> str:
    """Return how large a file is."""
    kilobytes = path.stat().st_size / 1000
    return f"{kilobytes / 1000:.1f} MB" if kilobytes >= 1000 else f"{kilobytes:.0f} kB"
