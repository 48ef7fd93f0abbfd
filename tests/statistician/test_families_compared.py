"""All models on the same folds: who joins, what is measured, which one is recommended."""

import pickle
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from parsimon.exceptions import InvalidInputError
from parsimon.report.sections import write
from parsimon.report.sections._models import recommended_line
from parsimon.statistician import analyse, compare_models, fit_model, load_model, save_model
from parsimon.statistician.comparison import compared
from parsimon.statistician.families import ModelSize, Question
from parsimon.statistician.families.feature_fronts import formulas
from parsimon.statistician.families.plain import GUESSING, RIVALS, LogShareOfTruth
from parsimon.statistician.families.registered import FAMILIES, as_families, chosen_families
from parsimon.statistician.folds import (
    FoldAnswers,
    Told,
    plan_folds,
    run_folds,
    tempered_answers,
)

CHEAP = {"families": "none", "n_jobs": 1, "outer": 3}


def rows(n=90, kind="two", seed=0):
    rng = np.random.default_rng(seed)
    dose = rng.uniform(0, 10, n)
    latent = dose + rng.normal(size=n)
    table = pd.DataFrame(
        {
            "dose": dose,
            "noise": rng.normal(size=n),
            "site": rng.choice(["north", "south", "east"], n),
        }
    )
    if kind == "number":
        return table.assign(y=latent)
    cuts = [5] if kind == "two" else [3, 7]
    return table.assign(y=np.array(["low", "middle", "high"])[np.digitize(latent, cuts)])


def question(kind="two", n=90):
    table = rows(n, kind)
    X = table.drop(columns="y")
    is_number = kind == "number"
    values = table["y"].to_numpy() if is_number else pd.factorize(table["y"], sort=True)[0]
    values = values.astype(float)
    return Question(
        table=X,
        X=X,
        y=values if is_number else (values == 1).astype(float),
        values=values,
        task="regression" if is_number else "classification",
        target="y",
        rows=np.arange(1, n + 1),
        seed=np.random.SeedSequence(0),
    )


