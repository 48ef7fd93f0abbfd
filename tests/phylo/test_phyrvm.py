import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import sparse_regression
from parsimon.kernels import Polynomial, SquaredExponential
from parsimon.phylo import (
    PGLS,
    CladeKFold,
    PhyRVM,
    brownian_traits,
    covariance,
    read_tree,
    yule_tree,
)


@pytest.fixture(scope="module")
def tree():
    return yule_tree(60, random_state=5)


@pytest.fixture(scope="module")
def table(tree):
    frame = brownian_traits(tree, 6, random_state=6)
    noise = brownian_traits(tree, pagel_lambda=0.7, random_state=7)["trait1"]
    frame["y"] = 2.0 + 1.5 * frame["trait2"] - frame["trait5"] + 0.5 * noise
    return frame


FEATURES = [f"trait{j}" for j in range(1, 7)]


@pytest.fixture(scope="module")
def model(tree, table):
    return PhyRVM(tree).fit(table[FEATURES], table["y"])


@pytest.fixture(scope="module")
def ard(tree, table):
    """Return the published prior, under which nothing but the evidence is maximised."""
    return PhyRVM(tree, prior="ard").fit(table[FEATURES], table["y"])


def dense_evidence(V, design, y, alpha, noise):
    """Return the log density of y with its whole covariance matrix."""
    C = noise * V + (design / alpha) @ design.T
    return -0.5 * (len(y) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + y @ np.linalg.solve(C, y))


def with_ones(table, columns=FEATURES):
    return np.column_stack([np.ones(len(table)), table[columns]])


@pytest.mark.parametrize("share", [0.0, 0.45, 1.0])
def test_the_evidence_is_the_density_of_y(tree, table, share):
    model = PhyRVM(tree, pagel_lambda=share).fit(table[FEATURES], table["y"])
    V = covariance(tree, pagel_lambda=share)
    found = model.posterior_
    design = with_ones(table)[:, found.active]
    y = (table["y"] - table["y"].mean()).to_numpy()
    dense = dense_evidence(V, design, y, found.alpha, model.noise_variance_)
    assert model.log_evidence_ == pytest.approx(dense, abs=1e-7)
    assert model.lambda_ == share
    assert model.estimated_ == ()
    # The posterior of the weights by its formula (Fearn 2021, S28), with matrices.
    inverse = np.linalg.inv(V) / model.noise_variance_
    spread = np.linalg.inv(np.diag(found.alpha) + design.T @ inverse @ design)
    np.testing.assert_allclose(found.covariance, spread, atol=1e-9)
    np.testing.assert_allclose(found.mean, spread @ design.T @ inverse @ y, atol=1e-8)


def test_lambda_is_a_stationary_point_of_the_evidence(tree, table, ard):
    model = ard
    found, y = model.posterior_, (table["y"] - table["y"].mean()).to_numpy()
    design = with_ones(table)[:, found.active]

    def height(share, alpha, noise):
        return dense_evidence(covariance(tree, pagel_lambda=share), design, y, alpha, noise)

    step = 1e-5
    ends = [height(model.lambda_ + s, found.alpha, model.noise_variance_) for s in (-step, step)]
    assert 0 < model.lambda_ < 1
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(0.0, abs=0.02)
    # Noise and precisions are at their best as well.
    top = height(model.lambda_, found.alpha, model.noise_variance_)
    for factor in (0.9, 1.1):
        assert height(model.lambda_, found.alpha, factor * model.noise_variance_) < top
        for column in range(len(found.alpha)):
            other = found.alpha.copy()
            other[column] *= factor
            assert height(model.lambda_, other, model.noise_variance_) < top + 1e-6
    for share in np.linspace(0, 1, 11):
        fixed = PhyRVM(tree, prior="ard", pagel_lambda=share).fit(table[FEATURES], table["y"])
        assert fixed.log_evidence_ <= model.log_evidence_ + 1e-6


def test_the_features_that_matter_are_found(model, table):
    ranking = model.ranking()
    assert set(ranking.names[:2]) == {"trait2", "trait5"}
    assert (np.diff(ranking.relevance) <= 0).all()
    np.testing.assert_allclose(model.coef_[[1, 4]], [1.5, -1.0], atol=0.3)
    out = np.setdiff1d(np.arange(6), model.posterior_.active - 1)
    assert len(out) >= 1
    assert (model.coef_[out] == 0).all()
    assert np.isinf(model.alpha_[out]).all()
    assert (model.relevance_[out] == 0).all()
    inside = np.isfinite(model.alpha_)
    np.testing.assert_allclose(
        model.relevance_[inside] ** 2 * model.alpha_[inside],
        np.var(table[FEATURES].to_numpy(), axis=0)[inside],
    )


