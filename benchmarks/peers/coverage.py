"""How often 95 % intervals of honest figures hold the truth, and how wide they are.

Simulated tables whose truth is known, from 50 to 1,000 rows, judged by 3 and by 5 outer folds:
classes (even, 1 in 9, 1 in 30; strong, weak and no signal) and numbers (normal and heavy-tailed
noise), learnt by linear models, small trees, neighbours and a selection of two of twenty columns.
The truth is the mean performance on new rows of the models that the outer folds fitted, which is
what the intervals are meant to hold; a row without a bar tells how often they hold the error of
the model fitted to all rows.

Ours are the intervals over rows of `parsimon.evaluation.row_intervals`. The peer is the usual way
on the very same folds: the corrected resampled t over fold scores (Nadeau and Bengio 2003); for an
AUC without signal DeLong's interval; for a typical miss the normal interval of the mean square, for
a share from a threshold on that of a share, for a calibration slope that of a logistic regression.
Bars: coverage from 93 to 97 % over all tables, no kind of table below 80 %, a mean width of the
error's interval of at most half of the peer's. With five folds no interval over rows can reach
half: with the variance known it would have 0.5. A gain's interval counts the chance in the base
rate, which stratified folds hide from the peer's; how often a true gain is proved is shown.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.metrics import r2_score

from benchmarks.peers._coverage_tables import (
    CHANCE,
    CLASSES,
    MOST_COLUMNS,
    N_NEW,
    NUMBERS,
    THRESHOLDS,
    Scenario,
    Table,
    Told,
    simulate,
)
from benchmarks.peers._effect_coverage import effect_rows
from benchmarks.rivals import GUESS
from benchmarks.rows import Row
from parsimon._typing import Array, Indices, Mask
from parsimon.evaluation import corrected_t_interval
from parsimon.evaluation._honest_result import Fold, RowScores
from parsimon.evaluation.row_intervals import (
    Bounds,
    area_bounds,
    difference_bounds,
    mean_bounds,
    placement_shares,
    ratio_bounds,
    share_bounds,
    wilson,
)
from parsimon.inference.logistic import fit_logistic
from parsimon.roc import auc_interval
from parsimon.statistician.measure import calibration_line

SIZES, QUICK_SIZES = (50, 100, 250, 500, 1000), (50, 200)
FOLDS = (3, 5)
TABLES, QUICK_TABLES = 16, 2
LEAST, MOST, LEAST_OF_A_KIND = 93.0, 97.0, 80.0
# Intervals that ask nothing of the rows; half of those of a guess hold the truth.
NOTHING, EVERYTHING = "constant: no width", "constant: everything"
# A tenth of the tables: chance alone moves a coverage by two points.
QUICK_LEAST, QUICK_MOST = 90.0, 99.0
SEED = 20_231
NORMAL = 1.959964


class Case(NamedTuple):
    """One interval of one table."""

    scenario: str
    n_folds: int
    covered: bool
    covered_whole: bool
    width: float
    peer_covered: bool
    peer_width: float
    gained: bool
    proved: bool
    peer_proved: bool


@dataclass(frozen=True)
class Figure:
    """A figure with its interval, its fold scores or the ends for the peer, and the truth."""

    name: str
    bounds: Bounds
    scores: Array
    truth: float
    whole: float = np.nan
    range: tuple[float, float] = (-np.inf, np.inf)
    peer: tuple[float, float] | None = None


def rows(*, quick: bool) -> list[Row]:
    """Return coverage and width of every kind of interval."""
    cases: dict[str, list[Case]] = defaultdict(list)
    kinds = ((CLASSES, class_figures), (CHANCE, area_figures), (NUMBERS, number_figures))
    for scenarios, figures in kinds:
        for scenario, table in tables(scenarios, quick=quick):
            for figure in figures(table):
                cases[figure.name].append(case(scenario, table, figure))
    made = [row for name, found in cases.items() for row in judged(name, found, quick=quick)]
    return [*made, *effect_rows(quick=quick)]


def tables(scenarios: tuple[Scenario, ...], *, quick: bool) -> Iterator[tuple[Scenario, Table]]:
    """Yield tables of every scenario, size and number of folds."""
    rng = np.random.default_rng(SEED)
    new = rng.normal(size=(N_NEW, MOST_COLUMNS))
    for scenario in scenarios:
        for n in QUICK_SIZES if quick else SIZES:
            for n_folds in FOLDS:
                if n < 250 and scenario.name == "1 in 30":
                    continue
                for _ in range(QUICK_TABLES if quick else TABLES):
                    yield scenario, simulate(scenario, n, n_folds, new, rng)


def class_figures(table: Table) -> Iterator[Figure]:
    """Yield error, gains, log loss and AUC of a table of classes."""
    positive = table.y == 1
    ours, rival, baseline = table.ours, table.rival, table.baseline
    wrong, theirs, plain = (
        ((one.prediction >= 0.5) != positive).astype(np.float64) for one in (ours, rival, baseline)
    )
    losses, dull = (_log_losses(positive, one) for one in (ours, baseline))
    yield _figure("error", share_bounds(wrong), table, wrong, ours.loss, ours.whole, (0, 1))
    yield _figure(
        "gain over the baseline",
        difference_bounds(plain - wrong),
        table,
        plain - wrong,
        baseline.loss - ours.loss,
        baseline.whole - ours.whole,
    )
    yield _figure(
        "gain over a rival",
        difference_bounds(theirs - wrong),
        table,
        theirs - wrong,
        rival.loss - ours.loss,
        rival.whole - ours.whole,
    )
    yield _figure("log loss", ratio_bounds(losses), table, losses, ours.log_loss)
    yield _figure(
        "gain in log loss",
        difference_bounds(dull - losses, scale=float(dull.mean())),
        table,
        dull - losses,
        baseline.log_loss - ours.log_loss,
    )
    yield from area_figures(table)
    yield from threshold_figures(table)
    line = calibration_line(table.y, ours.prediction)
    if line is not None and np.isfinite(ours.slope):
        peer = _wald_slope(table.y, ours.prediction)
        yield Figure("calibration slope", line.slope, np.empty(0), ours.slope, peer=peer)


def area_figures(table: Table) -> Iterator[Figure]:
    """Yield the AUC, and once more as one at chance where that is its truth."""
    positive, ours = table.y == 1, table.ours
    bounds = area_bounds(placement_shares(positive, ours.prediction), positive)
    if ours.area == 0.5:
        plain = auc_interval(positive, ours.prediction, method="delong")
        peer = (plain.lower, plain.upper)
        yield Figure("AUC at chance", bounds, np.empty(0), ours.area, range=(0, 1), peer=peer)
    if table.scenario not in CLASSES:
        return
    by_fold = np.empty(len(positive))
    for number in range(table.fold.max() + 1):
        own = table.fold == number
        by_fold[own] = placement_shares(positive[own], ours.prediction[own])
    scores = _by_fold(by_fold[positive], table.fold[positive])
    yield Figure("AUC", bounds, scores, ours.area, range=(0, 1))


def threshold_figures(table: Table) -> Iterator[Figure]:
    """Yield what is found of one class, and called falsely of the other, from thresholds on."""
    for name, mask, truths in (
        ("found from a threshold on", table.y == 1, table.ours.found),
        ("false alarms from a threshold on", table.y == 0, table.ours.alarms),
    ):
        n = int(mask.sum())
        for threshold, truth in zip(THRESHOLDS, truths, strict=True):
            share = float(np.mean(table.ours.prediction[mask] >= threshold))
            reach = NORMAL * np.sqrt(share * (1 - share) / n)
            yield Figure(
                name,
                wilson(share, n, dependence=0.0),
                np.empty(0),
                float(truth),
                range=(0, 1),
                peer=(share - reach, share + reach),
            )


def _wald_slope(y: Array, probability: Array) -> tuple[float, float]:
    """Return the interval that a logistic regression prints: its estimate and standard error."""
    odds = logit(np.clip(probability, 1e-6, 1 - 1e-6))
    design = np.column_stack([odds, np.ones(len(odds))])
    line = fit_logistic(design, y)
    if line is None:
        return -np.inf, np.inf
    chance = expit(design @ line)
    inverse = np.linalg.pinv((design.T * (chance * (1 - chance))) @ design)
    reach = NORMAL * np.sqrt(inverse[0, 0])
    return float(line[0] - reach), float(line[0] + reach)


def number_figures(table: Table) -> Iterator[Figure]:
    """Yield the error as a share of the variance and in units, R2, and the gain over a rival."""
    ours, rival, baseline = table.ours, table.rival, table.baseline
    squares, theirs, plain = ((table.y - one.prediction) ** 2 for one in (ours, rival, baseline))
    yield Figure(
        "share of the variance",
        ratio_bounds(squares, plain),
        _by_fold(squares, table.fold) / _by_fold(plain, table.fold),
        ours.loss / baseline.loss,
        ours.whole / baseline.whole,
        (0, np.inf),
    )
    off = mean_bounds(squares)
    reach = NORMAL * squares.std(ddof=1) / np.sqrt(len(squares))
    middle = float(squares.mean())
    yield Figure(
        "typical miss",
        Bounds(*np.sqrt(off)),
        np.empty(0),
        float(np.sqrt(ours.loss)),
        peer=(float(np.sqrt(max(0.0, middle - reach))), float(np.sqrt(middle + reach))),
    )
    yield _r2_figure(table, squares)
    yield _figure(
        "gain in squares over a rival",
        difference_bounds(theirs - squares, scale=float(theirs.mean())),
        table,
        theirs - squares,
        rival.loss - ours.loss,
        rival.whole - ours.whole,
    )


def _r2_figure(table: Table, squares: Array) -> Figure:
    """Return R2 as `honest_score` has it: rows for the interval, which holds the folds' mean."""
    parts = [np.flatnonzero(table.fold == number) for number in range(table.fold.max() + 1)]
    folds = []
    for number, rows in enumerate(parts):
        truth, said = table.y[rows], table.ours.prediction[rows]
        score = r2_score(truth, said)
        n_train = len(table.y) - len(rows)
        fold = Fold(1, number + 1, n_train, rows, truth, said, score, 0.0, None, 0.0, squares[rows])
        folds.append(fold)
    scores = np.array([one.score for one in folds])
    made = RowScores.of(tuple(folds), "r2")
    if made is None:
        raise ValueError("R2 is made of rows.")
    bounds = made.bounds(0.95)
    low, high = min(bounds.low, scores.mean()), max(bounds.high, scores.mean())
    explained = 1 - table.ours.loss / table.scenario.variance
    return Figure("R2", Bounds(bounds.estimate, low, high), scores, explained, range=(-np.inf, 1))


