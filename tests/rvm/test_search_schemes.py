"""The three ways to judge a candidate, on tiny data, against plain loops."""

import itertools

import numpy as np
import pytest

from parsimon._partition import homogeneous_partition
from parsimon.exceptions import InvalidInputError
from parsimon.inference.irls import logistic_mode
from parsimon.rvm import _genome as genome_module
from parsimon.rvm._evaluators import GenomeFitter, TwoClassEvaluator
from parsimon.rvm._machine import printed_complexity
from parsimon.rvm._problem import RelevanceProblem, folds_for, halves_for
from parsimon.rvm._search import ChosenColumns, TwoArchives, search
from parsimon.rvm._sweep import ExactSweep
from tests.rvm.search_problems import banana, best_of, bumps, digits, rates, small_problem


def precise_fitter(problem):
    return GenomeFitter(problem, ExactSweep(), tol=1e-9)


def scores_on(problem, active, alpha, chosen):
    """Return the scores of all rows, fitted to the chosen ones by the single-problem code."""
    design = problem.design[:, active]
    mode = logistic_mode(
        design[chosen], problem.labels[chosen], alpha, tol=1e-13, largest_score=30.0
    )
    return design @ mode.weights


# Levels at which every mode is well defined, so that both codes rank all rows alike.
GRID = (-1.0, 1.5)


@pytest.fixture
def two_levels(monkeypatch):
    """Let genomes take two precisions only."""
    monkeypatch.setattr(genome_module, "_random_level", lambda rng: GRID[int(rng.random() * 2)])
    monkeypatch.setattr(
        genome_module,
        "_step",
        lambda levels, column, _: levels.update({column: GRID[levels[column] == GRID[0]]}),
    )


@pytest.mark.parametrize("complexity", ["active", "degrees_of_freedom"])
@pytest.mark.parametrize("seed", range(3))
def test_the_archive_ends_as_the_front_of_all_genomes(two_levels, complexity, seed):
    problem = small_problem(seed=seed)
    start = ChosenColumns(np.array([1]), np.array([10.0 ** GRID[0]]))
    found = search(
        problem, complexity=complexity, start=start, max_iter=3000, stall=None, random_state=seed
    )
    everyone, values = np.ones(8, dtype=bool), []
    for levels in itertools.product((None, *GRID), repeat=4):
        active = [c for c in range(4) if levels[c] is not None]
        if not active:
            continue
        alpha = 10.0 ** np.array([levels[c] for c in active])
        scores = scores_on(problem, active, alpha, everyone)
        counted = len(active) - (0 in active)
        size = counted if complexity == "active" else printed_complexity(alpha)
        values += [
            (*rates(scores > cutoff, problem.labels), size)
            for cutoff in (np.inf, -np.inf, *(scores + 1e-9))
        ]
    assert sorted(digits(found.values)) == best_of(values)


@pytest.mark.parametrize("scheme", [None, 2, 3])
@pytest.mark.parametrize("complexity", ["active", "degrees_of_freedom"])
def test_the_archive_is_the_front_of_everything_evaluated(monkeypatch, scheme, complexity):
    seen, evaluate = [], TwoClassEvaluator.evaluate

    def logged(self, genes, parent):
        swept = evaluate(self, genes, parent)
        seen.append(swept.values)
        return swept

    monkeypatch.setattr(TwoClassEvaluator, "evaluate", logged)
    problem = bumps(*banana(24), 1.0)
    found = search(
        problem, scheme=scheme, complexity=complexity, max_iter=400, stall=None, random_state=1
    )
    assert len(seen) == found.n_evaluations == 401
    assert sorted(digits(found.values)) == best_of(np.concatenate(seen))


@pytest.mark.parametrize("n_folds", [2, 5])
def test_rates_are_means_over_held_out_folds(n_folds):
    problem = bumps(*banana(30), 1.0)
    folds = folds_for(n_folds, problem, np.random.default_rng(0))
    evaluator = TwoClassEvaluator(precise_fitter(problem), folds)
    values, cutoffs = evaluator.evaluate({0: -1.0, 3: 0.0, 7: 1.0, 20: -2.0}, None)[1:]
    alpha = 10.0 ** np.array([-1.0, 0.0, 1.0, -2.0])
    held = [folds == k for k in range(n_folds)]
    scores = [scores_on(problem, [0, 3, 7, 20], alpha, ~rows) for rows in held]
    for (tpr, fpr, size), cutoff in zip(values, cutoffs, strict=True):
        each = [
            rates(s[rows] > cutoff, problem.labels[rows])
            for s, rows in zip(scores, held, strict=True)
        ]
        np.testing.assert_allclose((tpr, fpr), np.mean(each, axis=0), atol=1e-12)
        assert size == 3
    # Nothing is left out: a cutoff between any two of the pooled scores is no better.
    pooled = np.concatenate([s[rows] for s, rows in zip(scores, held, strict=True)])
    naive = []
    for cutoff in (np.inf, -np.inf, *(pooled + 1e-9)):
        each = [
            rates(s[rows] > cutoff, problem.labels[rows])
            for s, rows in zip(scores, held, strict=True)
        ]
        naive.append((*np.mean(each, axis=0), 3))
    assert best_of(values) == best_of(naive)


