"""Several classes: offsets on a lattice, the rate of each class as an objective."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes.multinomial import softmax_mode
from parsimon.pareto import nondominated
from parsimon.rvm._problem import RelevanceProblem
from parsimon.rvm._search import ChosenColumns, search
from parsimon.rvm._sweep import (
    ClassSweep,
    class_rates,
    rate_gains,
    simplex_lattice,
    temperature_level,
)
from parsimon.rvm.classifier import RVC
from parsimon.rvm.pareto import ParetoRVC


@pytest.mark.parametrize(("n_classes", "n_levels"), [(2, 5), (3, 4), (4, 3), (6, 2)])
def test_the_lattice_holds_every_composition_once(n_classes, n_levels):
    lattice = simplex_lattice(n_classes, n_levels)
    np.testing.assert_allclose(lattice.sum(axis=1), 1.0)
    assert (lattice >= 0).all()
    assert len(np.unique(lattice, axis=0)) == len(lattice)
    assert len(lattice) == comb(n_levels + n_classes - 1, n_classes - 1)
    np.testing.assert_allclose(lattice * n_levels, (lattice * n_levels).round())


@pytest.mark.parametrize("n_classes", [3, 4, 7, 12])
def test_an_exact_sweep_is_the_finest_lattice_of_few_points(n_classes):
    sweep = ClassSweep(n_classes)
    assert len(sweep.weights) <= 301
    assert comb(sweep.n_levels + n_classes, n_classes - 1) > 300
    assert ClassSweep(n_classes, 0.5).n_levels == 2


def swept_by_hand(scores, codes, gains, sweep):
    """Return the rates of every offset, one row and one class after the other."""
    level = temperature_level(scores, sweep.n_levels)
    table = []
    for weights in sweep.weights:
        hits = np.zeros(sweep.n_classes)
        for score, code, gain in zip(scores, codes, gains, strict=True):
            with np.errstate(divide="ignore"):
                offset = 2.0 ** (level - 40) * np.log(weights)
            hits[code] += gain * (np.argmax(score + offset) == code)
        table.append(hits)
    return np.array(table)


@given(st.integers(0, 10_000), st.sampled_from([1e-8, 1.0, 30.0]))
def test_a_sweep_by_brute_force(seed, scale):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.concatenate([np.arange(3), rng.integers(3, size=7)]))
    # Gains in sixty-fourths, whose sums are exact in any order.
    scores, gains = scale * rng.normal(size=(10, 3)), rng.integers(1, 64, size=10) / 64
    sweep = ClassSweep(3, 0.25)
    numbers, rates = sweep(scores, codes, gains)
    expected = swept_by_hand(scores, codes, gains, sweep)
    assert {tuple(row) for row in rates} == {tuple(row) for row in expected}
    assert len(np.unique(rates, axis=0)) == len(rates)
    predicted = (scores[None] + sweep.offsets(numbers)[:, None]).argmax(axis=2)
    np.testing.assert_array_equal(class_rates(predicted == codes, codes, gains, 3), rates)


def test_the_scale_of_the_scores_does_not_matter():
    rng = np.random.default_rng(0)
    codes, scores = np.repeat([0, 1, 2], 5), rng.normal(size=(15, 3))
    gains, sweep = np.full(15, 0.2), ClassSweep(3)
    small, large = (sweep(scores * 2.0**power, codes, gains).rates for power in (-30, 5))
    np.testing.assert_array_equal(small, large)


def test_corners_give_all_rows_to_one_class_and_equal_weights_change_nothing():
    rng = np.random.default_rng(1)
    codes, scores = np.repeat([0, 1, 2], 4), rng.normal(size=(12, 3))
    points = ClassSweep(3)(scores, codes, np.full(12, 0.25))
    for corner in np.eye(3):
        assert (points.rates == corner).all(axis=1).any()
    plain = scores.argmax(axis=1) == codes
    np.testing.assert_allclose(points.rates[0], plain.reshape(3, 4).mean(axis=1))


def test_scores_that_are_all_equal_are_swept_too():
    points = ClassSweep(3)(np.zeros((3, 3)), np.arange(3), np.ones(3))
    assert np.isfinite(points.rates).all()
    assert {tuple(row) for row in points.rates} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


@given(st.integers(0, 10_000))
def test_rates_in_folds_are_means_over_the_folds_that_have_the_class(seed):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(3), rng.integers(3, size=9)])
    folds, weights = rng.integers(3, size=12), rng.integers(1, 4, size=12).astype(float)
    folds[:3] = np.arange(3)
    correct = rng.random((1, 12)) < 0.5
    gains = rate_gains(codes, weights, folds, 3)
    found = class_rates(correct, codes, gains, 3)[0]
    for code in range(3):
        parts = []
        for fold in range(3):
            rows = (codes == code) & (folds == fold)
            if rows.any():
                parts.append(np.average(correct[0, rows], weights=weights[rows]))
        assert found[code] == pytest.approx(np.mean(parts))


@pytest.fixture(scope="module")
def stripes():
    """Three classes along a line, the middle one between the others, with overlap."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, size=60)
    codes = np.clip((x + 0.2 * rng.normal(size=60)).astype(int), 0, 2)
    design = np.column_stack([np.ones(60), x, x**2, rng.normal(size=60)])
    return RelevanceProblem(design, codes, 3, True, np.ones(60), x[:, None])


