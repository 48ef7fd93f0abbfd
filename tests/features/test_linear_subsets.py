"""The closed forms beside scikit-learn, one subset after the other."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from parsimon.features._linear_subsets import LinearFolds, _Newton, linear_form
from parsimon.features._subsets import SubsetErrors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1.0, 5.0, 0.1, 1.0] + [0.0, 3.0, 1.0, -2.0]
NUMBER = X @ [1.0, 0.3, 0.0, 2.0] + 0.3 * RNG.normal(size=60)
TWO = np.where(NUMBER + RNG.normal(size=60) > NUMBER.mean(), "yes", "no")
THREE = np.digitize(NUMBER + RNG.normal(size=60), np.quantile(NUMBER, [0.3, 0.6]))
MASKS = ((np.arange(1, 16)[:, None] >> np.arange(4)) & 1).astype(bool)
FOLDS = list(KFold(3, shuffle=True, random_state=0).split(X))
LOGISTIC = LogisticRegression(tol=1e-11, max_iter=10_000)


def errors_of(learner, y, task, scoring=None):
    return SubsetErrors(learner, X, y, FOLDS, task, scoring)


@pytest.mark.parametrize(
    ("learner", "y", "task", "scoring"),
    [
        (make_pipeline(StandardScaler(), LOGISTIC), TWO, "classification", "neg_log_loss"),
        (make_pipeline(StandardScaler(), LOGISTIC), TWO, "classification", "accuracy"),
        (make_pipeline(StandardScaler(), LOGISTIC), TWO, "classification", "roc_auc"),
        (clone(LOGISTIC).set_params(C=0.1), TWO, "classification", "neg_log_loss"),
        (make_pipeline(StandardScaler(), LOGISTIC), THREE, "classification", "neg_log_loss"),
        (make_pipeline(StandardScaler(), LOGISTIC), THREE, "classification", "balanced_accuracy"),
        (clone(LOGISTIC).set_params(C=30.0), THREE, "classification", "accuracy"),
        (make_pipeline(StandardScaler(), Ridge(3.0)), NUMBER, "regression", None),
        (Ridge(0.5), NUMBER, "regression", "neg_mean_squared_error"),
        (LinearRegression(), NUMBER, "regression", "neg_mean_absolute_error"),
        (make_pipeline(StandardScaler(), LinearRegression()), NUMBER, "regression", "r2"),
    ],
)
def test_closed_forms_agree_with_a_loop(learner, y, task, scoring):
    errors = errors_of(learner, y, task, scoring)
    assert errors.form is not None
    measure = errors.measure
    wanted = [
        measure.best - cross_val_score(learner, X[:, mask], y, cv=FOLDS, scoring=measure.scorer)
        for mask in MASKS
    ]
    np.testing.assert_allclose(errors.of_folds(MASKS), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "learner",
    [
        Lasso(),
        DecisionTreeClassifier(),
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(l1_ratio=1.0, solver="saga"),
        Ridge(positive=True),
        Ridge(fit_intercept=False),
        make_pipeline(MinMaxScaler(), Ridge()),
        make_pipeline(StandardScaler(with_mean=False), Ridge()),
        make_pipeline(StandardScaler(), StandardScaler(), Ridge()),
    ],
)
def test_what_is_not_a_closed_form_is_known(learner):
    assert linear_form(learner) is None


def test_other_scores_are_measured_one_by_one():
    errors = errors_of(make_pipeline(StandardScaler(), LOGISTIC), TWO, "classification", "f1_macro")
    assert errors.form is None
    wanted = 1 - cross_val_score(errors.learner, X, TWO, cv=FOLDS, scoring="f1_macro").mean()
    assert errors(np.ones((1, 4), dtype=bool))[0] == pytest.approx(wanted)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_logistic_gradient_is_zero_in_every_fold(n_outputs):
    y = (TWO == "yes").astype(int) if n_outputs == 1 else THREE
    table = LinearFolds(linear_form(LOGISTIC), X, y, FOLDS)
    masks = MASKS[MASKS.sum(axis=1) == 2]

    def loss(weights, fold):
        latent = table.D @ weights.T
        if n_outputs == 1:
            latent = np.column_stack([np.zeros(60), latent[:, 0]])
        own = latent[np.arange(60), y]
        losses = np.log(np.exp(latent).sum(axis=1)) - own
        return table.counts[fold] @ losses + 0.5 * np.sum(table.penalty[fold] * weights**2)

    for fold, of_subsets in enumerate(table.weights(masks)):
        for mask, found in zip(masks, of_subsets, strict=True):
            assert (found[:, :-1][:, ~mask] == 0).all()
            for output in range(n_outputs):
                for place in [*np.flatnonzero(mask), 4]:
                    step = np.zeros_like(found)
                    step[output, place] = 1e-5
                    rise = loss(found + step, fold) - loss(found - step, fold)
                    assert abs(rise) / 2e-5 < 1e-4


@pytest.mark.parametrize("size", [1, 2])
def test_many_columns_take_the_path_without_products(size):
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(40, 60))
    y = (wide[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    folds = [(np.arange(30), np.arange(30, 40))]
    table = LinearFolds(linear_form(LOGISTIC), wide, y, folds)
    masks = np.eye(60, dtype=bool) | (np.arange(60) < size - 1)
    (decisions,) = table.decisions(masks)
    for place in (5, 17, 59):
        columns = np.flatnonzero(masks[place])
        model = clone(LOGISTIC).fit(wide[:30, columns], y[:30])
        wanted = model.decision_function(wide[30:, columns])
        np.testing.assert_allclose(decisions[place, 0], wanted, atol=1e-5)


def test_newton_comes_back_from_a_bad_start():
    y = (TWO == "yes").astype(int)
    table = LinearFolds(linear_form(LOGISTIC), X, y, FOLDS)
    places = np.array([[0, 1, 4], [2, 3, 4]])
    newton = _Newton(table, places, np.array([0, 1]))
    plain = newton.minimise(np.zeros((2, 1, 3)))
    far = newton.minimise(np.full((2, 1, 3), 25.0))
    np.testing.assert_allclose(plain, far, atol=1e-4)


def test_separable_classes_and_constant_or_repeated_columns():
    table = np.column_stack([X[:, 0], X[:, 0], np.full(60, 7.0)])
    y = (X[:, 0] > 0).astype(int)
    everything = np.ones((1, 3), dtype=bool)
    for learner, target, task in (
        (make_pipeline(StandardScaler(), LOGISTIC), y, "classification"),
        (LinearRegression(), X[:, 0] * 3 + 1, "regression"),
    ):
        errors = SubsetErrors(learner, table, target, FOLDS, task)
        assert errors.form is not None
        measure = errors.measure
        score = get_scorer(measure.name)
        wanted = measure.best - cross_val_score(learner, table, target, cv=FOLDS, scoring=score)
        np.testing.assert_allclose(errors.of_folds(everything)[0], wanted, atol=1e-6)