def test_the_ranking_is_a_table(tree, table, model):
    ranking = model.ranking()
    frame = ranking.to_frame()
    assert list(frame.index) == list(ranking.names)
    place = FEATURES.index(ranking.names[0])
    assert frame["weight"].iloc[0] == model.coef_[place]
    found = model.posterior_
    row = int(np.flatnonzero(found.active == place + 1)[0])
    assert frame["sd"].iloc[0] == pytest.approx(np.sqrt(found.covariance[row, row]))
    V, y = covariance(tree, pagel_lambda=model.lambda_), table["y"] - table["y"].mean()
    design = with_ones(table)[:, found.active]
    less = np.delete(np.arange(len(found.active)), row)
    lost = dense_evidence(V, design, y, found.alpha, model.noise_variance_) - dense_evidence(
        V, design[:, less], y, found.alpha[less], model.noise_variance_
    )
    assert frame["evidence lost"].iloc[0] == pytest.approx(lost, abs=1e-6)
    assert "evidence lost" in str(ranking)
    assert ranking.names[0] in str(ranking).splitlines()[1]


def test_without_a_tree_it_is_sparse_regression(table):
    X, y = table[FEATURES].to_numpy(), table["y"].to_numpy()
    ours = PhyRVM(prior="ard").fit(X, y)
    plain = sparse_regression(with_ones(table), y - y.mean(), max_iter=5000)
    np.testing.assert_array_equal(ours.posterior_.active, plain.active)
    np.testing.assert_allclose(ours.posterior_.mean, plain.mean)
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence)
    assert ours.lambda_ == 0.0
    mean, sd = ours.predict(X, return_std=True)
    design = with_ones(table)[:, plain.active]
    np.testing.assert_allclose(mean, y.mean() + design @ plain.mean)
    variance = plain.noise_variance + np.diag(design @ plain.covariance @ design.T)
    np.testing.assert_allclose(sd**2, variance)
    through = PhyRVM(prior="ard", fit_intercept=False).fit(X, y)
    same = sparse_regression(X, y, max_iter=5000)
    np.testing.assert_array_equal(through.posterior_.active, same.active)
    assert through.intercept_ == 0.0
    np.testing.assert_allclose(through.coef_[same.active], same.mean)


def unit_tree(names):
    """A tree with structure and all tips at depth one."""
    names = list(names)
    pairs = [f"({a}:0.4,{b}:0.4):0.6" for a, b in zip(names[::2], names[1::2], strict=True)]
    return read_tree("(" + ",".join(pairs) + ");")


@pytest.mark.parametrize("kernel", ["features", "linear", "rbf"])
def test_unit_tips_at_lambda_zero_are_the_relevance_vector_machine(table, kernel):
    X, y = table[FEATURES[:4]], table["y"]
    tree = unit_tree(table.index)
    ours = PhyRVM(tree, kernel=kernel, gamma=0.1, prior="ard", pagel_lambda=0.0).fit(X, y)
    if kernel == "features":
        columns = X.to_numpy()
    elif kernel == "linear":
        columns = X.to_numpy() @ X.to_numpy().T
    else:
        rows = X.to_numpy()
        columns = np.exp(-0.1 * np.sum((rows[:, None] - rows) ** 2, axis=2))
    design = np.column_stack([np.ones(60), columns])
    plain = sparse_regression(design, (y - y.mean()).to_numpy(), max_iter=5000)
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence, abs=1e-6)
    np.testing.assert_array_equal(ours.posterior_.active, plain.active)
    np.testing.assert_allclose(ours.posterior_.mean, plain.mean, rtol=1e-5)
    assert ours.noise_variance_ == pytest.approx(plain.noise_variance, rel=1e-5)