@pytest.mark.parametrize("scheme", [None, 3])
def test_every_point_has_the_rates_of_its_model(stripes, scheme):
    found = search(stripes, scheme=scheme, max_iter=40, random_state=0)
    assert found.values.shape[1] == 4
    assert nondominated(found.values * [-1, -1, -1, 1]).all()
    if scheme is None:
        gains = rate_gains(stripes.codes, stripes.weights, None, 3)
        modes = [
            softmax_mode(stripes.design[:, model.active], stripes.codes, 3, model.alpha)
            for model in found.models
        ]
        for values, cutoff, number in zip(found.values, found.cutoffs, found.which, strict=True):
            model = found.models[number]
            right = (modes[number].scores - cutoff).argmax(axis=1) == stripes.codes
            rates = class_rates(right[None], stripes.codes, gains, 3)[0]
            np.testing.assert_allclose(values[:3], rates, atol=0.06)  # fits stop a little early
            assert values[3] == np.sum(model.active > 0)


def test_held_out_rates_are_those_of_folds_fitted_by_hand(stripes):
    folds = np.arange(60) % 3
    found = search(
        stripes, scheme=folds, start=ChosenColumns(np.array([0, 1]), np.ones(2)), max_iter=0
    )
    scores = np.empty((60, 3))
    for fold in range(3):
        held = folds == fold
        mode = softmax_mode(
            stripes.design[:, :2], stripes.codes, 3, np.ones(2), row_weights=1.0 * ~held
        )
        scores[held] = mode.scores[held]
    gains = rate_gains(stripes.codes, np.ones(60), folds, 3)
    expected = swept_by_hand(scores, stripes.codes, gains, ClassSweep(3))
    for row in found.values[:, :3]:
        assert np.abs(expected - row).max(axis=1).min() < 0.05


def test_the_classes_can_be_told_apart_and_traded(stripes):
    found = search(stripes, max_iter=150, random_state=0)
    rates = found.values[:, :3]
    assert rates.min(axis=1).max() > 0.8
    assert (rates.max(axis=0) == 1).all()
    # The middle class is bought from its neighbours.
    assert rates[rates[:, 1] == 1][:, [0, 2]].sum(axis=1).max() < 2


def test_the_same_seed_and_a_resumed_search_give_the_same_points(stripes, tmp_path):
    whole = search(stripes, scheme=2, max_iter=60, random_state=3)
    again = search(stripes, scheme=2, max_iter=60, random_state=3)
    np.testing.assert_array_equal(whole.values, again.values)
    file = tmp_path / "classes.npz"
    for n in (25, 60):
        resumed = search(stripes, scheme=2, max_iter=n, random_state=3, checkpoint=file)
    np.testing.assert_array_equal(resumed.values, whole.values)
    np.testing.assert_array_equal(resumed.cutoffs, whole.cutoffs)
    other = search(stripes, scheme=2, max_iter=60, random_state=4)
    assert not np.array_equal(other.values, whole.values)


def test_the_printed_complexity_is_searched(stripes):
    found = search(stripes, complexity="degrees_of_freedom", max_iter=30, random_state=0)
    assert nondominated(found.values * [-1, -1, -1, 1]).all()
    assert not np.array_equal(found.values[:, 3], found.values[:, 3].round())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thresholds": "fine"}, 'thresholds must be "exact" or a step'),
        ({"thresholds": 0.0}, "must be above 0 and at most 1"),
        ({"thresholds": 0.001}, "501,501 combinations for 3 classes"),
        ({"complexity": "size"}, 'complexity must be "active" or'),
        ({"scheme": 1}, "number of folds must be an integer of at least 2"),
        ({"scheme": np.arange(7)}, "There are 60 rows but the folds have shape"),
    ],
    ids=str,
)
def test_options_that_cannot_be_used(stripes, options, message):
    with pytest.raises(InvalidInputError, match=message):
        search(stripes, max_iter=1, **options)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def searched(iris):
    return ParetoRVC(cv=3, max_iter=120, random_state=0).fit(*iris)


def test_the_rate_of_each_class_is_an_objective(searched):
    names = searched.front_.names
    assert names == ("rate_setosa", "rate_versicolor", "rate_virginica", "complexity")
    assert searched.front_.directions.maximised == names[:3]
    assert nondominated(searched.front_.minimised).all()
    values = searched.front_.values.tolist()
    for corner in np.eye(3):
        assert [*corner, 0.0] in values


def test_rows_are_multinomial_classifiers(searched, iris):
    X, y = iris
    frame = searched.to_frame()
    for index in range(0, len(frame), max(1, len(frame) // 12)):
        model, row = searched.select(index), frame.loc[index]
        assert type(model) is RVC
        assert model.multi_class == "multinomial"
        predicted = model.predict(X)
        for label in np.unique(y):
            rate = np.mean(predicted[y == label] == label)
            assert row[f"training_rate_{label}"] == pytest.approx(rate, abs=1e-12)
        assert row["columns"] == len(model.relevance_)
        assert row["training_accuracy"] == pytest.approx(model.score(X, y))
        np.testing.assert_array_equal(row.filter(like="cutoff_").to_numpy(float), model.cutoff)


def test_the_default_solution_predicts_all_classes(searched, iris):
    X, y = iris
    assert searched.score(X, y) > 0.9
    assert searched.predict_proba(X).shape == (150, 3)
    decision = searched.decision_function(X)
    np.testing.assert_array_equal(searched.classes_[decision.argmax(axis=1)], searched.predict(X))


def test_a_rule_may_ask_for_one_class(searched, iris):
    X, y = iris
    model = searched.select("best:rate_virginica where rate_versicolor>=0.6 and complexity<=9")
    found = np.mean(model.predict(X)[y == "virginica"] == "virginica")
    assert found >= 0.9


def test_what_is_for_two_classes_is_refused(iris):
    with pytest.raises(InvalidInputError, match="is for two classes, got 3"):
        ParetoRVC(max_iter=2, cv="swap").fit(*iris)
