"""Every number of ten reports, computed again from the table or from recorded predictions."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score, roc_curve
from sklearn.model_selection import StratifiedKFold

from parsimon.gp import GPClassifier
from parsimon.report.data import to_json
from parsimon.report.markdown import to_markdown
from parsimon.report.sections import write
from parsimon.statistician import _table_kind, analyse
from parsimon.statistician.prepare import Preparer

THIN = "\u202f"
# The numbers of other families are computed again in the tests of comparisons.
FAST = {"fast": True, "rivals": "none"}
FEW = {"outer": 2, "families": "gp", "rivals": ["linear", "tree"]}


def doses(n, seed=0):
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    return dose, dose + 0.8 * rng.normal(size=n), rng


def two_classes(n=80):
    dose, latent, rng = doses(n)
    sex = rng.choice(["male", "female"], n)
    return pd.DataFrame({"dose": dose, "sex": sex, "state": np.where(latent > 0.2, "ill", "well")})


def ties():
    rng = np.random.default_rng(1)
    word = np.where(rng.random(160) < 0.6, 0, rng.integers(1, 4, 160))
    spam = rng.random(160) < 0.2 + 0.25 * word
    return pd.DataFrame({"word": word, "kind": np.where(spam, "spam", "ham")})


def large():
    rng = np.random.default_rng(2)
    word = np.where(rng.random(1700) < 0.6, 0, rng.integers(1, 5, 1700))
    spam = rng.random(1700) < 0.1 + 0.2 * word
    return pd.DataFrame({"word": word, "kind": np.where(spam, "spam", "ham")})


def three_classes():
    dose, latent, _ = doses(90, 3)
    return pd.DataFrame({"dose": dose, "grade": np.digitize(latent, [-0.5, 0.7])}).replace(
        {"grade": {0: "low", 1: "middle", 2: "high"}}
    )


def number():
    dose, latent, rng = doses(60, 4)
    return pd.DataFrame({"dose": dose, "age": rng.integers(20, 60, 60), "gain": 30 + 7 * latent})


def rare():
    rng = np.random.default_rng(5)
    case = np.arange(120) < 10
    dose = rng.normal(size=120) + 1.5 * case
    return pd.DataFrame({"dose": dose, "case": np.where(case, "yes", "no")})


def untidy():
    table = two_classes(100)
    rng = np.random.default_rng(6)
    table["name"] = [f"N. {place}" for place in range(100)]
    table["ticket"] = [f"T{place}" for place in rng.integers(0, 45, 100)]
    table["port"] = rng.choice(["S", "C", "Q"], 100, p=[0.6, 0.3, 0.1])
    table["seen"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 100), "D")
    table.loc[rng.choice(100, 12, replace=False), "dose"] = np.nan
    table.loc[rng.choice(100, 5, replace=False), "state"] = None
    return table


def noise():
    rng = np.random.default_rng(7)
    return pd.DataFrame({"x": rng.normal(size=60), "y": rng.choice(["a", "b"], 60)})


TABLES = {
    "two classes": (two_classes, "state", FEW),
    "two classes, fast": (two_classes, "state", FAST),
    "ties, fast": (ties, "kind", FAST),
    "more than 1,500 rows": (large, "kind", FAST),
    "three classes": (three_classes, "grade", FEW),
    "a number": (number, "gain", FEW),
    "a number, fast": (number, "gain", FAST),
    "a rare class": (rare, "case", FEW),
    "untidy": (untidy, "state", FAST),
    "noise": (noise, "y", FEW),
}


@pytest.fixture(scope="module", params=list(TABLES))
def report(request):
    make, target, options = TABLES[request.param]
    recorded = []
    plain = _table_kind.folds_of

    def recording(name, questions, answers, looked):
        folds = plain(name, questions, answers, looked)
        # First those of the model to use.
        recorded.append(folds)
        return folds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_table_kind, "folds_of", recording)
        analysis = analyse(make(), target, depth=1, n_jobs=1, **options)
    frame = make()
    text = to_markdown(write(analysis.findings)).replace(THIN, " ").replace("−", "-")
    return SimpleNamespace(
        frame=frame,
        used=frame[frame[target].notna()].reset_index(drop=True),
        target=target,
        analysis=analysis,
        findings=analysis.findings,
        folds=recorded[0],
        is_search=analysis.findings.recommended is None,
        text=text,
    )


def labels(report, study):
    return (report.used[report.target] == study.positive).to_numpy(dtype=float)


def studies(report):
    """Yield each study with its answer and its folds; nothing for numbers."""
    for place, study in enumerate(report.findings.studies):
        folds = [one for one in report.folds if one.question == place]
        yield study, report.analysis.search.answers[place], folds


def pooled(folds):
    rows = np.concatenate([one.test for one in folds])
    return rows, np.concatenate([one.prediction for one in folds])


def said(pattern, text):
    """Return the numbers of a sentence that must be there."""
    found = re.search(pattern, text)
    assert found, pattern
    return [float(group.replace(",", "")) for group in found.groups()]


def test_counts_are_those_of_the_table(report):
    table, frame = report.findings.table, report.frame
    assert table.n_rows == len(frame)
    assert table.n_rows_used == len(report.used)
    assert table.n_columns == frame.shape[1]
    assert table.n_missing == frame.drop(columns=report.target).isna().sum().sum()
    counts = report.used[report.target].value_counts()
    assert dict(table.classes) == ({} if table.task == "regression" else counts.to_dict())
    for study in report.findings.studies if table.classes else ():
        assert study.n_positive == counts[study.positive]
        assert study.n_negative == counts.sum() - counts[study.positive]
        share = counts[study.positive] / counts.sum()
        assert study.baseline.error == pytest.approx(min(share, 1 - share), abs=0.035)


def test_the_first_page_says_the_same(report):
    rows, columns = said(r"has ([\d,]+) rows and, beside [^,]+, ([\d,]+) column", report.text)
    assert (rows, columns + 1) == report.frame.shape
    if len(report.used) < rows:
        assert said(r"; ([\d,]+) of the rows could be used", report.text) == [len(report.used)]
    counts = report.used[report.target].value_counts()
    classes = report.findings.table.classes
    for name, _ in classes if len(classes) > 2 else ():
        number, share = said(rf"“{name}” ([\d,]+) \(([\d.]+) %\)", report.text)
        assert number == counts[name]
        assert share == pytest.approx(100 * counts[name] / counts.sum(), abs=0.0051)
    if len(classes) == 2:
        study = report.findings.studies[0]
        for name in (study.positive, study.negative):
            line = rf"([\d,]+) (?:rows? )?\(([\d.]+) %\) (?:are |is )?“{name}”"
            number, share = said(line, report.text)
            assert number == counts[name]
            assert share == pytest.approx(100 * counts[name] / counts.sum(), abs=0.051)


def test_variables_are_described_as_the_rows_have_them(report):
    found = {one.name: one for one in report.findings.table.variables}
    assert found
    filled = Preparer().fit_transform(report.used.drop(columns=report.target))
    for name, one in found.items():
        column = report.used[one.column]
        if one.kind == "number":
            values = column.fillna(filled[name]).to_numpy(dtype=float)
        elif one.kind == "date":
            values = ((column - column.min()) / pd.Timedelta(days=1)).to_numpy()
        elif name.endswith("is missing"):
            values = column.isna().to_numpy(dtype=float)
        else:
            values = (column == name.split(" = ")[1]).to_numpy(dtype=float)
        expected = values.min(), values.max(), values.mean(), values.std()
        assert (one.minimum, one.maximum, one.mean, one.deviation) == pytest.approx(expected)


def test_levels_are_counted_as_the_table_has_them(report):
    for study in report.findings.studies:
        y = report.used[report.target]
        y = y.to_numpy() if study.task == "regression" else labels(report, study)
        for one in study.effects:
            cells = report.used[one.columns[0]].astype(str)
            for level in one.levels:
                rows = (cells == level.level).to_numpy()
                assert level.n_rows == rows.sum()
                assert level.value.estimate == pytest.approx(y[rows].mean())
                assert level.value.low <= level.value.estimate <= level.value.high
                if study.task == "regression" and level.n_rows > 1:
                    reach = norm.ppf(0.975) * y[rows].std(ddof=1) / np.sqrt(rows.sum())
                    assert level.value.high - level.value.estimate == pytest.approx(reach)


def test_rows_taken_apart_add_up_to_what_the_model_says(report):
    for study, answer, _ in studies(report):
        if not report.is_search:
            continue
        model, question = answer.result.model, answer.result.question
        places = {row: place for place, row in enumerate(question.rows.tolist())}
        # Of several classes the rows of all together are taken apart.
        alone = len(report.findings.studies) == 1
        assert bool(study.explained) == (study.structure_found and alone)
        for one in study.explained:
            row = question.X.iloc[[places[one.row]]]
            whole = model.latent(row) if hasattr(model, "classes_") else model.predict(row)
            parts = sum(part.contribution for part in one.parts)
            assert one.level + parts == pytest.approx(float(whole[0]), abs=1e-6)
            is_class = hasattr(model, "classes_")
            whole = model.predict_proba(row)[:, 1] if is_class else whole
            assert one.probability == pytest.approx(float(whole[0]))
            for part in one.parts:
                for name, value in part.values:
                    cell = report.frame.iloc[one.row - 1][name]
                    if isinstance(cell, float) and not pd.isna(cell):
                        assert float(value.replace("−", "-")) == pytest.approx(cell, rel=1e-4)
                    elif isinstance(cell, str):
                        assert value == cell


def test_what_was_done_is_counted_as_the_table_has_it(report):
    for one in report.findings.table.treatments:
        column = report.used.get(one.column)
        if one.kind in ("cells_filled", "missing_indicated"):
            assert one.count == column.isna().sum()
        elif one.kind == "column_category":
            assert one.count == column.nunique()
        elif one.kind == "column_names":
            assert one.count == column.nunique()
            assert column.value_counts().median() <= 3
        elif one.kind == "rows_without_target":
            assert one.count == report.frame[report.target].isna().sum()
        elif one.kind == "rows_sampled":
            assert one.count == 1500 < len(report.used)
    if "name" in report.frame:
        kinds = {one.column: one.kind for one in report.findings.table.treatments}
        assert kinds["name"] == "column_identifier"
        assert kinds["ticket"] == "column_names"


def test_honest_figures_are_those_of_rows_outside(report):
    for study, _, folds in studies(report):
        honest = study.honest
        if not folds:
            assert honest is None
            continue
        rows, prediction = pooled(folds)
        assert sorted(rows) == list(range(len(report.used)))
        assert [one.n_test for one in honest.folds] == [len(one.test) for one in folds]
        level = np.concatenate([np.full(len(one.test), one.baseline) for one in folds])
        if study.task == "regression":
            y = report.used[report.target].to_numpy()[rows]
            squares = (y - prediction) ** 2
            assert honest.root_mean_square == pytest.approx(np.sqrt(squares.mean()))
            expected = squares.sum() / ((y - level) ** 2).sum()
            assert honest.error.estimate == pytest.approx(expected, rel=0.05)
            continue
        y = labels(report, study)[rows]
        assert honest.error.estimate == pytest.approx(np.mean((prediction >= 0.5) != y))
        assert honest.baseline_error.estimate == pytest.approx(np.mean((level >= 0.5) != y))
        assert honest.gain.estimate == pytest.approx(
            honest.baseline_error.estimate - honest.error.estimate
        )
        assert honest.log_loss == pytest.approx(log_loss(y, prediction))
        assert honest.baseline_log_loss == pytest.approx(log_loss(y, level))
        assert honest.brier == pytest.approx(brier_score_loss(y, prediction))
        assert honest.auc.estimate == pytest.approx(roc_auc_score(y, prediction))


def test_checks_rest_on_the_predictions_that_they_name(report):
    for study, answer, folds in studies(report):
        if study.task == "regression" or study.checks.roc is None:
            continue
        checks = study.checks
        y = labels(report, study)[answer.searched]
        if folds:
            rows, prediction = pooled(folds)
            probability = ranking = prediction[np.argsort(rows)]
            assert checks.source == "outer folds"
        else:
            own = answer.result.own_predictions()
            probability, ranking = own.value, own.ranking
            left_out = answer.result.model.leave_one_out().probability[:, 1]
            np.testing.assert_allclose(probability, left_out)
        assert checks.brier == pytest.approx(brier_score_loss(y, probability))
        sizes = np.array([one.n_rows for one in checks.calibration])
        predicted = np.array([one.predicted for one in checks.calibration])
        observed = np.array([one.observed.estimate for one in checks.calibration])
        assert sizes.sum() == len(y)
        assert sizes @ predicted == pytest.approx(probability.sum())
        assert sizes @ observed == pytest.approx(y.sum())
        roc = checks.roc
        assert (roc.n_positive, roc.n_negative) == (y.sum(), len(y) - y.sum())
        assert roc.auc.estimate == pytest.approx(roc_auc_score(y, ranking))
        fpr, tpr, _ = roc_curve(y, ranking, drop_intermediate=False)
        assert set(zip(roc.fpr, roc.tpr, strict=True)) <= set(zip(fpr, tpr, strict=True))
        for threshold, found, alarms in zip(roc.thresholds, roc.tpr, roc.fpr, strict=True):
            assert found == pytest.approx(np.mean(ranking[y == 1] >= threshold))
            assert alarms == pytest.approx(np.mean(ranking[y == 0] >= threshold))


def test_the_area_without_outer_folds_is_that_of_folds(report):
    """Areas within folds, each fitted anew, do not suffer from what is left out."""
    for study, answer, folds in studies(report):
        if folds or study.task == "regression" or not study.structure_found:
            continue
        X = answer.result.question.X.to_numpy(dtype=float)
        y = labels(report, study)[answer.searched]
        kernel = answer.result.search.best_candidate_.kernel
        areas = []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            model = GPClassifier(kernel, optimise=False).fit(X[train], y[train])
            areas.append(roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]))
        assert study.checks.roc.auc.estimate == pytest.approx(np.mean(areas), abs=0.025)
        chosen = study.front[study.chosen].roc.auc.estimate
        assert chosen == pytest.approx(study.checks.roc.auc.estimate, abs=1e-3)


def test_scores_are_printed_as_they_were_found(report):
    for study, _, _ in studies(report):
        if len(report.findings.studies) > 1 or study.task == "regression" or not report.folds:
            continue
        y = labels(report, study)
        rows, prediction = pooled(report.folds)
        wrong = np.mean((prediction >= 0.5) != y[rows])
        if min(y.mean(), 1 - y.mean()) >= 0.2:
            [error] = said(r"\*\*([\d.]+) %\*\* honest error", report.text)
        else:
            line = r"From a probability of one half on,[^.]*, and ([\d.]+) % of all"
            [error] = said(line, report.text)
        assert error == pytest.approx(100 * wrong, abs=0.051)
        if report.findings.comparison.recommended.family == "guessing":
            assert "AUC" not in report.text.split("## ")[0]
            continue
        [area] = said(r"\*\*([\d.]+)\*\* AUC", report.text)
        assert area == pytest.approx(roc_auc_score(y[rows], prediction), abs=0.00051)


def test_a_number_lies_in_its_interval_as_often_as_is_said(report):
    for study, answer, _ in studies(report):
        if study.task == "classification" or not report.is_search:
            continue
        y = report.used[report.target].to_numpy()
        without = answer.result.model.leave_one_out()
        inside = np.abs(y - without.mean) <= 1.959964 * without.sd
        assert study.checks.coverage == pytest.approx(inside.mean())


def test_rows_worth_a_look_are_rows_of_the_table(report):
    for study, answer, _ in studies(report):
        if not report.is_search or len(report.findings.studies) > 1:
            continue
        own = answer.result.own_predictions()
        places = {row: place for place, row in enumerate(answer.result.question.rows.tolist())}
        assert study.checks.surprising
        for one in (*study.checks.surprising, *study.checks.influential):
            cells = report.frame.iloc[one.row - 1]
            assert one.probability == own.value[places[one.row]]
            truth = cells[report.target]
            if study.task == "classification":
                assert one.label == (study.positive if truth == study.positive else study.negative)
            for name, value in one.values:
                if name in cells and not pd.isna(cells[name]):
                    assert float(value.replace("−", "-")) == pytest.approx(cells[name], rel=1e-4)


def test_all_classes_together_are_counted_once(report):
    joint = report.findings.joint
    if joint is None:
        assert len(report.findings.studies) == 1
        return
    confusion = np.array(joint.confusion)
    counts = report.used[report.target].value_counts()
    assert confusion.sum(axis=1).tolist() == [counts[name] for name in joint.classes]
    assert joint.error.estimate == pytest.approx(1 - np.trace(confusion) / confusion.sum())
    predictions = np.empty((len(report.used), len(joint.classes)))
    for one in report.folds:
        predictions[one.test, one.question] = one.prediction
    called = np.array(joint.classes)[predictions.argmax(axis=1)]
    assert np.mean(called != report.used[report.target]) == pytest.approx(joint.error.estimate)


def test_the_data_of_the_page_hold_the_same_numbers(report):
    written = to_json(report.findings)
    for study in report.findings.studies:
        for value in (study.n_positive, study.n_negative):
            assert re.search(rf'"n_(?:posi|nega)tive": {value}\b', written)
