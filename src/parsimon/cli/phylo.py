"""`parsimon phylo`: another name for `parsimon report --tree`."""

from pathlib import Path
from typing import Any

import click

from parsimon.cli.running import resume_option, rivals_option, run_options, time_option
from parsimon.cli.sources import complete_table
from parsimon.cli.traits import report_on_trait, tree_options


@click.command()
@click.argument("table", shell_complete=complete_table)
@click.option("--target", metavar="COLUMN", help="The trait to explain: a column of numbers.")
@tree_options
@click.option("--out", type=click.Path(path_type=Path), help="The page to write, or a folder.")
@click.option("--pdf", is_flag=True, help="Write the report as PDF too.")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as data too.")
@click.option("--markdown", is_flag=True, help="Write the text as Markdown too.")
@rivals_option
@run_options
@resume_option
@time_option
@click.option("--quiet", is_flag=True, help="Show neither progress nor a summary.")
@click.pass_context
def phylo(context: click.Context, /, table: str, **options: Any) -> None:
    """Explain a trait of related species: the same as parsimon report --tree.

    TABLE has a row for each species; it is a CSV, TSV, Excel or Parquet file, or the name of a
    data set, whose tree is known. The report is one HTML page: how strongly the trait follows the
    tree, which features explain it (PhyRVM and PGLS side by side), how well clades that were not
    seen are predicted, by plain rivals too, and what the ancestors had; the recommended model is
    saved beside it. Words of a few levels are features too, empty
    cells of features are expected from relatives, and species without a value are predicted.

    \b
    Examples:
        parsimon phylo lizards.csv --tree lizards.nwk --target SVL
        parsimon phylo traits.csv --tree tree.nex --target mass --tip species --pdf --json
        parsimon phylo traits.csv --tree tree.nwk --target mass --features length,age
    """
    report_on_trait(context, table, ending="phylo", **options)