@pytest.mark.parametrize("kernel", ["features", "rbf"])
def test_predictions_condition_on_relatives(tree, table, kernel):
    train, test = table.iloc[::2], table.iloc[1::2]
    model = PhyRVM(tree, kernel=kernel, gamma=0.01).fit(train[FEATURES], train["y"])
    mean, sd = model.predict(test[FEATURES], return_std=True)
    assert model.lambda_ > 0.1
    V = covariance(tree, pagel_lambda=model.lambda_)
    place = [tree.tip_names.index(name) for name in train.index]
    asked = [tree.tip_names.index(name) for name in test.index]

    def columns(frame):
        rows, centres = frame[FEATURES].to_numpy(), train[FEATURES].to_numpy()
        if kernel == "features":
            return with_ones(frame)
        squares = np.sum((rows[:, None] - centres) ** 2, axis=2)
        return np.column_stack([np.ones(len(rows)), np.exp(-0.01 * squares)])

    found = model.posterior_
    design, new = columns(train)[:, found.active], columns(test)[:, found.active]
    weights = V[np.ix_(asked, place)] @ np.linalg.inv(V[np.ix_(place, place)])
    line = train["y"].mean() + new @ found.mean
    seen = train["y"].mean() + design @ found.mean
    np.testing.assert_allclose(mean, line + weights @ (train["y"] - seen), atol=1e-8)
    rest = np.diag(V[np.ix_(asked, asked)] - weights @ V[np.ix_(place, asked)])
    left = new - weights @ design
    shared = V[np.ix_(place, place)].mean() * (0 not in found.active)
    rest = rest + shared * (1.0 - weights.sum(axis=1)) ** 2
    variance = model.noise_variance_ * rest + np.diag(left @ found.covariance @ left.T)
    np.testing.assert_allclose(sd**2, variance, atol=1e-8)
    flat, wide = model.predict(test[FEATURES], return_std=True, prediction="marginal")
    np.testing.assert_allclose(flat, line, atol=1e-8)
    rest = np.diag(V)[asked] + shared
    rest = rest - 2.0 * V[np.ix_(asked, place)].mean(axis=1) * (0 not in found.active)
    # Weights and the residuals of relatives deviate together.
    left = new - 2.0 * weights @ design
    whole = model.noise_variance_ * rest + np.diag(new @ found.covariance @ left.T)
    np.testing.assert_allclose(wide**2, whole, atol=1e-8)
    marginal = clone(model).set_params(prediction="marginal").fit(train[FEATURES], train["y"])
    np.testing.assert_array_equal(marginal.predict(test[FEATURES]), flat)


def test_where_data_outweigh_priors_it_predicts_as_least_squares_does(tree, table):
    columns = ["trait2", "trait5"]
    noise = brownian_traits(tree, pagel_lambda=0.7, random_state=7)["trait1"]
    y = 2.0 + 1.5 * table["trait2"] - table["trait5"] + 1e-3 * noise
    ours = PhyRVM(tree, pagel_lambda=0.7).fit(table[columns][::2], y[::2])
    least = PGLS(tree, pagel_lambda=0.7).fit(table[columns][::2], y[::2])
    for kind in ("conditional", "marginal"):
        mean, sd = ours.predict(table[columns][1::2], return_std=True, prediction=kind)
        other, wide = least.predict(table[columns][1::2], return_std=True, prediction=kind)
        np.testing.assert_allclose(mean, other, atol=2e-5)
        # The noise is estimated with other degrees of freedom.
        np.testing.assert_allclose(sd, wide, rtol=0.05)


def test_the_value_of_a_training_tip_is_known(table, model):
    mean, sd = model.predict(table[FEATURES], return_std=True)
    np.testing.assert_allclose(mean, table["y"], atol=1e-8)
    np.testing.assert_allclose(sd, 0.0, atol=1e-6)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_row_order_and_more_tips_do_not_matter(tree, table, seed):
    rows = np.random.default_rng(seed).permutation(60)[:40]
    some = PhyRVM(tree, pagel_lambda=0.6).fit(table[FEATURES].iloc[rows], table["y"].iloc[rows])
    names = sorted(table.index[rows])
    small = PhyRVM(tree.keep(names), pagel_lambda=0.6).fit(
        table.loc[names, FEATURES], table.loc[names, "y"]
    )
    found = some.posterior_
    V = covariance(tree.keep(names), pagel_lambda=0.6)
    order = [tree.keep(names).tip_names.index(name) for name in names]
    y = (table.loc[names, "y"] - table.loc[names, "y"].mean()).to_numpy()
    design = with_ones(table.loc[names])[:, found.active]
    dense = dense_evidence(V[np.ix_(order, order)], design, y, found.alpha, some.noise_variance_)
    assert some.log_evidence_ == pytest.approx(dense, abs=1e-7)
    np.testing.assert_array_equal(found.active, small.posterior_.active)
    np.testing.assert_allclose(some.coef_, small.coef_, atol=1e-3)
    assert some.log_evidence_ == pytest.approx(small.log_evidence_, abs=1e-4)


