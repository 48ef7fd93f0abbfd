"""Nothing of an outer fold's test rows reaches the search that is measured on them.

Half of a fold's test rows get other cells and other targets, made so that whatever learns from
them learns something else: inputs that say nothing now give the target away, numbers are far off,
cells are filled or emptied, levels are new. The fold's search, and what it says of the test rows
that were left alone, must be the same bit by bit.
"""

import numpy as np
import pandas as pd
import pytest

from parsimon.statistician import analyse, comparison, looking
from parsimon.statistician.families.family import Question
from parsimon.statistician.families.gp import _kernel_fit
from parsimon.statistician.families.kernel_search import KernelSearchFamily
from parsimon.statistician.folds import plan_folds, run_folds
from parsimon.statistician.looking import look_at_folds
from parsimon.statistician.outer_folds import folds_of

N_ROWS, N_NOISE = 90, 6


@pytest.fixture(autouse=True)
def _small_searches(monkeypatch):
    """Draw a sample of rows and screen most variables away, as in a large table."""
    monkeypatch.setattr(looking, "FIRST_ROWS", 45)
    monkeypatch.setattr(_kernel_fit, "SEARCHED_ROWS", 45)
    monkeypatch.setattr(_kernel_fit, "SEARCHED_VARIABLES", 4)


def seed():
    """Return the same seed again: one that was used spawns others."""
    return np.random.SeedSequence(3)


def cells():
    """Return columns of every kind, most of which say nothing."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {f"noise {place}": rng.normal(size=N_ROWS) for place in range(N_NOISE)}
        | {
            "age": rng.normal(50, 10, N_ROWS),
            "wave": np.linspace(0, 30, N_ROWS),
            "site": rng.choice(["A", "B", "C"], N_ROWS),
            "seen": pd.date_range("2020-01-01", periods=N_ROWS, freq="D").astype(str),
        }
    )
    frame.loc[rng.choice(N_ROWS, 9, replace=False), "age"] = np.nan
    return frame


def targets(kind):
    frame, rng = cells(), np.random.default_rng(6)
    wave, age = np.sin(frame["wave"].to_numpy()), frame["age"].fillna(50).to_numpy() / 10 - 5
    latent = age + 0.2 * rng.normal(size=N_ROWS)
    if kind == "number":
        return latent + wave
    if kind == "wave":
        return 0.3 * latent + 2 * wave
    cuts = [0.0] if kind == "two classes" else [-0.6, 0.6]
    return np.digitize(latent, cuts).astype(float)


def asked(kind, table, values):
    is_class = kind.endswith("classes")
    return Question(
        table=table,
        X=table,
        y=(values == 1).astype(float) if is_class else values,
        values=values,
        task="classification" if is_class else "regression",
        target="outcome",
        positive="yes" if is_class else "",
        negative="no" if is_class else "",
        rows=np.arange(1, N_ROWS + 1),
        seed=np.random.SeedSequence(0),
    )


def with_other_cells(table, rows, values):
    """Return a table in which some rows give the target away in every column."""
    changed = table.copy()
    for place in range(N_NOISE):
        changed.loc[rows, f"noise {place}"] = 1000.0 * values[rows] + place
    changed.loc[rows, "age"] = np.where(np.arange(len(rows)) % 2, 1e4, np.nan)
    changed.loc[rows, "wave"] = 500.0 + 7 * np.arange(len(rows))
    changed.loc[rows, "site"] = [f"new {value:.0f}" for value in values[rows]]
    changed.loc[rows, "seen"] = "1950-01-01"
    return changed


def measured(question, part, base):
    family = KernelSearchFamily(depth=1, base=base)
    looked = look_at_folds([question], [part], seed(), whole=False)
    answers, _ = run_folds([family], [question], [part], seed(), looked=looked)
    (fold,) = folds_of("kernel search", [question], answers, looked)
    assert not fold.failure
    return fold, answers[0].told["kernel search"]


# What learns from cells or from targets is seen where both change, unless one hides the other.
@pytest.mark.parametrize(
    ("kind", "base", "change"),
    [
        ("two classes", ("se",), "cells"),
        ("two classes", ("se",), "targets"),
        ("two classes", ("se",), "both"),
        ("three classes", ("se",), "both"),
        ("number", ("se",), "both"),
        ("wave", ("per",), "both"),
    ],
)
def test_a_fold_learns_nothing_from_its_test_rows(kind, base, change):
    table, values = cells(), targets(kind)
    part = plan_folds(asked(kind, table, values), 3, seed())[0]
    other, alone = part.test[::2], np.arange(1, len(part.test), 2)
    new_table, new_values = table, values.copy()
    if change != "targets":
        new_table = with_other_cells(table, other, values)
    if change != "cells":
        new_values[other] = (
            values.max() - values[other] + (0.0 if kind.endswith("classes") else 100.0)
        )
    before, told = measured(asked(kind, table, values), part, base)
    after, told_after = measured(asked(kind, new_table, new_values), part, base)
    assert before.variables, "a search that finds nothing shows nothing"
    for name in ("words", "variables", "guide_error", "baseline", "claims", "failure"):
        assert getattr(before, name) == getattr(after, name), name
    assert told.size == told_after.size
    np.testing.assert_array_equal(told.value[alone], told_after.value[alone])


class FoldsAreOver(Exception):
    """Ends an analysis after its folds: what is written from them is tested elsewhere."""


@pytest.mark.parametrize("kind", ["two classes", "number"])
def test_an_analysis_keeps_test_rows_from_its_folds(kind, monkeypatch):
    seen = []

    def spied(families, asked_questions, parts, seed, *, looked, **options):
        search = [one for one in families if one.searches]
        answers, _ = run_folds(search, asked_questions, parts, seed, looked=looked)
        seen.append((parts, folds_of("kernel search", asked_questions, answers, looked)))
        raise FoldsAreOver

    monkeypatch.setattr(comparison, "run_folds", spied)
    values = targets(kind)
    outcome = values if kind == "number" else np.where(values == 1, "ill", "well")

    def ended(table):
        with pytest.raises(FoldsAreOver):
            analyse(table.assign(outcome=outcome), "outcome", depth=1, outer=2, n_jobs=1)
        return seen.pop()

    parts, folds = ended(cells())
    changed = with_other_cells(cells(), parts[0].test[::2], values)
    new_parts, new_folds = ended(changed)
    for one, another in zip(parts, new_parts, strict=True):
        np.testing.assert_array_equal(one.test, another.test)
    before, after = folds[0], new_folds[0]
    assert before.variables, "a search that finds nothing shows nothing"
    assert (before.words, before.guide_error) == (after.words, after.guide_error)
    np.testing.assert_array_equal(before.prediction[1::2], after.prediction[1::2])
