"""From a table with more columns than rows to a page: `select-features`, and `report` of such."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

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
from parsimon.cli.sources import find_source, needed_target
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

# Options that change where and how results are shown, not the results.
_SHOWING = frozenset({"table", "out", "pdf", "as_json", "markdown", "n_jobs", "quiet"})


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