def test_a_kernel_may_be_a_name_an_object_or_a_function(tree, table):
    X, y = table[["trait2"]], table["y"]
    named = PhyRVM(tree, kernel="rbf", gamma=0.5, pagel_lambda=0.5).fit(X, y)
    given = PhyRVM(tree, kernel=SquaredExponential(lengthscale=1.0), pagel_lambda=0.5).fit(X, y)
    called = PhyRVM(
        tree,
        kernel=lambda A, B: np.exp(-0.5 * (A - B.T) ** 2),
        pagel_lambda=0.5,
    ).fit(X, y)
    for other in (given, called):
        assert other.log_evidence_ == pytest.approx(named.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(other.predict(X[:5]), named.predict(X[:5]))
    assert named.coef_.shape == (60,)
    assert set(named.ranking().names) <= set(table.index)
    rows = PhyRVM(kernel="rbf").fit(X.to_numpy(), y)
    assert rows.ranking().names[0].startswith("row ")
    cubic = PhyRVM(kernel=Polynomial(scale=0.5, offset=1.0, degree=2)).fit(X.to_numpy(), y)
    own = PhyRVM(kernel=lambda A, B: (0.5 * A @ B.T + 1.0) ** 2).fit(X.to_numpy(), y)
    assert cubic.log_evidence_ == pytest.approx(own.log_evidence_, abs=1e-6)


def test_the_posterior_of_lambda_is_an_integral(tree, table, model):
    found = model.lambda_posterior()
    grid = np.linspace(0, 1, 201)
    curve = model._curve_from_here()
    heights = np.array([curve.height(value) for value in grid])
    shares = np.exp(heights - heights.max())
    shares[[0, -1]] *= 0.5
    mean = shares @ grid / shares.sum()
    assert found.mean == pytest.approx(mean, abs=2e-3)
    assert found.sd == pytest.approx(np.sqrt(shares @ (grid - mean) ** 2 / shares.sum()), abs=2e-3)
    whole = heights.max() + np.log(shares.sum() / 200)
    assert found.log_evidence == pytest.approx(whole, abs=0.02)
    assert found.weights.sum() == pytest.approx(1.0)
    inside = (grid >= found.interval[0]) & (grid <= found.interval[1])
    assert shares[inside].sum() / shares.sum() == pytest.approx(0.95, abs=0.02)
    assert found.interval[0] <= found.mode <= found.interval[1]
    half = model.lambda_posterior(level=0.5, n_points=20).interval
    assert found.interval[0] < half[0] < half[1] < found.interval[1]
    assert found.mode == model.lambda_


def test_profile_and_posterior_are_drawn(tree, table, model):
    axes = model.plot_profile()
    assert axes.get_ylabel() == "log evidence"
    assert axes.get_lines()[0].get_ydata().max() == pytest.approx(model.log_evidence_)
    smooth = PhyRVM(tree, prior="smooth").fit(table[FEATURES], table["y"])
    assert smooth.profile(n_points=3).scale == "log evidence less penalty"
    low, high = model.profile(n_points=5, level=0.9).interval
    assert low < model.lambda_ < high
    found = model.lambda_posterior(n_points=16)
    drawn = found.plot()
    assert drawn.get_ylabel() == "posterior density"
    assert f"mean {found.mean:.3g}" in drawn.get_title(loc="left")
    x, density = drawn.get_lines()[0].get_data()
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=0.02)
    assert x[np.argmax(density)] == pytest.approx(found.mode, abs=0.03)


def test_asking_changes_nothing(tree, table, model):
    before = pickle.dumps(model)
    first = model.lambda_posterior(n_points=8)
    model.profile(n_points=5)
    again = model.lambda_posterior(n_points=8)
    np.testing.assert_array_equal(first.weights, again.weights)
    assert pickle.dumps(model) == before
    back = pickle.loads(before)
    np.testing.assert_array_equal(back.predict(table[FEATURES]), model.predict(table[FEATURES]))


def test_bounds_are_kept(tree, table):
    kept = PhyRVM(tree, bounds=(0.0, 0.2)).fit(table[FEATURES], table["y"])
    assert kept.lambda_ == pytest.approx(0.2, abs=1e-6)
    free = PhyRVM(tree, bounds=(0.0, "max")).fit(table[FEATURES], table["y"])
    assert free._limits[1] > 1.0


