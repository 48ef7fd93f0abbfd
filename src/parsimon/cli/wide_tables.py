"""From a table to a page about its columns: `select-features`, and `report` of wide tables."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from parsimon.cli.columns import choose_columns
from parsimon.cli.pages import command_line, find_places, show_summary, write_files
from parsimon.cli.printing import say
from parsimon.cli.running import kept_work, on_cluster, remaining_seconds
from parsimon.cli.sources import Source, find_source, needed_target
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd


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
    own = {"table", "target", "seed", "n_jobs", "time_limit", "quiet"}
    own |= {"keep", "drop", "out", "pdf", "as_json", "markdown", "cluster", "resume", "fast"}
    if not is_wide(frame) or set(asked) - own:
        return False
    say(
        f"{len(frame):,} rows and {frame.shape[1] - 1:,} columns: which of them are chosen again "
        "from other rows is asked first, as parsimon select-features does; with --depth the search "
        "for kernels runs all the same.",
        err=True,
    )
    return True


def columns_and_report(
    context: click.Context,
    table: str,
    target: str | None,
    *,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    construct: bool,
    max_features: int | None,
    outer: int | None,
    splits: int | None,
    time_limit: float | None,
    positive: str | None,
    task: str,
    **given: Any,
) -> None:
    """Search for the front of columns or formulas; of a wide table, for columns chosen again."""
    started = time.monotonic()
    source = choose_columns(find_source(table, target), keep, drop, needed=given["fixed"])
    searched = construct or max_features is not None
    wide = source.frame.shape[1] - 1 > len(source.frame)
    if splits is None and (searched or not wide):
        front: dict[str, Any] = {
            "construct": construct,
            "max_features": max_features,
            "outer": outer,
            "positive": positive,
            "task": task,
        }
        left = remaining_seconds(time_limit, started)
        _search_and_report(context, source, time_limit=left, **front, **given)
        return
    for option, asked in (("--construct", construct), ("--max-features", max_features is not None)):
        if asked:
            raise InvalidInputError(f"{option} does not go with --splits; leave one out.")
    for option, named in (("--positive", positive is not None), ("--task", task != "auto")):
        if named:
            raise InvalidInputError(
                f"{option} does not go with splits into halves; leave it out, or ask for "
                "--max-features."
            )
    left = remaining_seconds(time_limit, started)
    select_and_report(context, source, splits=splits, time_limit=left, **given)


def _search_and_report(
    context: click.Context,
    source: Source,
    *,
    out: Path | None,
    pdf: bool,
    as_json: bool,
    markdown: bool,
    quiet: bool,
    cluster: str | None,
    resume: bool,
    **options: Any,
) -> None:
    """Search for a front and write the page."""
    from parsimon.statistician import select_columns

    target = needed_target(source)
    ending = "formulas" if options["construct"] else "columns"
    places = find_places(source.name, out, ending, pdf=pdf, as_json=as_json, markdown=markdown)
    with on_cluster(cluster), kept_work(places["Report"], resume) as folder:
        analysis = select_columns(
            source.frame,
            target,
            name=source.name,
            verbose=not quiet,
            command=command_line(context, target),
            checkpoint=folder,
            **options,
        )
        write_files(analysis, places, source.treatments)
    _show(analysis, places, quiet=quiet)


def _show(analysis: Any, places: Mapping[str, Path], *, quiet: bool) -> None:
    if not quiet:
        show_summary(analysis.findings, places)


def select_and_report(
    context: click.Context,
    source: Source,
    *,
    fixed: tuple[str, ...] = (),
    splits: int | None = None,
    out: Path | None,
    pdf: bool,
    as_json: bool,
    markdown: bool,
    quiet: bool,
    cluster: str | None,
    resume: bool,
    **options: Any,
) -> None:
    """Ask which columns of a table are chosen again from other rows, and write the page."""
    from parsimon.statistician import select_features as select

    if splits is not None and splits < 1:
        raise InvalidInputError(f"--splits must be at least 1, got {splits}.")
    target = needed_target(source)
    places = find_places(source.name, out, "columns", pdf=pdf, as_json=as_json, markdown=markdown)
    with on_cluster(cluster), kept_work(places["Report"], resume) as folder:
        analysis = select(
            source.frame,
            target,
            fixed=fixed,
            n_splits=splits,
            name=source.name,
            command=command_line(context, target),
            checkpoint=folder,
            **options,
        )
        write_files(analysis, places, source.treatments)
    _show(analysis, places, quiet=quiet)
