import json
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon._interrupts import stoppable
from parsimon.exceptions import CheckpointError, InterruptWarning
from parsimon.gp import _beam as beam
from parsimon.gp._beam import BeamOptions, beam_search
from parsimon.gp._candidates import Candidate, Order
from parsimon.gp._grammar import Grammar, base_kernels
from parsimon.gp._kernel_evaluation import KernelProblem
from parsimon.gp._memory import FailedFit, kernel_from_data, kernel_to_data, leaf_types
from parsimon.gp.search import KernelSearch
from parsimon.kernels import (
    Linear,
    Matern,
    Periodic,
    SquaredExponential,
    structure,
)

SE = SquaredExponential


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(11)
    X = rng.uniform(-2, 2, size=(72, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=72) > 1, 1.0, -1.0)
    rows = np.arange(72)
    folds = tuple((rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3))
    for part in (X, y):
        part.flags.writeable = False
    return KernelProblem(X, y, "classification", folds)


@pytest.fixture(scope="module")
def grammar(problem):
    return Grammar(base_kernels("se", problem.X))


@pytest.fixture(scope="module")
def history(problem, grammar):
    return beam_search(problem, grammar, BeamOptions(depth=2))


def test_the_search_is_the_same_with_workers(problem, grammar, history):
    assert beam_search(problem, grammar, BeamOptions(depth=2, n_jobs=2)) == history


def test_no_structure_comes_twice(history):
    seen = [structure(one.kernel) for one in history]
    assert len(seen) == len(set(seen))
    assert len(history) == len(seen)


def test_children_grow_from_the_beam(history):
    for above, level in zip(history.levels, history.levels[1:], strict=False):
        beam_of = {structure(one.kernel) for one in above[:2]}
        assert {structure(one.parent) for one in level} <= beam_of
        assert {one.n_base for one in level} <= {level[0].depth, level[0].depth - 1, 2}


def test_a_wider_beam_sees_more(problem, grammar):
    # Evidence that falls ends a branch, so that all three columns must say something.
    y = np.where(problem.X.sum(axis=1) > 0, 1.0, -1.0)
    told = replace(problem, y=y)
    found = [beam_search(told, grammar, BeamOptions(depth=2, beam=beam)) for beam in (1, 2, 3)]
    narrow, middle, wide = (len(history.levels[1]) for history in found)
    assert narrow < middle < wide


def test_a_branch_ends_where_the_evidence_falls(problem, grammar):
    rng = np.random.default_rng(4)
    target = np.where(problem.X[:, 0] + rng.normal(size=len(problem.y)) > 0, 1.0, -1.0)
    found = beam_search(replace(problem, y=target), grammar, BeamOptions(depth=2, beam=3))
    grown = {structure(one.parent) for one in found.levels[1]}
    rising = [one for one in found.levels[0] if one.log_evidence > found.baseline.log_evidence]
    assert grown == {structure(one.kernel) for one in rising}


def test_the_shortlist_decides_who_is_cross_validated(problem, grammar):
    for shortlist, expected in ((3, 3), (1, 2), (None, None)):
        found = beam_search(problem, grammar, BeamOptions(depth=2, shortlist=shortlist))
        level = found.levels[1]
        judged = [one for one in level if one.judged_by == "cross-validation"]
        assert len(judged) == (len(level) if expected is None else expected)
        rest = [one for one in level if one.judged_by == "leave-one-out"]
        worst = max(round(one.loo_error, 4) for one in judged)
        assert all(round(one.loo_error, 4) >= worst for one in rest)
        assert all(one.judged_by == "cross-validation" for one in found.first_layer)
    cheap = beam_search(problem, grammar, BeamOptions(depth=2, guide="nlml"))
    assert sum(bool(one.fold_errors) for one in cheap.levels[1]) == 2


