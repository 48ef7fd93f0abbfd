"""`parsimon series`: the few features of series that predict a target, on a page."""

from pathlib import Path
from typing import Any

import click

from parsimon.cli.options import PAGE, QUESTION, RUN, shared
from parsimon.cli.pages import write_page
from parsimon.cli.printing import say
from parsimon.cli.series_files import CLASS
from parsimon.cli.sources import Source, find_source, narrow_source, series_source
from parsimon.exceptions import InvalidInputError


@click.command()
@shared(*QUESTION)
@click.option("--id", "id_", metavar="COLUMN", help="Which series a row belongs to.")
@click.option("--time", "time_", metavar="COLUMN", help="When a row was measured: number or date.")
@click.option(
    "--value", multiple=True, metavar="COLUMN", help="What was measured; may be repeated."
)
@click.option("--max-features", default=5, metavar="K", help="Most features.  [default: 5]")
@click.option(
    "--choose",
    default="one_se",
    metavar="RULE",
    help="The features to take: one_se (fewest within one standard error of the least error), "
    "error, knee, ranked, or such as 'error where n_features<=2'.  [default: one_se]",
)
@shared("folds", *PAGE)
@click.option(
    "--features",
    "features_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the features of each series as CSV or TSV too.",
)
@shared(*RUN, "fast", "quiet")
@click.pass_context
def series(
    context: click.Context,
    /,
    table: str,
    target: str | None,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    id_: str | None,
    time_: str | None,
    value: tuple[str, ...],
    features_file: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the few features of the series in TABLE that predict a target, and report on them.

    TABLE has one row a measurement: --id says which series it belongs to, --time when it was
    taken and --value what was measured; several --value are several channels. Or it has one row a
    series, all columns but the target being its values in order. The target is the same in all
    rows of a series. Files of the UCR archive (.ts, or .tsv without a header and with the class
    first) and data sets such as ucr_gunpoint are read as they are.

    The page says each feature in words and draws it on a series of each class, with the place it
    looks at; it shows what each further feature buys, and how well they do on new series beside
    the nearest series, a linear model and plain summaries. The model is saved beside it, for
    parsimon predict.

    \b
    Examples:
        parsimon series hearts.csv --id patient --time second --value pulse --target ill
        parsimon series walks.csv --id walk --time t --value x --value y --target kind
        parsimon series one_series_a_row.csv --target outcome --max-features 3 --pdf
        parsimon series GunPoint_TRAIN.tsv --fast --features features.csv
    """
    source, has_header = _source(table, target)
    source = narrow_source(source, keep, drop, needed=(id_, time_, *value))
    _check_features(features_file)
    from parsimon.statistician import analyse_series

    write_page(
        context,
        analyse_series,
        source,
        "series",
        model_of="NEW_SERIES",
        features_file=features_file,
        quiet=quiet,
        verbose=not quiet,
        id=id_,
        time=time_,
        value=value,
        has_header=has_header,
        **options,
    )


def _source(table: str, target: str | None) -> tuple[Source, bool]:
    """Return the table, and whether it has a header; one without begins with the class."""
    bare = series_source(table) if target in (None, CLASS) else None
    if bare is None:
        return find_source(table, target), True
    said = f"{table} names no columns: the class of a series is called {CLASS!r}."
    say(said, err=True)
    return bare, False


def _check_features(file: Path | None) -> None:
    if file is not None and file.suffix.lower() not in (".csv", ".tsv", ".tab"):
        raise InvalidInputError(f"--features {file} must end in .csv or .tsv.")
