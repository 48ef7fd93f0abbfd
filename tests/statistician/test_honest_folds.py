"""What outer folds say of models: the errors of refits without their rows, and chance on noise."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from parsimon.evaluation.recommending import temper, tempered_slope
from parsimon.statistician.comparison import as_fitted, compared
from parsimon.statistician.families._size import ModelSize, model_size
from parsimon.statistician.families.family import Question
from parsimon.statistician.families.feature_fronts import few_columns
from parsimon.statistician.families.kernel_search import KernelSearchFamily
from parsimon.statistician.families.registered import chosen_families
from parsimon.statistician.families.series_families import plain_methods
from parsimon.statistician.folds import (
    FoldAnswers,
    Told,
    plan_folds,
    run_folds,
    tempered_answers,
)
from parsimon.statistician.looking import look_at_folds
from parsimon.statistician.outer_folds import folds_of, honest_findings, outside_predictions
from parsimon.statistician.seen_tables import PreparedTable, UnchangedTable
from parsimon.statistician.selection import select_columns
from parsimon.statistician.table_model import as_table_model
from parsimon.statistician.wide import select_features


def seed(number=3):
    """Return the same seed again: one that was used spawns others."""
    return np.random.SeedSequence(number)


def asked(table, values, task="classification"):
    values = np.asarray(values, dtype=float)
    return Question(
        table=table,
        X=table,
        y=values,
        values=values,
        task=task,
        target="y",
        positive="yes",
        negative="no",
        rows=np.arange(1, len(values) + 1),
        seed=np.random.SeedSequence(0),
    )


def question(n=60, task="classification", noise=False):
    """Ask about a table with a number, a category and empty cells."""
    rng = np.random.default_rng(n)
    table = pd.DataFrame({"dose": rng.normal(size=n), "age": rng.normal(50, 10, n)})
    table["site"] = rng.choice(["north", "south"], n)
    latent = (0 if noise else 1) * table["dose"] + 0.5 * rng.normal(size=n)
    table.loc[::7, "age"] = np.nan
    return asked(table, latent if task == "regression" else latent > 0, task)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_errors_of_the_comparison_are_those_of_refits_to_training_rows(task):
    whole, families = question(task=task), chosen_families((), "linear,tree")
    parts = plan_folds(whole, 3, seed())
    answers, _ = run_folds(families, [whole], parts, seed())
    found = {one.name: one for one in compared(answers, families, whole).models}
    losses = {one.name: np.empty(60) for one in families}
    classes = ("no", "yes") if task == "classification" else ()
    for part, child in zip(parts, seed().spawn(3), strict=True):
        own = child.spawn(len(families))
        for family, one in zip(families, own, strict=True):
            fitted = family.fit(PreparedTable.of([whole.at(part.train)]), one)
            model = as_table_model(fitted, classes=classes)
            told, truth = model.predict(whole.table.iloc[part.test]), whole.values[part.test]
            if task == "classification":
                losses[family.name][part.test] = (told == "yes") != truth
            else:
                losses[family.name][part.test] = (told - truth) ** 2
    unit = 1.0 if task == "classification" else losses["guessing"].mean()
    for name, rows in losses.items():
        assert found[name].error.estimate == pytest.approx(rows.mean() / unit, rel=1e-6)


def test_the_comparison_stays_at_chance_on_random_labels():
    """These models have learnt their own rows by heart."""
    models = {"nearest": KNeighborsClassifier(1), "tree": DecisionTreeClassifier(random_state=0)}
    families, errors = chosen_families((), list(models.items())), []
    for n in (90, 91, 92):
        noise = question(n, noise=True)
        answers, _ = run_folds(families, [noise], plan_folds(noise, 2, seed()), seed())
        found = {one.name: one.error.estimate for one in compared(answers, families, noise).models}
        errors.append([found[name] for name in models])
    # Three standard errors of a share of 273 rows.
    np.testing.assert_allclose(np.mean(errors, axis=0), 0.5, atol=0.091)


def searched(whole, parts):
    """Return what a search over kernels says on folds, of structures seen there."""
    looked = look_at_folds([whole], parts, seed(), whole=False)
    answers, _ = run_folds([KernelSearchFamily(depth=1)], [whole], parts, seed(), looked=looked)
    return folds_of("kernel search", [whole], answers, looked)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_fold_of_a_search_says_what_a_search_of_its_training_rows_alone_says(task):
    whole = question(45, task)
    part = plan_folds(whole, 3, seed())[0]
    (fold,) = searched(whole, [part])
    own = seed().spawn(1)[0].spawn(1)[0]
    alone = KernelSearchFamily(depth=1).briefly().fit(PreparedTable.of([whole.at(part.train)]), own)
    assert fold.words == alone.answers[0].result.chosen.words
    assert fold.claims == alone.answers[0].question.structures.claims("y")
    assert fold.baseline == whole.y[part.train].mean()
    rows = alone.seen.numbers(whole.table.iloc[part.test])
    value = alone.predict(rows, whole.n_classes).value
    expected = value[:, 1] if task == "classification" else value
    np.testing.assert_allclose(fold.prediction, expected)
    outside = outside_predictions(45, [fold])
    np.testing.assert_array_equal(outside[part.test], fold.prediction)
    assert np.isnan(outside[part.train]).all()


def test_folds_of_a_search_stay_at_chance_on_random_labels():
    areas = []
    for n in (40, 42):
        noise = question(n, noise=True)
        parts = plan_folds(noise, 2, seed())
        folds = searched(noise, parts)
        found = honest_findings(noise.y, folds, "classification")
        areas.append(found.auc.estimate)
        assert found.auc.low < 0.5
        assert found.log_loss > 0.95 * found.baseline_log_loss
    assert np.mean(areas) < 0.65


def _bold(n, sure, right):
    """Return folds in which a model is surer than it should be, and the truth."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, n)
    called = np.where(rng.random(n) < right, truth, 1 - truth)
    shares = np.full((n, 2), 1 - sure)
    shares[np.arange(n), called] = sure
    halves = np.array_split(rng.permutation(n), 3)
    told = [{"bold": Told(shares[half], ModelSize((0,), 9.0, ""), 1, 0.0)} for half in halves]
    return [FoldAnswers(*pair) for pair in zip(halves, told, strict=True)], truth