def test_new_columns_narrow_the_grammar(problem, grammar):
    base, kernel = grammar.base, SE(0) + SE(1)
    free = {str(child) for child in Grammar(base).children(kernel, 3)}
    fresh = {str(child) for child in Grammar(base, new_columns=True).children(kernel, 3)}
    assert fresh < free
    assert fresh == {
        "SE_1 + SE_2 + SE_3",
        "(SE_1 + SE_2) × SE_3",
        "SE_1 × SE_3 + SE_2",
        "SE_1 + SE_2 × SE_3",
    }
    search = KernelSearch(depth=3, grow="new_columns", random_state=0)
    found = search.fit(problem.X, problem.y).history_
    assert all(len(one.columns) >= one.depth for one in found)


def test_base_kernels_are_named_and_started_from_the_data(problem):
    X = problem.X
    names = [str(one) for one in base_kernels(["SE", "per", "lin", "matern", "rq"], X[:, :1])]
    assert names[:3] == ["SE_1", "PER_1", "C + LIN_1"]
    assert len(set(names)) == 5
    (smooth,) = base_kernels("se", X[:, :1])
    assert smooth.lengthscale == pytest.approx(X[:, 0].std())
    (line,) = base_kernels("lin", X[:, :1], intercept=False)
    assert line.centre == pytest.approx(X[:, 0].mean())
    assert base_kernels(Linear(centre=2.5), X[:, :1], intercept=False)[0].centre == 2.5


def test_progress_is_shown_when_asked_for(problem, grammar, capsys):
    beam_search(problem, grammar, BeamOptions(depth=1))
    assert capsys.readouterr().err == ""
    beam_search(problem, grammar, BeamOptions(depth=1, verbose=True))
    assert "judging kernels" in capsys.readouterr().err


def test_ties_go_to_the_evidence_and_the_incredible_come_last():
    common = {"depth": 1, "parent": None, "columns": (0,), "judged_by": "leave-one-out"}
    base = Candidate(kernel=SE(0), bic=100.0, guide=0.4, **common)
    order = Order("cv_error", base, n_tried=3)
    better = Candidate(kernel=SE(1), bic=50.0, guide=0.30004, log_evidence=-20.0, **common)
    tied = Candidate(kernel=SE(2), bic=50.0, guide=0.29996, log_evidence=-21.0, **common)
    lucky = Candidate(kernel=SE(3), bic=99.0, guide=0.1, log_evidence=-40.0, **common)
    unjudged = Candidate(kernel=SE(4), bic=50.0, log_evidence=-20.0, **common)
    assert order.ranked([unjudged, lucky, tied, better]) == (better, tied, lucky, unjudged)
    assert order.improves(better, base)
    assert not order.improves(lucky, base)
    assert not order.improves(tied, better)
    assert not order.improves(unjudged, base)
    # 98 + 2 log 3 > 100: the price of having tried three kernels.
    assert not order.is_credible(Candidate(kernel=SE(0), bic=98.0, **common))
    assert Order("cv_error", base, 1).is_credible(Candidate(kernel=SE(0), bic=98.0, **common))


def test_a_resumed_search_ends_with_the_same_bits(problem, grammar, history, tmp_path, monkeypatch):
    path = tmp_path / "search.json"
    options = BeamOptions(depth=2, checkpoint=path)
    real, calls = beam.measure_whole, []

    def interrupted(*call):
        calls.append(call)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return real(*call)

    monkeypatch.setattr(beam, "measure_whole", interrupted)
    with pytest.warns(InterruptWarning, match="the best so far"):
        first = stoppable(beam_search)(problem, grammar, options)
    assert first.stopped_by == "interrupt"
    assert first.path == history.path[:1]
    assert json.loads(path.read_text())["format"].startswith("parsimon kernel search")
    assert [file.name for file in tmp_path.iterdir()] == ["search.json"]

    calls.clear()
    monkeypatch.setattr(beam, "measure_whole", lambda *call: calls.append(call) or real(*call))
    assert beam_search(problem, grammar, options) == history
    # The baseline and seven others are in the file.
    assert len(calls) == len(history) - 7
    calls.clear()
    assert beam_search(problem, grammar, options) == history
    assert not calls
    deeper = BeamOptions(depth=3, checkpoint=path, patience=1)
    assert beam_search(problem, grammar, deeper).levels[:2] == history.levels[:2]


