"""`parsimon phylo`: another name for `parsimon report --tree`."""

from typing import Any

import click

from parsimon.cli.options import PAGE, RUN, TREE, shared
from parsimon.cli.report import report_on_trait


@click.command()
@shared("table", "target", "keep", "drop", *TREE, *PAGE, "rivals", *RUN, "fast", "quiet")
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
        parsimon phylo traits.csv --tree tree.nwk --target mass --keep length,age
    """
    report_on_trait(context, table, ending="phylo", **options)
