"""The model to use: its errors, checks and rows, whichever model it is."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from parsimon.report.markdown import to_markdown
from parsimon.report.sections import write
from parsimon.statistician import analyse
from parsimon.statistician.measure import roc_of


def rows(kind="two", n=60):
    rng = np.random.default_rng(2)
    dose = rng.uniform(0, 10, n)
    other = rng.uniform(0, 10, n)
    latent = (dose + other) / 2 + 0.7 * rng.normal(size=n)
    table = pd.DataFrame(
        {
            "dose": dose,
            "other": other,
            "site": rng.choice(["north", "south", "east"], n),
        }
    )
    if kind == "number":
        return table.assign(y=10 * latent)
    cuts = [5] if kind == "two" else [3, 7]
    return table.assign(y=np.array(["low", "middle", "high"])[np.digitize(latent, cuts)])


def found(kind, **options):
    options = {"families": "none", "rivals": ["tree", "linear"], **options}
    return analyse(rows(kind), "y", outer=2, n_jobs=1, **options)


@pytest.fixture(scope="module")
def two():
    return found("two")


@pytest.fixture(scope="module")
def number():
    return found("number")


@pytest.fixture(scope="module")
def three():
    return found("three")


def test_the_errors_are_those_of_the_comparison(two):
    chosen = two.comparison.recommended
    told = two.findings.recommended
    assert chosen.name == told.name == "linear model"
    assert told.columns == two.recommended.columns
    (study,) = two.findings.studies
    assert study.honest.error == chosen.error
    assert study.honest.log_loss == pytest.approx(chosen.log_loss)
    assert study.checks.roc.auc.estimate == pytest.approx(study.honest.auc.estimate)
    assert study.checks.source == "outer folds"


def test_rows_add_up_to_what_the_saved_model_predicts(two):
    table = rows("two")
    shares = two.recommended.predict_proba(table)[:, 1]
    explained = two.findings.studies[0].explained
    assert {one.role for one in explained} <= {"typical", "borderline", "surprising"}
    assert explained
    for one in explained:
        score = one.level + sum(part.contribution for part in one.parts)
        assert one.probability == pytest.approx(shares[one.row - 1])
        assert expit(score) == pytest.approx(one.probability)
        cells = dict(cell for part in one.parts for cell in part.values)
        assert cells["site"] == table["site"].iloc[one.row - 1]
        assert two.findings.picture(one.picture) is not None


def test_the_page_speaks_of_one_model(two):
    page = to_markdown(write(two.findings)).replace("\u202f", " ")
    error = f"{100 * two.comparison.recommended.error.estimate:.1f} %"
    assert f"the linear model, the model to use, is wrong in {error} of cases" in page
    assert f"**{error}** honest error" in page
    own = "errors, rows and thresholds on this page are its own"
    assert f"It is saved beside this report; {own}." in page
    assert "kernel search" not in page
    honest = two.findings.studies[0].honest
    missed = round((1 - honest.at_half.recall.estimate) * two.findings.studies[0].n_positive)
    alarms = honest.at_half.n_called - (two.findings.studies[0].n_positive - missed)
    assert f"| {missed} | {alarms} |" in page


def test_the_table_of_models_has_the_columns_of_the_fit_to_all_rows(two):
    models = {one.name: one for one in two.comparison.models}
    linear, tree = models["linear model"], models["decision tree"]
    assert linear.variables == len(two.findings.recommended.columns) == 3
    assert linear.size_words.startswith("3 variables, ")
    assert 1 <= tree.variables <= 3


@pytest.mark.parametrize("kind", ["two", "three", "number"])
def test_where_guessing_is_recommended_the_figures_are_its_own(kind):
    table = rows(kind, 90)
    table["y"] = np.random.default_rng(5).permutation(table["y"])
    noise = analyse(table, "y", outer=2, depth=1, families="none", rivals="linear", n_jobs=1)
    guess = noise.comparison.recommended
    assert guess.name == "guessing"
    assert noise.recommended.columns == ()
    told = noise.findings.recommended
    assert told.columns == ()
    for honest in (study.honest for study in noise.findings.studies):
        assert honest.error.estimate == pytest.approx(honest.baseline_error.estimate)
    if kind == "three":
        assert noise.findings.joint.error.estimate == pytest.approx(guess.error.estimate)
    page = to_markdown(write(noise.findings)).replace("\u202f", " ")
    assert "The model to use is guessing: on rows never seen," in page
    assert "no column is used" in page
    assert "Fitted again" not in page
    if kind != "number":
        assert f"**{100 * guess.error.estimate:.1f} %** honest error" in page


def test_a_number_is_explained_in_its_unit(number):
    (told,) = number.findings.studies
    assert told.honest.error.estimate == pytest.approx(number.comparison.recommended.error.estimate)
    assert 0.8 < told.checks.coverage <= 1
    predicted = number.recommended.predict(rows("number"))
    for one in told.explained:
        total = one.level + sum(part.contribution for part in one.parts)
        assert total == pytest.approx(one.probability)
        assert total == pytest.approx(predicted[one.row - 1])
    page = to_markdown(write(number.findings))
    assert "in the unit of y." in page
    assert "Typical miss" in page
    assert "variance left" not in page.lower()


def test_several_classes_have_one_joint_answer(three):
    told, chosen = three.findings, three.comparison.recommended
    assert told.joint.error.estimate == pytest.approx(chosen.error.estimate)
    assert all(study.honest is not None for study in told.studies)
    assert not any(study.explained or study.checks.surprising for study in told.studies)
    wrong = sum(map(sum, told.joint.confusion)) - sum(told.joint.confusion[k][k] for k in range(3))
    assert wrong == round(told.joint.error.estimate * 60)


def test_rows_of_several_classes_are_taken_apart_by_what_speaks_for_the_class_they_are_called(
    three,
):
    table, told = rows("three"), three.findings.joint.explained
    assert {one.role for one in told} <= {"typical", "borderline", "surprising"}
    assert told
    model = three.recommended
    for one in told:
        row = table.iloc[[one.row - 1]]
        assert one.called == str(model.predict(row)[0])
        assert one.label == str(row["y"].iloc[0])
        assert one.probability == pytest.approx(model.predict_proba(row).max())
        total = one.level + sum(part.contribution for part in one.parts)
        assert total == pytest.approx(model.contributions(row).score[0])
    page = to_markdown(write(three.findings))
    assert "Bars to the right speak for the class that a row is called" in page
    assert f"called “{told[0].called}”, with" in page


def test_the_search_over_kernels_is_described_whichever_model_is_used():
    found = analyse(rows("two"), "y", outer=2, depth=1, families="gp", rivals=["linear"], n_jobs=1)
    (study,) = found.findings.studies
    assert study.search.n_candidates > 1
    assert study.model.words == found.search.answers[0].result.chosen.words
    page = to_markdown(write(found.findings))
    assert "The kernel search fits a Gaussian process" in page
    # What the folds say is of the model to use.
    assert study.honest.error == found.comparison.recommended.error


def test_thresholds_of_a_curve_are_exact():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.1
    probability = np.clip(0.1 + 0.3 * y + 0.2 * rng.normal(size=3000), 0.001, 0.999)
    roc = roc_of(y, probability)
    assert len(roc.thresholds) <= 90
    for cost in (1, 5, 10):
        threshold = 1 / (1 + cost)
        place = max(k for k, least in enumerate(roc.thresholds) if least >= threshold)
        called = probability >= threshold
        assert roc.tpr[place] == pytest.approx(np.mean(called[y]))
        assert roc.fpr[place] == pytest.approx(np.mean(called[~y]))
