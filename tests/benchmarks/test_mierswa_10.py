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


def test_manhattan_may_err_by_two_standard_errors_and_two_phases_may_not():
    rng = np.random.default_rng(0)
    worse = rng.random(50)
    errors = {"a": worse + 1e-4 * rng.random(50), "manhattan": worse + 1e-4 * rng.normal(size=50)}
    errors["euclidean"] = worse
    row = mierswa_10.order_row("t", "manhattan", "euclidean", errors, {}, judged_so=True)
    assert row.bar < 1
    strict = mierswa_10.order_row("t", "a", "euclidean", errors, {}, judged_so=True)
    assert (strict.bar, strict.ok) == (1.0, False)
