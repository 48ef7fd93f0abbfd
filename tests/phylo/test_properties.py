"""What holds for everything that takes a tree: order, more tips, dense algebra, plain machines."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.phylo import (
    P3CA,
    PGLS,
    CladeKFold,
    Model,
    PhyloPCA,
    PhyRVM,
    Tree,
    TreeGaussian,
    ancestral_states,
    birth_death_tree,
    brownian_traits,
    phylogenetic_signal,
    read_tree,
    yule_tree,
)
from parsimon.rvm import RVR

FEATURES = ["a", "b", "c"]


def ragged(n, seed):
    """A tree with tips of unequal depth, polytomies and inner branches of length zero."""
    tree, rng = birth_death_tree(n, random_state=seed), np.random.default_rng(seed)
    length = tree.length * rng.uniform(0.3, 2.0, size=len(tree.length))
    length[~tree.is_tip & (rng.random(len(length)) < 0.3)] = 0.0
    return Tree(tree.parent, length, tree.name)


@pytest.fixture(scope="module")
def tree():
    return ragged(40, 3)


@pytest.fixture(scope="module")
def table(tree):
    frame = brownian_traits(tree, 3, pagel_lambda=0.8, random_state=4)
    frame.columns = FEATURES
    noise = brownian_traits(tree, pagel_lambda=0.6, random_state=5)["trait1"]
    return frame.assign(y=1.0 + 2.0 * frame["a"] - frame["c"] + noise)


def turned(tree, seed):
    """The same tree from Newick text in which the children of every node are shuffled."""
    rng = np.random.default_rng(seed)
    text = [""] * len(tree.parent)
    below = [[] for _ in text]
    for node in range(len(text) - 1, -1, -1):
        inner = "(" + ",".join(rng.permutation(below[node])) + ")" if below[node] else ""
        text[node] = f"{inner}{tree.name[node]}:{tree.length[node].item()!r}"
        if node:
            below[tree.parent[node]].append(text[node])
    return read_tree(text[0] + ";")


def of_pgls(tree, table):
    model = PGLS(tree).fit(table[FEATURES], table["y"])
    numbers = [model.lambda_, model.log_likelihood_, model.r_squared_, *model.standard_errors_]
    return [*numbers, model.intercept_, *model.coef_], model.fitted_values_


def of_phyrvm(tree, table):
    model = PhyRVM(tree).fit(table[FEATURES], table["y"])
    numbers = [model.lambda_, model.log_evidence_, model.noise_variance_, *model.coef_]
    return numbers, model.fitted_values_


def of_components(kind):
    def results(tree, table):
        model = kind(tree, n_components=2).fit(table[FEATURES])
        numbers = [model.lambda_, model.log_likelihood_, *model.explained_variance_]
        return [*numbers, *model.components_.ravel(), *model.mean_], model.scores_

    return results


def of_ancestors(tree, table):
    seen = table["y"].drop(["t3", "t8", "t20"], errors="ignore")
    states = ancestral_states(tree, seen, model="lambda")
    at_tips = states.mean[tree.tips[tree.match(table)]]
    return [*states.mean[0], *states.sd[0], *states.parameters], at_tips


def of_signal(tree, table):
    found = phylogenetic_signal(tree, table["y"], n_permutations=1, random_state=0)
    numbers = [found.pagel_lambda, found.log_likelihood, found.likelihood_ratio, found.K]
    return [*numbers, *found.lambda_interval], np.zeros(len(table))


def of_gaussian(tree, table):
    gaussian = TreeGaussian(tree, Model(0.7, kappa=0.8), tree.match(table))
    known = gaussian.conditional(table[FEATURES].to_numpy())
    density = gaussian.log_density(table["y"])[0]
    rows = gaussian.precision() @ table["y"]
    return [density, gaussian.log_determinant, *known.mean[0], known.variance[0]], rows


EVERYTHING = {
    "PGLS": of_pgls,
    "PhyRVM": of_phyrvm,
    "PhyloPCA": of_components(PhyloPCA),
    "P3CA": of_components(P3CA),
    "ancestral_states": of_ancestors,
    "phylogenetic_signal": of_signal,
    "TreeGaussian": of_gaussian,
}


def assert_same(one, two, rows_one, rows_two):
    """Compare numbers, and rows by the names of their tips."""
    np.testing.assert_allclose(one[0], two[0], rtol=1e-5, atol=1e-6)
    by_name = [
        pd.DataFrame(found[1], index=rows.index)
        for found, rows in ((one, rows_one), (two, rows_two))
    ]
    pd.testing.assert_frame_equal(by_name[0], by_name[1].loc[rows_one.index], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", EVERYTHING)
@settings(max_examples=4)
@given(seed=st.integers(0, 10_000))
def test_neither_the_order_of_rows_nor_that_of_children_matters(tree, table, name, seed):
    other = turned(tree, seed)
    assert sorted(other.tip_names) == sorted(tree.tip_names)
    shuffled = table.sample(frac=1.0, random_state=seed)
    results = EVERYTHING[name]
    assert_same(results(tree, table), results(other, shuffled), table, shuffled)


@pytest.mark.parametrize("name", EVERYTHING)
def test_tips_without_a_row_change_nothing(tree, table, name):
    # Powers of joined branches are others, so that kappa is for whole trees.
    some = table.drop(["t3", "t8", "t11", "t20", "t21", "t33"])
    results = EVERYTHING[name]
    if name == "TreeGaussian":
        assert results(tree, some)[0][0] != pytest.approx(results(tree, table)[0][0])
        gaussians = [
            TreeGaussian(one, Model(0.7), one.match(some))
            for one in (tree, tree.keep(list(some.index)))
        ]
        densities = [gaussian.log_density(some["y"])[0] for gaussian in gaussians]
        assert densities[0] == pytest.approx(densities[1], abs=1e-9)
        return
    assert_same(results(tree, some), results(tree.keep(list(some.index)), some), some, some)


@pytest.mark.parametrize(
    "model",
    [
        Model(),
        Model(pagel_lambda=0.4),
        Model(kappa=0.5, delta=1.6),
        Model(alpha=0.7),
        Model(alpha=0.7, root="stationary"),
    ],
)
@pytest.mark.parametrize("shape", ["yule", "ragged", "comb", "star"])
def test_walks_equal_matrices_on_larger_trees(way, shape, model):
    n = 120
    if shape in {"yule", "ragged"}:
        tree = yule_tree(n, random_state=1) if shape == "yule" else ragged(n, 1)
    else:
        parent = np.repeat(np.arange(0, 2 * n - 2, 2), 2) if shape == "comb" else [0] * n
        parent = np.concatenate([[-1], parent])
        length = np.random.default_rng(0).uniform(0.1, 1.0, len(parent))
        tree = Tree(parent, length, [f"n{node}" for node in range(len(parent))])
    rng = np.random.default_rng(2)
    order = rng.permutation(tree.n_tips)
    rows, hidden = order[:100], order[100:]
    full = TreeGaussian(tree, model).covariance()
    gaussian, V = TreeGaussian(tree, model, rows), full[np.ix_(rows, rows)]
    W = gaussian.whiten(np.eye(100))
    np.testing.assert_allclose(W @ V @ W.T, np.eye(100), atol=1e-8)
    inverse = np.linalg.inv(V)
    np.testing.assert_allclose(gaussian.precision(), inverse, atol=1e-8 * np.abs(inverse).max())
    assert gaussian.log_determinant == pytest.approx(np.linalg.slogdet(V)[1], abs=1e-8)
    y = np.linalg.cholesky(V) @ rng.normal(size=100)
    dense = multivariate_normal.logpdf(y, np.zeros(100), 1.7 * V)
    assert gaussian.log_density(y, variance=1.7)[0] == pytest.approx(dense, abs=1e-8)
    known = gaussian.conditional(y)
    weights = np.linalg.solve(V, full[np.ix_(rows, hidden)]).T
    np.testing.assert_allclose(known.mean[tree.tips[hidden]], weights @ y, atol=1e-8)
    rest = np.diag(full[np.ix_(hidden, hidden)] - weights @ full[np.ix_(rows, hidden)])
    np.testing.assert_allclose(known.variance[tree.tips[hidden]], rest, atol=1e-8)


def unit_trees(names):
    """A star, and a tree with structure, all tips of both at depth one."""
    pairs = [f"({a}:0.4,{b}:0.4):0.6" for a, b in zip(names[::2], names[1::2], strict=True)]
    star = [f"{name}:1" for name in names]
    return [read_tree("(" + ",".join(parts) + ");") for parts in (star, pairs)]


@pytest.mark.parametrize("shape", [0, 1])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kernel", ["features", "rbf", "linear"])
def test_unit_tips_at_lambda_zero_are_rvr(table, kernel, bias, shape, monkeypatch):
    monkeypatch.setattr("parsimon.rvm._setup.TOLERANCE", 1e-8)
    tree = unit_trees(list(table.index))[shape]
    X, y = table[FEATURES], table["y"]
    options = {"kernel": kernel, "gamma": 0.1, "max_iter": 20_000}
    train = table.index[:30]
    ours = PhyRVM(tree, prior="ard", pagel_lambda=0.0, fit_intercept=bias, tol=1e-8, **options)
    ours.fit(X.loc[train], y[train])
    plain = RVR(bias=bias, far_variance=False, **options).fit(X.loc[train], y[train])
    chosen = np.flatnonzero(np.isfinite(ours.alpha_))
    np.testing.assert_array_equal(chosen, plain.relevance_)
    assert len(chosen)
    pick = slice(None) if kernel == "features" else chosen
    np.testing.assert_allclose(ours.coef_[pick], plain.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.alpha_[pick], plain.alpha_, rtol=1e-5)
    assert ours.intercept_ == pytest.approx(plain.intercept_, rel=1e-6, abs=1e-9)
    assert ours.noise_variance_ == pytest.approx(plain.noise_variance_, rel=1e-6)
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-7)
    assert ours.degrees_of_freedom_ == pytest.approx(plain.degrees_of_freedom_, rel=1e-6)
    # At new tips, which no relative says anything about; the mean is not taken for known here.
    found, theirs = (model.predict(X[30:], return_std=True) for model in (ours, plain))
    np.testing.assert_allclose(found[0], theirs[0], rtol=1e-6)
    from_mean = bias and ours.posterior_.active[0] != 0
    extra = ours.noise_variance_ / 30 if from_mean else 0.0
    np.testing.assert_allclose(found[1] ** 2, theirs[1] ** 2 + extra, rtol=1e-6)


MODELS = {"PGLS": PGLS, "PhyRVM": PhyRVM}


@pytest.mark.parametrize("name", MODELS)
def test_scores_by_index_and_by_column_are_the_same(tree, table, name):
    model, y = MODELS[name](tree, pagel_lambda=0.6), table["y"].to_numpy()
    by_name = table[FEATURES]
    columns = by_name.rename_axis("tip").reset_index()
    folds = CladeKFold(tree, 3)
    scoring = "neg_mean_squared_error"
    plain = cross_val_score(model, by_name, y, cv=folds, scoring=scoring)
    in_column = cross_val_score(model, columns, y, cv=folds, scoring=scoring)
    np.testing.assert_allclose(in_column, plain)
    scaled = make_pipeline(StandardScaler(), model).set_output(transform="pandas")
    passed = make_column_transformer(
        ("passthrough", ["tip"]), (StandardScaler(), FEATURES), verbose_feature_names_out=False
    )
    mixed = make_pipeline(passed, model).set_output(transform="pandas")
    scores = [
        cross_val_score(pipeline, X, y, cv=folds, scoring=scoring)
        for pipeline, X in ((scaled, by_name), (mixed, columns))
    ]
    np.testing.assert_allclose(scores[0], scores[1])
    if name == "PGLS":
        # Least squares knows neither units nor where zero is; a prior of weights knows the latter.
        np.testing.assert_allclose(scores[0], plain)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("in_column", [False, True])
def test_searches_choose_along_the_tree(tree, table, name, in_column):
    X, y = table[FEATURES], table["y"]
    if in_column:
        X, y = X.rename_axis("tip").reset_index(), y.to_numpy()
    search = GridSearchCV(
        MODELS[name](tree),
        {"pagel_lambda": [0.0, 0.6, 1.0]},
        cv=CladeKFold(tree, 3),
        scoring="neg_mean_squared_error",
        error_score="raise",
    ).fit(X, y)
    by_hand = {
        share: cross_val_score(
            MODELS[name](tree, pagel_lambda=share),
            table[FEATURES],
            table["y"],
            cv=CladeKFold(tree, 3),
            scoring="neg_mean_squared_error",
        ).mean()
        for share in (0.0, 0.6, 1.0)
    }
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], list(by_hand.values()))
    assert search.best_params_["pagel_lambda"] == max(by_hand, key=by_hand.get)


@pytest.mark.parametrize("kind", [PhyloPCA, P3CA])
def test_components_lead_to_a_regression_in_a_pipeline(tree, table, kind):
    X, y = table[FEATURES], table["y"]
    pipeline = make_pipeline(kind(tree), PGLS(tree, pagel_lambda=0.6))
    pipeline.set_output(transform="pandas")
    search = GridSearchCV(
        pipeline,
        {f"{kind.__name__.lower()}__n_components": [1, 3]},
        cv=CladeKFold(tree, 3),
        error_score="raise",
    ).fit(X, y)
    assert search.best_estimator_[-1].n_features_in_ in {1, 3}
    all_three = pipeline.set_params(**{f"{kind.__name__.lower()}__n_components": 3}).fit(X, y)
    names = list(all_three[-1].feature_names_in_)
    assert names == [f"{kind.__name__.lower()}{j}" for j in range(3)]
    if kind is PhyloPCA:
        # All components span what the columns do.
        plain = PGLS(tree, pagel_lambda=0.6).fit(X, y)
        assert all_three[-1].log_likelihood_ == pytest.approx(plain.log_likelihood_)
        np.testing.assert_allclose(all_three[-1].fitted_values_, plain.fitted_values_, atol=1e-8)
