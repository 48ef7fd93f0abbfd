"""`ParetoSVC`: what it finds, chooses and refuses."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from parsimon.datasets import make_banana
from parsimon.exceptions import (
    ConstantPredictionWarning,
    EmptyFrontError,
    InterruptWarning,
    InvalidInputError,
)
from parsimon.kernels import Multiquadric
from parsimon.svm._front import _ExactPath
from parsimon.svm._front_machine import FrontSVC
from parsimon.svm.pareto import ParetoSVC

QUICK = {"n_points": 24, "max_iter": 3, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    X, y = make_banana(90, random_state=3)
    X.flags.writeable = False
    return X, np.where(y == 1, "yes", "no")


@pytest.fixture(scope="module")
def search(table):
    return ParetoSVC(**QUICK).fit(*table)


def test_figures_of_the_front_are_those_of_its_classifiers(search, table):
    X, y = table
    frame = search.to_frame()
    train = search._machines.basis.rows.places
    held = np.setdiff1d(np.arange(90), train)
    assert search.n_holdout_ == len(held) == 18
    assert np.mean(y[held] == "yes") == pytest.approx(np.mean(y == "yes"), abs=0.03)
    for index in (0, 7, len(frame) - 1):
        model, row = search.front_.solution(index), frame.iloc[index]
        decision = model.decision_function(X)
        signs = np.where(y == "yes", 1, -1)
        assert row.training_error == pytest.approx(np.mean(model.predict(X[train]) != y[train]))
        assert row.holdout_error == pytest.approx(np.mean(model.predict(X[held]) != y[held]))
        assert row.hinge_loss == pytest.approx(np.maximum(0, 1 - signs * decision)[train].sum())
        assert row.n_support == len(model.support_) == model.n_support_.sum()
        weights = np.zeros(90)
        weights[model.support_] = model.dual_coef_[0]
        gamma = 1 / (2 * X.var())
        norm = weights @ rbf_kernel(X, gamma=gamma) @ weights
        assert row.margin_term == pytest.approx(0.5 * norm)
        assert set(model.support_) <= set(train)
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_the_front_goes_from_the_constant_classifier_to_the_narrowest_margin(search):
    front = search.front_
    assert front.names == ("margin_term", "hinge_loss", "training_error", "n_support")
    assert front.values[0, 0] == front.values[0, 3] == 0
    assert (np.diff(front.values[:, 0]) > 0).all()
    assert (np.diff(front.values[:, 1]) < 0).all()
    frame = search.to_frame("polars")
    assert {"margin", "C", "dual_objective", "holdout_error"} <= set(frame.columns)
    np.testing.assert_allclose(frame["margin"][1:], 1 / np.sqrt(2 * front.values[1:, 0]))


def test_a_selected_machine_is_solved_anew_on_all_rows_if_asked(search, table):
    X, y = table
    index = len(search.front_) - 4
    chosen = search.select(index)
    price = search.to_frame().C.iloc[index]
    peer = SVC(C=price).fit(X, y)
    np.testing.assert_allclose(
        chosen.decision_function(X), peer.decision_function(X), atol=0.05 * price**0.5
    )
    as_it_is = ParetoSVC(**QUICK, refit=False).fit(X, y).select(index)
    np.testing.assert_array_equal(
        as_it_is.decision_function(X), search.front_.solution(index).decision_function(X)
    )
    assert chosen.C == as_it_is.C == price
    assert not np.array_equal(chosen.dual_coef_, as_it_is.dual_coef_)


def test_the_default_errs_least_on_the_rows_held_out(search, table):
    frame = search.to_frame()
    best = frame.holdout_error.min()
    assert search.best_index_ == int(np.argmax(frame.holdout_error == best))
    np.testing.assert_array_equal(
        search.predict(table[0]), search.best_estimator_.predict(table[0])
    )


def test_rules_choose_as_their_words_say(search):
    frame, find = search.to_frame(), search._index
    assert find("training_error") == int(
        np.argmax(frame.training_error == frame.training_error.min())
    )
    assert find("dual") == int(np.argmax(frame.dual_objective))
    assert find("one_se:0") == find("holdout_error") == find("auto")
    assert find("one_se") <= find("holdout_error")
    # All machines are within 99 standard errors; the first that beats the constant is taken.
    first = find("one_se:99")
    assert frame.holdout_error.iloc[first] < frame.holdout_error.iloc[0]
    assert (frame.holdout_error.iloc[:first] >= frame.holdout_error.iloc[0]).all()
    assert frame.n_support.iloc[find("training_error where n_support<=40 and n_support>0")] <= 40
    assert find("best:hinge_loss") == len(frame) - 1
    assert find("knee") == find("knee:chord") != find("best:hinge_loss")
    assert find(-1) == len(frame) - 1
    assert find(lambda _: 3) == 3
    assert find("holdout_error where C>=1 and margin_term<1e9") >= 0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "luck",
            "There is no rule 'luck'; the rules are .* a column \\(margin_term, .*holdout_error",
        ),
        ("knee where beauty<3", "There is no column 'beauty'; the columns are margin_term"),
        ("knee where C=3", "A condition looks like"),
        ("knee where C<much", "A condition looks like n_support<=.*got 'C<much'"),
        ("one_se:-1", "one_se must be zero or a positive number"),
        ("best", "best needs a column"),
    ],
)
def test_rules_without_sense_are_refused(search, rule, message):
    with pytest.raises(InvalidInputError, match=message):
        search.select(rule)


def test_conditions_that_nothing_meets_are_refused(search):
    with pytest.raises(EmptyFrontError, match="No solution is left"):
        search.select("knee where C>1e9")


def test_a_condition_never_ends_at_a_constant_classifier():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    search = ParetoSVC("exact", n_points=12, C_range=(0.01, 1e3), random_state=0).fit(X, y)
    with pytest.raises(EmptyFrontError, match="that meets the conditions beats one class for"):
        search.select("holdout_error where n_support<=40")
    model = search.select("holdout_error where n_support<=100")
    assert 0 < len(model.support_) <= 100
    assert model.score(X, y) > 0.95
    assert len(search.select(0).support_) == 0  # an index takes any
    own = ParetoSVC("exact", n_points=3, choose="knee where n_support<=4", random_state=0)
    with pytest.warns(ConstantPredictionWarning, match="No solution that meets the conditions"):
        assert own.fit(X, y).best_index_ == 0


def test_a_machine_selected_under_a_condition_meets_it(search):
    frame, refitted = search.to_frame(), []
    for most in sorted(set(frame.n_support[search._figures.beats_constant])):
        rule = f"holdout_error where n_support<={most}"
        index, model = search._index(rule), search.select(rule)
        assert len(model.support_) <= most
        on_front = search.front_.solution(index)
        refitted.append(not np.array_equal(model.dual_coef_, on_front.dual_coef_))
        assert model.C == on_front.C
    assert 0 < sum(refitted) < len(refitted)
    lossy = frame.hinge_loss.iloc[search.best_index_]
    own = search.select(f"holdout_error where hinge_loss<={lossy} and holdout_error<1")
    assert np.isin(own.support_, search._machines.basis.rows.places).all()


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.parametrize("objectives", ["primal", "dual"])
def test_a_search_without_a_seed_goes_on_from_its_checkpoint(table, objectives, tmp_path):
    options = {"n_points": 10, "checkpoint": tmp_path / "search.npz"}
    ParetoSVC(objectives, max_iter=2, **options).fit(*table)
    assert ParetoSVC(objectives, max_iter=4, **options).fit(*table).n_iter_ == 4


def test_rows_to_choose_by_may_be_given(table):
    X, y = table
    given = ParetoSVC(**QUICK).fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    assert given.n_holdout_ == 30
    assert len(given._machines.basis.rows.places) == 60
    model = given.select(5)
    assert given.to_frame().holdout_error.iloc[5] == pytest.approx(1 - model.score(X[60:], y[60:]))
    with pytest.raises(InvalidInputError, match="X_val and y_val belong together"):
        ParetoSVC(**QUICK).fit(X, y, X_val=X)
    with pytest.raises(InvalidInputError, match="labels that y has not: maybe"):
        ParetoSVC(max_iter=10**9).fit(X, y, X_val=X[:1], y_val=["maybe"])


def test_without_rows_held_out_the_knee_is_chosen(table):
    whole = ParetoSVC(**QUICK, validation_fraction=0).fit(*table)
    assert whole.n_holdout_ == 0
    assert whole.best_index_ == whole._index("knee")
    assert "holdout_error" not in whole.to_frame().columns
    with pytest.raises(InvalidInputError, match="No rows were held out"):
        whole.select("holdout_error")


def test_a_walk_goes_from_the_constant_machine_to_the_narrowest_margin(search, table):
    X, y = table
    models = search.walk(4)
    assert len(models) == 4
    assert len(models[0].support_) == 0
    assert len(set(models[0].predict(X))) == 1
    assert [model.C for model in models[1:]] == sorted(model.C for model in models[1:])
    assert search.to_frame().C.iloc[-1] == models[-1].C
    accuracies = [model.score(X, y) for model in models]
    assert accuracies[0] < accuracies[-1]
    assert len(search.walk(1)) == 1


def test_the_exact_front_has_optimal_machines(table):
    X, y = table
    exact = ParetoSVC("exact", n_points=6, C_range=(0.1, 10), validation_fraction=0).fit(X, y)
    assert (exact.n_iter_, exact.stopped_by_) == (6, "max_iter")
    assert len(exact.front_) == 7
    frame = exact.to_frame()
    np.testing.assert_allclose(frame.C.iloc[[1, -1]], [0.1, 10])
    signs, K = np.where(y == "yes", 1, -1), rbf_kernel(X, gamma=1 / (2 * X.var()))
    for _, row in frame.iloc[1:].iterrows():
        peer = SVC(kernel="precomputed", C=row.C, tol=1e-6).fit(K, y)
        signed = peer.dual_coef_[0]
        norm = signed @ K[np.ix_(peer.support_, peer.support_)] @ signed
        slack = np.maximum(0, 1 - signs * peer.decision_function(K)).sum()
        assert row.margin_term + row.C * row.hinge_loss == pytest.approx(
            0.5 * norm + row.C * slack, rel=1e-4
        )


def test_the_printed_dual_objectives_have_their_own_front(table):
    options = {"n_points": 20, "max_iter": 30, "random_state": 0}
    dual = ParetoSVC("dual", **options).fit(*table)
    assert dual.front_.names[:3] == ("quadratic", "linear", "balance")
    assert dual.front_.directions.maximise[:3] == (True, True, True)
    assert (np.diff(dual.front_.values[:, 0]) <= 0).all()
    assert dual.select("knee").score(*table) > 0.5
    printed = ParetoSVC("dual", max_iter=2, random_state=0).fit(*table)
    assert printed.n_evaluations_ > 300  # a hundred individuals


@pytest.mark.parametrize("objectives", ["primal", "exact"])
def test_indefinite_kernels_have_fronts_of_machines_with_margins(table, objectives):
    X, y = table
    search = ParetoSVC(
        objectives,
        kernel=Multiquadric(),
        n_points=10,
        C_range=(0.01, 1.0),
        random_state=0,
        refit=False,
    )
    found = search.fit(X, y)
    assert found.smallest_eigenvalue_ < -0.1
    assert (found.front_.values[:, 0] >= -1e-6).all()
    assert len(found.front_) > 5
    index = len(found.front_) - 1
    model, places = found.front_.solution(index), found._machines.basis.rows.places
    error = np.mean(model.predict(X[places]) != y[places])
    expected = found.to_frame().training_error.iloc[index]
    assert error == pytest.approx(expected)


def test_a_precomputed_kernel_gives_the_same_front(table):
    X, y = table
    K = rbf_kernel(X, gamma=1.0)
    plain = ParetoSVC(**QUICK, gamma=1.0, validation_fraction=0).fit(X, y)
    given = ParetoSVC(**QUICK, kernel="precomputed", validation_fraction=0).fit(K, y)
    assert given.front_.values[-1] == pytest.approx(plain.front_.values[-1], rel=1e-2, abs=1e-2)
    held = ParetoSVC(**QUICK, kernel="precomputed").fit(K, y)
    assert held.n_holdout_ == 18
    assert held.score(K, y) > 0.8
    model = held.front_.solution(9)
    assert held.to_frame().holdout_error.iloc[9] == pytest.approx(
        np.mean(
            (model.predict(K) != y)[np.setdiff1d(np.arange(90), held._machines.basis.rows.places)]
        )
    )


def test_weights_are_repetitions_and_classes_can_weigh_more(table):
    X, y = table
    counts = np.random.default_rng(0).integers(0, 3, 90)
    weighted = ParetoSVC(**QUICK, gamma=1.0).fit(X, y, counts)
    repeated = ParetoSVC(**QUICK, gamma=1.0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.front_ == repeated.front_
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))
    skewed = ParetoSVC(**QUICK, class_weight={"yes": 20.0}, choose="knee").fit(X, y)
    even = ParetoSVC(**QUICK, choose="knee").fit(X, y)
    assert np.mean(skewed.predict(X) == "yes") > np.mean(even.predict(X) == "yes")
    with pytest.raises(InvalidInputError, match="A class has weight zero"):
        ParetoSVC(**QUICK, class_weight={"yes": 0.0}).fit(X, y)


def test_the_same_seed_gives_the_same_bits_and_another_another_split(table):
    X, _ = table
    first, second = (ParetoSVC(**QUICK).fit(*table) for _ in range(2))
    assert first.front_ == second.front_
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    other = ParetoSVC(**{**QUICK, "random_state": 1}).fit(*table)
    assert other.front_ != first.front_


def test_a_search_can_be_stopped_and_resumed(table, tmp_path, monkeypatch):
    limited = ParetoSVC(**{**QUICK, "max_iter": 10**6}, time_limit=0.2).fit(*table)
    assert limited.stopped_by_ == "time_limit"
    assert len(limited.front_) > 2
    file = tmp_path / "search.npz"
    ParetoSVC(**{**QUICK, "max_iter": 2}, checkpoint=file).fit(*table)
    resumed = ParetoSVC(**QUICK, checkpoint=file).fit(*table)
    assert resumed.front_ == ParetoSVC(**QUICK).fit(*table).front_
    path, options = tmp_path / "path.npz", {"n_points": 6, "random_state": 0}
    with monkeypatch.context() as patch:
        real, seen = _ExactPath.step, []

        def interrupted(*given):
            seen.append(given)
            if len(seen) == 3:
                raise KeyboardInterrupt
            return real(*given)

        patch.setattr(_ExactPath, "step", interrupted)
        with pytest.warns(InterruptWarning, match="the best so far"):
            cut = ParetoSVC("exact", **options, checkpoint=path).fit(*table)
    assert cut.stopped_by_ == "interrupt"
    resumed = ParetoSVC("exact", **options, checkpoint=path).fit(*table)
    assert (resumed.n_iter_, resumed.stopped_by_) == (6, "max_iter")
    assert resumed.front_ == ParetoSVC("exact", **options).fit(*table).front_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": "both"}, 'objectives must be "primal" or "dual" or "exact"'),
        ({"C_range": (1, 1)}, "C_range must increase"),
        ({"C_range": (0, 1)}, "C_range must be a positive number"),
        ({"C_range": 3}, "C_range must be two numbers"),
        ({"C_range": (1, 2, 3)}, "C_range must be two numbers"),
        ({"n_points": 1}, "n_points must be an integer of at least 2"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a share"),
        ({"refit": "yes"}, "refit must be"),
        ({"time_limit": -1}, "time_limit must be None or positive seconds"),
        ({"max_iter": -1}, "max_iter must be an integer of at least 0"),
    ],
)
def test_options_without_sense_are_refused(table, options, message):
    with pytest.raises(InvalidInputError, match=message):
        ParetoSVC(**options).fit(*table)


def test_one_class_is_refused(table):
    with pytest.raises(InvalidInputError, match="Two classes or more are needed"):
        ParetoSVC().fit(table[0], np.zeros(90))


@pytest.mark.parametrize("objectives", ["primal", "exact", "dual"])
def test_two_rows_are_enough(objectives):
    pair = ParetoSVC(objectives, n_points=5, random_state=0).fit([[0.0], [1.0]], [0, 1])
    assert pair.n_holdout_ == 0
    assert pair.select(-1).predict([[0.0], [1.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("objectives", ["primal", "exact", "dual"])
def test_repeated_and_contradictory_rows_and_a_singular_kernel_are_no_trouble(objectives):
    X = np.repeat(np.array([[0.0], [1.0], [2.0]]), 6, axis=0)
    y = np.array([0] * 6 + [0, 1] * 3 + [1] * 6)
    options = {"objectives": objectives, "random_state": 0}
    found = ParetoSVC(**options, kernel="linear", n_points=12).fit(X, y)
    assert np.isfinite(found.front_.values).all()
    assert found.select("training_error").score(X, y) >= 0.8
    with pytest.warns(ConstantPredictionWarning):
        flat = ParetoSVC(**options, n_points=6).fit(np.ones((8, 2)), [0, 1] * 4)
    assert set(flat.predict(np.ones((3, 2)))) <= {0, 1}


def test_a_machine_of_its_own_is_a_support_vector_classifier(table):
    X, y = table
    ours = FrontSVC(C=3.0, tol=1e-6).fit(X, y)
    peer = SVC(C=3.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(ours.support_, np.sort(peer.support_))
    with pytest.raises(InvalidInputError, match="C must be a positive number"):
        FrontSVC(C=0).fit(X, y)


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.parametrize("objectives", ["primal", "dual", "exact"])
@pytest.mark.parametrize("limit", [1e-9, 1e-3])
def test_a_search_that_time_cut_short_never_spoils_its_checkpoint(
    table, objectives, limit, tmp_path
):
    options = {"n_points": 10, "random_state": 0, "checkpoint": tmp_path / "search.npz"}
    ParetoSVC(objectives, **options, time_limit=limit).fit(*table)
    resumed = ParetoSVC(objectives, **options, max_iter=2).fit(*table)
    whole = ParetoSVC(objectives, **(options | {"checkpoint": None}), max_iter=2).fit(*table)
    assert resumed.front_ == whole.front_
    # Nor does one that has less time than before.
    ParetoSVC(objectives, **options, max_iter=2, time_limit=limit).fit(*table)


def mean_log_loss(model, X, y):
    own = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return -np.log(own).mean()


def test_probabilities_come_from_rows_that_a_machine_has_not_seen():
    X, y = make_banana(1400, random_state=1)
    new, truth = X[400:], y[400:]
    for refit in (True, False):
        search = ParetoSVC(**QUICK, refit=refit).fit(X[:400], y[:400])
        p = search.predict_proba(new)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(search.classes_[p.argmax(axis=1)], search.predict(new))
        assert mean_log_loss(search, new, truth) < 0.45
        right = search.predict(new) == truth
        # Of 80 rows held out less can be learnt than from cross-fitting on all 400.
        assert right.mean() == pytest.approx(p.max(axis=1).mean(), abs=0.05 if refit else 0.1)


def test_a_machine_that_learns_noise_by_heart_does_not_believe_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 8)), rng.integers(2, size=800)
    model = FrontSVC(C=1e3).fit(X[:200], y[:200])
    assert model.score(X[:200], y[:200]) > 0.95
    assert mean_log_loss(model, X[200:], y[200:]) < 0.71


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.parametrize("n_rare", [1, 2, 3])
def test_a_class_of_a_few_rows_gets_probabilities_that_are_not_certain(n_rare):
    rng = np.random.default_rng(n_rare)
    X = rng.normal(size=(60, 2))
    y = np.arange(60) < n_rare
    for model in (FrontSVC(C=10.0), ParetoSVC(**QUICK)):
        fitted = model.fit(X, y)
        if n_rare == 1 and isinstance(model, ParetoSVC):
            # Nothing can be held out.
            assert not hasattr(fitted, "predict_proba")
            continue
        p = fitted.predict_proba(rng.normal(size=(500, 2)))
        assert np.isfinite(p).all()
        assert p[:, 1].mean() < 0.25
        assert p.max() < 1.0


def test_a_machine_without_rows_held_out_has_no_probabilities(table):
    search = ParetoSVC(**QUICK, validation_fraction=0, choose="training_error").fit(*table)
    assert not hasattr(search, "predict_proba")
    assert not hasattr(search.select("knee"), "predict_proba")


def test_a_constant_machine_says_the_share_of_all_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.random(200) < 0.7
    with pytest.warns(ConstantPredictionWarning, match="one class for every row"):
        search = ParetoSVC(**QUICK).fit(X, y)
    constant = search.front_.solution(int(np.argmin(search.to_frame()["n_support"])))
    assert not len(constant.support_)
    np.testing.assert_allclose(constant.predict_proba(X)[:, 1], y.mean(), atol=0.01)


@pytest.fixture
def few_inputs():
    """700 rows of eight kinds, each with rows of both classes, as in a table of categories."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (700, 3)).astype(float)
    y = np.where(rng.random(700) < np.array([0.15, 0.75])[X[:, 0].astype(int)], "yes", "no")
    return X, y


