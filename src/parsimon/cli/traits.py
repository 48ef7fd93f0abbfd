"""From a table of species and a tree to a page about one trait: `report --tree` and `phylo`."""

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from parsimon.cli.columns import find_columns
from parsimon.cli.pages import command_line, find_places, show_summary, write_files
from parsimon.cli.printing import say
from parsimon.cli.running import kept_work, on_cluster, remaining_seconds
from parsimon.cli.sources import Source, find_source, needed_target
from parsimon.exceptions import InvalidInputError


def tree_options(with_tree: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that explains a trait of related species."""
    for option in reversed(_TREE_OPTIONS):
        with_tree = option(with_tree)
    return with_tree


_TREE_OPTIONS = (
    click.option("--tree", metavar="FILE", help="Rows are species of this tree: Newick or NEXUS."),
    click.option(
        "--default-length",
        type=float,
        metavar="LENGTH",
        help="For branches of the tree without one.",
    ),
    click.option(
        "--tip", metavar="COLUMN", help="Names of its tips.  [default: tip, or what matches]"
    ),
    click.option(
        "--model",
        type=click.Choice(["phyrvm", "pgls"]),
        default="phyrvm",
        metavar="NAME",
        help="With --tree, what predicts: phyrvm or pgls.  [default: phyrvm]",
    ),
    click.option(
        "--folds",
        type=int,
        metavar="N",
        help="Folds of whole clades; 0 for none.  [default: 3 to 10]",
    ),
)
TREE_NAMES = ("default_length", "tip", "model", "folds")


def report_on_trait(
    context: click.Context,
    table: str,
    *,
    ending: str,
    tree: str | None,
    default_length: float | None,
    target: str | None,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    out: Path | None,
    pdf: bool,
    as_json: bool,
    markdown: bool,
    quiet: bool,
    cluster: str | None,
    resume: bool,
    time_limit: float | None,
    **options: Any,
) -> None:
    """Analyse a trait and write its page; what is left of the options goes to the analysis."""
    started = time.monotonic()
    source, tree = _species(find_source(table, target), table, tree)
    places = find_places(
        source.name, out, ending, pdf=pdf, as_json=as_json, markdown=markdown, model=True
    )
    from parsimon.phylo import read_tree
    from parsimon.statistician import analyse_traits

    columns = [str(name) for name in source.frame.columns]
    with on_cluster(cluster), kept_work(places["Report"], resume) as folder:
        analysis: Any = analyse_traits(
            source.frame,
            read_tree(Path(tree).expanduser(), default_length=default_length),
            needed_target(source),
            name=source.name,
            features=find_columns(keep, columns, "--keep") if keep else None,
            drop=find_columns(drop, columns, "--drop"),
            verbose=not quiet,
            command=command_line(context, needed_target(source)),
            checkpoint=folder,
            time_limit=remaining_seconds(time_limit, started),
            **options,
        )
        write_files(analysis, places, source.treatments)
    if not quiet:
        show_summary(analysis.findings, places)
        say(f"Predict   parsimon predict {shlex.quote(str(places['Model']))} NEW_SPECIES.csv")


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
