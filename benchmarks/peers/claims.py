"""What is claimed about tables whose truth is known, beside what the peers claim.

Kinds of truth (none; one column, in a line, a curve or waves; sums of two and four; products of two
and three; a twin of a true column; rare and many-level noise; text, many and ordered levels; empty
cells; numbers, three classes and one in twenty) with 100 to 1,500 rows and 5 to 40 columns, drawn
by `benchmarks.peers._claims_truths`. Methods are `parsimon.statistician.analyse`, an L1 regression
on columns, squares and products at one standard error, Boruta, permutation tests with a random
forest, and the terms of an explainable boosting machine.

Peers are compared in their own favour: at the threshold on their own score that gives the best
recall at the precision asked of us, found with the truth of all these tables in hand. True is a
column that the target was drawn from; one that only leans on such a column is not, though Boruta
means to find both.

Two kinds more have noisy copies beside a cause: `benchmarks.peers._claims_sets` counts which of the
sets of columns that are claimed to stand for each other hold a cause.

A run that was stopped goes on where it was; see `benchmarks.peers._claims_jobs`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.peers._claims_jobs import METHODS, N_PROCESSES, Results, run_methods
from benchmarks.peers._claims_scores import KINDS, Scores
from benchmarks.peers._claims_sets import set_rows
from benchmarks.peers._claims_truths import (
    COLUMNS,
    NULLS,
    PER_BLOCK,
    ROWS,
    SimulatedTable,
    TableSettings,
    simulate,
    table_settings,
)
from benchmarks.peers._claims_truths import COMPARED as TRUTHS
from benchmarks.rivals import GUESS
from benchmarks.rows import Row

N_TABLES = 2 * PER_BLOCK
PRECISION = {"variable": 0.97, "interaction": 0.95}
NULL_SHARE = 0.03
# Tables whose curves, twins, gaps or levels may pass for an interaction that is not there.
TEMPTING = tuple(
    kind for kind in TRUTHS if any(word in kind for word in ("twin", "filled", "levels", "triple"))
)
GAP = 0.05
SILENT, EVERYTHING = "constant: no claim", "constant: all columns"
ENOUGH = 50  # claims in a bin that is judged
QUICK = (
    TableSettings("null, classes", 100, 5, 0),
    TableSettings("one linear", 100, 5, 0),
    TableSettings("pure product", 100, 5, 0),
    TableSettings("regression, additive", 100, 5, 0),
)


def rows(
    *,
    quick: bool = False,
    tables: int | None = None,
    resume: Path | None = None,
    methods: Sequence[str] = tuple(METHODS),
    n_processes: int = N_PROCESSES,
) -> list[Row]:
    """Measure ours and the peers; `tables` takes the first so many, `resume` names a folder."""
    for unknown in set(methods) - set(METHODS):
        raise ValueError(f"no method is called {unknown!r}; take some of {', '.join(METHODS)}.")
    settings = list(QUICK) if quick else table_settings(tables or N_TABLES)
    kept = resume or Path(os.environ.get("PARSIMON_RESULTS", ".benchmarks")) / "claims"
    folder = None if quick else kept
    results = run_methods(settings, methods, folder=folder, quick=quick, n_processes=n_processes)
    drawn = [simulate(one) for one in settings]
    scores = {method: _scores(method, drawn, results) for method in methods}
    _show_methods(scores, results)
    _show_groups(scores, "kind of truth", {kind: _is_kind(kind) for kind in TRUTHS})
    _show_groups(scores, "rows", {f"{n} rows": _has_rows(n) for n in ROWS})
    _show_groups(scores, "columns", {f"{d} columns": _has_columns(d) for d in COLUMNS})
    if "ours" not in scores:
        return []
    return [
        *_bars(scores, judged=not quick),
        *set_rows(quick=quick),
        *_calibration(scores["ours"], judged=not quick),
    ]


def _scores(method: str, tables: Sequence[SimulatedTable], results: Results) -> Scores:
    return Scores(tables, [results[table.settings, method].statements for table in tables])


def _is_kind(kind: str) -> Callable[[TableSettings], bool]:
    return lambda settings: settings.kind == kind


def _has_rows(n_rows: int) -> Callable[[TableSettings], bool]:
    return lambda settings: settings.n_rows == n_rows


def _has_columns(n_columns: int) -> Callable[[TableSettings], bool]:
    return lambda settings: settings.n_columns == n_columns


def _bars(scores: Mapping[str, Scores], *, judged: bool) -> list[Row]:
    """Return what was promised of claims: precision, recall beside the best peer, nulls."""
    ours, bar = scores["ours"], 1.0 if judged else None
    found: list[Row] = []
    found_enough: list[bool] = []
    for kind, precision in PRECISION.items():
        counts, of_all = ours.counts(kind), ours.of_all(kind).precision
        found.append(
            Row(
                f"{kind}s claimed as certain",
                "precision",
                counts.precision,
                precision,
                higher_is_better=True,
                bar=bar,
                note=f"{counts.right} of {counts.claimed}; the peer is what was promised",
                # Without a claim there is no precision; columns by lot have that of all.
                rivals={SILENT: float("nan"), **dict.fromkeys((EVERYTHING, GUESS), of_all)},
            )
        )
        recalls = {
            method: _at_precision(part, kind, precision)
            for method, part in _stating(scores, kind).items()
            if method != "ours"
        }
        best = max(recalls, key=lambda method: recalls[method], default="no peer")
        for method, recall in recalls.items():
            is_best = method == best
            row = Row(
                f"{kind}s claimed as certain",
                f"recall, peer at precision {precision:g}",
                counts.recall,
                recall,
                higher_is_better=True,
                bar=bar if is_best else None,
                note=f"{method}{', the best peer' if is_best else ''}",
                # At the precision asked for: all columns, true or not, have too little of it.
                rivals={SILENT: 0.0, EVERYTHING: 0.0} if is_best else {},
            )
            found.append(row)
            found_enough.append(row.met)
    return [*found, *_false_shares(ours, bar, counts=all(found_enough))]


def _false_shares(ours: Scores, bar: float | None, *, counts: bool) -> list[Row]:
    """Return on which share of tables something is claimed that is not there.

    Who claims nothing claims nothing false: without the recall, which `counts` says, it is all.
    """
    idle = {SILENT: 1.0, EVERYTHING: 1.0}
    metric, promised = "share, all if the recall is missed", "tables; the peer is what was promised"
    found = []
    tempting = ours.of(lambda settings: settings.kind in TEMPTING)
    if tempting.tables:
        share = tempting.share_with_false("interaction")
        found.append(
            Row(
                "tempting tables with a false interaction",
                metric,
                share if counts else 1.0,
                NULL_SHARE,
                bar=bar,
                note=f"{share:.3f} of {len(tempting.tables)} {promised}",
                rivals=idle,
            )
        )
    n_nulls = sum(table.settings.kind in NULLS for table in ours.tables)
    for claimed, words in ((True, "a certain claim"), (False, "any claim")):
        share = ours.share_of_nulls(claimed=claimed)
        found.append(
            Row(
                f"null tables with {words}",
                metric,
                share if counts else 1.0,
                NULL_SHARE,
                bar=bar if claimed else None,
                note=f"{share:.3f} of {n_nulls} {promised}",
                rivals=idle if claimed else {},
            )
        )
    return found


def _at_precision(scores: Scores, kind: str, precision: float) -> float:
    return scores.counts(kind, above=scores.threshold(kind, precision)).recall


def _calibration(ours: Scores, *, judged: bool) -> list[Row]:
    """Return the gap between stated probabilities and truth, a row for each bin."""
    found = []
    for name, kinds in (*((kind, (kind,)) for kind in KINDS), ("claim", KINDS)):
        true = [one.true for kind in kinds for one in ours.of_kind(kind)]
        for one in ours.bins(kinds):
            found.append(
                Row(
                    f"{name}s of probability {one.low:g} to {one.high:g}",
                    "gap to the truth",
                    abs(one.stated - one.true),
                    GAP,
                    bar=1.0 if judged and one.n_claims >= ENOUGH else None,
                    note=f"{one.n_claims} claims, stated {one.stated:.3f}, true {one.true:.3f}",
                    # The same probability said of statements by lot.
                    rivals={GUESS: abs(one.stated - sum(true) / len(true))},
                ).without_empty_bar()
            )
    return found


def _show_methods(scores: Mapping[str, Scores], results: Results) -> None:
    """Print each method's own claims, its best threshold and its false claims on null tables."""
    from rich.console import Console
    from rich.table import Table

    for kind, precision in PRECISION.items():
        table = Table(title=f"{kind}s by each method's own rule", title_justify="left")
        table.add_column("method")
        oracle = f"recall at {100 * precision:g} % (oracle)"
        for heading in ("claimed", "precision", "recall", oracle, "null tables with a claim"):
            table.add_column(heading, justify="right")
        table.add_column("CPU s a table", justify="right")
        for method, part in _stating(scores, kind).items():
            counts = part.counts(kind)
            seconds = [result.seconds for (_, name), result in results.items() if name == method]
            table.add_row(
                method,
                str(counts.claimed),
                _percent(counts.precision),
                _percent(counts.recall),
                _percent(_at_precision(part, kind, precision)),
                _percent(part.share_of_nulls(claimed=True)),
                f"{sum(seconds) / len(seconds):.1f}",
            )
        Console(width=140).print(table)


def _stating(scores: Mapping[str, Scores], kind: str) -> dict[str, Scores]:
    """Return the scores of those methods that ever say something of a kind, ours always."""
    return {
        method: part
        for method, part in scores.items()
        if method == "ours" or part.counts(kind, above=-float("inf")).claimed
    }


def _show_groups(
    scores: Mapping[str, Scores], title: str, groups: Mapping[str, Callable[[TableSettings], bool]]
) -> None:
    """Print precision and recall of each method's own claims for parts of the tables."""
    from rich.console import Console
    from rich.table import Table

    for kind in KINDS:
        stating = _stating(scores, kind)
        if not any(part.counts(kind).claimed for part in stating.values()):
            continue
        table = Table(
            title=f"{kind}s by {title}: right of claimed, of truths", title_justify="left"
        )
        table.add_column(title)
        for method in stating:
            table.add_column(method, justify="right")
        for name, keep in groups.items():
            counts = [part.of(keep).counts(kind) for part in stating.values()]
            if any(one.claimed or one.truths for one in counts):
                table.add_row(
                    name, *(f"{one.right} of {one.claimed}, {one.truths}" for one in counts)
                )
        Console(width=140).print(table)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
