"""All searches of an analysis: what the folds need, progress, and the time limit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from parsimon.statistician.families import Question
from parsimon.statistician.families.gp import GaussianProcesses
from parsimon.statistician.prepare import Preparer
from parsimon.statistician.question import look_closely, plan_folds, run_searches


def question(n_questions=1):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 4)), columns=list("abcd"))
    y = (2 * table["a"] - table["b"] + 0.5 * rng.normal(size=90) > 0).to_numpy(dtype=float)
    return Question(
        table=table,
        X=table,
        y=y,
        values=y,
        task="classification",
        target="outcome",
        positive="yes",
        negative="no",
        rows=np.arange(1, 91),
        n_questions=n_questions,
        seed=np.random.SeedSequence(0),
    )


@pytest.fixture(scope="module")
def asked():
    one = question()
    return one, plan_folds(one, 3, np.random.SeedSequence(1))


def searches(asked, **options):
    one, parts = asked
    return run_searches(
        GaussianProcesses(depth=1), [one], parts, np.random.SeedSequence(2), **options
    )


def test_folds_look_for_what_is_chosen_and_nothing_else():
    family = GaussianProcesses(depth=2)
    one = question()
    whole, brief = (
        each.search(one, seed=np.random.SeedSequence(0)) for each in (family, family.briefly())
    )
    assert brief.chosen.key == whole.chosen.key
    assert len(brief.candidates) < len(whole.candidates)
    # Another rule compares all kernels, and its folds have to do so too.
    other = GaussianProcesses(depth=1, choose="one_se")
    assert other.briefly() is other


def test_the_number_of_processes_changes_nothing_but_the_time(asked):
    (one,), folds = searches(asked)
    (other,), others = searches(asked, n_jobs=2)
    assert one.result.chosen.words == other.result.chosen.words
    assert [each.fold for each in others] == [0, 1, 2]
    for ours, theirs in zip(folds, others, strict=True):
        np.testing.assert_array_equal(ours.prediction, theirs.prediction)


def test_progress_says_what_is_left(asked):
    said = []
    searches(asked, done=lambda n_done, left: said.append((n_done, left)))
    assert said[0] == (0, "still to answer: the table and 3 searches of outer folds")
    assert said[-2:] == [(3, "still to answer: an outer fold"), (4, "all answered")]


def test_folds_that_would_begin_too_late_are_left_out_and_say_so(asked):
    answers, folds = searches(asked, time_limit=1e-6)
    assert len(answers) == 1
    assert [one.failure for one in folds] == [
        f"Outer fold {k} was not begun: the time limit was reached." for k in (1, 2, 3)
    ]


def test_one_of_several_classes_is_searched_no_further_than_what_is_supported():
    family = GaussianProcesses()
    alone, among = (
        family.search(question(n), seed=np.random.SeedSequence(0)).search.depth for n in (1, 3)
    )
    assert (alone, among) == (4, 1)
    deeper = GaussianProcesses(depth=2).search(question(3), seed=np.random.SeedSequence(0))
    assert deeper.search.depth == 2


@pytest.mark.parametrize(("n", "n_folds"), [(90, 5), (20_000, 3)])
def test_many_rows_have_fewer_outer_folds_unless_told_otherwise(n, n_folds):
    one = question()
    place = np.resize(np.arange(90), n)
    many = replace(one, table=one.table.iloc[place], y=one.y[place], values=one.y[place])
    assert len(plan_folds(many, None, np.random.SeedSequence(1))) == n_folds
    assert len(plan_folds(many, 4, np.random.SeedSequence(1))) == 4


def many_rows(n=5000):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    y = 0.4 * table["a"] + 0.07 * table["b"] + rng.normal(size=n)
    return replace(question(), table=table, X=table, y=y.to_numpy(), task="regression")


def test_claims_use_all_rows_where_that_is_cheap(monkeypatch):
    one = many_rows()
    numbers = (preparer := Preparer().fit(one.table)).transform(one.table)
    seed = np.random.SeedSequence(0)
    found = look_closely(one, preparer, numbers, seed)
    assert found.n_rows == 5000
    assert {"a", "b"} == {claim.variables[0] for claim in found.claims() if claim.certain}
    assert look_closely(one, preparer, numbers, seed, time_limit=1e-9).n_rows == 250
    monkeypatch.setattr("parsimon.statistician.question._MOST_WORK", 0.0)
    assert look_closely(one, preparer, numbers, seed).n_rows == 1500
    monkeypatch.undo()
    monkeypatch.setattr("parsimon.statistician.question._MOST_CELLS", 9 * 6 * 2000.0)
    assert look_closely(one, preparer, numbers, seed).n_rows == 2000
