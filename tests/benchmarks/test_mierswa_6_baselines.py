"""What usual ways of selecting columns find: their folds, and what each filter sees."""

import numpy as np
import pytest
from benchmarks.reproduce._mierswa_6_baselines import selection_baselines
from benchmarks.reproduce._mierswa_filters import FILTERS

from parsimon.exceptions import InvalidInputError
from parsimon.features import ParetoSelector

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 5))
NUMBER = X[:, 0] - 2 * X[:, 3] + X[:, 1] + 0.8 * RNG.normal(size=90)
TWO = np.where(NUMBER + RNG.normal(size=90) > 0, "yes", "no")


def test_baselines_use_the_same_folds():
    search = ParetoSelector(random_state=0).fit(X, TWO)
    found = selection_baselines(search)
    assert list(found) == [
        "forward",
        "backward",
        "floating",
        "variance ratio",
        "information gain",
        "Relief",
        "linear SVM",
        "principal component",
        "FOCUS",
        "genetic",
    ]
    everything = search.errors_(np.ones((1, 5), dtype=bool))[0]
    assert found["backward"].values[:, 0].min() <= everything
    for front in found.values():
        for place, (error, size) in enumerate(front.values):
            mask = np.isin(np.arange(5), front.solution(place))
            assert (mask.sum(), search.errors_(mask[None])[0]) == (size, pytest.approx(error))
    with pytest.raises(InvalidInputError, match="methods"):
        selection_baselines(search, ["stepwise"])


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", FILTERS)
def test_filters_prefer_the_column_that_tells(name, task):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(120, 4))
    y = table[:, 2] if task == "regression" else np.digitize(table[:, 2], [-0.5, 0.5])
    table[:, 2] *= 100.0
    y = y + 0.01 * rng.normal(size=120) if task == "regression" else y
    if name == "principal component":
        table[:, 1] = table[:, 2] + rng.normal(size=120)
    score = FILTERS[name](table, y, task)
    assert score.shape == (4,)
    best = {1, 2} if name == "principal component" else {2}
    assert set(np.argsort(-score)[: len(best)]) == best


def test_relief_sees_what_only_two_columns_together_tell():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 4))
    y = (table[:, 0] > 0) != (table[:, 3] > 0)
    score = FILTERS["Relief"](table, y, "classification")
    assert set(np.argsort(-score)[:2]) == {0, 3}


def test_focus_finds_the_two_columns_that_tell_only_together():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, size=(200, 6)).astype(float)
    y = table[:, 1] != table[:, 4]
    score = FILTERS["FOCUS"](table, y, "classification")
    assert set(np.argsort(-score)[:2]) == {1, 4}
    wide = rng.normal(size=(150, 40))
    number = np.round(wide[:, 7], 1)
    assert np.argmax(FILTERS["FOCUS"](wide, number, "regression")) == 7
