"""`parsimon select-features`: which columns of a table are needed, or a formula of them."""

from typing import Any

import click

from parsimon.cli.options import PAGE, QUESTION, RUN, shared
from parsimon.cli.wide_tables import columns_and_report


@click.command("select-features")
@shared(*QUESTION)
@click.option("--construct", is_flag=True, help="Search for formulas of the columns.")
@click.option(
    "--max-features", type=int, metavar="K", help="Most columns, or most features of a formula."
)
@click.option("--fixed", multiple=True, metavar="COLUMN", help="In every model, such as age.")
@click.option(
    "--outer", type=int, metavar="N", help="Outer folds; 0 for none.  [default: 5, with --fast 3]"
)
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
    context: click.Context, /, table: str, target: str | None, **given: Any
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
    columns_and_report(context, table, target, **given)
