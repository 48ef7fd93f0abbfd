"""`parsimon report`: from a table to a page that says what predicts a column."""

import shlex
import time
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from parsimon._parallel import early_workers, is_done_alone
from parsimon.cli.columns import choose_columns
from parsimon.cli.options import PAGE, QUESTION, RUN, RuleName, shared
from parsimon.cli.pages import command_line, find_places, show_summary, write_files
from parsimon.cli.printing import say
from parsimon.cli.running import kept_work, on_cluster, remaining_seconds
from parsimon.cli.sources import Source, find_source, needed_target
from parsimon.cli.traits import TREE_NAMES, report_on_trait, tree_options
from parsimon.cli.wide_tables import select_and_report, sent_on
from parsimon.exceptions import InvalidInputError

# Distinct values of a target that look like classes.
_CLASSES = 10
_GUIDES = ("cv_error", "cv_logloss", "loo_logloss", "nlml", "bic")
_OF_TRAITS = (
    *("tree", "target", "out", "pdf", "as_json", "markdown", "seed", "n_jobs", "quiet"),
    *("cluster", "resume", "rivals", "time_limit", "keep", "drop"),
    *TREE_NAMES,
)
# What a table with many more columns than rows is asked with.
_OF_COLUMNS = (
    *("out", "pdf", "as_json", "markdown", "seed", "n_jobs", "cluster", "resume"),
    *("fast", "quiet"),
)


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
@shared("rivals", "outer", *RUN, "fast", "quiet")
@tree_options
@click.pass_context
def report(
    context: click.Context,
    /,
    table: str,
    target: str | None,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    tree: str | None,
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
    started = time.monotonic()
    _check_tree(context, tree)
    if tree is not None:
        given = {name: context.params[name] for name in _OF_TRAITS}
        report_on_trait(context, table, ending="report", **given)
        return
    options = {name: value for name, value in options.items() if name not in TREE_NAMES}
    source = choose_columns(find_source(table, target), keep, drop)
    if _is_sent_on(context, source):
        given = {name: context.params[name] for name in _OF_COLUMNS}
        left = remaining_seconds(time_limit, started)
        select_and_report(context, source, time_limit=left, **given)
        return
    places = find_places(
        source.name, out, "report", pdf=pdf, as_json=as_json, markdown=markdown, model=True
    )
    from parsimon.statistician import analyse

    with on_cluster(cluster), kept_work(places["Report"], resume) as folder:
        analysis = analyse(
            source.frame,
            needed_target(source),
            name=source.name,
            verbose=not quiet,
            command=command_line(context, needed_target(source)),
            checkpoint=folder,
            time_limit=remaining_seconds(time_limit, started),
            **options,
        )
        write_files(analysis, places, source.treatments)
    if not quiet:
        show_summary(analysis.findings, places)
        say(f"Predict   parsimon predict {shlex.quote(str(places['Model']))} NEW_ROWS.csv")


def _is_sent_on(context: click.Context, source: Source) -> bool:
    """Return whether a table has more columns than rows; workers start while this is found out."""
    n_classes = 0 if source.target is None else source.frame[source.target].nunique()
    n_questions = n_classes if 2 < n_classes <= _CLASSES else 1
    alone = context.params["fast"] and is_done_alone(n_questions, source.frame.size)
    n_jobs = 1 if alone or context.params["cluster"] else context.params["n_jobs"]
    with early_workers(n_jobs, "parsimon.statistician.analyse"):
        return sent_on(context, source.frame)


def _check_tree(context: click.Context, tree: str | None) -> None:
    """Refuse options that are for a tree alone without one, and those that do not go with one."""
    given = [
        option
        for option in context.command.params
        if context.get_parameter_source(option.name or "") == ParameterSource.COMMANDLINE
        and isinstance(option, click.Option)
    ]
    for option in given:
        if tree is None and option.name in TREE_NAMES:
            raise InvalidInputError(f"{option.opts[0]} is for related species; add --tree FILE.")
        if tree is not None and option.name not in _OF_TRAITS:
            raise InvalidInputError(f"{option.opts[0]} does not go with --tree; leave it out.")