def case(scenario: Scenario, table: Table, figure: Figure) -> Case:
    """Return whether the interval and the peer's hold the truth, and their widths."""
    bounds, (least, most) = figure.bounds, figure.range
    n, k = len(table.y), int(table.fold.max()) + 1
    low, high = figure.peer or corrected_t_interval(
        figure.scores, n_train=n * (1 - 1 / k), n_test=n / k
    )
    low, high = max(low, least), min(high, most)
    return Case(
        f"{scenario.name}, {scenario.learner}",
        k,
        bounds.low <= figure.truth <= bounds.high,
        bounds.low <= figure.whole <= bounds.high,
        bounds.high - bounds.low,
        low <= figure.truth <= high,
        high - low,
        figure.truth > 0,
        bounds.low > 0,
        low > 0,
    )


def judged(name: str, cases: list[Case], *, quick: bool) -> list[Row]:
    """Return the rows of one figure."""
    covered, peer = _percent(cases, "covered"), _percent(cases, "peer_covered")
    kinds: dict[str, list[Case]] = defaultdict(list)
    for one in cases:
        kinds[one.scenario].append(one)
    worst = min(kinds, key=lambda kind: _percent(kinds[kind], "covered"))
    least, most = (QUICK_LEAST, QUICK_MOST) if quick else (LEAST, MOST)
    middle, allowed = (least + most) / 2, (most - least) / 2

    def within(share: float) -> float:
        return abs(share - middle)

    right = Row(
        name,
        f"coverage, points from {middle:g} %; allowed: {least:g} to {most:g}",
        within(covered),
        allowed,
        bar=1.0,
        note=f"{covered:.1f} % of {len(cases)} tables; the peer covers {peer:.1f}",
        rivals={NOTHING: within(0.0), EVERYTHING: within(100.0), GUESS: within(50.0)},
    )
    made = [
        right,
        Row(
            name,
            f"coverage of the worst kind, at least {LEAST_OF_A_KIND:g} %, none if that of all is "
            "not right",
            _percent(kinds[worst], "covered") if right.met else 0.0,
            LEAST_OF_A_KIND,
            True,
            bar=None if quick else 1.0,
            note=f"{_percent(kinds[worst], 'covered'):.1f} %: {worst}, {len(kinds[worst])} tables",
            # Everything covers every kind, and is not right of all.
            rivals={NOTHING: 0.0, EVERYTHING: 0.0, GUESS: 0.0},
        ),
        *_widths(name, cases, right, barred=not quick),
    ]
    if "gain" in name:
        gains = [one for one in cases if one.gained]
        proved, peer = _percent(gains, "proved"), _percent(gains, "peer_proved")
        made.append(
            Row(name, "true gains proved, %", proved, peer, True, note=f"of {len(gains)} tables")
        )
    elif name in ("error", "share of the variance"):
        whole = _percent(cases, "covered_whole")
        made.append(
            Row(name, "coverage of the model of all rows, %", whole, 95.0, higher_is_better=True)
        )
    return made