def test_an_unseeded_search_resumes_with_the_seed_of_its_file(problem, tmp_path):
    path = tmp_path / "search.json"
    search = KernelSearch(depth=1, cv=3, checkpoint=path)
    first = search.fit(problem.X, problem.y).history_
    assert search.fit(problem.X, problem.y).history_ == first


def test_a_checkpoint_in_no_folder_is_refused_before_the_search(problem, tmp_path):
    search = KernelSearch(depth=1, checkpoint=tmp_path / "nowhere" / "search.json")
    with pytest.raises(CheckpointError, match=r"folder .* does not exist"):
        search.fit(problem.X, problem.y)


def test_a_checkpoint_of_other_data_is_refused(problem, tmp_path):
    path = tmp_path / "search.json"
    search = KernelSearch(depth=1, checkpoint=path, random_state=0).fit(problem.X, problem.y)
    with pytest.raises(CheckpointError, match="written with data and folds"):
        search.fit(problem.X + 1, problem.y)
    path.write_text("{}")
    with pytest.raises(CheckpointError, match="not a checkpoint of a kernel search"):
        search.fit(problem.X, problem.y)
    path.write_text('{"format": "other", "settings": {}, "records": {}}')
    with pytest.raises(CheckpointError, match="has the format 'other'"):
        search.fit(problem.X, problem.y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_kernel_is_begun_after_the_deadline(problem, grammar, n_jobs):
    found = beam_search(problem, grammar, BeamOptions(time_limit=0.0, n_jobs=n_jobs))
    assert found.stopped_by == "time_limit"
    assert found.levels == ()
    assert found.best is found.baseline
    assert "no kernel was judged" in found.describe()


def test_the_best_so_far_is_kept_when_time_is_up(problem, grammar, history, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    found = beam_search(problem, grammar, BeamOptions(depth=2, time_limit=22))
    assert found.stopped_by == "time_limit"
    assert found.path == history.path[: len(found.path)]
    assert 0 < len(found) < len(history)
    assert found.path


def test_one_kernel_that_fails_does_not_end_the_search(problem, grammar, history, monkeypatch):
    real = beam.fit_whole
    lost = history.best.kernel

    def failing(problem, kernel, *rest, **options):
        if structure(kernel) == structure(lost):
            raise np.linalg.LinAlgError("singular")
        return real(problem, kernel, *rest, **options)

    monkeypatch.setattr(beam, "fit_whole", failing)
    found = beam_search(problem, grammar, BeamOptions(depth=2))
    failed = [one for one in found if one.judged_by == "failed"]
    assert [structure(one.kernel) for one in failed] == [structure(lost)]
    assert failed[0].message == "The fit to all rows failed: singular"
    assert found.path
    assert structure(found.best.kernel) != structure(lost)

    monkeypatch.setattr(beam, "measure_folds", lambda *_: FailedFit("no"))
    with pytest.raises(np.linalg.LinAlgError, match="constant kernel could not be judged: no"):
        beam_search(problem, grammar, BeamOptions(depth=1))


def test_children_start_at_their_parents_hyperparameters_and_sites(problem, grammar, monkeypatch):
    real, seen = beam.fit_whole, []

    def watching(problem, kernel, start, seed, **options):
        seen.append((kernel, start))
        return real(problem, kernel, start, seed, **options)

    monkeypatch.setattr(beam, "fit_whole", watching)
    found = beam_search(problem, grammar, BeamOptions(depth=2, beam=1))
    parent = found.path[0].kernel
    children = seen[4:]
    assert children
    for kernel, start in children:
        assert start.sites.precision.shape == problem.y.shape
        if str(kernel) == f"{parent} + SE_3":
            assert kernel.terms[0] == parent


def test_restarts_never_lower_the_evidence_and_belong_to_the_structure(problem, grammar, history):
    from dataclasses import replace

    more = replace(problem, n_restarts=2)
    found = beam_search(more, grammar, BeamOptions(depth=1))
    again = beam_search(more, Grammar(grammar.base[::-1]), BeamOptions(depth=1))
    evidence = {str(one.kernel): one.log_evidence for one in history.first_layer}
    for one in found.first_layer:
        assert one.log_evidence >= evidence[str(one.kernel)] - 1e-3
        assert one in again.first_layer


def test_the_history_is_a_table(history):
    frame = history.to_frame()
    assert len(frame) == len(history) + 1
    assert frame["kernel"][0] == "C"
    assert frame["error"].notna().sum() == len(history.cross_validated)
    best = history.best_by_column
    assert set(best) == {0, 1, 2}
    assert all(one.columns == (column,) for column, one in best.items())


numbers = st.floats(1e-3, 1e3)
leaves = st.one_of(
    st.builds(SE, st.integers(0, 3), lengthscale=numbers, variance=numbers),
    st.builds(Periodic, st.integers(0, 3), period=numbers, fixed=st.just(("period",))),
    st.builds(Linear, st.integers(0, 3), centre=st.floats(-5, 5)),
    st.builds(Matern, st.integers(0, 3), nu=st.sampled_from([0.5, 1.5, 2.5])),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.tuples(inner, inner, st.booleans()).map(
        lambda t: t[0] + t[1] if t[2] else t[0] * t[1]
    ),
    max_leaves=6,
)


@given(expressions)
def test_kernels_survive_json_bit_for_bit(kernel):
    text = json.dumps(kernel_to_data(kernel))
    assert kernel_from_data(json.loads(text), leaf_types()) == kernel


def test_json_makes_no_unknown_kernels():
    with pytest.raises(CheckpointError, match="no kernel 'Path'"):
        kernel_from_data({"leaf": "Path"}, leaf_types())


def test_many_kernels_are_fitted_loosely_before_the_promising_ones_closely(
    problem, grammar, monkeypatch, tmp_path
):
    real, calls = beam.measure_whole, []

    def watched(problem, kernel, start, seed, loosely=False):
        calls.append((structure(kernel), loosely))
        return real(problem, kernel, start, seed, loosely)

    monkeypatch.setattr(beam, "measure_whole", watched)
    options = BeamOptions(depth=2, beam=1, shortlist=2, checkpoint=tmp_path / "search.json")
    found = beam_search(problem, grammar, options)
    second = found.levels[1]
    assert len(second) > 4
    loose = [key for key, loosely in calls if loosely]
    close = [key for key, loosely in calls[-4:]]
    assert set(loose) == {structure(one.kernel) for one in second}
    assert len(loose) == len(second)
    assert not any(loosely for _, loosely in calls[-4:])
    assert len(set(close)) == 4
    judged = [one for one in second if one.judged_by == "cross-validation"]
    assert {structure(one.kernel) for one in judged} <= set(close)
    # The listed kernels are as good as if every kernel had been fitted closely.
    all_close = beam_search(problem, grammar, BeamOptions(depth=2, beam=1, shortlist=None))
    by_structure = {structure(one.kernel): one for one in all_close.levels[1]}
    for one in judged:
        other = by_structure[structure(one.kernel)]
        assert one.log_evidence == pytest.approx(other.log_evidence, abs=0.01)
    calls.clear()
    assert beam_search(problem, grammar, options) == found
    assert not calls


def test_guides_without_folds_compare_close_fits_only(problem, grammar, monkeypatch):
    real, flags = beam.measure_whole, []

    def watched(problem, kernel, start, seed, loosely=False):
        flags.append(loosely)
        return real(problem, kernel, start, seed, loosely)

    monkeypatch.setattr(beam, "measure_whole", watched)
    beam_search(problem, grammar, BeamOptions(depth=2, beam=1, shortlist=1, guide="bic"))
    assert flags
    assert not any(flags)
