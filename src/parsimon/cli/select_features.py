"""`parsimon select-features`: which columns of a table are needed, or a formula of them."""

from collections.abc import Mapping
from typing import Any

import click

from parsimon.cli.options import PAGE, QUESTION, RUN, shared
from parsimon.cli.pages import write_page
from parsimon.cli.report import report_on_columns
from parsimon.cli.sources import Source, read_source
from parsimon.exceptions import InvalidInputError


@click.command("select-features")
@shared(*QUESTION)
@click.option("--construct", is_flag=True, help="Search for formulas of the columns.")
@click.option(
    "--max-features", type=int, metavar="K", help="Most columns, or most features of a formula."
)
@click.option("--fixed", multiple=True, metavar="COLUMN", help="In every model, such as age.")
@shared("folds")
@click.option(
    "--splits",
    type=int,
    metavar="N",
    help="Ask which columns are chosen in N splits into halves.  [default: 100 of wide tables, "
    "with --fast 20]",
)
@shared(*PAGE, *RUN, "fast", "quiet")
@click.pass_context
def select_features(
    context: click.Context,
    /,
    table: str,
    target: str | None,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    **given: Any,
) -> None:
    """Find which columns of TABLE are needed to predict one of them, and report on it.

    The page shows the front: for each number of columns the best columns of that number and their
    error, and how well the choice does on new rows beside a linear model of all columns and
    boosting. With --construct it shows formulas instead, the best of each length, in words and
    drawn.

    With more columns than rows, such as genes of patients, no search can separate luck from
    effect. Then the rows are dealt into halves again and again and columns are selected in each
    half alone; the page says which are chosen again, how often chance would do that, how many may
    be wrong, and which labels look wrong. --splits asks that of any table.

    \b
    Examples:
        parsimon select-features patients.csv --target relapse --max-features 5
        parsimon select-features motors.csv --target power --construct
        parsimon select-features genes.csv --target relapse --fixed age --splits 200
        parsimon select-features golub_leukaemia --out page.html --json
    """
    source = read_source(table, target, keep, drop, needed=given["fixed"])
    is_wide = source.frame.shape[1] - 1 > len(source.frame)
    if given["splits"] is None and (_searches(given) or not is_wide):
        del given["splits"]
        _search_and_report(context, source, **given)
        return
    _check_splits(given)
    given = {name: value for name, value in given.items() if name not in _OF_SEARCHES}
    report_on_columns(context, source, **given)


# Options of a search for a front.
_OF_SEARCHES = frozenset({"construct", "max_features", "outer", "positive", "task"})


def _searches(given: Mapping[str, Any]) -> bool:
    """Return whether a search for a front is asked for."""
    return given["construct"] or given["max_features"] is not None


def _check_splits(given: Mapping[str, Any]) -> None:
    """Refuse options that do not go with splits into halves."""
    for option, asked in (
        ("--construct", given["construct"]),
        ("--max-features", given["max_features"] is not None),
    ):
        if asked:
            raise InvalidInputError(f"{option} does not go with --splits; leave one out.")
    for option, named in (
        ("--positive", given["positive"] is not None),
        ("--task", given["task"] != "auto"),
    ):
        if named:
            raise InvalidInputError(
                f"{option} does not go with splits into halves; leave it out, or ask for "
                "--max-features."
            )


def _search_and_report(
    context: click.Context, source: Source, *, quiet: bool, **options: Any
) -> None:
    """Search for the front of columns or formulas, and write the page."""
    from parsimon.statistician import select_columns

    ending = "formulas" if options["construct"] else "columns"
    write_page(context, select_columns, source, ending, quiet=quiet, verbose=not quiet, **options)