def _widths(name: str, cases: list[Case], right: Row, *, barred: bool) -> Iterator[Row]:
    """Yield widths beside the peer's; with a bar, one that does not cover counts as the range."""
    bar = 2.0 if barred and name in ("error", "share of the variance") else None
    for n_folds in (None, *FOLDS):
        kept = [one for one in cases if n_folds in (None, one.n_folds)]
        width = float(np.mean([one.width for one in kept]))
        peer = float(np.mean([one.peer_width for one in kept]))
        where = "all" if n_folds is None else f"{n_folds} folds"
        if bar is None or n_folds is not None:
            yield Row(name, f"mean width, {where}", width, peer)
            continue
        yield Row(
            name,
            f"mean width, {where}, 1 if the coverage is not right",
            width if right.met else 1.0,
            peer,
            bar=bar,
            note=f"{width:.3f}",
            rivals={NOTHING: 1.0, EVERYTHING: 1.0, "the peer": peer},
        )


def _figure(
    name: str,
    bounds: Bounds,
    table: Table,
    values: Array,
    truth: float,
    whole: float = np.nan,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> Figure:
    return Figure(name, bounds, _by_fold(values, table.fold), truth, whole, within)


def _by_fold(values: Array, fold: Indices) -> Array:
    means: Array = np.bincount(fold, weights=values) / np.bincount(fold)
    return means


def _log_losses(positive: Mask, told: Told) -> Array:
    own = np.where(positive, told.prediction, 1 - told.prediction)
    losses: Array = -np.log(np.clip(own, 1e-9, 1))
    return losses


def _percent(cases: list[Case], name: str) -> float:
    return 100 * float(np.mean([getattr(one, name) for one in cases]))
