import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PGLS, brownian_traits, covariance, read_tree, yule_tree


@pytest.fixture(scope="module")
def tree():
    return yule_tree(40, random_state=5)


@pytest.fixture(scope="module")
def table(tree):
    frame = brownian_traits(tree, 2, random_state=6)
    noise = brownian_traits(tree, pagel_lambda=0.7, random_state=7)["trait1"]
    frame["y"] = 2.0 + 1.5 * frame["trait1"] + noise
    return frame


FEATURES = ["trait1", "trait2"]


def dense_log_likelihood(V, design, y, method):
    """Return the textbook formula, with matrices."""
    n, p = design.shape
    inverse = np.linalg.inv(V)
    gram = design.T @ inverse @ design
    coef = np.linalg.solve(gram, design.T @ inverse @ y)
    squares = (y - design @ coef) @ inverse @ (y - design @ coef)
    m = n if method == "ML" else n - p
    extra = 0.0 if method == "ML" else np.linalg.slogdet(gram)[1]
    log_determinant = np.linalg.slogdet(V)[1]
    height = -0.5 * (m * np.log(2 * np.pi * squares / m) + m + log_determinant + extra)
    return height, coef, squares / (n - p) * np.linalg.inv(gram)


@pytest.mark.parametrize("method", ["ML", "REML"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"pagel_lambda": 0.4},
        {"pagel_lambda": 1.0, "kappa": 0.3},
        {"pagel_lambda": 0.9, "delta": 1.8},
        {"pagel_lambda": 1.0, "alpha": 0.5},
        {"pagel_lambda": 1.0, "alpha": 0.5, "root": "stationary"},
    ],
)
def test_fixed_parameters_equal_the_dense_formula(tree, table, parameters, method):
    model = PGLS(tree, method=method, **parameters).fit(table[FEATURES], table["y"])
    design = np.column_stack([np.ones(40), table[FEATURES]])
    height, coef, spread = dense_log_likelihood(
        covariance(tree, **parameters), design, table["y"].to_numpy(), method
    )
    assert model.log_likelihood_ == pytest.approx(height, abs=1e-8)
    np.testing.assert_allclose([model.intercept_, *model.coef_], coef, atol=1e-8)
    np.testing.assert_allclose(model.standard_errors_, np.sqrt(np.diag(spread)), atol=1e-8)
    assert model.estimated_ == ()
    assert model.aic_ == pytest.approx(2 * 4 - 2 * height)
    n = 40 if method == "ML" else 37
    assert model.bic_ == pytest.approx(np.log(n) * 4 - 2 * height)


@pytest.mark.parametrize("method", ["ML", "REML"])
@pytest.mark.parametrize("name", ["lambda", "kappa", "delta", "alpha"])
def test_an_estimate_is_the_top_of_its_profile(tree, table, name, method):
    option = {"lambda": "pagel_lambda"}.get(name, name)
    options = {"pagel_lambda": 1.0, option: "ML"}
    model = PGLS(tree, method=method, **options).fit(table[FEATURES], table["y"])
    assert model.estimated_ == (name,)
    design = np.column_stack([np.ones(40), table[FEATURES]])
    y = table["y"].to_numpy()
    profile = model.profile(name, n_points=9)
    for value, height in zip(profile.values, profile.log_likelihood, strict=True):
        if value > 0 or name != "delta":
            dense = dense_log_likelihood(
                covariance(tree, **{**options, option: value}), design, y, method
            )[0]
            assert height == pytest.approx(dense, abs=1e-7)
    assert model.log_likelihood_ >= profile.log_likelihood.max() - 1e-9
    low, high = profile.interval
    assert low <= getattr(model, f"{name}_") <= high
    # Ends are where a likelihood-ratio test at 5 % rejects, unless they are bounds.
    for end in (low, high):
        if end not in model._bounds[name]:
            dense = dense_log_likelihood(
                covariance(tree, **{**options, option: end}), design, y, method
            )[0]
            assert 2 * (model.log_likelihood_ - dense) == pytest.approx(3.841459, abs=1e-3)
    narrow = model.profile(name, level=0.5, n_points=3).interval
    assert narrow[0] >= low
    assert narrow[1] <= high


