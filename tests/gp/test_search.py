import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from parsimon.datasets import make_crescent
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.gp.classifier import GPClassifier
from parsimon.gp.regressor import GPRegressor
from parsimon.gp.search import KernelSearch
from parsimon.kernels import (
    Constant,
    Epanechnikov,
    Linear,
    Matern,
    SquaredExponential,
    plain,
    structure,
)
from parsimon.pareto import Checkpoint
from tests.contract import contract

SE = SquaredExponential


@contract(
    KernelSearch(depth=1, cv=2, task="classification"),
    KernelSearch(depth=1, cv=2, task="regression"),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    """Labels from x1 + x2 x3; x4 is noise."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(200, 4))
    latent = X[:, 0] + (X[:, 1] + 0.7) * (X[:, 2] + 0.7) - 0.5
    return X, np.where(latent + 0.2 * rng.normal(size=200) > 0, "yes", "no")


@pytest.fixture(scope="module")
def searched(planted):
    options = {"guide": "cv_error", "choose": "least_error"}
    return KernelSearch(depth=3, random_state=0, **options).fit(*planted)


def test_a_planted_sum_and_interaction_of_a_number_are_found():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(100, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=100)
    search = KernelSearch(depth=3, random_state=0).fit(X, y)
    assert structure(search.best_kernel_) == structure(SE(0) + SE(1) * SE(2))
    assert "variable 1 alone, plus an interaction of variable 2 and variable 3" in search.describe()
    # The second term alone buys next to nothing, the third nearly all.
    assert search.front_.values[0].tolist() == [search.best_candidate_.error, 3]
    assert search.best_candidate_.error < 0.05 < 0.4 < search.first_layer_[0].error


def test_planted_labels_need_the_three_columns_that_made_them(searched):
    assert searched.structure_found_
    assert searched.best_candidate_.columns == (0, 1, 2)
    assert searched.best_candidate_.error < 0.3 * searched.first_layer_[0].error


def test_the_path_falls_and_the_front_shows_what_each_term_buys(searched):
    path = searched.history_.path
    guides = [searched.baseline_.guide, *(one.guide for one in path)]
    assert guides == sorted(guides, reverse=True)
    assert len(set(guides)) == len(guides)
    front = searched.front_
    assert front.names == ("error", "kernels")
    assert front.values[0].tolist() == [
        min(one.error for one in searched.history_.cross_validated),
        3,
    ]
    assert front.values[-1].tolist() == [searched.baseline_.error, 0]
    assert searched.front_variables_.names == ("error", "variables")
    assert searched.front_variables_.values[-1, 1] == 0


def test_every_kernel_saw_the_same_folds_and_they_can_be_repeated(planted, searched):
    X, y = planted
    folds = [(train, test) for train, test in KFold(4, shuffle=True, random_state=9).split(X)]
    search = KernelSearch(depth=1, cv=folds).fit(X, y)
    for one in search.history_.cross_validated:
        assert len(one.fold_errors) == 4
    signs = np.where(y == "yes", 1.0, -1.0)
    best = search.first_layer_[0]
    errors = [
        np.mean(GPClassifier(best.kernel, n_restarts=0).fit(X[a], y[a]).predict(X[b]) != y[b])
        for a, b in folds
    ]
    np.testing.assert_allclose(best.fold_errors, errors, atol=0.02)
    expected = [np.mean(signs[b] != np.sign(signs[a].sum())) for a, b in folds]
    np.testing.assert_allclose(search.baseline_.fold_errors, expected)


def test_predictions_are_those_of_the_best_estimator(planted, searched):
    X, y = planted
    model = searched.best_estimator_
    assert isinstance(model, GPClassifier)
    assert model.kernel_ == searched.best_kernel_
    np.testing.assert_array_equal(searched.predict(X), model.predict(X))
    np.testing.assert_array_equal(searched.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(
        searched.predict(X) == searched.classes_[1], searched.decision_function(X) > 0
    )
    assert searched.score(X, y) == np.mean(searched.predict(X) == y) > 0.9
    assert model.log_evidence_ == pytest.approx(searched.best_candidate_.log_evidence, abs=1e-3)


def test_select_gives_a_fitted_model_of_a_front(searched, planted):
    small = searched.select("nearest:kernels=1")
    assert small.kernel_ == searched.first_layer_[0].kernel
    constant = searched.select(-1, price="variables")
    assert isinstance(constant.kernel_, Constant)
    with pytest.raises(InvalidInputError, match="price must be"):
        searched.select("knee", price="money")


def test_no_rule_ends_at_the_constant_where_there_is_a_structure(searched):
    front = searched.front_
    assert front.values[-1, 1] == 0
    assert searched.select() is searched.best_estimator_
    assert searched.select("least_error").kernel_ == searched.best_kernel_
    for price in ("kernels", "variables"):
        for rule in ("best:standard_error", f"best:{price}", f"error where {price}<=1"):
            assert not isinstance(searched.select(rule, price=price).kernel_, Constant)
    assert searched.select("best:kernels").kernel_ == searched.first_layer_[0].kernel
    with pytest.raises(EmptyFrontError, match="that meets the conditions beats the constant kern"):
        searched.select("knee where kernels<1")


def test_the_knee_is_that_of_the_whole_front(searched):
    assert (
        searched.select("knee").kernel_ == searched.front_.solution(searched.front_.knee()).kernel_
    )


def test_one_se_with_a_condition_counts_in_standard_errors_of_the_folds(searched):
    table = searched.to_frame()
    small = table[table["kernels"] <= 2]
    most = small["error"].min() + small["standard_error"].iloc[small["error"].argmin()]
    expected = small[(small["error"] <= most) & (small["kernels"] > 0)].iloc[-1]
    assert plain(searched.select("one_se where kernels<=2").kernel_) == expected["kernel"]


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_the_table_says_all_that_is_known_of_the_front(searched, backend):
    table = searched.to_frame(backend)
    assert [name for name in table.columns if name != "row"] == [
        "error",
        "kernels",
        "variables",
        "standard_error",
        "log_loss",
        "loo_error",
        "loo_log_loss",
        "nlml",
        "bic",
        "n_hyperparameters",
        "kernel",
        "words",
    ]
    best = searched.history_.on(searched.front_)[0]
    kernel, nlml = (list(table[name]) for name in ("kernel", "nlml"))
    assert (kernel[0], nlml[0]) == (plain(best.kernel), -best.log_evidence)
    assert list(table["words"])[-1] == "a constant"


def test_the_picture_marks_the_best_kernel_if_the_front_has_it(searched, planted):
    on_front = searched.history_.on(searched.front_)
    assert on_front[searched.best_index_] is searched.best_candidate_
    assert searched.plot() is not None
    assert searched.plot(chosen="knee") is not None
    assert searched.plot(chosen="least_error") is not None
    X, y = planted
    # The evidence of sixty rows prefers another kernel than their folds do.
    other = KernelSearch(depth=1, guide="nlml", choose="least_error", random_state=0)
    other.fit(X[:60], y[:60])
    assert other.structure_found_
    assert other.best_candidate_ not in other.history_.on(other.front_)
    assert other.best_index_ is None
    assert other.plot() is not None
    with pytest.raises(
        InvalidInputError, match="'least_error' takes is not on the front of errors"
    ):
        other.plot(chosen="least_error")


def test_leave_one_out_agrees_with_the_estimator(searched, planted):
    left_out = searched.best_estimator_.leave_one_out()
    assert searched.best_candidate_.loo_error == pytest.approx(left_out.error, abs=0.01)
    assert searched.best_candidate_.loo_loss == pytest.approx(left_out.log_loss, abs=1e-3)


def test_noise_yields_no_structure():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 10, size=(200, 3))
    y = np.repeat([0, 1], [150, 50])
    search = KernelSearch(random_state=1).fit(X, y)
    assert not search.structure_found_
    assert isinstance(search.best_kernel_, Constant)
    assert search.best_candidate_ is search.baseline_
    assert search.baseline_.error == pytest.approx(0.25)
    assert search.describe().startswith("No structure found")
    assert (search.predict(X) == 0).all()
    # The table says what there is; without a structure a rule may end at the constant.
    assert isinstance(search.select("best:kernels").kernel_, Constant)


@pytest.mark.parametrize("guide", ["cv_error", "cv_logloss", "nlml"])
def test_balanced_noise_yields_no_structure_in_nine_of_ten_tables(guide):
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), rng.permutation(np.repeat([0, 1], 30))
        search = KernelSearch(depth=1, guide=guide, cv=3, random_state=0).fit(X, y)
        found += search.structure_found_
    assert found <= 1


def test_the_crescent_needs_both_columns():
    X, y = make_crescent(200, random_state=0)
    search = KernelSearch(choose="least_error", guide="cv_error", random_state=0).fit(X, y)
    assert search.best_candidate_.columns == (0, 1)
    assert search.best_candidate_.error < search.first_layer_[0].error


def test_a_look_at_all_pairs_finds_a_pure_interaction():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(150, 2))
    y = X[:, 0] * X[:, 1] > 0
    options = {"depth": 2, "grow": "new_columns", "random_state": 0}
    greedy = KernelSearch(choose="least_error", **options).fit(X, y)
    assert not greedy.structure_found_
    supported = KernelSearch(**options).fit(X, y)
    assert structure(supported.best_kernel_) == structure(SE(0) * SE(1))
    assert [one.kind for one in supported.claims_] == ["variable", "variable", "interaction"]
    assert all(one.certain for one in supported.claims_)
    tried = {str(structure(one.kernel)) for one in supported.history_.cross_validated}
    assert str(structure(SE(0) + SE(1))) in tried


@pytest.mark.parametrize(
    ("task", "base"), [("classification", "se"), ("regression", ("se", "lin"))]
)
def test_what_is_supported_is_the_same_kernel_however_much_else_is_tried(task, base):
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, size=(100, 4))
    y = 1.5 * X[:, 0] + 2 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=100)
    y = y > 0 if task == "classification" else y
    options = {"base": base, "depth": 2, "beam": 1, "cv": 3, "random_state": 0}
    full = KernelSearch(**options).fit(X, y)
    likely = KernelSearch(grow="likely", **options).fit(X, y, full.structures_)
    brief = KernelSearch(grow="supported", **options).fit(X, y, full.structures_)
    assert full.best_candidate_.columns == (0, 1, 2)
    for search in (likely, brief):
        assert structure(search.best_kernel_) == structure(full.best_kernel_)
        assert search.best_candidate_.log_evidence == pytest.approx(
            full.best_candidate_.log_evidence, abs=0.05
        )
        assert search.claims_ == full.claims_
    assert len(brief.history_) < len(likely.history_) <= len(full.history_)


def test_only_likely_variables_join_larger_kernels():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, size=(120, 5))
    y = 1.5 * X[:, 0] + 2 * X[:, 1] + 0.5 * rng.normal(size=120)
    search = KernelSearch(grow="likely", depth=2, beam=1, cv=3, random_state=0).fit(X, y)
    assert search.structures_.variables[[2, 3, 4]].max() < 0.1
    assert {one.columns for one in search.first_layer_} == {(k,) for k in range(5)}
    assert {one.columns for one in search.history_ if len(one.columns) > 1} == {(0, 1)}


def test_a_product_of_columns_that_say_nothing_alone_is_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=300)
    search = KernelSearch(grow="supported", cv=3, random_state=0).fit(X, y)
    assert structure(search.best_kernel_) == structure(SE(0) + SE(1) * SE(2))
    # The noise is a ninth of the variance; without the product more than half is left.
    assert search.best_candidate_.loo_error < 0.25


def test_where_nothing_is_supported_a_brief_search_has_the_constant_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.permutation(np.repeat([0, 1], 30))
    search = KernelSearch(grow="supported", cv=3, random_state=0).fit(X, y)
    assert not search.structure_found_
    assert len(search.history_) == 0
    assert np.ptp(search.predict_proba(X)) == pytest.approx(0, abs=1e-9)


def test_one_standard_error_prefers_the_smaller_kernel():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.2 * X[:, 1] + 0.4 * rng.normal(size=80) > 0
    best = KernelSearch(depth=2, choose="least_error", random_state=0).fit(X, y)
    simple = clone(best).set_params(choose="one_se").fit(X, y)
    top, chosen = best.best_candidate_, simple.best_candidate_
    assert best.history_.path == simple.history_.path
    assert chosen.n_base == 1 < top.n_base
    assert top.guide < chosen.guide <= top.guide + top.guide_deviation


def test_regression_finds_structure_and_predicts_in_the_units_of_y():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 3))
    y = 1000 + 100 * (np.sin(2 * X[:, 0]) + X[:, 1]) + 5 * rng.normal(size=120)
    search = KernelSearch(("se", "lin"), random_state=0).fit(X, y)
    assert search.task_ == "regression"
    assert is_regressor(search)
    assert search.best_candidate_.columns[:2] == (0, 1)
    assert isinstance(search.best_estimator_, GPRegressor)
    assert search.score(X, y) > 0.99
    assert search.baseline_.error == pytest.approx(1.0, abs=0.1)
    assert search.best_candidate_.error < 0.02
    assert "of the variance" in search.describe()
    assert not hasattr(search, "predict_proba")
    spread = np.sqrt(search.best_estimator_.noise_variance_)
    assert spread == pytest.approx(5.0, rel=0.3)


def test_regression_noise_yields_no_structure():
    rng = np.random.default_rng(2)
    search = KernelSearch(depth=2, random_state=0).fit(
        rng.normal(size=(90, 3)), rng.normal(size=90)
    )
    assert not search.structure_found_
    assert search.predict(np.zeros((1, 3)))[0] == pytest.approx(0.0, abs=0.3)


def test_a_straight_line_is_told_from_a_curve():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = 3 * X[:, 0] + 0.2 * rng.normal(size=100)
    search = KernelSearch(("se", "lin"), depth=1, guide="bic", random_state=0).fit(X, y)
    assert isinstance(search.best_kernel_, Linear)
    labels = y > 1.5
    search = KernelSearch(("se", "lin"), depth=1, guide="bic", random_state=0).fit(X, labels)
    assert structure(search.best_kernel_) == structure(Constant() + Linear(0))


def test_periods_are_found():
    X = np.linspace(0, 12, 120)[:, None]
    y = np.sin(2 * np.pi * X[:, 0] / 1.5) > 0
    search = KernelSearch("per", cv=StratifiedKFold(3, shuffle=True), random_state=0).fit(X, y)
    assert search.best_kernel_.period == pytest.approx(1.5, rel=0.05)


def test_any_kernel_can_be_a_base_kernel(planted):
    X, y = planted
    base = (Matern(nu=1.5), SE((1, 2)))
    search = KernelSearch(base, depth=1, choose="least_error", random_state=0).fit(X, y)
    names = {str(one.kernel) for one in search.first_layer_}
    assert len(names) == 5
    assert structure(search.best_kernel_) == structure(SE((1, 2)))


def test_guides_are_used(planted, searched):
    X, y = planted
    for guide in ("cv_logloss", "loo_logloss", "nlml", "bic"):
        search = KernelSearch(guide=guide, depth=1, random_state=0)
        one = search.fit(X, y, searched.structures_).first_layer_[0]
        n_theta = one.kernel.n_theta
        expected = {
            "cv_logloss": np.mean(one.fold_losses),
            "loo_logloss": one.loo_loss,
            "nlml": -one.log_evidence,
            "bic": -2 * one.log_evidence + n_theta * np.log(len(y)),
        }
        assert one.guide == pytest.approx(expected[guide])


def test_a_table_keeps_its_names_and_leaves_out_constant_columns(planted):
    X, y = planted
    table = pd.DataFrame(X, columns=["dose", "age", "weight", "day"]).assign(site=7.0)
    search = KernelSearch(depth=1, random_state=0).fit(table, y)
    assert search.constant_columns_ == (4,)
    assert search.describe().endswith("Constant and left out: site.")
    assert "dose" in search.describe()
    assert search.select(0).predict(table).shape == (len(y),)
    copied = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copied.predict(table), search.predict(table))
    assert copied.select(0).kernel_ == search.select(0).kernel_


def test_it_works_inside_cross_validation(planted):
    X, y = planted
    assert is_classifier(KernelSearch())
    search = KernelSearch(depth=1, cv=2, random_state=0)
    scores = cross_val_score(search, X[::2], y[::2], cv=2)
    assert (scores > 0.5).all()


def test_three_classes_are_refused_with_a_way_out(planted):
    X, _ = planted
    with pytest.raises(InvalidInputError, match="Search for one against the rest, as in y == 'c'"):
        KernelSearch().fit(X[:9], ["a", "b", "c"] * 3)
    with pytest.raises(InvalidInputError, match="task='regression' if they are numbers"):
        KernelSearch().fit(X[:9], [0, 1, 2] * 3)
    counts = np.arange(9) % 3
    assert KernelSearch(depth=1, cv=2, task="regression").fit(X[:9], counts).task_ == "regression"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guide": "luck"}, "guide must be"),
        ({"beam": 0}, "beam must be"),
        ({"depth": 0}, "depth must be"),
        ({"cv": 1}, "cv must be 2 or more"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"checkpoint": Checkpoint("search.npz")}, "checkpoint must be the path of a file"),
        ({"time_limit": -1.0}, "time_limit must be"),
        ({"choose": "luck"}, "choose must be"),
        ({"choose": "one_se", "guide": "bic"}, "bic has none"),
        ({"grow": "luck"}, "grow must be"),
        ({"grow": "supported", "choose": "one_se"}, "finds only what"),
        ({"task": "ranking"}, "task must be"),
        ({"base": ()}, "base must name one base kernel"),
        ({"base": "spline"}, "A base kernel is one of se, per, lin"),
        ({"base": Epanechnikov()}, "not positive semi-definite"),
        ({"base": SE() + Linear()}, "combination without columns"),
    ],
)
def test_bad_options_are_refused(planted, options, message):
    X, y = planted
    with pytest.raises(InvalidInputError, match=message):
        KernelSearch(**options).fit(X[:20], y[:20])


def test_constant_tables_are_refused():
    with pytest.raises(InvalidInputError, match="All 2 columns of X are constant"):
        KernelSearch().fit(np.ones((6, 2)), [0, 1] * 3)
