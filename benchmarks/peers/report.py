"""Which model a report recommends, beside all others on the same outer folds of ten real tables.

Tables of two and three classes, of a number, with text, missing cells and a rare class, from the
folder that PARSIMON_DATA names. All models are fitted to the same training parts with the same
preparation: our kernel search, plain Gaussian process, relevance and support vector machines,
scikit-learn's tuned logistic or ridge regression, small tree, forest and boosting; and two peers
that a report does not ask, a tuned SVC and an explainable boosting machine (interpret-core, if it
is installed).

Bars: the recommended model is within one paired standard error of the best of all on at least 9
of 10 tables, and the smallest such on at least 7. Times are processor seconds of a whole report
on one process. A run that was stopped goes on where it was.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from benchmarks.peers._report_jobs import ReportJob, work
from benchmarks.reproduce._resume import run_all
from benchmarks.rows import Row

TABLES = {
    "pima": "diabetes",
    "heart_cleveland": "",
    "wine": "",
    "iris": "species",
    "bupa": "",
    "breast_cancer_ljubljana": "",
    "german_credit": "",
    "pima_ripley_tr2": "",
    "lawsuit": "",
    "archaea_ogt_aa": "",
}
QUICK = ("iris", "bupa")
NEAR, SMALLEST = 0.9, 0.7
# Two idle cores have this many processor seconds in the minute that a report may take.
MINUTE = 120.0
TIMED = ("pima", "heart_cleveland", "wine")


def rows(*, quick: bool = False, tables: int | None = None) -> list[Row]:
    """Measure all models on each table; `tables` takes the first so many."""
    names = list(QUICK if quick else TABLES)[:tables]
    jobs = [ReportJob(name, _target(name), 2 if quick else 5, quick=quick) for name in names]
    timed = (
        []
        if quick
        else [ReportJob(name, _target(name), timed=True) for name in names if name in TIMED]
    )
    found = run_all(
        [*jobs, *timed],
        work,
        title="Models of real tables",
        file_name=None if quick else "report.jsonl",
    )
    results = {job.table: found[job] for job in jobs}
    for name, result in results.items():
        _show(name, result)
    if find_spec("supervised") is None:
        print("mljar-supervised is not installed, so that no ratio to its time is shown.")
    return [
        *_verdicts(results, judged=not quick),
        *(row for name, result in results.items() for row in _errors(name, result)),
        *(_time(job.table, found[job]) for job in timed),
    ]


def _target(name: str) -> str:
    from parsimon.datasets import load

    return TABLES[name] or str(load(name).target.name)


def _verdicts(results: Mapping[str, Mapping[str, Any]], *, judged: bool) -> list[Row]:
    near = [name for name, result in results.items() if _recommended(result)["is_near"]]
    smallest = [
        name
        for name, result in results.items()
        if result["recommended"] == result["recommended_of_all"]
    ]
    n = len(results)
    bar = 1.0 if judged else None
    return [
        Row(
            f"{n} tables",
            "recommended within one standard error of the best, share",
            len(near) / n,
            NEAR,
            higher_is_better=True,
            bar=bar,
            note=f"not {', '.join(set(results) - set(near)) or 'missed anywhere'}",
        ),
        Row(
            f"{n} tables",
            "recommended is the smallest such, share",
            len(smallest) / n,
            SMALLEST,
            higher_is_better=True,
            bar=bar,
            note=f"not {', '.join(set(results) - set(smallest)) or 'missed anywhere'}",
        ),
    ]


def _errors(name: str, result: Mapping[str, Any]) -> list[Row]:
    chosen = _recommended(result)
    best = min(result["models"], key=lambda one: one["error"])
    note = f"{chosen['name']} of {chosen['size']:,.0f} bits; {best['name']}, {best['size']:,.0f}"
    made = [
        Row(
            name,
            "error, recommended and least of all, %",
            100 * chosen["error"],
            100 * best["error"],
            note=note,
        )
    ]
    known = [one for one in result["models"] if one["log_loss"] == one["log_loss"]]
    if result["metric"] != "variance left" and known:
        sharp = min(known, key=lambda one: one["log_loss"])
        made.append(
            Row(
                name,
                "log loss, recommended and least",
                chosen["log_loss"],
                sharp["log_loss"],
                note=sharp["name"],
            )
        )
    return made


def _time(name: str, result: Mapping[str, Any]) -> Row:
    return Row(
        name,
        "processor seconds of a report",
        result["processor_seconds"],
        MINUTE,
        bar=1.0,
        note="the peer is a minute of two cores",
    )


def _recommended(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(one for one in result["models"] if one["name"] == result["recommended"])


def _show(name: str, result: Mapping[str, Any]) -> None:
    """Print all models of one table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{name}: by {result['metric']}", title_justify="left")
    for heading in ("", "model", "error, %", "log loss", "bits", "made of", "s a fit"):
        table.add_column(heading, justify="left" if heading in ("", "model") else "right")
    for one in result["models"]:
        is_chosen = one["name"] == result["recommended"]
        mark = "➜" if is_chosen else "≈" if one["is_near"] else "=" if one["is_level"] else ""
        loss = one["log_loss"]
        table.add_row(
            mark,
            one["name"],
            f"{100 * one['error']:.1f}",
            f"{loss:.3f}" if loss == loss else "–",
            f"{one['size']:,.0f}",
            one["size_words"],
            f"{one['seconds']:.1f}",
        )
    Console(width=140).print(table)
    for left, why in result["left_out"]:
        print(f"  not asked: {left}, since {why}")