@pytest.mark.parametrize("kind", ["two", "three", "number"])
def test_rivals_are_measured_on_all_rows_of_the_same_folds(kind):
    found = compare_models(rows(kind=kind), "y", **CHEAP)
    names = {model.name for model in found.models}
    assert names == {
        "guessing",
        "linear model",
        "decision tree",
        "random forest",
        "gradient boosting",
    }
    assert sum(model.recommended for model in found.models) == 1
    assert sum(model.is_best for model in found.models) == 1
    assert found.metric == ("variance left" if kind == "number" else "log loss")
    guess = next(model for model in found.models if model.family == "guessing")
    assert not guess.recommended
    assert found.best.error.estimate < 0.5 * guess.error.estimate
    for model in found.models:
        assert model.error.low <= model.error.estimate <= model.error.high
        assert model.difference.estimate >= 0
        assert model.is_level or model.difference.low > 0
        assert np.isnan(model.log_loss) == (kind == "number")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_models_are_chosen_by_scikit_learns_log_loss(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % n_classes
    X[:, 0] += 9.0 * y
    model = LogisticRegression(C=1e6, max_iter=1000).fit(X, y)
    for rows_of in (slice(None), slice(7)):
        ours = LogShareOfTruth()(model, X[rows_of], y[rows_of])
        assert ours == get_scorer("neg_log_loss")(model, X[rows_of], y[rows_of])


def test_the_recommended_model_is_the_smallest_near_the_best():
    found = compare_models(rows(), "y", **CHEAP)
    chosen = found.recommended
    level = [model for model in found.models if model.is_level]
    assert chosen in level
    assert chosen.size <= found.best.size


def told(wrong, bits, n_classes=2, truth=None):
    """Return an answer that is wrong in some rows, and sure of itself."""
    truth = np.zeros(len(wrong), dtype=int) if truth is None else truth
    shares = np.full((len(wrong), n_classes), 0.1)
    called = np.where(wrong, 1 - truth, truth)
    shares[np.arange(len(wrong)), called] = 0.9
    return Told(shares, ModelSize((0,), bits, "1 number"), 1, 0.0)


def told_shares(own, bits, truth):
    """Return an answer that gives each row's own class these probabilities."""
    shares = np.where(np.arange(2) == truth[:, None], own[:, None], 1 - own[:, None])
    return Told(shares, ModelSize((0,), bits, "1 number"), 1, 0.0)


def compared_shares(own, bits):
    """Compare models by the probabilities of each row's own class, guessing beside them."""
    n = len(next(iter(own.values())))
    asked = replace(question(n=n), values=np.tile([0.0, 1.0], n // 2))
    truth, half = asked.values.astype(int), np.arange(n) % 2
    families = (GUESSING, *chosen_families((), "linear,tree,forest")[1:])
    answers = [
        FoldAnswers(
            rows_of,
            {"guessing": Told(np.full((n // 2, 2), 0.5), ModelSize((), 1.0, ""), 0, 0.0)}
            | {
                name: told_shares(one[rows_of], bits[name], truth[rows_of])
                for name, one in own.items()
            },
        )
        for rows_of in (np.flatnonzero(half == 0), np.flatnonzero(half == 1))
    ]
    return compared(answers, families, asked)


def test_a_smaller_model_keeps_most_of_a_sure_gain_over_guessing():
    right = np.arange(4000) % 10 < 6
    own = {
        "linear model": np.where(right, 0.6, 0.4),
        "decision tree": np.where(right, 0.52, 0.48),
    }
    # The tree loses 2 % more than the linear model, and nearly two thirds of its gain.
    found = compared_shares(own, {"linear model": 50.0, "decision tree": 10.0})
    assert found.recommended.name == "linear model"
    own["decision tree"] = np.where(right, 0.56, 0.44)
    found = compared_shares(own, {"linear model": 50.0, "decision tree": 10.0})
    assert found.recommended.name == "decision tree"


def test_the_linear_model_does_not_stand_in_for_what_is_smaller_and_better():
    rng = np.random.default_rng(0)
    worse, better = sorted(rng.uniform(0.3, 0.99, (2, 40)), key=lambda one: np.log(one).sum())
    own = {"linear model": worse, "decision tree": better}
    bits = {"linear model": 37.0, "decision tree": 25.0}
    assert compared_shares(own, bits).recommended.name == "decision tree"
    # As large a gap is no reason for a larger model.
    bits["decision tree"] = 50.0
    assert compared_shares(own, bits).recommended.name == "linear model"


@pytest.mark.parametrize("seed", range(3))
def test_what_is_recommended_is_probably_not_much_worse_than_the_best(seed):
    rng = np.random.default_rng(seed)
    bits = {"linear model": 40.0, "decision tree": 10.0, "random forest": 900.0}
    for _ in range(12):
        own = {name: np.full(120, 0.97) for name in bits}
        for one in own.values():
            one[rng.choice(120, rng.integers(0, 4), replace=False)] = rng.uniform(0.2, 0.9)
        assert compared_shares(own, bits).recommended.worse < 0.5


def test_a_small_model_that_is_clearly_worse_is_not_recommended():
    n = 200
    asked = replace(question(n=n), values=np.tile([0.0, 1.0], n // 2))
    truth = asked.values.astype(int)
    families = (GUESSING, *chosen_families((), "linear,tree")[1:])
    good, bad = np.arange(n) % 20 == 0, np.arange(n) % 4 == 0
    guess = np.full((n, 2), 0.5)
    halves = [np.arange(n // 2), np.arange(n // 2, n)]
    answers = [
        FoldAnswers(
            half,
            {
                "guessing": Told(guess[half], ModelSize((), 1.0, ""), 0, 0.0),
                "linear model": told(good[half], 100.0, truth=truth[half]),
                "decision tree": told(bad[half], 10.0, truth=truth[half]),
            },
        )
        for half in halves
    ]
    found = compared(answers, families, asked)
    assert found.recommended.name == "linear model"
    assert not next(model for model in found.models if model.name == "decision tree").is_level
    worse = next(model for model in found.models if model.name == "decision tree")
    assert worse.error.estimate == pytest.approx(0.25)
    assert worse.difference.estimate == pytest.approx(0.2 * np.log(9))
    # As many errors and fewer bits: now the small one is to be used.
    same = [
        replace(one, told={**one.told, "decision tree": told(good[half], 10.0, truth=truth[half])})
        for one, half in zip(answers, halves, strict=True)
    ]
    assert compared(same, families, asked).recommended.name == "decision tree"


def test_a_small_model_that_is_surer_than_its_errors_allow_is_not_recommended():
    n, families = 142, (GUESSING, *chosen_families((), "linear,tree")[1:])
    asked = replace(question(n=n), values=np.arange(n) % 2.0)
    truth = asked.values.astype(int)
    wrong = np.arange(n) % 16 == 0
    bold, fair = (np.full((n, 2), 1 - share) for share in (0.9999, 0.93))
    for shares, share in ((bold, 0.9999), (fair, 0.93)):
        shares[np.arange(n), np.where(wrong, 1 - truth, truth)] = share
    halves = [np.arange(n // 2), np.arange(n // 2, n)]
    answers = [
        FoldAnswers(
            half,
            {
                "guessing": Told(np.full((len(half), 2), 0.5), ModelSize((), 1.0, ""), 0, 0.0),
                "linear model": Told(bold[half], ModelSize((0,), 10.0, ""), 1, 0.0),
                "decision tree": Told(fair[half], ModelSize((0,), 50.0, ""), 1, 0.0),
            },
        )
        for half in halves
    ]
    assert compared(answers, families, asked).recommended.name == "decision tree"
    # Tempered it is as good, and smaller; what is no surer than it should be stays as it is.
    found = compared(tempered_answers(answers, asked), families, asked)
    assert found.recommended.name == "linear model"
    slopes = {one.name: one.slope for one in found.models}
    assert slopes["linear model"] == pytest.approx(np.log(15) / np.log(9999), abs=0.02)
    assert slopes["decision tree"] == 1.0
    assert found.recommended.error.estimate == np.mean(wrong)
    # The rows of a fold have no part in how they are tempered.
    told = tempered_answers(answers, asked)[0].told["linear model"].value
    turned = np.where(np.arange(n) < n // 4, 1 - truth, truth)
    again = tempered_answers(answers, replace(asked, values=turned))[0].told["linear model"].value
    np.testing.assert_array_equal(told, again)


def test_guessing_is_not_recommended_where_a_claim_is_certain():
    asked = replace(question(n=40), values=np.arange(40) % 2.0)
    shares = np.full((40, 2), 0.5)
    worse = shares + 0.05 * np.array([1.0, -1.0]) * np.where(np.arange(40) % 8 < 4, 1, -1)[:, None]
    answers = [
        FoldAnswers(
            half,
            {
                "guessing": Told(shares[half], ModelSize((), 1.0, ""), 0, 0.0),
                "linear model": Told(worse[half], ModelSize((0,), 10.0, ""), 1, 0.0),
            },
        )
        for half in (np.arange(20), np.arange(20, 40))
    ]
    families = (GUESSING, *chosen_families((), "linear")[1:])
    assert compared(answers, families, asked).recommended.name == "guessing"
    sure = compared(answers, families, asked, certain=True)
    assert sure.recommended.name == "linear model"
    assert "yet some column goes with the target more than chance" in recommended_line(sure, 1.0)


def test_guessing_is_recommended_where_nothing_is_to_be_learnt():
    table = rows()
    table["y"] = np.random.default_rng(1).permutation(table["y"])
    found = compare_models(table.drop(columns="dose"), "y", rivals="linear", **CHEAP)
    assert found.recommended.name == "guessing"


def test_a_common_class_is_judged_by_log_loss():
    table = rows(200)
    rare = (table["dose"] > 9).to_numpy()
    found = compare_models(table.assign(y=np.where(rare, "ill", "well")), "y", **CHEAP)
    assert found.metric == "log loss"
    assert found.recommended.name != "guessing"


def test_models_learn_nothing_from_the_rows_outside():
    """Half of the test rows give the target away in other cells; the other half must not care."""
    asked = question(n=30)
    part = plan_folds(asked, 3, np.random.SeedSequence(1))[0]
    other, alone = part.test[::2], np.arange(1, len(part.test), 2)
    table = asked.table.copy()
    table.loc[other, "noise"] = 1000.0 * asked.values[other]
    table.loc[other, "site"] = [f"new {value}" for value in asked.values[other]]
    values = asked.values.copy()
    values[other] = 1 - values[other]
    changed = replace(asked, table=table, X=table, values=values)
    quick = formulas(start="columns", max_iter=1, population_size=6)
    families = [
        quick if family.key == quick.key else family for family in chosen_families(FAMILIES, "all")
    ]

    def answers(one):
        (fold,), _ = run_folds(families, [one], [part], np.random.SeedSequence(2))
        assert not fold.failures
        return fold.told

    before, after = answers(asked), answers(changed)
    assert len(before) == 11
    for name in before:
        np.testing.assert_array_equal(before[name].value[alone], after[name].value[alone])
        assert before[name].size == after[name].size


@pytest.mark.parametrize("kind", ["two", "number"])
def test_the_number_of_processes_changes_nothing(kind):
    asked = question(kind, n=30)
    parts = plan_folds(asked, 2, np.random.SeedSequence(1))
    families = chosen_families(("bpm",), "all")
    one, two = (
        run_folds(families, [asked], parts, np.random.SeedSequence(2), n_jobs=n).answers
        for n in (1, 2)
    )
    for first, second in zip(one, two, strict=True):
        for name in first.told:
            np.testing.assert_array_equal(first.told[name].value, second.told[name].value)


class Wrecked(ClassifierMixin, BaseEstimator):
    """An estimator that cannot be fitted."""

    def fit(self, X, y):
        raise RuntimeError("no such luck\nand more")


def test_own_estimators_join_and_broken_ones_are_named():
    found = compare_models(
        rows(),
        "y",
        rivals=["linear", KNeighborsClassifier(), ("my margin", LinearSVC()), Wrecked()],
        **CHEAP,
    )
    own = {model.name: model for model in found.models if model.family == "own"}
    assert set(own) == {"KNeighborsClassifier", "my margin"}
    assert own["KNeighborsClassifier"].size_words.endswith("when stored")
    assert np.isnan(own["my margin"].log_loss)
    assert own["my margin"].is_rival
    assert found.left_out == (("Wrecked", "no such luck"),)


def test_what_cannot_join_is_refused_in_a_sentence():
    with pytest.raises(InvalidInputError, match="number 1 is int"):
        compare_models(rows(), "y", rivals=[3], **CHEAP)
    with pytest.raises(InvalidInputError, match="rivals must be among linear"):
        compare_models(rows(), "y", rivals="oracle", **CHEAP)
    with pytest.raises(InvalidInputError, match="families must be among gp"):
        as_families("gp,oracle")
    with pytest.raises(InvalidInputError, match="Two models are called 'LogisticRegression'"):
        compare_models(rows(), "y", rivals=[LogisticRegression(), LogisticRegression()], **CHEAP)
    with pytest.raises(InvalidInputError, match="There is no family 'oracle'"):
        fit_model(rows(), "y", "oracle")


@pytest.fixture(scope="module")
def analysis():
    return analyse(
        rows(40), "y", depth=1, outer=2, n_jobs=1, families="bpm", rivals=["linear", "tree"]
    )


def test_an_analysis_gives_every_model_that_was_compared(analysis):
    found = analysis.comparison
    assert [model.name for model in found.models if model.family in ("gp", "bpm")]
    table = rows(seed=5)
    for model in found.models:
        shares = analysis.fitted(model.name).predict_proba(table)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    front = analysis.front_of_models
    assert set(front.names) == {"error", "bits"}
    assert front.solution(0).predict(table.head(1))[0] in {"low", "middle"}
    assert pickle.loads(pickle.dumps(analysis)).comparison == found
    with pytest.raises(InvalidInputError, match="No model is called 'oracle'"):
        analysis.fitted("oracle")


def test_the_recommended_model_is_saved(analysis, tmp_path):
    place = analysis.save(tmp_path / "model.skops")
    table = rows(seed=5)
    again = load_model(place)
    np.testing.assert_array_equal(
        again.predict_proba(table), analysis.model("recommended").predict_proba(table)
    )


def test_the_page_says_which_model_to_use(analysis):
    section = next(one for one in write(analysis.findings).sections if one.anchor == "models")
    said = "".join(
        part if isinstance(part, str) else getattr(part, "text", "")
        for part in section.blocks[0].parts
    )
    assert f"the {analysis.comparison.recommended.name}" in said
    assert analysis.findings.picture("models") is not None


def test_a_report_without_a_search_over_kernels_has_no_section_of_it():
    found = analyse(rows(), "y", outer=2, n_jobs=1, families="none", rivals=["linear", "tree"])
    names = [model.name for model in found.comparison.models]
    assert sorted(names) == ["decision tree", "guessing", "linear model"]
    assert found.findings.studies[0].search is None
    assert {one.variables for one in found.claims if one.certain} >= {("dose",)}
    assert "Gaussian" not in str(write(found.findings))
    with pytest.raises(InvalidInputError, match="No kernels were searched"):
        found.front  # noqa: B018
    alone = analyse(rows(), "y", outer=0, n_jobs=1, families="none", rivals="tree")
    assert alone.comparison is None
    assert type(alone.model().models[0]).__name__ == "DecisionTreeClassifier"


@pytest.mark.parametrize(
    ("table", "families", "rivals"),
    [
        (rows(12), "rvm,bpm", "all"),
        (rows(24, "three"), "bpm", "linear,tree"),
        (rows(14, "number"), "rvm,bpm", "linear,tree"),
        (rows(20).assign(dose=1.0, site="north"), "rvm,bpm", "all"),
        (rows(40).assign(dose=lambda t: t["dose"].where(t.index % 3 > 0)), "bpm", "linear,tree"),
    ],
    ids=["twelve", "three classes", "numbers", "constant", "missing"],
)
def test_small_and_odd_tables_are_compared(table, families, rivals):
    found = compare_models(table, "y", families=families, rivals=rivals, outer=2, n_jobs=1)
    assert found.recommended.size < np.inf
    assert {"guessing", "linear model"} <= {model.name for model in found.models}


def test_five_rows_are_too_few():
    with pytest.raises(InvalidInputError, match="5 rows are too few to compare models"):
        compare_models(rows(5), "y", families="none", n_jobs=1)


@pytest.mark.parametrize("family", [*(one.key for one in RIVALS), "rvm"])
def test_any_family_is_fitted_to_a_table(family):
    table = rows(60, "number")
    found = fit_model(table, "y", family, outer=2, n_jobs=1)
    assert found.compared.error.estimate < 0.8
    values = found.model.predict(table)
    assert values.shape == (60,)
    assert np.ptp(found.model.predict_deviation(table)) == 0
    assert 0 < found.model.predict_deviation(table)[0] < table["y"].std()


def test_margins_of_several_classes_are_one_for_each_against_the_rest(tmp_path):
    table = rows(60, "three")
    found = fit_model(table, "y", "svm", outer=2, n_jobs=1)
    assert found.compared.name == "support vector machine"
    assert found.compared.size_words.endswith("rows of the table")
    assert "3 functions" in found.compared.size_words
    save_model(found.model, tmp_path / "svm.skops")
    again = load_model(tmp_path / "svm.skops")
    shares = found.model.predict_proba(table)
    assert (again.predict_proba(table) == shares).all()
    assert (found.model.predict(table) == table["y"]).mean() > 0.8
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", ["two", "number"])
def test_a_fast_report_recommends_a_plain_model(kind):
    found = analyse(rows(40, kind), "y", fast=True, depth=1, n_jobs=1)
    names = {model.name for model in found.comparison.models}
    assert names == {"guessing", "linear model", "decision tree", "random forest"} | {
        "gradient boosting"
    }
    assert found.comparison.left_out[0][0] == "kernel search"
    assert found.recommended is not None
    alone = {"fast": True, "depth": 1, "n_jobs": 1, "outer": 0}
    assert analyse(rows(30, kind), "y", **alone).comparison is None


@pytest.mark.parametrize(("n_rare", "n_folds"), [(1, 0), (3, 0), (4, 2), (9, 2)])
def test_folds_leave_two_rows_of_each_class_to_learn_from(n_rare, n_folds):
    asked = question(n=40)
    asked = replace(asked, values=(np.arange(40) < n_rare).astype(float))
    parts = plan_folds(asked, 2, np.random.SeedSequence(0))
    assert len(parts) == n_folds
    assert all(asked.values[part.train].sum() >= 2 for part in parts)


def test_those_that_take_too_long_are_not_asked_again():
    asked = question()
    folding, comparing = np.random.SeedSequence(0).spawn(2)
    parts = plan_folds(asked, 3, folding)
    # Guessing and one model are asked whatever it takes.
    quick = chosen_families((), "linear")[1]
    slow = replace(quick, name="slow", make=_Slow)
    after = replace(slow, name="after it")
    families = (GUESSING, quick, slow, after)
    answers, _ = run_folds(families, [asked], parts, comparing, time_limit=1.2)
    assert all("guessing" in one.told for one in answers)
    reasons = [one.failures.get("after it", "") for one in answers]
    assert reasons == ["there was no time left"] * 3
    spent = sum("slow" in one.told for one in answers)
    assert spent < 3


@pytest.mark.parametrize(("limit", "is_asked"), [(400.0, True), (120.0, False), (60.0, False)])
def test_what_many_rows_would_cost_is_judged_by_few(limit, is_asked, monkeypatch):
    """A fit takes a second and a tenth of one for each row, so 180 rows of 200 take 19."""
    clock, sizes = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(
        "parsimon.statistician.folds.time",
        SimpleNamespace(monotonic=lambda: clock.now, process_time=lambda: clock.now),
    )
    monkeypatch.setattr("parsimon.statistician.folds._MANY_ROWS", 100)

    class Slow(DummyClassifier):
        def fit(self, X, y):
            sizes.append(len(y))
            clock.now += 1.0 + 0.1 * len(y)
            return super().fit(X, y)

    asked = question(n=200)
    folding, comparing = np.random.SeedSequence(0).spawn(2)
    parts = plan_folds(asked, 10, folding)
    quick = chosen_families((), "linear")[1]
    families = (GUESSING, quick, replace(quick, name="slow", make=lambda _: Slow()))
    answers, _ = run_folds(families, [asked], parts, comparing, time_limit=limit)
    assert all(("slow" in one.told) == is_asked for one in answers)
    # Later folds know the costs of the first.
    few = [size for size in sizes if size < 100]
    assert len(few) == 2 or (not is_asked and len(few) <= 2)
    assert (max(sizes) == 180) == is_asked
    assert clock.now <= limit


def test_who_does_not_answer_such_a_question_says_so_though_there_is_no_time():
    asked = question()
    folding, comparing = np.random.SeedSequence(0).spawn(2)
    linear = chosen_families((), "linear")[1]
    unfit = replace(linear, name="unfit", refuses=lambda _: "it answers other questions only")
    parts = plan_folds(asked, 3, folding)
    answers, _ = run_folds((GUESSING, linear, unfit), [asked], parts, comparing, time_limit=1e-6)
    assert {one.failures["unfit"] for one in answers} == {"it answers other questions only"}


class _Slow(ClassifierMixin, BaseEstimator):
    def __init__(self, setting=None):
        self.setting = setting

    def fit(self, X, y):
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])
