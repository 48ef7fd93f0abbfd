"""`parsimon select-features`: which columns of a wide table come back from other rows."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from parsimon.cli.pages import (
    INTERRUPTED,
    check_places,
    command_line,
    find_places,
    show_summary,
    write_files,
)
from parsimon.cli.printing import say
from parsimon.cli.sources import complete_table, find_source, needed_target
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

# Options that change where and how results are shown, not the results.
_SHOWING = frozenset({"table", "out", "pdf", "as_json", "markdown", "n_jobs", "quiet"})


@click.command("select-features")
@click.argument("table", shell_complete=complete_table)
@click.option("--target", metavar="COLUMN", help="The column to tell: classes or a number.")
@click.option("--fixed", multiple=True, metavar="COLUMN", help="In every model, such as age.")
@click.option("--splits", default=100, metavar="N", help="Splits into halves.  [default: 100]")
@click.option("--out", type=click.Path(path_type=Path), help="The page to write, or a folder.")
@click.option("--pdf", is_flag=True, help="Write the report as PDF too.")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as data too.")
@click.option("--markdown", is_flag=True, help="Write the text as Markdown too.")
@click.option("--seed", default=0, metavar="N", help="For the splits.  [default: 0]")
@click.option("--jobs", "n_jobs", default=-1, metavar="N", help="Processes.  [default: all cores]")
@click.option("--quiet", is_flag=True, help="Show no summary.")
@click.pass_context
def select_features(
    context: click.Context, /, table: str, target: str | None, **given: Any
) -> None:
    """Find the columns of TABLE that come back from other rows, and report on them.

    For tables with many columns and few rows, such as genes of patients. The rows are dealt into
    halves again and again and columns are selected in each half alone; the page says which come
    back, how often chance would do that, how many may be wrong, how good small models are on rows
    they never saw, and which labels look wrong.

    \b
    Examples:
        parsimon select-features genes.csv --target relapse
        parsimon select-features genes.csv --target relapse --fixed age --splits 200
        parsimon select-features golub_leukaemia --out page.html --json
    """
    select_and_report(context, table, target, **given)


def sent_on(context: click.Context, frame: "pd.DataFrame") -> bool:
    """Return whether `parsimon report` leaves a table to this command, and say so.

    It does where there are ten times more columns than rows, unless the search was asked for by
    one of its own options.
    """
    from parsimon.statistician import is_wide

    asked = [
        name
        for name in context.params
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]
    own = {"table", "target", "out", "pdf", "as_json", "markdown", "seed", "n_jobs", "quiet"}
    if not is_wide(frame) or set(asked) - own:
        return False
    say(
        f"{len(frame):,} rows and {frame.shape[1] - 1:,} columns: which of them come back from "
        "other rows is asked first, as parsimon select-features does; with --depth the search for "
        "kernels runs all the same.",
        err=True,
    )
    return True


def select_and_report(
    context: click.Context,
    table: str,
    target: str | None,
    *,
    fixed: tuple[str, ...] = (),
    splits: int = 100,
    out: Path | None,
    pdf: bool,
    as_json: bool,
    markdown: bool,
    seed: int = 0,
    n_jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Select columns of a table and write the page."""
    if splits < 1:
        raise InvalidInputError(f"--splits must be at least 1, got {splits}.")
    try:
        source = find_source(table, target)
        places = find_places(
            source.name, out, "columns", pdf=pdf, as_json=as_json, markdown=markdown
        )
        check_places(places)
        from parsimon.statistician import select_features as select

        analysis = select(
            source.frame,
            needed_target(source),
            fixed=fixed,
            n_splits=splits,
            name=source.name,
            seed=seed,
            n_jobs=n_jobs,
            command=command_line(context, needed_target(source), _SHOWING),
        )
        write_files(analysis, places)
    except KeyboardInterrupt:
        say("Stopped; nothing was written.", err=True)
        sys.exit(INTERRUPTED)
    if not quiet:
        from parsimon.report.sections import summary_lines

        show_summary(summary_lines(analysis.findings), places)