def _tempered(answers, truth):
    table = pd.DataFrame({"x": np.arange(len(truth), dtype=float)})
    return tempered_answers(answers, asked(table, truth))


def test_a_fold_is_tempered_by_the_slope_that_the_other_folds_teach():
    answers, truth = _bold(90, 0.999, 0.8)
    for place, one in enumerate(_tempered(answers, truth)):
        others = [other for k, other in enumerate(answers) if k != place]
        told = np.concatenate([other.told["bold"].value for other in others])
        slope = tempered_slope(told, truth[np.concatenate([other.test for other in others])])
        expected = temper(answers[place].told["bold"].value, slope)
        np.testing.assert_array_equal(one.told["bold"].value, expected)
        whole = np.concatenate([other.told["bold"].value for other in answers])
        rows = np.concatenate([other.test for other in answers])
        assert one.told["bold"].slope == tempered_slope(whole, truth[rows])


def test_tempered_probabilities_of_random_labels_are_guesses():
    answers, truth = _bold(300, 0.99, 0.5)
    found = _tempered(answers, truth)
    rows = np.concatenate([one.test for one in found])
    shares = np.concatenate([one.told["bold"].value for one in found])
    assert log_loss(truth[rows], shares) == pytest.approx(np.log(2), abs=0.01)


def test_guesses_and_those_who_miss_a_fold_or_only_call_classes_are_not_tempered():
    answers, truth = _bold(90, 0.999, 0.8)
    said = answers[0].told["bold"]
    for change in (
        {
            one: {"guessing": one_said}
            for one, one_said in enumerate([a.told["bold"] for a in answers])
        },
        {1: {}},
        {2: {"bold": answers[2].told["bold"]._replace(sure=True)}},
    ):
        given = [replace(one, told=change.get(k, one.told)) for k, one in enumerate(answers)]
        for one, other in zip(_tempered(given, truth), given, strict=True):
            assert one.told == other.told
    assert _tempered(answers[:1], truth)[0].told["bold"] is said


def _columns(n, noise):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    latent = (0 if noise else 2) * frame["a"] + rng.normal(size=n)
    return frame.assign(ill=np.where(latent > 0, "yes", "no"))


def test_the_error_of_few_columns_is_that_of_searches_of_training_rows():
    frame = _columns(60, noise=False)
    found = select_columns(frame, "ill", outer=2, n_jobs=1).findings.comparison
    whole = asked(frame[["a", "b", "c"]], frame["ill"] == "yes")
    folding, comparing, _ = np.random.SeedSequence(0).spawn(3)
    wrong = np.empty(60)
    parts = plan_folds(whole, 2, folding)
    for part, child in zip(parts, comparing.spawn(2), strict=True):
        # Guessing, a linear model and boosting are asked before it.
        own = child.spawn(4)[3]
        search = few_columns().learn(
            whole.table.iloc[part.train], whole.values[part.train], whole.task, own
        )
        wrong[part.test] = search.predict(whole.table.iloc[part.test]) != whole.values[part.test]
    own = next(one for one in found.models if one.family == "features")
    assert own.error.estimate == pytest.approx(wrong.mean())


def test_few_columns_of_noise_are_measured_at_chance():
    found = select_columns(_columns(120, noise=True), "ill", outer=2, n_jobs=1).findings
    own = next(one for one in found.comparison.models if one.family == "features")
    # Three standard errors of a share of 120 rows.
    assert own.error.estimate == pytest.approx(0.5, abs=0.137)
    assert own.error.low < 0.5


