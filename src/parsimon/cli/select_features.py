"""`parsimon select-features`: which columns of a table are needed, or a formula of them."""

from pathlib import Path
from typing import Any

import click

from parsimon.cli.running import time_option
from parsimon.cli.sources import complete_table
from parsimon.cli.wide_tables import columns_and_report


@click.command("select-features")
@click.argument("table", shell_complete=complete_table)
@click.option("--target", metavar="COLUMN", help="The column to tell: classes or a number.")
@click.option("--construct", is_flag=True, help="Search for formulas of the columns.")
@click.option(
    "--max-features", type=int, metavar="K", help="Most columns, or most features of a formula."
)
@click.option("--fixed", multiple=True, metavar="COLUMN", help="In every model, such as age.")
@click.option("--outer", default=5, metavar="N", help="Outer folds; 0 for none.  [default: 5]")
@click.option(
    "--splits",
    type=int,
    metavar="N",
    help="Ask which columns come back in N splits into halves.  [default: 100, of wide tables]",
)
@click.option("--out", type=click.Path(path_type=Path), help="The page to write, or a folder.")
@click.option("--pdf", is_flag=True, help="Write the report as PDF too.")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as data too.")
@click.option("--markdown", is_flag=True, help="Write the text as Markdown too.")
@click.option("--seed", default=0, metavar="N", help="Of every random choice.  [default: 0]")
@click.option("--jobs", "n_jobs", default=-1, metavar="N", help="Processes.  [default: all cores]")
@time_option
@click.option("--quiet", is_flag=True, help="Show neither progress nor a summary.")
@click.pass_context
def select_features(
    context: click.Context, /, table: str, target: str | None, **given: Any
) -> None:
    """Find which columns of TABLE are needed to tell one of them, and report on it.

    The page shows the front: for each number of columns the best columns of that number and their
    error, and how well the choice does on new rows beside a linear model of all columns and
    boosting. With --construct it shows formulas instead, the best of each length, in words and
    drawn.

    With more columns than rows, such as genes of patients, no search can tell luck from effect.
    Then the rows are dealt into halves again and again and columns are selected in each half
    alone; the page says which come back, how often chance would do that, how many may be wrong,
    and which labels look wrong. --splits asks that of any table.

    \b
    Examples:
        parsimon select-features patients.csv --target relapse --max-features 5
        parsimon select-features motors.csv --target power --construct
        parsimon select-features genes.csv --target relapse --fixed age --splits 200
        parsimon select-features golub_leukaemia --out page.html --json
    """
    columns_and_report(context, table, target, **given)
