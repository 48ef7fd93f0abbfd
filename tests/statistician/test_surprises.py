from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from parsimon.gp import GPClassifier, GPRegressor, SparseGPClassifier
from parsimon.kernels import SquaredExponential as SE
from parsimon.statistician.families.gp._kernel_result import influence
from parsimon.statistician.measure import (
    influential_rows,
    surprise,
    surprising_rows,
    written,
)
from tests.statistician.questions import asked, result_of, table

KERNEL = SE(0, lengthscale=0.8, variance=2.0) + SE(1, lengthscale=1.5)


def rows(n_rows=40, repeated=0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    y = X[:, 0] + 0.8 * rng.normal(size=n_rows)
    again = np.concatenate([np.arange(n_rows), np.arange(repeated)]).astype(int)
    return X[again], y[again]


def without_site(K, precision, shift, place, share):
    """Return the mean of the latent values, after a share of one site is taken out."""
    t, v = precision.copy(), shift.copy()
    t[place] *= 1 - share
    v[place] *= 1 - share
    # inv(inv(K) + diag(t)) v, without the inverse of K.
    return K @ np.linalg.solve(np.eye(len(K)) + t[:, None] * K, v)


@pytest.mark.parametrize("inference", ["ep", "laplace"])
@pytest.mark.parametrize("form", ["dense", "low_rank"])
@pytest.mark.parametrize("repeated", [0, 7])
def test_influence_equals_taking_each_site_out(inference, form, repeated):
    X, y = rows(repeated=repeated)
    model = GPClassifier(KERNEL, inference=inference, form=form, optimise=False).fit(X, y > 0)
    posterior, distinct = model._model.fits[0].posterior, model._rows
    K = KERNEL.gram(distinct.X)
    precision, shift = posterior.sites
    before = without_site(K, precision, shift, 0, 0.0)
    expected = []
    for place, share in zip(distinct.which, distinct.share, strict=True):
        change = without_site(K, precision, shift, place, share) - before
        # Every row that was given counts, equal ones too.
        expected.append(np.sqrt(np.mean(change[distinct.which] ** 2)))
    np.testing.assert_allclose(
        influence(model), expected, rtol=1e-3 if form == "low_rank" else 1e-6
    )


def test_influence_of_a_number_equals_a_new_fit_without_the_row():
    X, y = rows(25, repeated=3)
    options = {"noise": 0.3, "optimise": False, "normalise_y": False}
    model = GPRegressor(KERNEL, **options).fit(X, y)
    before = model.predict(X)
    expected = []
    for left in range(len(y)):
        kept = np.arange(len(y)) != left
        after = GPRegressor(KERNEL, **options).fit(X[kept], y[kept]).predict(X)
        expected.append(np.sqrt(np.mean((after - before) ** 2)))
    np.testing.assert_allclose(influence(model), expected, rtol=1e-6)


def test_influence_of_a_number_is_in_units_of_the_target():
    X, y = rows(25)
    small = influence(GPRegressor(KERNEL, optimise=False).fit(X, y))
    large = influence(GPRegressor(KERNEL, optimise=False).fit(X, 1000 * y + 7))
    np.testing.assert_allclose(large, 1000 * small, rtol=1e-6)


def test_a_model_with_inducing_points_has_no_influence():
    X, y = rows()
    model = SparseGPClassifier(KERNEL, n_inducing=5, max_iter=100, tol=0.1, random_state=0)
    assert influence(model.fit(X, y > 0)) is None


@pytest.fixture(scope="module")
def subject():
    X, y = rows(60)
    frame = table({"dose": X[:, 0], "weight = high": X[:, 1] > 0})
    found = result_of(frame, y > 0, depth=2)
    quoted = pd.DataFrame({"dose": [f"{x:.3f} mg" for x in X[:, 0]], "weight": 1})
    return asked(found, table=quoted, rows=np.arange(101, 161), target="ill")


def test_surprise_is_the_bits_of_the_rows_own_label(subject):
    own = subject.own_predictions()
    found = surprising_rows(subject, own)
    assert len(found) == 10
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        place = one.row - 101
        probability = own.value[place] if subject.question.y[place] else 1 - own.value[place]
        assert one.score == pytest.approx(-np.log2(probability))
        assert one.probability == own.value[place]
        assert one.label == ("yes" if subject.question.y[place] else "no")
    assert found[0].score == pytest.approx(surprise(subject.question, own).max())


def test_values_are_quoted_from_the_table_or_else_from_the_numbers(subject):
    judged = replace(subject.search.best_candidate_, columns=(0, 1))
    both = replace(subject, search=type("Search", (), {"best_candidate_": judged}))
    first = surprising_rows(both, subject.own_predictions())[0]
    place = first.row - 101
    assert first.values == (
        ("dose", subject.question.table["dose"].iloc[place]),
        ("weight = high", written(subject.question.X.iloc[place, 1])),
    )


def test_influential_rows_are_those_of_greatest_influence(subject):
    scores = influence(subject.model)
    found = influential_rows(subject, subject.own_predictions())
    assert [one.row - 101 for one in found] == np.argsort(-scores, kind="stable")[:10].tolist()
    assert found[0].score == scores.max()


def test_surprise_of_a_number_counts_standard_deviations():
    rng = np.random.default_rng(4)
    X = table({"dose": np.linspace(0, 6, 40)})
    y = np.sin(X["dose"]) + 0.1 * rng.normal(size=40)
    y[17] += 3
    subject = result_of(X, y, depth=1)
    own = subject.own_predictions()
    first = surprising_rows(subject, own)[0]
    assert first.row == 18
    assert first.score == pytest.approx(abs(y[17] - own.value[17]) / own.deviation[17])
    assert first.label == written(float(y[17]))


@pytest.mark.parametrize(
    ("cell", "text"), [(None, "missing"), (2.5e-7, "2.5e−07"), (True, "True"), ("a\nb", "a\nb")]
)
def test_cells_are_written_as_a_reader_would(cell, text):
    assert written(cell) == text
