"""`parsimon phylo`: from a table of species and a tree to a page about one trait."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from parsimon.cli.pages import (
    INTERRUPTED,
    check_places,
    command_line,
    find_places,
    show_summary,
    write_files,
)
from parsimon.cli.printing import say
from parsimon.cli.sources import Source, complete_table, find_source, needed_target
from parsimon.exceptions import InvalidInputError

# Options that change where and how results are shown, not the results.
_SHOWING = frozenset({"table", "out", "pdf", "as_json", "markdown", "n_jobs", "quiet"})


@click.command()
@click.argument("table", shell_complete=complete_table)
@click.option("--tree", metavar="FILE", help="Newick or NEXUS, gzip or not.")
@click.option(
    "--default-length", type=float, metavar="LENGTH", help="For branches of the tree without one."
)
@click.option("--target", metavar="COLUMN", help="The trait to explain: a column of numbers.")
@click.option("--tip", metavar="COLUMN", help="Names of tips.  [default: tip, or what matches]")
@click.option(
    "--model",
    type=click.Choice(["phyrvm", "pgls"]),
    default="phyrvm",
    metavar="NAME",
    help="Which leads the page and predicts: phyrvm or pgls.  [default: phyrvm]",
)
@click.option("--features", multiple=True, metavar="COLUMNS", help="Only these: a,b,c.")
@click.option("--drop", multiple=True, metavar="COLUMNS", help="All but these: a,b,c.")
@click.option(
    "--folds", type=int, metavar="N", help="Of whole clades; 0 for none.  [default: 3 to 10]"
)
@click.option("--out", type=click.Path(path_type=Path), help="The page to write, or a folder.")
@click.option("--pdf", is_flag=True, help="Write the report as PDF too.")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as data too.")
@click.option("--markdown", is_flag=True, help="Write the text as Markdown too.")
@click.option("--seed", default=0, metavar="N", help="Of every random choice.  [default: 0]")
@click.option("--jobs", "n_jobs", default=-1, metavar="N", help="Processes.  [default: all cores]")
@click.option("--quiet", is_flag=True, help="Show neither progress nor a summary.")
@click.pass_context
def phylo(
    context: click.Context,
    /,
    table: str,
    tree: str | None,
    default_length: float | None,
    target: str | None,
    features: tuple[str, ...],
    drop: tuple[str, ...],
    out: Path | None,
    pdf: bool,
    as_json: bool,
    markdown: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Explain a trait of related species, and write a report about it.

    TABLE has a row for each species; it is a CSV, TSV, Excel or Parquet file, or the name of a
    data set, whose tree is known. The report is one HTML page: how strongly the trait follows the
    tree, which features explain it (PhyRVM and PGLS side by side), how well clades that were not
    seen are predicted, and what the ancestors had. Species without a value are predicted.

    \b
    Examples:
        parsimon phylo lizards.csv --tree lizards.nwk --target SVL
        parsimon phylo traits.csv --tree tree.nex --target mass --tip species --pdf --json
        parsimon phylo traits.csv --tree tree.nwk --target mass --features length,age
    """
    try:
        source, tree = _species(find_source(table, target), table, tree)
        places = find_places(source.name, out, "phylo", pdf=pdf, as_json=as_json, markdown=markdown)
        check_places(places)
        from parsimon.phylo import read_tree
        from parsimon.statistician import analyse_traits

        columns = [str(name) for name in source.frame.columns]
        analysis: Any = analyse_traits(
            source.frame,
            read_tree(Path(tree).expanduser(), default_length=default_length),
            needed_target(source),
            name=source.name,
            features=_listed(features, columns) if features else None,
            drop=_listed(drop, columns),
            verbose=not quiet,
            command=command_line(context, needed_target(source), _SHOWING),
            **options,
        )
        write_files(analysis, places)
    except KeyboardInterrupt:
        say("Stopped; nothing was written.", err=True)
        sys.exit(INTERRUPTED)
    if not quiet:
        from parsimon.report.sections import summary_lines

        show_summary(summary_lines(analysis.findings), places)


def _species(source: Source, text: str, tree: str | None) -> tuple[Source, str]:
    """Return the table with its tip names, and the file of the tree; a data set may know both."""
    if not Path(text).expanduser().is_file():
        from parsimon.datasets import load

        data = load(text, target=source.target)
        if data.get("tips") is not None and "tip" not in source.frame:
            source = source._replace(frame=source.frame.assign(tip=list(data.tips)))
        tree = data.get("tree_path") if tree is None else tree
    if tree is None:
        raise InvalidInputError("Name the file of the tree with --tree.")
    return source, str(tree)


def _listed(given: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return names that were given one by one or with commas; a column may have one in its name."""
    names: list[str] = []
    for text in given:
        parts = [text] if text in columns else [part.strip() for part in text.split(",")]
        names += [part for part in parts if part]
    return names