def test_it_works_in_pipelines_and_searches(tree, table):
    X, y = table[FEATURES], table["y"]
    pipeline = make_pipeline(StandardScaler(), PhyRVM(tree, pagel_lambda=0.7))
    pipeline.set_output(transform="pandas")
    scores = cross_val_score(pipeline, X, y, cv=CladeKFold(tree, n_splits=3))
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    search = GridSearchCV(
        PhyRVM(tree, pagel_lambda=0.7), {"kernel": ["features", "rbf"]}, error_score="raise", cv=3
    )
    assert search.fit(X, y).best_params_ == {"kernel": "features"}
    named = X.rename_axis("species").reset_index()
    by_name = PhyRVM(tree, tips="species", pagel_lambda=0.7).fit(named, y.to_numpy())
    by_index = PhyRVM(tree, pagel_lambda=0.7).fit(X, y)
    np.testing.assert_array_equal(by_name.coef_, by_index.coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pagel_lambda": "REML"}, 'pagel_lambda must be a number or "ML"'),
        ({"pagel_lambda": -1.0}, "pagel_lambda must be zero or a positive number"),
        ({"prediction": "none"}, "prediction must be"),
        ({"bounds": (0.5, 0.1)}, "Bounds of lambda must be two numbers"),
        ({"tree": "(A:1,B:1);"}, "tree must be a Tree, got str"),
        ({"kernel": "rfb"}, "kernel must be"),
        ({"kernel": 3}, "kernel must be"),
        ({"kernel": lambda A, B: A[:, :1] @ B[:1, :1]}, "The kernel returned shape"),
        ({"gamma": -1.0, "kernel": "rbf"}, "gamma must be positive"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(tree, table, options, message):
    with pytest.raises(InvalidInputError, match=message):
        PhyRVM(**{"tree": tree, **options}).fit(table[FEATURES], table["y"])


def test_what_cannot_be_done_is_said(tree, table, model):
    X, y = table[FEATURES], table["y"]
    with pytest.raises(InvalidInputError, match="All values of y are equal"):
        PhyRVM(tree).fit(X, np.full(60, 0.1))
    flat = read_tree("(" + ",".join(f"{name}:0" for name in table.index) + ");")
    with pytest.raises(InvalidInputError, match="height zero"):
        PhyRVM(flat).fit(X, y)
    with pytest.raises(InvalidInputError, match="lambda was not estimated"):
        PhyRVM(tree, pagel_lambda=0.5).fit(X, y).lambda_posterior()
    with pytest.raises(InvalidInputError, match="lambda was not estimated"):
        PhyRVM().fit(X.to_numpy(), y).profile()
    with pytest.raises(InvalidInputError, match="prediction must be"):
        model.predict(X, prediction="wild")
    with pytest.raises(ValueError, match="NaN"):
        PhyRVM(tree).fit(X.assign(trait2=np.nan), y)
    with pytest.raises(InvalidInputError, match="different names, first in row 0"):
        PhyRVM(tree).fit(X, y[::-1])
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        PhyRVM(tree, pagel_lambda=0.5, max_iter=1).fit(X, y)


def test_targets_without_any_use_of_features(tree, table):
    noise = brownian_traits(tree, pagel_lambda=0.0, random_state=3)["trait1"]
    model = PhyRVM(tree).fit(table[FEATURES], noise)
    assert model.lambda_ < 0.5
    assert np.count_nonzero(model.coef_) <= 3
    constant = PhyRVM(tree, pagel_lambda=0.5).fit(table[FEATURES], np.full(60, 0.1))
    np.testing.assert_allclose(constant.predict(table[FEATURES], prediction="marginal"), 0.1)
    assert constant.ranking().names == ()


def test_coinciding_tips_leave_lambda_below_one():
    tree = read_tree("((A:0,B:0):1,(C:1,(D:0.5,E:0.5):0.5):0.5,F:2);")
    import pandas as pd

    frame = pd.DataFrame({"x": [1.0, 2, 3, 5, 4, 1], "y": [1.0, 2, 2, 4, 4, 0]}, list("ABCDEF"))
    model = PhyRVM(tree).fit(frame[["x"]], frame["y"])
    assert 0 <= model.lambda_ < 1
    with pytest.raises(InvalidInputError, match="A and B are at distance zero"):
        PhyRVM(tree, pagel_lambda=1.0).fit(frame[["x"]], frame["y"])
