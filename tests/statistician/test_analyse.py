"""From tables to findings, end to end, on tables small enough for a few seconds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.report.data import to_json
from parsimon.report.html import to_html
from parsimon.statistician import analyse
from parsimon.statistician.families.gp import _kernel_fit
from parsimon.statistician.families.gp import _kernel_result as models

# Who answers beside the search is for the tests of comparisons.
FEW = {"families": "gp,bpm", "rivals": ["linear"], "n_jobs": 1}


def rows(n=60, seed=0):
    """A table whose outcome depends on one column alone."""
    rng = np.random.default_rng(seed)
    dose = rng.uniform(0, 10, n)
    return pd.DataFrame(
        {
            "dose of drug": dose,
            "noise": rng.normal(size=n),
            "died": np.where(dose + rng.normal(size=n) > 6, "yes", "no"),
        }
    )


def without_times(found):
    """Return findings without what differs from run to run."""
    models = tuple(replace(one, seconds=0.0) for one in found.comparison.models)
    return replace(
        found,
        run=replace(found.run, seconds=0.0),
        comparison=replace(found.comparison, models=models),
    )


@pytest.fixture(scope="module")
def small():
    return analyse(rows(), "died", name="small", depth=1, outer=2, **FEW)


def test_two_classes_are_one_study_with_honest_figures(small):
    (study,) = small.findings.studies
    assert (study.positive, study.negative) == ("yes", "no")
    assert study.model.variables == ("dose of drug",)
    assert study.effects[0].columns == ("dose of drug",)
    assert study.effects[0].rising > 0.95
    assert study.honest.error.estimate < 0.25 < study.honest.baseline_error.estimate
    assert study.checks.source == "outer folds"
    assert {fold.n_train for fold in study.honest.folds} == {30}
    assert small.findings.run.skipped == ()


def test_the_honest_error_is_that_of_rows_outside_the_search(small):
    """Labels of noise: the search's own error may flatter, the outer folds must not."""
    table = rows()
    table["died"] = np.random.default_rng(3).permutation(table["died"])
    study = analyse(table, "died", depth=2, outer=3, **FEW).findings.studies[0]
    assert study.honest.error.estimate >= study.honest.baseline_error.estimate - 0.1


def test_findings_do_not_depend_on_the_number_of_processes(small):
    both = analyse(rows(), "died", name="small", depth=1, outer=2, **FEW | {"n_jobs": 2}).findings
    assert to_json(without_times(both)) == to_json(without_times(small.findings))


def test_another_seed_draws_other_folds(small):
    other = analyse(rows(), "died", name="small", depth=1, outer=2, seed=1, **FEW)
    assert other.findings.studies[0].honest != small.findings.studies[0].honest


def test_the_model_predicts_raw_tables(small):
    table = rows(seed=1)
    model = small.model()
    assert set(model.predict(table)) == {"yes", "no"}
    probability = model.predict_proba(table)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert np.mean(model.predict(table) == table["died"]) > 0.8
    baseline = small.model("best:size").predict_proba(table)[:, 1]
    assert np.ptp(baseline) < 1e-9


def test_fast_says_what_it_left_out():
    findings = analyse(rows(), "died", fast=True, n_jobs=1, rivals="linear").findings
    # The plain models were measured on outer folds all the same, and no product was found.
    assert findings.recommended.name == findings.comparison.recommended.name == "linear model"
    assert findings.studies[0].honest.error == findings.comparison.recommended.error
    assert findings.studies[0].checks.source == "outer folds"
    assert "×" not in findings.studies[0].model.expression
    assert findings.run.skipped == ("outer folds of the search",)
    product = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=[*"ab"])
    product["y"] = 2 * product["a"] * product["b"]
    findings = analyse(product, "y", fast=True, n_jobs=1, rivals="none").findings
    assert "×" in findings.studies[0].model.expression
    assert findings.run.skipped == ("outer folds", "interactions beside sums")
    # What is not measured is checked by leaving rows out.
    assert findings.studies[0].honest is None
    assert findings.studies[0].checks.source == "leave-one-out"


def test_several_classes_are_asked_for_one_by_one():
    table = rows(60)
    table["died"] = pd.cut(table["dose of drug"], [-1, 3, 7, 11], labels=["a", "b", "c"])
    analysis = analyse(table, "died", depth=1, outer=2, **FEW)
    assert [study.positive for study in analysis.findings.studies] == ["a", "b", "c"]
    assert analysis.findings.joint.error.estimate < 0.3
    assert np.sum(analysis.findings.joint.confusion) == 60
    assert set(analysis.model().predict(table)) == {"a", "b", "c"}
    one = analyse(table, "died", positive="b", depth=1, fast=True, **FEW)
    assert [study.positive for study in one.findings.studies] == ["b"]
    assert one.model().classes_.tolist() == ["not b", "b"]


