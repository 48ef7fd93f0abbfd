"""`parsimon report`: from a table to a page that says what predicts a column."""

from pathlib import Path
from typing import Any

import click

from parsimon._parallel import early_workers, is_done_alone
from parsimon.cli.options import PAGE, QUESTION, RUN, TREE, RuleName, list_given, shared
from parsimon.cli.pages import write_page
from parsimon.cli.printing import say
from parsimon.cli.sources import Source, find_source, read_source
from parsimon.exceptions import InvalidInputError

# Distinct values of a target that look like classes.
_CLASSES = 10
_GUIDES = ("cv_error", "cv_logloss", "loo_logloss", "nlml", "bic")
# What a tree brings with it.
_TREE_NAMES = frozenset({"default_length", "tip", "model", "folds"})
# What all pages have, and what pages about traits and about many columns are asked with.
_OF_PAGES = frozenset(
    {"target", "keep", "drop", "out", "pdf", "as_json", "markdown", "seed", "n_jobs", "cluster"}
    | {"resume", "time_limit", "fast", "quiet"}
)
_OF_TRAITS = _OF_PAGES | {"tree", "rivals", *_TREE_NAMES}


@click.command()
@shared(*QUESTION, *PAGE)
@click.option(
    "--depth", type=int, metavar="N", help="Most base kernels.  [default: 4, of large tables 2]"
)
@click.option("--beam", default=2, metavar="N", help="Structures that are grown.  [default: 2]")
@click.option(
    "--base", default="se", metavar="NAMES", help="Some of se,per,lin,matern,rq.  [default: se]"
)
@click.option(
    "--guide",
    type=click.Choice(_GUIDES),
    default="cv_logloss",
    metavar="NAME",
    help="What the search minimises: cv_error, cv_logloss, loo_logloss, nlml or bic.  "
    "[default: cv_logloss]",
)
@click.option(
    "--choose",
    type=RuleName(),
    default="supported",
    metavar="RULE",
    help="The structure to describe: supported (what is more probable than not), one_se or "
    "least_error.  [default: supported]",
)
@click.option(
    "--families",
    default="all",
    metavar="NAMES",
    help="Who is asked: some of gp,rvm,bpm,plain-gp,svm,formula; all or none.  [default: all]",
)
@shared("rivals", "outer", *RUN, "fast", "quiet", *TREE)
@click.pass_context
def report(
    context: click.Context,
    /,
    table: str,
    target: str | None,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    tree: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Search TABLE for what predicts a column, and write a report about it.

    TABLE is a CSV, TSV, Excel or Parquet file, or the name of a data set (see parsimon datasets),
    whose target is known. The report is one HTML page that needs no network; the fitted model is
    saved beside it, for parsimon predict. With --tree the rows are related species, and the page
    explains a trait by features and relatives.

    \b
    Examples:
        parsimon report pima
        parsimon report patients.csv --target outcome --positive died --pdf
        parsimon report patients.csv --target outcome --fast --out first-look.html
        parsimon report patients.csv --target outcome --drop 'id,visit_*'
        parsimon report lizards.csv --target SVL --tree lizards.nwk
    """
    _check_tree(context, tree)
    if tree is not None:
        given = {name: context.params[name] for name in _OF_TRAITS}
        report_on_trait(context, table, ending="report", **given)
        return
    source = read_source(table, target, keep, drop)
    if _is_sent_on(context, source):
        given = {name: context.params[name] for name in _OF_PAGES - {"target", "keep", "drop"}}
        report_on_columns(context, source, **given)
        return
    from parsimon.statistician import analyse

    options = {name: value for name, value in options.items() if name not in _TREE_NAMES}
    write_page(
        context,
        analyse,
        source,
        "report",
        model_of="NEW_ROWS",
        quiet=quiet,
        verbose=not quiet,
        **options,
    )


def _is_sent_on(context: click.Context, source: Source) -> bool:
    """Return whether a table is asked which columns come back, and say so.

    It is where there are ten times more columns than rows, unless the search was asked for by one
    of its own options. Workers start while this is found out.
    """
    n_classes = 0 if source.target is None else source.frame[source.target].nunique()
    n_questions = n_classes if 2 < n_classes <= _CLASSES else 1
    alone = context.params["fast"] and is_done_alone(n_questions, source.frame.size)
    n_jobs = 1 if alone or context.params["cluster"] else context.params["n_jobs"]
    with early_workers(n_jobs, "parsimon.statistician.analyse"):
        from parsimon.statistician import is_wide
    frame = source.frame
    if not is_wide(frame) or set(list_given(context)) - _OF_PAGES:
        return False
    say(
        f"{len(frame):,} rows and {frame.shape[1] - 1:,} columns: which of them are chosen again "
        "from other rows is asked first, as parsimon select-features does; with --depth the search "
        "for kernels runs all the same.",
        err=True,
    )
    return True


def report_on_columns(
    context: click.Context,
    source: Source,
    *,
    fixed: tuple[str, ...] = (),
    splits: int | None = None,
    **options: Any,
) -> None:
    """Ask which columns of a table are chosen again from other rows, and write the page."""
    from parsimon.statistician import select_features as select

    if splits is not None and splits < 1:
        raise InvalidInputError(f"--splits must be at least 1, got {splits}.")
    write_page(context, select, source, "columns", fixed=fixed, n_splits=splits, **options)


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
    quiet: bool,
    **options: Any,
) -> None:
    """Analyse a trait and write its page; what is left of the options goes to the analysis."""
    source, tree = _species(find_source(table, target), table, tree)
    from parsimon.phylo import read_tree
    from parsimon.statistician import analyse_traits
    from parsimon.statistician.chosen_columns import list_features

    names = [str(name) for name in source.frame.columns]
    features, dropped = list_features(names, keep, drop, "--")

    def analyse(frame: Any, target: str, **more: Any) -> Any:
        read = read_tree(Path(tree).expanduser(), default_length=default_length)
        return analyse_traits(frame, read, target, **more)

    write_page(
        context,
        analyse,
        source,
        ending,
        model_of="NEW_SPECIES",
        quiet=quiet,
        verbose=not quiet,
        features=features,
        drop=dropped,
        **options,
    )


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


def _check_tree(context: click.Context, tree: str | None) -> None:
    """Refuse options that are for a tree alone without one, and those that do not go with one."""
    for name, spelled in list_given(context).items():
        if tree is None and name in _TREE_NAMES:
            raise InvalidInputError(f"{spelled} is for related species; add --tree FILE.")
        if tree is not None and name not in _OF_TRAITS:
            raise InvalidInputError(f"{spelled} does not go with --tree; leave it out.")
