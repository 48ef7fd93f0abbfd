"""`parsimon report`: from a table to a page that says what predicts a column."""

import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parsimon.cli.sources import find_source, needed_target
from parsimon.cli.tables import check_target
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from parsimon.statistician.analysis import Analysis

_TASKS = ("auto", "classification", "regression")
_GUIDES = ("cv_error", "cv_logloss", "loo_logloss", "nlml", "bic")
_INTERRUPTED = 130
# What other formats end in, and what is called on an analysis to write each file.
_PAGE_ENDINGS = (".html", ".htm")
_OTHER_ENDINGS = {".pdf": "--pdf", ".json": "--json", ".md": "--markdown", ".skops": None}
_WRITERS = {
    "Report": "to_html",
    "PDF": "to_pdf",
    "Findings": "to_json",
    "Markdown": "to_markdown",
    "Model": "save",
}
# Options that change where and how results are shown, not the results.
_SHOWING = frozenset({"table", "out", "pdf", "as_json", "markdown", "n_jobs", "quiet"})


@click.command()
@click.argument("table")
@click.option("--target", metavar="COLUMN", help="The column to predict: classes or numbers.")
@click.option("--positive", metavar="LABEL", help="The class to ask for, against the rest.")
@click.option(
    "--task",
    type=click.Choice(_TASKS),
    default="auto",
    metavar="KIND",
    help="classification or regression, if auto takes it wrongly.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The page to write, or a folder.")
@click.option("--pdf", is_flag=True, help="Write the report as PDF too.")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as data too.")
@click.option("--markdown", is_flag=True, help="Write the text as Markdown too.")
@click.option("--depth", type=int, metavar="N", help="Most base kernels.  [default: 4]")
@click.option("--beam", default=2, metavar="N", help="Structures that are grown.  [default: 2]")
@click.option(
    "--base", default="se", metavar="NAMES", help="Some of se,per,lin,matern,rq.  [default: se]"
)
@click.option(
    "--guide",
    type=click.Choice(_GUIDES),
    default="cv_error",
    metavar="NAME",
    help="What the search minimises: cv_error, cv_logloss, loo_logloss, nlml or bic.  "
    "[default: cv_error]",
)
@click.option("--outer", default=5, metavar="N", help="Outer folds; 0 for none.  [default: 5]")
@click.option("--seed", default=0, metavar="N", help="Of every random choice.  [default: 0]")
@click.option("--jobs", "n_jobs", default=-1, metavar="N", help="Processes.  [default: all cores]")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Stop searching after this.")
@click.option("--fast", is_flag=True, help="A shallow search without an honest error.")
@click.option("--quiet", is_flag=True, help="Show neither progress nor a summary.")
@click.pass_context
def report(
    context: click.Context,
    /,
    table: str,
    target: str | None,
    out: Path | None,
    pdf: bool,
    as_json: bool,
    markdown: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Search TABLE for what predicts a column, and write a report about it.

    TABLE is a CSV, TSV or Parquet file, or the name of a data set (see parsimon datasets), whose
    target is known. The report is one HTML page that needs no network; the fitted model is saved
    beside it, for parsimon predict.

    \b
    Examples:
        parsimon report pima
        parsimon report patients.csv --target outcome --positive died --pdf
        parsimon report patients.csv --target outcome --fast --out first-look.html
    """
    try:
        source = find_source(table, target)
        wanted = {"PDF": pdf, "Findings": as_json, "Markdown": markdown}
        places = _places(source.name, out, wanted)
        _check_places(places)
        from parsimon.statistician.analyse import analyse

        analysis = analyse(
            source.frame,
            needed_target(source),
            name=source.name,
            verbose=not quiet,
            command=_command(context, needed_target(source)),
            **options,
        )
        _write(analysis, places)
    except KeyboardInterrupt:
        click.echo("Stopped; nothing was written.", err=True)
        sys.exit(_INTERRUPTED)
    if not quiet:
        _show(analysis, places)


def _places(name: str, out: Path | None, wanted: dict[str, bool]) -> dict[str, Path]:
    """Return where each file goes: all in one folder, named after the page."""
    folder = Path() if out is None else out
    if out is None or out.is_dir():
        page = folder / f"{_file_name(name)}-report.html"
    elif out.suffix.lower() in _OTHER_ENDINGS:
        option = _OTHER_ENDINGS[out.suffix.lower()]
        advice = f", and {option} writes {out} beside it" if option else ""
        raise InvalidInputError(
            f"--out names the page, not {out}; give {out.with_suffix('.html').name}{advice}."
        )
    else:
        is_page = out.suffix.lower() in _PAGE_ENDINGS
        page = out if is_page else out.with_name(f"{out.name}.html")
    others = {"PDF": ".pdf", "Findings": ".json", "Markdown": ".md"}
    model = f"{page.stem.removesuffix('-report')}-model.skops"
    return {
        "Report": page,
        **{kind: page.with_suffix(end) for kind, end in others.items() if wanted[kind]},
        "Model": page.with_name(model),
    }


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "table"


def _check_places(places: dict[str, Path]) -> None:
    """Refuse what cannot be written, before anything is computed."""
    for path in places.values():
        check_target(path)
        if not os.access(path.parent, os.W_OK):
            raise InvalidInputError(f"Nothing can be written to the folder {path.parent}.")
    if "PDF" in places:
        from parsimon.report.typst import check_typst

        check_typst()


def _command(context: click.Context, target: str) -> str:
    """Return the command that gives these findings again."""
    words = ["parsimon", "report", context.params["table"], "--target", target]
    for option in context.command.params:
        name, value = option.name or "", context.params.get(option.name or "")
        if name in _SHOWING or name == "target" or value is None or value is False:
            continue
        if value == option.get_default(context) and name != "seed":
            continue
        words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(words)


def _write(analysis: "Analysis", places: dict[str, Path]) -> None:
    """Write all files or none: elsewhere first, then each is moved to its place."""
    folder = places["Report"].parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".parsimon-") as name:
        made = {kind: Path(name) / path.name for kind, path in places.items()}
        for kind, path in made.items():
            getattr(analysis, _WRITERS[kind])(path)
        for kind, path in made.items():
            os.replace(path, places[kind])


def _show(analysis: "Analysis", places: dict[str, Path]) -> None:
    from parsimon.report.writing import summary_lines

    # A terminal breaks long lines anywhere; a file or a pipe gets them whole.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in summary_lines(analysis.findings):
        click.echo(line if width is None else click.wrap_text(line, width))
    click.echo()
    for kind, path in places.items():
        click.echo(f"{kind:<9} {path}  ({_size(path)})")
    model = shlex.quote(str(places["Model"]))
    click.echo(f"Predict   parsimon predict {model} NEW_ROWS.csv")


def _size(path: Path) -> str:
    """Return how large a file is.

    Examples
    --------
    >>> _size(Path(os.devnull))
    '0 kB'
    """
    kilobytes = path.stat().st_size / 1000
    return f"{kilobytes / 1000:.1f} MB" if kilobytes >= 1000 else f"{kilobytes:.0f} kB"