def test_rows_that_are_equal_because_columns_have_few_values_are_held_out_one_by_one(few_inputs):
    X, y = few_inputs
    search = ParetoSVC(**QUICK, gamma=1.0).fit(X, y)
    assert np.mean(search.predict(X) != y) < 0.25 < min(np.mean(y == "yes"), np.mean(y == "no"))
    assert search.n_holdout_ == sum(round(0.2 * np.sum(y == label)) for label in ("yes", "no"))
    # The machines are trained on the rest, so that no row counts twice.
    assert search._machines.basis.rows.weights.sum() + search.n_holdout_ == 700
    counted = ParetoSVC(**QUICK, gamma=1.0).fit(*_counted(X, y))
    np.testing.assert_array_equal(counted.decision_function(X), search.decision_function(X))


def _counted(X, y):
    """Return the distinct rows, their classes, and how often each occurs."""
    pairs, counts = np.unique(np.column_stack([X, y == "yes"]), axis=0, return_counts=True)
    return pairs[:, :3], np.where(pairs[:, 3] == 1, "yes", "no"), counts


def test_copies_of_rows_are_held_out_together(table):
    X, y = table
    search = ParetoSVC(**QUICK, gamma=1.0).fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    assert set(search._machines.basis.rows.weights) == {4.0}
