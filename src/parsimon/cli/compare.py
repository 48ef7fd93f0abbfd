"""`parsimon compare`: all families and plain rivals on the same new rows, without a page."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parsimon._writing import write_file
from parsimon.cli.options import QUESTION, RUN, shared
from parsimon.cli.pages import file_name
from parsimon.cli.printing import as_markup, note_standing, say
from parsimon.cli.running import analysed, say_treatments
from parsimon.cli.sources import read_source
from parsimon.cli.tables import check_target

if TYPE_CHECKING:
    from parsimon.report.findings import ComparedModel, ModelComparison


@click.command()
@shared(*QUESTION)
@click.option(
    "--families",
    default="all",
    metavar="NAMES",
    help="Some of gp,rvm,bpm,plain-gp,svm,formula; all or none.  [default: all]",
)
@shared("rivals")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Write the rows to FILE."
)
@click.option(
    "--outer", type=int, metavar="N", help="Outer folds.  [default: 5; 3 of 20,000 rows or more]"
)
@shared(*RUN, "fast")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def compare(
    table: str,
    target: str | None,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    json_file: Path | None,
    fast: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Measure all models of TABLE on the same new rows, and say which one to use.

    TABLE is a file, or the name of a data set (see parsimon datasets). Errors are of rows that no
    model has seen; the one to use is the simplest that is probably not much worse than the best.
    --json - prints the rows instead of the table.

    \b
    Examples:
        parsimon compare pima
        parsimon compare patients.csv --target outcome --rivals linear,forest
        parsimon compare patients.csv --target outcome --fast --json models.json
    """
    printed = json_file is not None and str(json_file) == "-"
    if json_file is not None and not printed:
        check_target(json_file)
    source = read_source(table, target, keep, drop)
    from parsimon.statistician import compare_models

    if fast:
        # As in a fast report: plain models alone, on few folds.
        from parsimon.statistician.folds import FAST_FOLDS

        options["families"] = "none" if options["families"] == "all" else options["families"]
        options["outer"] = FAST_FOLDS if options["outer"] is None else options["outer"]

    verbose = not quiet and not printed
    place = json_file if json_file is not None and not printed else Path("compared.json")
    folder = place.with_name(f"{file_name(source.name)}-compare{place.suffix}")
    with analysed(compare_models, source, folder, verbose=verbose, **options) as found:
        text = json.dumps(list(map(record, found.models)), indent=2, ensure_ascii=False)
        if json_file is not None and not printed:
            write_file(json_file, f"{text}\n")
            note_standing(f"{json_file} is written")
    if not quiet:
        question = {name: options[name] for name in ("positive", "task")}
        say_treatments(source, **question)
    if printed:
        say(text)
        return
    show_comparison(found)
    if json_file is not None:
        say(f"Written to {json_file}.")


def record(model: "ComparedModel") -> dict[str, Any]:
    """Return a model as a row of JSON, without the time it took: equal runs give equal rows."""
    return {
        "family": model.family,
        "name": model.name,
        "error": model.error.estimate,
        "error_low": model.error.low,
        "error_high": model.error.high,
        "log_loss": _finite(model.log_loss),
        "variables": model.variables,
        "size": _finite(model.size),
        "size_words": model.size_words,
        "difference": model.difference.estimate,
        "difference_low": model.difference.low,
        "difference_high": model.difference.high,
        "best": model.is_best,
        "level": model.is_level,
        "recommended": model.recommended,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


_WIDE = 110


def show_comparison(found: "ModelComparison") -> None:
    """Print a comparison as a table, and which model to use."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    # What models are made of needs a line of more than 80 letters.
    numbers, is_wide = found.metric == "variance left", console.width >= _WIDE
    title = "Models on the same new rows, the best first"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("model", no_wrap=True)
    table.add_column("variance left" if numbers else "wrong", justify="right")
    table.add_column("95 %", justify="right", no_wrap=True)
    if not numbers:
        table.add_column("log loss", justify="right")
    table.add_column("columns", justify="right", no_wrap=True)
    if is_wide:
        table.add_column("made of", overflow="fold")
    table.add_column("bits", justify="right", no_wrap=True)
    if is_wide:
        table.add_column("s", justify="right")
    for model in found.models:
        ends = f"{100 * model.error.low:.1f} to {100 * model.error.high:.1f}"
        cells = [as_markup(model.name), f"{100 * model.error.estimate:.1f} %"]
        cells += [ends, *(() if numbers else (_log_loss(model.log_loss),))]
        made = as_markup(model.size_words.partition(", ")[2])
        size, seconds = f"{model.size:,.0f}", f"{model.seconds:.1f}"
        cells += [f"{model.variables:,}", *((made, size, seconds) if is_wide else (size,))]
        mark = "➜" if model.recommended else "=" if model.is_level else ""
        style = "bold" if model.recommended else ""
        table.add_row(mark, *cells, style=style)
    console.print(table)
    console.print(as_markup(verdict(found)))
    for name, why in found.left_out:
        console.print(as_markup(f"Not asked: {name}, since {why}."))


def _log_loss(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def verdict(found: "ModelComparison") -> str:
    """Return who is best and which model to use, in a sentence or two."""
    best, chosen = found.best, found.recommended
    if best is chosen:
        return f"➜ Use the {chosen.name}: it is the best, and nothing simpler comes close."
    if best.family == "guessing":
        return (
            f"➜ Use the {chosen.name}: nothing beats guessing, yet some column goes with the "
            "target more than chance would have it."
        )
    if chosen.size > best.size:
        return f"➜ Use the {chosen.name}: that the best, the {best.name}, is much better " + (
            "is not probable."
        )
    return (
        f"➜ Use the {chosen.name}: the simplest that is probably not much worse than the best, "
        f"the {best.name}. Those marked = cannot be told from the best by these rows."
    )
