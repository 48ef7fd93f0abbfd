"""P3CA and PhyloPCA of tables with missing cells."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import P3CA, PhyloPCA, brownian_traits, covariance, read_tree, yule_tree

KINDS = [P3CA, PhyloPCA]


@pytest.fixture(scope="module")
def tree():
    return yule_tree(40, random_state=5)


@pytest.fixture(scope="module")
def whole(tree):
    frame = brownian_traits(tree, 5, pagel_lambda=0.7, random_state=6)
    mix = np.random.default_rng(0).normal(size=(5, 5))
    return 10.0 + frame @ (mix * [3.0, 2.0, 1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def table(whole):
    holes = np.random.default_rng(1).random(whole.shape) < 0.15
    return whole.mask(holes)


def column_covariance(model, n):
    if isinstance(model, PhyloPCA):
        # Rates have n - 1 in the denominator, the most likely ones n.
        return model.covariance_ * (n - 1) / n
    return model.loadings_ @ model.loadings_.T + model.noise_variance_ * np.eye(
        len(model.loadings_)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_is_that_of_the_cells(tree, table, kind):
    model = kind(tree, pagel_lambda=0.6).fit(table)
    order = tree.match(table)
    V = covariance(tree, pagel_lambda=0.6)[np.ix_(order, order)]
    K = np.kron(V, column_covariance(model, 40))
    cells = table.to_numpy().ravel()
    seen = ~np.isnan(cells)
    mean = np.tile(model.mean_, 40)
    density = multivariate_normal.logpdf(cells[seen], mean[seen], K[np.ix_(seen, seen)])
    assert model.log_likelihood_ == pytest.approx(density, abs=1e-8)
    weights = K[:, seen] @ np.linalg.inv(K[np.ix_(seen, seen)])
    expected = (mean + weights @ (cells - mean)[seen]).reshape(40, 5)
    np.testing.assert_allclose(model.imputed_, expected, atol=1e-8)
    assert model.converged_
    assert 2 < model.n_iter_ < 1000


@pytest.mark.parametrize("kind", KINDS)
def test_one_hole_changes_little(tree, whole, kind):
    one = whole.copy()
    one.iloc[3, 2] = np.nan
    ours, plain = kind(tree).fit(one), kind(tree).fit(whole)
    np.testing.assert_allclose(ours.explained_variance_, plain.explained_variance_, rtol=0.05)
    assert ours.lambda_ == pytest.approx(plain.lambda_, abs=0.02)
    assert (ours.imputed_ != plain.imputed_).sum() == 1
    assert plain.n_iter_ == 1
    assert plain.converged_
    np.testing.assert_array_equal(plain.imputed_, whole)


@pytest.mark.parametrize("kind", KINDS)
def test_lambda_is_the_most_likely(tree, table, kind):
    model = kind(tree).fit(table)
    assert 0.3 < model.lambda_ < 1.0
    for share in [0.0, 0.5, 1.0, model.lambda_ - 1e-3, model.lambda_ + 1e-3]:
        other = kind(tree, pagel_lambda=share).fit(table)
        assert other.log_likelihood_ <= model.log_likelihood_ + 1e-8
    assert kind(tree, bounds=(0.0, 0.1)).fit(table).lambda_ == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_does_not_matter(tree, table, kind):
    one = kind(tree, pagel_lambda=0.5).fit(table)
    shuffled = table.sample(frac=1.0, random_state=0)
    two = kind(tree, pagel_lambda=0.5).fit(shuffled)
    assert one.log_likelihood_ == pytest.approx(two.log_likelihood_, abs=1e-8)
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-5)
    back = pd.DataFrame(two.imputed_, index=shuffled.index).loc[table.index]
    np.testing.assert_allclose(one.imputed_, back, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_tree_rows_are_independent(whole, table, kind):
    X = table.to_numpy()
    model = kind(n_components=2).fit(X)
    names = list(table.index)
    pairs = [f"({a}:0.4,{b}:0.4):0.6" for a, b in zip(names[::2], names[1::2], strict=True)]
    star = read_tree("(" + ",".join(pairs) + ");")
    same = kind(star, pagel_lambda=0.0, n_components=2).fit(table)
    assert model.log_likelihood_ == pytest.approx(same.log_likelihood_, abs=1e-8)
    np.testing.assert_allclose(model.imputed_, same.imputed_, atol=1e-6)
    # No relatives: the scores of training rows are those of any rows.
    np.testing.assert_allclose(model.scores_, model.transform(X), atol=1e-8)
    C = column_covariance(model, 40)
    density = 0.0
    for row in X:
        seen = ~np.isnan(row)
        density += multivariate_normal.logpdf(
            row[seen], model.mean_[seen], C[np.ix_(seen, seen)], allow_singular=False
        )
    assert model.log_likelihood_ == pytest.approx(density, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_training_rows_use_relatives(tree, table, kind):
    model = kind(tree, n_components=2).fit(table)
    complete = ~table.isna().any(axis=1).to_numpy()
    scores = model.transform(table)
    np.testing.assert_allclose(model.scores_[complete], scores[complete])
    assert np.abs(model.scores_ - scores)[~complete].max() > 0.01
    assert np.isfinite(scores).all()
    # Nothing is known of a row without cells: it is at the root.
    nothing = np.full((1, 5), np.nan)
    np.testing.assert_allclose(model.transform(nothing), 0.0, atol=1e-12)
    # Given some cells of a row, by matrices.
    row = table.to_numpy()[~complete][:1].copy()
    seen = ~np.isnan(row[0])
    C, left = column_covariance(model, 40), (row[0] - model.mean_)[seen]
    filled = model.mean_ + C[:, seen] @ np.linalg.solve(C[np.ix_(seen, seen)], left)
    np.testing.assert_allclose(model.transform(row), model.transform(filled[None]), atol=1e-8)


def test_relatives_fill_a_row_without_cells(whole):
    tree = read_tree("(((A:0.01,B:0.01):1,(C:0.5,D:0.5):0.51):1,(E:1,(F:0.5,G:0.5):0.5):1.01);")
    rows = brownian_traits(tree, 3, random_state=0)
    empty = rows.copy()
    empty.loc["A"] = np.nan
    model = P3CA(tree, pagel_lambda=1.0, n_components=1).fit(empty)
    near = np.abs(model.imputed_[list(rows.index).index("A")] - rows.loc["B"])
    assert near.max() < 0.02
    # The row has no part in the fit: its tip may as well be pruned.
    without = P3CA(tree, pagel_lambda=1.0, n_components=1).fit(rows.drop("A"))
    assert model.log_likelihood_ == pytest.approx(without.log_likelihood_)
    np.testing.assert_allclose(model.loadings_, without.loadings_, rtol=1e-6)
    assert model.scores_.shape == (7, 1)
    rates = PhyloPCA(tree, pagel_lambda=1.0).fit(empty).covariance_
    pruned = PhyloPCA(tree, pagel_lambda=1.0).fit(rows.drop("A")).covariance_
    np.testing.assert_allclose(rates, pruned, rtol=1e-6)


def test_the_tree_fills_cells_better_than_the_row(tree, whole, table):
    holes = table.isna().to_numpy()

    def error(values):
        return np.sqrt(np.mean((values - whole.to_numpy())[holes] ** 2))

    with_tree = error(P3CA(tree).fit(table).imputed_)
    alone = error(P3CA().fit(table.to_numpy()).imputed_)
    means = error(table.fillna(table.mean()).to_numpy())
    assert with_tree < alone < means


def test_the_mean_of_cells_as_centre(tree, table):
    model = P3CA(tree, centre="sample", pagel_lambda=0.6).fit(table)
    np.testing.assert_allclose(model.mean_, table.mean())
    best = P3CA(tree, pagel_lambda=0.6).fit(table)
    assert best.log_likelihood_ > model.log_likelihood_ + 0.1


def test_correlations_of_a_table_with_holes_ignore_units(tree, table):
    options = {"pagel_lambda": 0.5, "mode": "correlation", "n_components": 2}
    one = PhyloPCA(tree, **options).fit(table)
    two = PhyloPCA(tree, **options).fit(table * [1, 900, 1, 1, 0.05])
    np.testing.assert_allclose(one.explained_variance_, two.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(one.scores_, two.scores_, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_distant_origin_costs_no_digits(tree, table, kind):
    near = kind(tree, pagel_lambda=0.5).fit(table)
    far = kind(tree, pagel_lambda=0.5).fit(table + 1e6)
    assert far.log_likelihood_ == pytest.approx(near.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(far.imputed_ - 1e6, near.imputed_, atol=1e-4)


def test_units_change_the_likelihood_by_their_logarithms(tree, table):
    scale = np.array([1.0, 900.0, 1e-3, 5.0, 0.05])
    one = PhyloPCA(tree, pagel_lambda=0.5).fit(table)
    two = PhyloPCA(tree, pagel_lambda=0.5).fit(table * scale)
    cells = table.notna().sum().to_numpy()
    change = cells @ np.log(scale)
    assert two.log_likelihood_ == pytest.approx(one.log_likelihood_ - change, abs=1e-6)
    np.testing.assert_allclose(two.covariance_, np.outer(scale, scale) * one.covariance_, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_end_as_asked(tree, table, kind):
    with pytest.warns(ConvergenceWarning, match="still rose after 3 steps"):
        short = kind(tree, pagel_lambda=0.6, max_iter=3).fit(table)
    assert short.n_iter_ == 3
    assert not short.converged_
    rough = kind(tree, pagel_lambda=0.6, tol=0.1).fit(table)
    full = kind(tree, pagel_lambda=0.6).fit(table)
    assert rough.n_iter_ < full.n_iter_
    assert short.log_likelihood_ < rough.log_likelihood_ < full.log_likelihood_


def test_cells_that_cannot_be_missing_are_refused(tree, whole, table):
    with pytest.raises(InvalidInputError, match='X holds NaN, and form="printed"'):
        P3CA(tree, form="printed").fit(table)
    with pytest.raises(InvalidInputError, match='X holds NaN, and form="printed"'):
        P3CA(tree, form="printed").fit(whole).transform(table)
    named = table.set_axis(list("abcde"), axis=1).assign(b=np.nan)
    with pytest.raises(InvalidInputError, match=r"These columns have no cells: b\. Leave"):
        P3CA(tree).fit(named)
    with pytest.raises(InvalidInputError, match=r"These columns have no cells: 1\. Leave"):
        P3CA().fit(named.to_numpy())
    few = table[:4].copy()
    few.iloc[0, 0] = np.nan
    with pytest.raises(InvalidInputError, match="4 rows with cells leave nothing of 5 columns"):
        PhyloPCA(tree, n_components=1).fit(few)
    assert P3CA(tree, n_components=1, pagel_lambda=0.5).fit(few).converged_
    with pytest.raises(ValueError, match="infinity"):
        P3CA(tree).fit(table.replace(table.iloc[0, 0], np.inf))
    with pytest.raises(InvalidInputError, match="max_iter must be"):
        P3CA(tree, max_iter=0).fit(table)
    with pytest.raises(InvalidInputError, match="tol must be"):
        PhyloPCA(tree, tol=0.0).fit(table)


def test_tags_say_which_takes_missing_cells():
    assert get_tags(PhyloPCA()).input_tags.allow_nan
    assert get_tags(P3CA()).input_tags.allow_nan
    assert not get_tags(P3CA(form="printed")).input_tags.allow_nan