def test_several_parameters_are_estimated_together(tree, table):
    both = PGLS(tree, delta="ML").fit(table[FEATURES], table["y"])
    one = PGLS(tree).fit(table[FEATURES], table["y"])
    assert both.estimated_ == ("lambda", "delta")
    assert both.log_likelihood_ >= one.log_likelihood_ - 1e-9
    assert both.aic_ == pytest.approx(2 * 6 - 2 * both.log_likelihood_)
    for step in (-0.02, 0.02):
        near = PGLS(
            tree, pagel_lambda=np.clip(both.lambda_ + step, 0, 1), delta=both.delta_ + step
        ).fit(table[FEATURES], table["y"])
        assert near.log_likelihood_ <= both.log_likelihood_
    profile = both.profile("delta", n_points=3)
    assert profile.log_likelihood.max() == pytest.approx(both.log_likelihood_, abs=1e-6)


def test_bounds_are_kept_and_the_greatest_lambda_is_found(tree, table):
    kept = PGLS(tree, bounds={"lambda": (0.0, 0.2)}).fit(table[FEATURES], table["y"])
    assert kept.lambda_ == pytest.approx(0.2, abs=1e-8)
    free = PGLS(tree, bounds={"lambda": (0.0, "max")}).fit(table[FEATURES], table["y"])
    V = covariance(tree)
    above = [V[i, np.arange(40) != i].max() for i in range(40)]
    assert free._bounds["lambda"][1] == pytest.approx(min(np.diag(V) / above))


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_row_order_and_more_tips_do_not_matter(tree, table, seed):
    rows = np.random.default_rng(seed).permutation(40)[:25]
    model = PGLS(tree, pagel_lambda=0.6).fit(table[FEATURES].iloc[rows], table["y"].iloc[rows])
    names = sorted(table.index[rows])
    small = PGLS(tree.keep(names), pagel_lambda=0.6).fit(
        table.loc[names, FEATURES], table.loc[names, "y"]
    )
    np.testing.assert_allclose(model.coef_, small.coef_)
    assert model.log_likelihood_ == pytest.approx(small.log_likelihood_)


@pytest.mark.parametrize("parameters", [{}, {"alpha": 0.4, "pagel_lambda": 1.0}])
def test_predictions_condition_on_relatives(tree, table, parameters):
    train, test = table.iloc[::2], table.iloc[1::2]
    model = PGLS(tree, **parameters).fit(train[FEATURES], train["y"])
    mean, sd = model.predict(test[FEATURES], return_std=True)
    # Universal kriging with matrices: the same answer by another road.
    V = covariance(tree, pagel_lambda=model.lambda_, alpha=model.alpha_)
    place = [tree.tip_names.index(name) for name in train.index]
    asked = [tree.tip_names.index(name) for name in test.index]
    inverse = np.linalg.inv(V[np.ix_(place, place)])
    design = np.column_stack([np.ones(20), train[FEATURES]])
    new = np.column_stack([np.ones(20), test[FEATURES]])
    weights = V[np.ix_(asked, place)] @ inverse
    gram = np.linalg.inv(design.T @ inverse @ design)
    coef = gram @ design.T @ inverse @ train["y"]
    np.testing.assert_allclose(mean, new @ coef + weights @ (train["y"] - design @ coef), atol=1e-8)
    left = new - weights @ design
    rest = np.diag(V[np.ix_(asked, asked)] - weights @ V[np.ix_(place, asked)])
    rate = (train["y"] - design @ coef) @ inverse @ (train["y"] - design @ coef) / 17
    np.testing.assert_allclose(sd**2, rate * (rest + np.diag(left @ gram @ left.T)), atol=1e-8)
    line, wide = model.predict(test[FEATURES], return_std=True, prediction="marginal")
    np.testing.assert_allclose(line, new @ coef, atol=1e-8)
    # The error is a linear function of all residuals, which relatives share.
    errors = np.zeros((20, 40))
    errors[np.arange(20), asked] = 1.0
    errors[:, place] -= new @ gram @ design.T @ inverse
    whole = rate * np.diag(errors @ V @ errors.T)
    np.testing.assert_allclose(wide**2, whole, atol=1e-8)
    marginal = PGLS(tree, prediction="marginal", **parameters).fit(train[FEATURES], train["y"])
    np.testing.assert_array_equal(marginal.predict(test[FEATURES]), line)


