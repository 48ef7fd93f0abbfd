"""The seam of families: what a plain family must bring, and that a report loads no other."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Findings, SearchFindings
from parsimon.report.html import to_html
from parsimon.report.sections import summary_lines, write
from parsimon.statistician import analyse
from parsimon.statistician.families import FamilyResult, ModelCandidate, ModelFamily
from parsimon.statistician.outer_folds import honest_findings
from parsimon.statistician.question import plan_folds, run_searches
from parsimon.statistician.study import study_of


class Line(ModelCandidate):
    """A linear model of the first columns: a rival with nothing but words, size and a fit."""

    def __init__(self, names, error):
        self.names, self._error = names, error

    words = property(lambda self: f"a line of {len(self.names)} variables")
    size = property(lambda self: len(self.names))
    variables = property(lambda self: self.names)
    error = property(lambda self: self._error)

    def fit(self, X, y, seed):
        X = X[list(self.names)] if self.names else X * 0
        return _Columns(LogisticRegression().fit(X, y), self.names)


class _Columns:
    """A fitted model that picks its own columns."""

    def __init__(self, model, names):
        self.model, self.names = model, list(names)
        self.classes_ = model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(X[self.names] if self.names else X * 0)


class LineResult(FamilyResult):
    @property
    def candidates(self):
        names = self.question.names
        return [Line((), 0.5), Line(names[:1], 0.3), Line(names, 0.25)]

    chosen = property(lambda self: self.candidates[-1])
    structure_found = True

    @property
    def model(self):
        return self.chosen.fit(self.question.X, self.question.y, None)

    @property
    def contenders(self):
        return {one.words: one for one in reversed(self.candidates)}

    def search_findings(self):
        return SearchFindings(
            family="lines",
            noun="line",
            unit="variable",
            n_candidates=3,
            n_cross_validated=3,
            guide="cv_error",
            n_folds=5,
            stopped_by="exhausted",
            n_rows=len(self.question.y),
        )


class Lines(ModelFamily):
    name = "lines"

    def search(self, question, *, seed, time_limit=None):
        return LineResult(question=question)


def rows(n=60):
    rng = np.random.default_rng(0)
    dose = rng.uniform(0, 10, n)
    ill = np.where(dose + rng.normal(size=n) > 6, "yes", "no")
    return pd.DataFrame({"dose": dose, "noise": rng.normal(size=n), "ill": ill})


@pytest.fixture(scope="module")
def answered():
    question = analyse(rows(), "ill", depth=1, fast=True, n_jobs=1).answers[0].question
    seed = np.random.SeedSequence(0)
    parts = plan_folds(question, 3, seed)
    (answer,), folds = run_searches(Lines(), [question], parts, seed)
    return answer, folds


def test_all_contenders_predict_the_same_rows_of_each_fold(answered):
    answer, folds = answered
    assert len(folds) == 3
    for fold in folds:
        assert set(fold.told) == set(answer.result.contenders)
        chosen = fold.told[answer.result.chosen.words]
        np.testing.assert_array_equal(fold.prediction, chosen.value)
        assert all(len(told.value) == len(fold.test) for told in fold.told.values())
    np.testing.assert_array_equal(np.sort(np.concatenate([f.test for f in folds])), np.arange(60))


def test_a_contender_that_cannot_be_fitted_fails_alone(answered):
    class Broken(Line):
        words = "broken"

        def fit(self, X, y, seed):
            raise np.linalg.LinAlgError("singular")

    class Some(LineResult):
        contenders = property(lambda self: {"good": self.chosen, "bad": Broken((), 0.5)})

    class SomeLines(Lines):
        def search(self, question, *, seed, time_limit=None):
            return Some(question=question)

    question = answered[0].question
    seed = np.random.SeedSequence(1)
    _, folds = run_searches(SomeLines(), [question], plan_folds(question, 2, seed), seed)
    assert [fold.failures for fold in folds] == [{"bad": "singular"}] * 2
    assert not any(fold.failure for fold in folds)


def test_a_family_that_does_not_suit_is_refused(answered):
    class Numbers(Lines):
        name = "lines of numbers"

        def suits(self, question):
            return question.is_number

    seed = np.random.SeedSequence(0)
    with pytest.raises(
        InvalidInputError, match="'lines of numbers' cannot say what predicts 'ill'"
    ):
        run_searches(Numbers(), [answered[0].question], [], seed)


def test_a_family_without_figures_and_parts_is_written_and_set(answered):
    answer, folds = answered
    known = analyse(rows(), "ill", depth=1, fast=True, n_jobs=1).findings
    honest = honest_findings(answer.question.y, folds, "classification")
    study, pictures = study_of(answer.result, honest=honest)
    assert [one.size for one in study.front] == [0, 1, 2]
    assert study.model.words == "a line of 2 variables"
    assert (study.variables, study.components, study.interactions) == ((), (), ())
    assert study.checks.source == "training rows"
    found = Findings(table=known.table, studies=(study,), run=known.run, pictures=pictures)
    page = to_html(write(found), found)
    assert "What each further variable buys" in page
    assert "Gaussian" not in page
    claimed = replace(study, claims=answer.claims)
    found = Findings(table=known.table, studies=(claimed,), run=known.run, pictures=pictures)
    assert any("a line of 2 variables" in line for line in summary_lines(found))


def test_a_number_without_intervals_has_those_of_its_residuals():
    table = rows()
    question = analyse(table, "noise", depth=1, fast=True, n_jobs=1).answers[0].question

    class Numbers(LineResult):
        @property
        def model(self):
            return LinearRegression().fit(self.question.X, self.question.y)

    own = Numbers(question=question).own_predictions()
    residuals = question.y - LinearRegression().fit(question.X, question.y).predict(question.X)
    np.testing.assert_allclose(own.deviation, np.std(residuals))


def test_a_report_about_a_table_loads_nothing_about_trees(tmp_path):
    code = f"""
import sys
import numpy as np, pandas as pd
from parsimon.statistician import analyse
rng = np.random.default_rng(0)
x = rng.normal(size=40)
table = pd.DataFrame({{"x": x, "y": np.where(x + rng.normal(size=40) > 0, "a", "b")}})
found = analyse(table, "y", depth=1, fast=True, n_jobs=1)
found.to_html({str(tmp_path / "page.html")!r})
found.to_json({str(tmp_path / "page.json")!r})
bad = [name for name in sys.modules if name.startswith("parsimon") and
       ("phylo" in name or "trait" in name)]
assert not bad, bad
from parsimon.statistician import TraitAnalysis, analyse_traits
assert "parsimon.phylo" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