def test_a_number_is_measured_as_a_share_of_its_variance():
    table = rows()
    errors = np.random.default_rng(7).normal(size=len(table))
    table["died"] = np.sin(table["dose of drug"]) + 0.1 * errors
    analysis = analyse(table, "died", depth=1, outer=2, **FEW)
    (study,) = analysis.findings.studies
    assert (study.task, study.positive) == ("regression", "")
    assert study.model.variables == ("dose of drug",)
    assert {one.variables for one in analysis.claims if one.certain} == {("dose of drug",)}
    assert study.honest.error.estimate < 0.3
    assert study.honest.baseline_error.estimate == pytest.approx(1)
    assert analysis.model().predict_deviation(table).min() > 0.05


def test_many_rows_are_searched_in_a_sample_and_fitted_whole(monkeypatch):
    monkeypatch.setattr(_kernel_fit, "SEARCHED_ROWS", 50)
    monkeypatch.setattr(models, "EXACT_ROWS", 100)
    analysis = analyse(rows(150), "died", depth=1, outer=2, **FEW)
    kinds = {one.kind: one for one in analysis.findings.table.treatments}
    assert kinds["rows_sampled"].count == 50
    assert type(analysis.model("best").models[0]).__name__ == "SparseGPClassifier"
    (study,) = analysis.findings.studies
    assert (study.search.n_rows, study.n_claim_rows) == (50, 150)


def test_many_columns_are_screened():
    table = rows()
    noise = np.random.default_rng(5).normal(size=(60, 40))
    wide = pd.concat([pd.DataFrame(noise).add_prefix("gene "), table], axis=1)
    findings = analyse(wide, "died", depth=1, fast=True, **FEW).findings
    assert [one.count for one in findings.table.treatments if one.kind == "columns_screened"] == [
        20
    ]
    assert findings.studies[0].model.variables == ("dose of drug",)


def test_a_real_mess_of_a_table_gives_a_page(tmp_path):
    rng = np.random.default_rng(0)
    table = rows(40)
    table['<script>alert("x")</script>'] = rng.normal(size=40)
    table["年龄 'q'"] = rng.choice(["rot", "grün", None], 40)
    table["when"] = pd.date_range("2020-01-01", periods=40)
    table["same"] = 1
    table["again"] = table["noise"]
    table["flag"] = rng.random(40) > 0.5
    table.loc[:5, "noise"] = np.nan
    analysis = analyse(table, "died", depth=1, fast=True, **FEW)
    kinds = {one.kind for one in analysis.findings.table.treatments}
    assert {"cells_filled", "column_constant", "column_date", "missing_level"} <= kinds
    page = to_html(analysis.document, analysis.findings)
    assert "<script>alert" not in page
    assert analysis.to_markdown(tmp_path / "report.md").read_text().startswith("# ")
    assert analysis.to_json(tmp_path / "report.json").stat().st_size > 1000


def test_five_rows_are_enough_to_say_something():
    table = pd.DataFrame({"x": [1.0, 2, 3, 4, 5], "y": ["a", "a", "a", "b", "b"]})
    findings = analyse(table, "y", n_jobs=1).findings
    assert findings.run.too_few_rows
    assert findings.run.skipped == ()
    assert not findings.studies[0].structure_found


def test_a_time_limit_is_kept_and_something_is_found(clock):
    clock.tick = 1.0
    study = analyse(rows(120), "died", outer=0, time_limit=12, n_jobs=1).findings.studies[0]
    assert study.search.stopped_by == "time_limit"
    assert 0 < study.search.n_candidates < 30
    assert study.structure_found


def test_a_frame_of_polars_is_welcome():
    polars = pytest.importorskip("polars")
    table = polars.from_pandas(rows())
    assert analyse(table, "died", depth=1, fast=True, **FEW).findings.table.n_rows == 60


def test_a_table_without_columns_is_refused():
    table = rows()[["died"]]
    with pytest.raises(InvalidInputError, match="column"):
        analyse(table, "died", n_jobs=1)


def test_no_workers_at_all_is_refused_in_one_sentence():
    with pytest.raises(InvalidInputError, match="n_jobs must not be 0; use 1"):
        analyse(rows(), "died", fast=True, n_jobs=0)


def test_claims_do_not_depend_on_the_search_for_a_model(small):
    deeper = analyse(rows(), "died", depth=2, base="se,lin", guide="bic", outer=0, n_jobs=1)
    shallow = analyse(rows(), "died", depth=1, outer=0, n_jobs=1)
    assert shallow.claims == deeper.claims != ()
    # Outer folds may make a claim less certain, never more probable.
    assert [one.about for one in small.claims] == [one.about for one in shallow.claims]