def test_the_value_of_a_training_tip_is_known(tree, table):
    model = PGLS(tree).fit(table[FEATURES], table["y"])
    mean, sd = model.predict(table[FEATURES], return_std=True)
    np.testing.assert_allclose(mean, table["y"], atol=1e-8)
    np.testing.assert_allclose(sd, 0.0, atol=1e-6)
    shifted = model.predict(table[FEATURES] + [1.0, 0.0])
    np.testing.assert_allclose(shifted, table["y"] + model.coef_[0], atol=1e-8)


def test_without_a_tree_it_is_ordinary_least_squares(table):
    X, y = table[FEATURES].to_numpy(), table["y"].to_numpy()
    ours, theirs = PGLS().fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)
    assert ours.r_squared_ == pytest.approx(theirs.score(X, y))
    through = PGLS(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(through.coef_, LinearRegression(fit_intercept=False).fit(X, y).coef_)
    assert through.intercept_ == 0.0
    assert len(through.standard_errors_) == 2
    _, sd = ours.predict(X[:1], return_std=True)
    design = np.column_stack([np.ones(40), X])
    leverage = design[0] @ np.linalg.inv(design.T @ design) @ design[0]
    squares = np.sum((y - ours.predict(X)) ** 2) / 37
    assert sd[0] == pytest.approx(np.sqrt(squares * (1 + leverage)))


def test_a_star_of_unit_branches_is_ordinary_least_squares(table):
    star = read_tree("(" + ",".join(f"{name}:1" for name in table.index) + ");")
    ours = PGLS(star).fit(table[FEATURES], table["y"])
    plain = PGLS().fit(table[FEATURES], table["y"])
    np.testing.assert_allclose(ours.coef_, plain.coef_)
    np.testing.assert_allclose(ours.p_values_, plain.p_values_)
    assert ours.log_likelihood_ == pytest.approx(plain.log_likelihood_)


def test_rows_find_their_tips_in_three_ways(tree, table):
    table = table.sample(frac=1.0, random_state=0)
    by_index = PGLS(tree).fit(table[FEATURES], table["y"])
    named = table[FEATURES].rename_axis("species").reset_index()
    codes = np.column_stack([tree.match(table), table[FEATURES]])
    objects = named.to_numpy()
    cases = [
        ("species", named),
        ("species", pl.DataFrame(named.to_dict("list"))),
        (0, codes),
        (-3, codes),
        (0, objects),
        (0, named),
    ]
    for tips, X in cases:
        model = PGLS(tree, tips=tips).fit(X, table["y"].to_numpy())
        np.testing.assert_allclose(model.coef_, by_index.coef_)
        assert model.n_features_in_ == 2
        np.testing.assert_allclose(model.predict(X), table["y"], atol=1e-8)
    assert PGLS(tips="species").fit(named, table["y"]).n_features_in_ == 2


@pytest.mark.parametrize(
    ("tips", "change", "message"),
    [
        (None, lambda X: X.to_numpy(), "Rows cannot be matched"),
        (None, lambda X: X.reset_index(drop=True), "No row is a tip.*index holds 0, 1"),
        (None, lambda X: X.rename(index={X.index[0]: "X1"}), "1 of 40 names.*: X1"),
        (None, lambda X: pd.concat([X[1:], X[1:2]]), "more than one row"),
        ("species", lambda X: X, "no column 'species' with tips; it has trait1, trait2"),
        ("species", lambda X: X.to_numpy(), "not a data frame"),
        (7, lambda X: X, "no column 7 with tips"),
        (7, lambda X: X.to_numpy(), "has no column 7"),
        (0, lambda X: X.to_numpy(), "must hold positions 0 to 39"),
        (1.5, lambda X: X, "tips must be None, a column name or a number"),
    ],
)
def test_rows_without_a_tip_are_refused(tree, table, tips, change, message):
    with pytest.raises(InvalidInputError, match=message):
        PGLS(tree, tips=tips).fit(change(table[FEATURES]), table["y"].to_numpy())


def test_a_target_in_another_order_is_refused(tree, table):
    with pytest.raises(InvalidInputError, match="different names, first in row 0"):
        PGLS(tree).fit(table[FEATURES], table["y"][::-1])
    numbered = table["y"].reset_index(drop=True)
    model = PGLS(tree, pagel_lambda=1.0).fit(table[FEATURES], numbered)
    same = PGLS(tree, pagel_lambda=1.0).fit(table[FEATURES], table["y"])
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_it_works_in_pipelines_and_searches(tree, table):
    X, y = table[FEATURES], table["y"]
    pipeline = make_pipeline(StandardScaler(), PGLS(tree)).set_output(transform="pandas")
    scores = cross_val_score(pipeline, X, y, scoring="neg_mean_squared_error")
    plain = cross_val_score(PGLS(tree), X, y, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(scores, plain)
    search = GridSearchCV(PGLS(tree), {"pagel_lambda": [0.0, "ML"]}, error_score="raise")
    assert search.fit(X, y).best_params_ == {"pagel_lambda": "ML"}
    codes = np.column_stack([tree.match(table), X])
    scale = make_column_transformer(("passthrough", [0]), (StandardScaler(), [1, 2]))
    coded = cross_val_score(
        make_pipeline(scale, PGLS(tree, tips=0)), codes, y, scoring="neg_mean_squared_error"
    )
    np.testing.assert_allclose(coded, plain)


def test_a_clone_and_a_pickle_predict_the_same(tree, table):
    model = PGLS(tree).fit(table[FEATURES][:30], table["y"][:30])
    assert clone(model).tree is tree
    back = pickle.loads(pickle.dumps(model))
    new = table[FEATURES][30:]
    np.testing.assert_array_equal(back.predict(new), model.predict(new))
    assert "Tree(40 tips" in repr(model)


def test_the_summary_reads_like_r(tree, table):
    model = PGLS(tree).fit(table[FEATURES], table["y"])
    summary = model.summary()
    text = str(summary)
    for piece in ("(Intercept)", "trait1", "Pr(>|t|)", "estimated; 95 % interval", "AIC"):
        assert piece in text
    assert "Random folds leak through the tree" in text
    assert f"on {model.degrees_of_freedom_} degrees of freedom" in text
    frame = summary.to_frame()
    np.testing.assert_array_equal(frame["estimate"], [model.intercept_, *model.coef_])
    np.testing.assert_array_equal(frame[["lower", "upper"]], model.confidence_intervals())
    half = model.confidence_intervals(0.5)
    assert (half[:, 0] > frame["lower"]).all()
    plain = str(PGLS().fit(table[FEATURES].to_numpy(), table["y"]).summary())
    assert "without a tree" in plain
    assert "x1" in plain
    assert "leak" not in plain
    given = str(PGLS(tree, pagel_lambda=0.5, kappa=0.5).fit(table[FEATURES], table["y"]).summary())
    assert "lambda 0.5, given" in given
    assert "kappa 0.5, given" in given


def test_dependent_columns_are_reported_and_predict_as_fewer_do(tree, table):
    X = table[FEATURES].assign(sum=table["trait1"] + table["trait2"])
    more = PGLS(tree).fit(X[:30], table["y"][:30])
    fewer = PGLS(tree).fit(table[FEATURES][:30], table["y"][:30])
    np.testing.assert_allclose(more.predict(X[30:]), fewer.predict(table[FEATURES][30:]))
    assert more.log_likelihood_ == pytest.approx(fewer.log_likelihood_)
    assert more.aic_ == pytest.approx(fewer.aic_)
    assert "Only 3 of 4 columns are independent" in str(more.summary())
    more, fewer = clone(more).set_params(method="REML"), clone(fewer).set_params(method="REML")
    more.fit(X, table["y"])
    fewer.fit(table[FEATURES], table["y"])
    assert more.lambda_ == pytest.approx(fewer.lambda_, abs=1e-6)


def test_a_profile_is_drawn(tree, table):
    model = PGLS(tree).fit(table[FEATURES], table["y"])
    axes = model.plot_profile()
    line = axes.get_lines()[0].get_ydata()
    assert line.max() == pytest.approx(model.log_likelihood_)
    assert axes.get_title(loc="left").startswith("lambda 0.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pagel_lambda": "REML"}, 'pagel_lambda must be a number or "ML"'),
        ({"kappa": -1.0}, "kappa must be zero or a positive number"),
        ({"method": "MAP"}, "method must be"),
        ({"prediction": "none"}, "prediction must be"),
        ({"root": "loose"}, "root must be"),
        ({"root": "stationary"}, "needs alpha above zero"),
        ({"bounds": {"lamda": (0, 1)}}, "bounds are for lambda, kappa, delta, alpha"),
        ({"bounds": {"lambda": (0.5, 0.1)}}, "Bounds of lambda must be two numbers"),
        ({"tree": "(A:1,B:1);"}, "tree must be a Tree, got str"),
    ],
)
def test_options_that_make_no_sense_are_refused(tree, table, options, message):
    with pytest.raises(InvalidInputError, match=message):
        PGLS(**{"tree": tree, **options}).fit(table[FEATURES], table["y"])


