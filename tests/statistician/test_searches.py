"""All searches of an analysis: what the folds need, progress, and the time limit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from parsimon.statistician import looking
from parsimon.statistician.families.family import Question
from parsimon.statistician.families.kernel_search import KernelSearchFamily
from parsimon.statistician.families.registered import chosen_families
from parsimon.statistician.folds import plan_folds, run_folds
from parsimon.statistician.looking import TABLE, look_at_folds, look_closely, steady_claims
from parsimon.statistician.prepare import Preparer


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
    family = KernelSearchFamily(depth=1)
    looked = look_at_folds([one], parts, np.random.SeedSequence(2))
    whole = [(family, np.random.SeedSequence(2))]
    seed = np.random.SeedSequence(3)
    return run_folds([family], [one], parts, seed, whole=whole, looked=looked, **options)


def test_folds_look_for_what_is_chosen_and_nothing_else():
    family = KernelSearchFamily(depth=2)
    one = question()
    whole, brief = (
        each.search(one, seed=np.random.SeedSequence(0)) for each in (family, family.briefly())
    )
    assert brief.best_candidate_.columns == whole.best_candidate_.columns
    assert len(brief.history_) < len(whole.history_)
    # Another rule compares all kernels, and its folds have to do so too.
    other = KernelSearchFamily(depth=1, choose="one_se")
    assert other.briefly() is other


def test_the_number_of_processes_changes_nothing_but_the_time(asked):
    one, other = searches(asked), searches(asked, n_jobs=2)
    words = [found.whole["kernel search"].answers[0].result.chosen.words for found in (one, other)]
    assert words[0] == words[1]
    for ours, theirs in zip(one.answers, other.answers, strict=True):
        told = [each.told["kernel search"] for each in (ours, theirs)]
        np.testing.assert_array_equal(told[0].value, told[1].value)
        assert told[0].questions[0].words == told[1].questions[0].words


def test_progress_says_how_much_is_done(asked):
    said = []
    searches(asked, done=said.append)
    assert said == [0, 0.25, 0.5, 0.75, 1]


def test_folds_that_would_begin_too_late_are_left_out_and_say_so(asked):
    one, parts = asked
    looked = look_at_folds([one], parts, np.random.SeedSequence(2), time_limit=1e-9)
    assert list(looked) == [TABLE]
    assert looked[TABLE][0].n_rows == 90
    families = [*chosen_families((), "linear"), KernelSearchFamily(depth=1)]
    answers, _ = run_folds(
        families, [one], parts, np.random.SeedSequence(3), looked=looked, time_limit=1.0
    )
    reasons = [each.failures["kernel search"] for each in answers]
    assert reasons == ["there was no time left"] * 3


def test_claims_are_those_of_the_table_that_its_parts_bear_out(asked, monkeypatch):
    one, parts = asked
    looked = look_at_folds([one], parts, np.random.SeedSequence(2))
    assert sorted(looked) == [-1, 0, 1, 2]
    (claims,) = steady_claims([one], looked)
    assert {claim.variables for claim in claims if claim.certain} >= {("a",), ("b",)}
    nothing = {fold: [] if fold != TABLE else found for fold, found in looked.items()}
    (alone,) = steady_claims([one], nothing)
    assert [claim.probability for claim in alone] == [claim.probability for claim in claims]


def test_one_of_several_classes_is_searched_no_further_than_what_is_supported():
    family = KernelSearchFamily()
    alone, among = (
        family.search(question(n), seed=np.random.SeedSequence(0)).depth for n in (1, 3)
    )
    assert (alone, among) == (4, 1)
    deeper = KernelSearchFamily(depth=2).search(question(3), seed=np.random.SeedSequence(0))
    assert deeper.depth == 2


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
    monkeypatch.setattr(looking, "_MOST_WORK", 0.0)
    assert look_closely(one, preparer, numbers, seed).n_rows == 1500
    monkeypatch.undo()
    monkeypatch.setattr(looking, "_MOST_CELLS", 9 * 6 * 2000.0)
    assert look_closely(one, preparer, numbers, seed).n_rows == 2000
