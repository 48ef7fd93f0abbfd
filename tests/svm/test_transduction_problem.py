"""The transductive problem: its two exact halves, labels, class ratios and guesses."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from parsimon.exceptions import InvalidInputError
from parsimon.svm._labellings import (
    annealed,
    cross_labellings,
    descend,
    inductive_scores,
    mutate_labels,
    nearest_order,
    neighbour_graph,
    spectral_splits,
    spread_labels,
    squared_kernel_distances,
)
from parsimon.svm._transductive_problem import (
    TransductiveProblem,
    machine,
    positive_counts,
    read_labels,
    wilson_interval,
)
from tests.svm.transduction_problems import all_labellings, inner_maximum, random_problem

SEEDS = st.integers(0, 10_000)


def primal(problem, labels, scores, margin_term):
    signs = problem.signs(labels)
    return margin_term + problem.upper @ np.maximum(0.0, 1.0 - signs * scores)


@given(SEEDS, st.sampled_from(["rbf", "linear"]))
def test_a_labelling_is_judged_by_the_optimum_of_its_machine(seed, kernel):
    problem = random_problem(seed, n_unlabelled=4, kernel=kernel, C_unlabelled=0.3)
    labels = all_labellings(problem)[0]
    fit = problem.fit(labels, tol=1e-7)
    assert fit.objective == pytest.approx(inner_maximum(problem, labels), rel=1e-5, abs=1e-8)
    signed = fit.solution.alpha * problem.signs(labels)
    # Strong duality: the value of the dual is that of the primal problem.
    value = primal(problem, labels, fit.scores, 0.5 * signed @ problem.kernel @ signed)
    assert fit.objective == pytest.approx(value, rel=1e-4, abs=1e-6)


@given(SEEDS)
def test_relabelling_is_the_cheapest_for_the_scores(seed):
    problem = random_problem(seed, n_unlabelled=6)
    rng = np.random.default_rng(seed)
    upper = rng.uniform(0.1, 3.0, len(problem.known))
    problem = replace(problem, upper=upper)
    scores = 2.0 * rng.normal(size=len(problem.known))
    cheapest = min(primal(problem, labels, scores, 0.0) for labels in all_labellings(problem))
    found = problem.relabelled(scores)
    assert problem.fewest <= (found > 0).sum() <= problem.most
    assert primal(problem, found, scores, 0.0) == pytest.approx(cheapest, rel=1e-12)


@given(SEEDS)
def test_repair_changes_as_few_labels_as_the_class_ratio_asks_for(seed):
    problem = random_problem(seed, n_unlabelled=7)
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], 7)
    scores = rng.normal(size=len(problem.known))
    repaired = problem.repaired(labels, scores)
    n_before, n_after = (labels > 0).sum(), (repaired > 0).sum()
    assert problem.fewest <= n_after <= problem.most
    assert (labels != repaired).sum() == abs(n_before - n_after)
    if n_after < n_before:
        own = scores[problem.unlabelled]
        changed = labels != repaired
        assert own[changed].max() <= own[(labels > 0) & ~changed].min(initial=np.inf)


@given(SEEDS)
def test_descent_ends_below_its_start_where_relabelling_no_longer_helps(seed):
    problem = random_problem(seed, n_unlabelled=8, gamma=3.0)
    labels = all_labellings(problem)[-1]
    found = descend(problem, labels)
    assert found.objective <= problem.fit(labels).objective + 1e-6
    again = problem.fit(problem.relabelled(found.scores))
    assert again.objective >= found.objective * (1 - 1e-6) - 1e-6
    assert problem.fewest <= (annealed(problem, labels).labels > 0).sum() <= problem.most


def test_a_machine_of_one_class_is_constant():
    found = machine(np.eye(3), -np.ones(3), np.ones(3))
    assert found.bias == -1.0
    assert not found.alpha.any()
    assert found.objective == 0.0


def test_the_inductive_machine_sees_labelled_rows_only():
    problem = random_problem(3, n_unlabelled=5)
    rows = problem.labelled
    alone = TransductiveProblem(
        problem.kernel[np.ix_(rows, rows)], problem.known[rows], problem.upper[rows], 0, 0
    )
    np.testing.assert_allclose(
        inductive_scores(problem)[rows], alone.fit(np.zeros(0)).scores, atol=1e-12
    )


def test_minus_one_and_none_mark_rows_without_labels():
    assert read_labels([0, -1, 1]).codes.tolist() == [0, -1, 1]
    assert read_labels(np.array([2.0, -1.0, 5.0])).codes.tolist() == [0, -1, 1]
    mixed = read_labels(np.array(["b", -1, None, "a"], dtype=object))
    assert mixed.codes.tolist() == [1, -1, -1, 0]
    assert mixed.classes.tolist() == ["a", "b"]
    numbers = read_labels(np.array([3, -1, 8], dtype=object))
    assert numbers.classes.tolist() == [3, 8]
    assert read_labels(["b", "a"]).codes.tolist() == [1, 0]
    assert len(read_labels([-1, -1]).classes) == 0


def test_a_minus_one_that_became_text_is_refused():
    with pytest.raises(InvalidInputError, match="dtype=object"):
        read_labels(["yes", "no", -1])


@given(st.integers(1, 60), st.data())
def test_wilsons_interval_is_scipys(n, data):
    k = data.draw(st.integers(0, n))
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson_interval(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (None, (0, 40)),
        (0.3, (12, 12)),
        (0.31, (12, 12)),
        ((0.25, 0.5), (10, 20)),
        ("labelled", (8, 32)),
    ],
)
def test_class_ratios(ratio, expected):
    assert positive_counts(ratio, 40, n_positive=3, n_labelled=6) == expected


def test_class_ratio_without_labels_is_wide_and_few_rows_get_the_nearest_count():
    assert positive_counts("labelled", 8, n_positive=0, n_labelled=0) == (2, 6)
    assert positive_counts((0.4, 0.45), 3, n_positive=1, n_labelled=2) == (1, 1)


@pytest.mark.parametrize("ratio", ["equal", 1.5, -0.1, (0.1, 0.2, 0.3), [[0.5]], {"a": 1}])
def test_odd_class_ratios_are_refused(ratio):
    with pytest.raises(InvalidInputError, match="positive_ratio must be"):
        positive_counts(ratio, 10, n_positive=1, n_labelled=2)


def test_a_pair_of_shares_is_ordered():
    with pytest.raises(InvalidInputError, match=r"0\.6 is more than 0\.2"):
        positive_counts((0.6, 0.2), 10, n_positive=1, n_labelled=2)


def test_distances_of_a_kernel_are_those_of_its_features(rng):
    X = rng.normal(size=(6, 3))
    expected = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_kernel_distances(X @ X.T), expected, atol=1e-12)


def test_labels_spread_as_in_scikit_learn(rng):
    from sklearn.semi_supervised import LabelSpreading

    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 6.0])
    known = np.zeros(40)
    known[[0, 20]] = -1.0, 1.0
    y = np.where(known == 0, -1, known > 0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    graph = neighbour_graph(distances, 5)
    links = (graph > 0).astype(float)
    peer = LabelSpreading(kernel=lambda *_: links, alpha=0.99, max_iter=2000)
    ours = spread_labels(graph, known)
    np.testing.assert_array_equal(ours > 0, peer.fit(X, y).transduction_ == 1)
    assert np.linalg.eigvalsh(graph)[-1] == pytest.approx(1.0)


def test_spectral_splits_are_smooth_and_leave_the_trivial_direction(rng):
    X = np.concatenate([rng.normal(size=(15, 2)), rng.normal(5.0, 1.0, size=(10, 2))])
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    graph = neighbour_graph(distances, 6)
    splits = spectral_splits(graph, 2)
    assert splits.shape == (2, 25)
    first = splits[0] > 0
    assert first[:15].all() != first[15:].all()
    assert len(set(first[:15])) == len(set(first[15:])) == 1
    degrees = (graph > 0).sum(axis=1)
    np.testing.assert_allclose(splits @ degrees, 0.0, atol=1e-9)


@given(SEEDS)
def test_children_take_each_label_from_a_parent(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.choice([-1.0, 1.0], (2, 9))
    order = nearest_order(rng.random((9, 9)))
    child = cross_labellings(first, second, order, rng)
    assert ((child == first) | (child == second)).all()


def test_mutations_flip_single_rows_pairs_and_neighbourhoods():
    x = np.arange(40.0)
    order = nearest_order((x[:, None] - x) ** 2)
    labels = np.where(x < 20, -1.0, 1.0)
    rng = np.random.default_rng(0)
    flips = [np.flatnonzero(mutate_labels(labels, order, rng) != labels) for _ in range(400)]
    regions = [rows for rows in flips if len(rows) > 4]
    # A region of neighbours on a line has no gaps; there are many, of many sizes, up to half.
    assert sum(len(rows) == np.ptp(rows) + 1 for rows in regions) > 50
    assert max(len(rows) for rows in flips) > 12
    pairs = [rows for rows in flips if len(rows) == 2 and (labels[rows] * [1, -1] < 0).all()]
    assert len(pairs) > 50
    assert any(len(rows) == 1 for rows in flips)


def test_random_labels_keep_the_class_ratio_and_reach_all_of_it():
    problem = TransductiveProblem(np.eye(5), np.array([1.0, -1.0, 0, 0, 0]), np.ones(5), 1, 2)
    rng = np.random.default_rng(0)
    drawn = {tuple(problem.random_labels(rng)) for _ in range(200)}
    allowed = {labels for labels in product((-1.0, 1.0), repeat=3) if 1 <= labels.count(1.0) <= 2}
    assert drawn == allowed
