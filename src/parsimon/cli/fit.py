"""`parsimon fit`: one model of a table in a file, and a screen about it."""

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parsimon.cli.options import QUESTION, RUN, RuleName, shared
from parsimon.cli.pages import file_name, model_name
from parsimon.cli.printing import note_standing, say
from parsimon.cli.running import analysed, say_treatments
from parsimon.cli.sources import needed_target, read_source
from parsimon.cli.tables import check_target
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from parsimon.statistician import FittedModel


@click.command()
@shared(*QUESTION)
@click.option(
    "--family",
    default="recommended",
    metavar="NAME",
    help="gp, rvm, bpm, plain-gp, svm, formula, linear, tree, forest or boosting; "
    "recommended compares all of them first.  [default: recommended]",
)
@click.option(
    "--choose",
    type=RuleName(),
    default="supported",
    metavar="RULE",
    help="Of gp: supported, one_se or least_error.  [default: supported]",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file of the model.")
@shared("outer", *RUN, "quiet")
def fit(
    table: str,
    target: str | None,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    out: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit one model to TABLE, and save it for parsimon predict.

    TABLE is a file, or the name of a data set (see parsimon datasets). How well the model does is
    measured on outer folds, beside guessing; --outer 0 leaves that out.

    \b
    Examples:
        parsimon fit pima --family rvm --out pima.skops
        parsimon fit patients.csv --target outcome --family gp --choose one_se
    """
    source = read_source(table, target, keep, drop)
    place = _place(out, source.name)
    from parsimon.statistician import fit_model, save_model

    with analysed(fit_model, source, place, verbose=not quiet, **options) as found:
        save_model(found.model, place)
        note_standing(f"{place} is written")
    if not quiet:
        question = {name: options[name] for name in ("positive", "task")}
        say_treatments(source, **question)
        for line in summary(found, needed_target(source)):
            say(line)
        say(f"Model     {place}")
        say(f"Predict   parsimon predict {shlex.quote(str(place))} NEW_ROWS.csv")


def _place(out: Path | None, name: str) -> Path:
    place = Path(model_name(file_name(name))) if out is None else out
    if place.is_dir():
        place = place / model_name(file_name(name))
    elif place.suffix.lower() in (".html", ".csv", ".json", ".pdf"):
        raise InvalidInputError(f"--out names the model, not {place}; give a name in .skops.")
    check_target(place)
    return place


def summary(found: "FittedModel", target: str) -> list[str]:
    """Return what was fitted and how well it does, in a few lines."""
    row, model = found.compared, found.model
    lines = [f"Fitted    {found.name}, which predicts {target}"]
    if row is None:
        return [*lines, "Error     not measured, since there were no outer folds"]
    models = () if found.comparison is None else found.comparison.models
    guess = next((one for one in models if one.family == "guessing"), None)
    ends = f"{100 * row.error.low:.1f} to {100 * row.error.high:.1f}"
    what = "wrong on new rows" if len(model.classes) else "of the variance left on new rows"
    beside = "" if guess is None else f"; guessing {100 * guess.error.estimate:.1f} %"
    lines.append(f"Error     {100 * row.error.estimate:.1f} % {what} (95 %: {ends}{beside})")
    lines.append(f"Size      {row.size_words}; {row.size:,.0f} bits")
    if not math.isnan(row.log_loss):
        lines.append(f"Log loss  {row.log_loss:.3f}")
    return lines
