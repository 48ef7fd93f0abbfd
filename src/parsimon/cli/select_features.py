"""`parsimon select-features`: which columns of a wide table come back from other rows."""

from pathlib import Path
from typing import Any

import click

from parsimon.cli.sources import complete_table
from parsimon.cli.wide_tables import select_and_report


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