def test_folds_may_be_given():
    problem = small_problem(12)
    given = np.repeat(["a", "b", "c"], 4)
    np.testing.assert_array_equal(
        folds_for(given, problem, np.random.default_rng(0)), np.repeat([0, 1, 2], 4)
    )
    found = search(problem, scheme=given, max_iter=30, random_state=0)
    again = search(problem, scheme=np.repeat([5, 6, 9], 4), max_iter=30, random_state=0)
    np.testing.assert_array_equal(found.values, again.values)
    with pytest.raises(InvalidInputError, match="12 rows but the folds have shape"):
        search(problem, scheme=np.zeros(5))
    with pytest.raises(InvalidInputError, match="All rows are in one fold"):
        search(problem, scheme=np.zeros(12))
    with pytest.raises(InvalidInputError, match="number of folds must be an integer"):
        search(problem, scheme=1)


class PlainArchive:
    """A list of (value, genome, cutoff), filtered by a plain loop."""

    def __init__(self):
        self.members = []

    def offer(self, batch):
        """Take in a batch and return what entered."""
        both = [*self.members, *batch]
        self.members = [
            (value, *rest)
            for i, (value, *rest) in enumerate(both)
            if not any(beats(other[0], value) for other in both)
            and not any(other[0] == value for other in both[:i])
        ]
        return [member for member in batch if member in self.members]


def beats(a, b):
    return a != b and a[0] >= b[0] and a[1] <= b[1] and a[2] <= b[2]


class PlainTwoArchives:
    """Algorithm 3 written down as it is printed, `CrossVal` after all thresholds of a model."""

    def __init__(self, problem, halves, *, swap):
        self.problem, self.halves, self.swap = problem, iter(halves), swap
        self.first = next(self.halves)
        self.training, self.validation = PlainArchive(), PlainArchive()
        self.events = 0

    def value(self, scores, rows, cutoff, genes):
        found = rates(scores[rows] > cutoff, self.problem.labels[rows])
        return digits([(*found, len(genes) - (0 in genes))])[0]

    def fit(self, genes):
        active = sorted(genes)
        alpha = 10.0 ** np.array([genes[c] for c in active])
        return scores_on(self.problem, active, alpha, self.first)

    def consider(self, genes):
        if self.enter(genes):
            self.events += 1
            self.exchange() if self.swap else self.shuffle()

    def enter(self, genes):
        """Offer all thresholds to the first archive and what enters to the second."""
        scores = self.fit(genes)
        ordered = np.sort(scores[self.first])
        cutoffs = [np.inf, *((ordered[1:] + ordered[:-1]) / 2)[::-1], -np.inf]
        points = [(self.value(scores, self.first, c, genes), genes, c) for c in cutoffs]
        corners = [p for p in points if not any(beats(q[0], p[0]) for q in points)]
        entered = self.training.offer(corners)
        rows = ~self.first
        return self.validation.offer(
            [(self.value(scores, rows, c, genes), genes, c) for _, _, c in entered]
        )

    def exchange(self):
        self.training, self.validation = self.validation, self.training
        self.first = ~self.first

    def shuffle(self):
        before = []
        for _, genes, _ in self.training.members:
            if genes not in before:
                before.append(genes)
        self.first = next(self.halves)
        self.training, self.validation = PlainArchive(), PlainArchive()
        for genes in before:
            self.enter(genes)