def test_what_cannot_be_estimated_is_said(tree, table):
    with pytest.raises(InvalidInputError, match="explain y exactly"):
        PGLS(tree).fit(table[FEATURES], 1.0 + table["trait1"])
    flat = read_tree("(" + ",".join(f"{name}:0" for name in table.index) + ");")
    with pytest.raises(InvalidInputError, match="height zero"):
        PGLS(flat).fit(table[FEATURES], table["y"])
    model = PGLS(tree).fit(table[FEATURES], table["y"])
    with pytest.raises(InvalidInputError, match="'kappa' was not estimated; estimated are lambda"):
        model.profile("kappa")
    with pytest.raises(InvalidInputError, match="prediction must be"):
        model.predict(table[FEATURES], prediction="wild")
    with pytest.raises(ValueError, match="NaN"):
        PGLS(tree).fit(table[FEATURES].assign(trait2=np.nan), table["y"])


def test_coinciding_tips_leave_lambda_below_one():
    text = "((A:0,B:0):1,(C:1,(D:0.5,E:0.5):0.5):0.5,F:2);"
    frame = pd.DataFrame({"x": [1.0, 1, 3, 5, 4, 1], "y": [1.0, 2, 2, 4, 4, 0]}, list("ABCDEF"))
    model = PGLS(read_tree(text)).fit(frame[["x"]], frame["y"])
    assert 0 <= model.lambda_ < 1
    # A slope that explains what is between A and B leaves nothing to a branch of length zero.
    with pytest.raises(InvalidInputError, match="grows without limit as lambda approaches 1"):
        PGLS(read_tree(text)).fit(frame[["x"]].assign(x=[1.0, 2, 3, 5, 4, 1]), frame["y"])
    with pytest.raises(InvalidInputError, match="A and B are at distance zero"):
        PGLS(read_tree(text), pagel_lambda=1.0).fit(frame[["x"]], frame["y"])