def test_errors_of_series_are_those_of_refits_to_training_series():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 8)), np.arange(30) % 2
    X[codes == 1, 2:5] += 1.0
    whole = asked(pd.DataFrame({"series": list(X[:, None])}), codes)
    parts = plan_folds(whole, 3, seed())
    families = plain_methods(fast=True)
    answers, _ = run_folds(families, [whole], parts, seed(), prepare=UnchangedTable.of)
    for one, part in zip(answers, parts, strict=True):
        for name, model in (
            ("guessing", DummyClassifier(strategy="prior")),
            ("nearest series", KNeighborsClassifier(1)),
        ):
            model.fit(X[part.train], codes[part.train])
            told = next(value for key, value in one.told.items() if name in key.lower()).value
            np.testing.assert_array_equal(told.argmax(1), model.predict(X[part.test]))


def test_series_without_signal_are_measured_at_chance():
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(90, 8)), np.arange(90) % 2
    whole = asked(pd.DataFrame({"series": list(X[:, None])}), codes)
    families = plain_methods(fast=True)
    parts = plan_folds(whole, 2, seed())
    answers, _ = run_folds(families, [whole], parts, seed(), prepare=UnchangedTable.of)
    for model in compared(answers, families, whole, by_errors=True).models:
        # Three standard errors of a share of 90 rows.
        assert model.error.estimate == pytest.approx(0.5, abs=0.16)


def test_an_area_of_folds_is_that_of_predictions_outside():
    noise = question(40)
    parts = plan_folds(noise, 2, seed())
    folds = searched(noise, parts)
    found = honest_findings(noise.y, folds, "classification")
    outside = outside_predictions(40, folds)
    assert found.auc.estimate == pytest.approx(roc_auc_score(noise.y, outside))
    assert found.log_loss == pytest.approx(log_loss(noise.y, outside))
    assert found.brier == pytest.approx(np.mean((noise.y - outside) ** 2))


def test_the_baseline_of_a_model_told_of_folds_is_the_mean_of_their_training_rows():
    whole = question(12)
    test = np.flatnonzero(whole.y == 1)[:3]
    answers = [FoldAnswers(test, {"a": Told(np.full((3, 2), 0.5), ModelSize((), 1.0, ""), 0, 0.0)})]
    (found,) = folds_of("a", [whole], answers)
    rest = np.setdiff1d(np.arange(12), test)
    np.testing.assert_array_equal(found.train, rest)
    assert found.baseline == pytest.approx(whole.y[rest].mean())
    assert found.baseline != pytest.approx(whole.y.mean())


def test_what_only_calls_classes_is_believed_as_often_as_it_was_right():
    rng = np.random.default_rng(0)
    truth, called = np.arange(30) % 3, rng.integers(0, 3, 30)
    told = np.eye(3)[called]
    halves = [np.arange(15), np.arange(15, 30)]
    answers = [
        FoldAnswers(
            half,
            {
                "guessing": Told(np.full((15, 3), 1 / 3), ModelSize((), 1.0, ""), 0, 0.0),
                "linear model": Told(told[half], ModelSize((0,), 9.0, ""), 1, 0.0, sure=True),
            },
        )
        for half in halves
    ]
    families = chosen_families((), "linear")
    found = compared(answers, families, asked(pd.DataFrame({"x": truth * 1.0}), truth))
    (own,) = [one for one in found.models if one.name == "linear model"]
    wrong = called != truth
    rate = (wrong.sum() + 1) / 32
    # Of a row that is called wrong each of the other two classes is as likely.
    losses = -np.log(np.where(wrong, rate / 2, 1 - rate))
    assert own.difference.estimate + np.log(3) == pytest.approx(losses.mean())
    assert np.isnan(own.log_loss)
    # Fitted to all rows it is made of three columns; guessing is told as the folds have it.
    X = pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd"))
    fitted = SimpleNamespace(
        columns=("a", "b", "d"),
        variables=[SimpleNamespace(column=name) for name in "abcd"],
        models=[LinearRegression().fit(X, truth)],
        numbers=lambda table: table,
    )
    guess, whole = (
        next(
            one for one in as_fitted(found, {"linear model": fitted}, X).models if one.name == name
        )
        for name in ("guessing", "linear model")
    )
    assert (guess.variables, guess.size_words) == (0, "0 variables, ")
    assert whole.variables == 3
    size = model_size(fitted.models[0], n_rows=30, n_columns=4, used=[0, 1, 3], X=X)
    assert whole.size_words == f"3 variables, {size.words}"
    assert whole.size == own.size


def test_the_area_of_a_wide_table_is_that_of_the_other_halves():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(24, 60)), columns=[f"g{k}" for k in range(60)])
    frame["ill"] = np.tile(["no", "yes"], 12)
    found = select_features(frame, "ill", n_splits=8, n_jobs=1)
    assert found.findings.area == pytest.approx(found.selector.test_auc_.mean())
    # It has learnt the labels of its own half.
    assert found.selector.train_auc_.mean() > 0.8
    assert found.findings.area == pytest.approx(0.5, abs=3 * found.findings.null_sd / 4)