@pytest.mark.parametrize("swap", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_two_archives_do_what_the_printed_algorithm_does(swap, seed):
    rng = np.random.default_rng(seed)
    problem = bumps(*banana(20, seed=seed), 1.0)
    halves = [np.isin(np.arange(20), rng.choice(20, 10, replace=False)) for _ in range(25)]
    plain = PlainTwoArchives(problem, halves, swap=swap)
    drawn = iter(halves)
    archives = TwoArchives(precise_fitter(problem), lambda _: next(drawn), swap=swap)
    archives.begin(rng)
    for _ in range(24):
        columns = rng.choice(21, rng.integers(1, 6), replace=False).tolist()
        genes = dict(zip(columns, rng.uniform(-1, 1, len(columns)).tolist(), strict=True))
        archives.consider(genes, None, rng)
        plain.consider(genes)
        np.testing.assert_array_equal(archives.first, plain.first)
        for elite, archive in zip(archives.elites, (plain.training, plain.validation), strict=True):
            values = [value for value, _, _ in archive.members]
            assert sorted(digits(elite.members()[0])) == sorted(values)
    assert plain.events > 1
    assert archives.n_evaluations == 24 if swap else archives.n_evaluations > 24


def test_swap_fits_half_of_the_rows_and_reports_both_archives():
    problem = bumps(*banana(30), 1.0)
    found = search(problem, scheme="swap", max_iter=200, stall=None, random_state=0)
    assert len(found.values) == len(found.cutoffs) == len(found.which)
    assert found.which.max() == len(found.models) - 1
    # Rates of fifteen rows, seven or eight of each class.
    counts = found.values[:, :2, None] * [7, 8]
    assert (np.abs(counts - counts.round()) < 1e-9).any(axis=2).all()


@pytest.mark.parametrize("scheme", ["swap", "shuffle", "stratified", "homogeneous"])
def test_halves_have_rows_of_both_classes_and_equal_sizes(scheme):
    for labels in (np.arange(11) % 2.0, np.array([1.0, 1] + [0.0] * 9)):
        problem = RelevanceProblem(np.random.default_rng(0).normal(size=(11, 3)), labels)
        draw, rng = halves_for(scheme, problem), np.random.default_rng(1)
        for _ in range(20):
            first = draw(rng)
            assert first.sum() in (5, 6)
            assert {0.0, 1.0} == set(labels[first]) == set(labels[~first])
    alone = RelevanceProblem(np.eye(4), np.array([0.0, 0, 0, 1]))
    with pytest.raises(InvalidInputError, match="one class has a single row"):
        halves_for(scheme, alone)


def test_stratified_halves_share_each_class_and_homogeneous_ones_follow_a_walk():
    labels = np.append(np.zeros(14), np.ones(6))
    problem = RelevanceProblem(np.arange(20.0)[:, None], labels)
    rng = np.random.default_rng(0)
    stratified, walk, shuffle = (
        halves_for(scheme, problem) for scheme in ("stratified", "homogeneous", "shuffle")
    )
    assert {int(labels[stratified(rng)].sum()) for _ in range(20)} == {3}
    assert len({int(labels[shuffle(rng)].sum()) for _ in range(20)}) > 2
    np.testing.assert_array_equal(np.diff(np.flatnonzero(walk(rng))), 2)


def test_homogeneous_halves_are_those_of_the_partition_into_two():
    X, y = banana(21)
    draw, rng = halves_for("homogeneous", bumps(X, y, 1.0)), np.random.default_rng(0)
    drawn = {tuple(draw(rng)) for _ in range(60)}
    assert drawn == {
        tuple(homogeneous_partition(X, 2, random_state=seed) == 0) for seed in range(60)
    }
    assert len(drawn) > 1


def test_a_walk_that_would_part_the_classes_is_taken_within_each():
    labels = np.arange(8) % 2.0
    first = halves_for("homogeneous", RelevanceProblem(np.arange(8.0)[:, None], labels))(
        np.random.default_rng(0)
    )
    assert labels[first].sum() == labels[~first].sum() == 2


@pytest.mark.parametrize("scheme", [None, "swap", "stratified", "homogeneous", 3])
def test_rows_of_weight_zero_might_as_well_be_missing(scheme):
    X, y = banana(24)
    counted = np.arange(24) % 5 > 0
    full = bumps(X, y, 1.0)
    weighted = RelevanceProblem(
        full.design, full.labels, has_bias=True, row_weights=counted.astype(float), inputs=X
    )
    missing = RelevanceProblem(
        full.design[counted], full.labels[counted], has_bias=True, inputs=X[counted]
    )
    options = {"scheme": scheme, "max_iter": 120, "stall": None, "random_state": 0}
    one, other = search(weighted, **options), search(missing, **options)
    np.testing.assert_array_equal(one.values, other.values)
    for a, b in zip(one.models, other.models, strict=True):
        np.testing.assert_array_equal(a.active, b.active)


def test_repeated_rows_count_as_often_as_they_occur():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 2)).round(1)
    y = np.arange(12) % 2
    times = rng.integers(1, 4, 12)
    weighted = bumps(X, y, 1.0)
    weighted = RelevanceProblem(
        weighted.design, weighted.labels, has_bias=True, row_weights=times.astype(float), inputs=X
    )
    repeated = RelevanceProblem(
        np.repeat(weighted.design, times, axis=0),
        np.repeat(weighted.labels, times),
        has_bias=True,
        inputs=np.repeat(X, times, axis=0),
    )
    assert repeated.rows.columns.shape == weighted.rows.columns.shape
    options = {"max_iter": 200, "stall": None, "random_state": 0}
    one, other = search(weighted, **options), search(repeated, **options)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.cutoffs, other.cutoffs)


def test_rows_with_equal_inputs_are_never_told_apart():
    X = np.repeat([[0.0], [1.0], [2.0]], 8, axis=0)
    labels = np.tile([0.0, 1.0, 1.0, 0.0, 1.0, 0.0], 4)
    found = search(bumps(X, labels, 1.0), max_iter=300, stall=None, random_state=0)
    # Whole groups of eight: of a class with 12 rows in three groups there are few rates.
    table = np.array([[np.sum(labels[X[:, 0] == g] == c) for g in range(3)] for c in (1, 0)])
    allowed = {
        tuple((table[:, list(groups)].sum(axis=1) / 12).round(9))
        for k in range(4)
        for groups in itertools.combinations(range(3), k)
    }
    assert {tuple(row) for row in found.values[:, :2].round(9)} <= allowed
