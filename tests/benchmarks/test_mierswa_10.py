"""The tasks and rows of chapter 10 of Mierswa."""

import numpy as np
import pytest
from benchmarks.reproduce import mierswa_10
from benchmarks.reproduce._mierswa_10_tasks import (
    NAMES,
    OPERATIONS,
    names_with_copies,
    random_task,
    with_copies,
)


@pytest.mark.parametrize("kind", [1, 2])
def test_tasks_are_formulas_that_a_line_does_not_predict(kind):
    for seed in range(20):
        task = random_task(kind, seed)
        used = {part.operation for part in task.formula.parts()}
        assert used <= {"column", "sum", "product", "power", "number", "sin", "exp"}
        assert task.X.shape == ((300, 500)[kind - 1], 5)
        np.testing.assert_allclose(
            task.formula(dict(zip(NAMES, task.X.T, strict=True))), task.y, rtol=1e-12
        )
        assert mierswa_10.judged(task, ())["error"] > 0.09
        assert mierswa_10.judged(task, [str(task.formula)])["error"] < 1e-6
    np.testing.assert_array_equal(random_task(kind, 3).y, random_task(kind, 3).y)
    assert set(OPERATIONS) == {"+", "*", "sin", "exp"}


def test_copies_of_a_column_change_relief_and_not_the_machine():
    task = random_task(1, 0)
    wide = with_copies(task.X, 0)
    assert wide.shape == (300, len(names_with_copies()))
    assert np.abs(np.corrcoef(wide[:, [0, 5, 6, 7, 8]].T)).min() == pytest.approx(1)
    plain, copied = (mierswa_10.described(task, 0, form).weights for form in ("svm", "svm_copies"))
    total = sum(weight for name, weight in copied.items() if name.startswith("x0"))
    assert total == pytest.approx(plain["x0"], abs=1e-3)
    relief = mierswa_10.described(task, 0, "relief_copies").weights
    assert relief["x0"] == pytest.approx(relief["x0_3"])


def test_manhattan_may_err_by_two_standard_errors_and_two_phases_must_be_as_much_better():
    worse = np.random.default_rng(0).random(50)
    noise = 1e-4 * np.linspace(-1, 1, 50)
    idle = {"a case by lot": 1.0}

    def verdict(better, shift):
        errors = {better: worse + noise + shift, "euclidean": worse}
        row = mierswa_10.order_row("t", better, "euclidean", errors, {}, idle, judged_so=True)
        return row.verdict

    error = noise.std(ddof=1) / np.sqrt(50)
    assert [verdict("manhattan", k * error) for k in (1.9, 2.1)] == ["yes", "NO"]
    assert [verdict("two_phase", -k * error) for k in (1.9, 2.1)] == ["NO", "yes"]


def test_weights_are_nothing_where_cases_by_lot_are_as_near():
    """Beside a Relief that is behind chance, whatever finds cases is ahead."""
    near, far = np.linspace(0.02, 0.04, 20), np.linspace(0.10, 0.12, 20)

    def verdicts(lot):
        errors = {"svm": near, "slopes": near, "relief": far, "random": lot}
        found = [
            {"columns": {"relative": 0.2}}
            | {f"{form} 1 50": {"relative": own[place]} for form, own in errors.items()}
            for place in range(20)
        ]
        plain = {"constant": 48.0, "guess": 64.0}
        rows = mierswa_10.weights_rows("t", found, "", "1 50", plain, judged_so=True)
        return [row.verdict for row in rows]

    assert verdicts(far + 0.05) == ["yes", ""]
    assert verdicts(near) == ["CANNOT FAIL", ""]


def test_cases_by_lot_are_as_many_as_the_nearest(monkeypatch):
    from types import SimpleNamespace

    cases = [SimpleNamespace(formulas=[f"x{k}"]) for k in range(30)]
    base = SimpleNamespace(
        cases=cases, retrieve=lambda *_, **__: [SimpleNamespace(case=one) for one in cases[:10]]
    )
    monkeypatch.setattr(mierswa_10, "case_base", lambda *_: base)
    monkeypatch.setattr(mierswa_10, "described", lambda *_: None)
    jobs = [mierswa_10.Transfer(1, seed, "", (30,)) for seed in range(8)]
    found = [mierswa_10.transferred_1(None, job, 30) for job in jobs]
    assert {(len(one["random 1"]), len(set(one["random 10"]))) for one in found} == {(1, 10)}
    assert len({one["random 1"][0] for one in found}) > 3


def test_an_order_that_a_case_by_lot_keeps_too_is_none():
    errors = {"manhattan": np.linspace(0.4, 0.6, 20), "euclidean": np.linspace(0.4, 0.6, 20)[::-1]}
    row = mierswa_10.order_row(
        "t", "manhattan", "euclidean", errors, {}, {"a case by lot": 0.5}, judged_so=True
    )
    assert row.verdict == "CANNOT FAIL"
