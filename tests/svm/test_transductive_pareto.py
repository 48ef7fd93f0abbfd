"""`ParetoTransductiveSVC` and its edges: from classification to clustering."""

from itertools import count

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from parsimon.exceptions import (
    ConstantPredictionWarning,
    EmptyFrontError,
    InvalidInputError,
)
from parsimon.pareto import Box, Front, nondominated, nsga2
from parsimon.svm import _transductive_front
from parsimon.svm._front import BlendCrossover
from parsimon.svm._transductive_front import (
    DualObjectives,
    PrimalObjectives,
    ScaleMutation,
    SignedSparsityMutation,
    exact_machines,
    good_labellings,
    primal_machines,
)
from parsimon.svm._transductive_problem import TransductiveProblem
from parsimon.svm.pareto_transductive import ParetoTransductiveSVC, edge
from parsimon.svm.transductive import TransductiveSVC
from tests.svm.transduction_problems import random_problem

SMALL = {"population_size": 30, "max_iter": 4, "gamma": 0.1, "random_state": 0}


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(50, centers=[[-4.0, 0.0], [4.0, 0.5]], random_state=3)
    X.flags.writeable = False
    known = np.full(50, -1)
    known[:6] = y[:6]
    return X, known, y


@pytest.fixture(scope="module")
def search(blobs):
    return ParetoTransductiveSVC(**SMALL).fit(*blobs[:2])


@given(st.integers(0, 10_000))
def test_objectives_are_the_three_terms_of_the_primal_problem(seed):
    problem = random_problem(seed, n_unlabelled=5)
    rng = np.random.default_rng(seed)
    n = len(problem.known)
    machines, weights = rng.normal(size=(3, n + 1)), rng.uniform(0.5, 2.0, n)
    values, violation = PrimalObjectives(problem, weights)(machines)
    for machine, value, missing in zip(machines, values, violation, strict=True):
        margin, train, test, n_positive = 0.0, 0.0, 0.0, 0
        for i in range(n):
            score = machine[-1] + sum(machine[j] * problem.kernel[i, j] for j in range(n))
            margin += 0.5 * machine[i] * (score - machine[-1])
            if problem.known[i]:
                train += weights[i] * max(0.0, 1.0 - problem.known[i] * score)
            else:
                test += weights[i] * max(0.0, 1.0 - abs(score))
                n_positive += score > 0
        assert value == pytest.approx([margin, train, test], rel=1e-9, abs=1e-9)
        beyond = max(problem.fewest - n_positive, n_positive - problem.most, 0)
        assert missing == pytest.approx(beyond / 5)


@given(st.integers(0, 10_000))
def test_printed_objectives_are_the_dual_and_two_sums(seed):
    problem = random_problem(seed, n_unlabelled=4)
    rng = np.random.default_rng(seed)
    alpha, labels = rng.random(len(problem.known)), rng.choice([-1.0, 1.0], 4)
    variables = alpha.copy()
    variables[problem.unlabelled] *= labels
    signs = problem.signs(labels)
    expected = alpha.sum() - 0.5 * (alpha * signs) @ problem.kernel @ (alpha * signs)
    sums = alpha[problem.labelled].sum(), alpha[problem.unlabelled].sum()
    assert DualObjectives(problem)(variables[None])[0] == pytest.approx([expected, *sums])
    made = primal_machines(problem, variables[None])
    np.testing.assert_allclose(made[0, :-1], alpha * signs)


def test_the_front_is_one_and_its_values_are_those_of_its_machines(blobs, search):
    X, y, _ = blobs
    front = search.front_
    assert front.names == ("margin_term", "train_loss", "test_loss")
    assert len(front) > 10
    assert nondominated(front.values).all()
    for index in (0, len(front) // 2, len(front) - 1):
        model = front.solution(index)
        scores = model.decision_function(X)
        known = y >= 0
        slack = np.maximum(0.0, 1.0 - np.where(y[known] == 1, 1.0, -1.0) * scores[known])
        own = np.maximum(0.0, 1.0 - np.abs(scores[~known]))
        assert front.values[index, 1:] == pytest.approx([slack.sum(), own.sum()], abs=1e-8)


def test_the_default_machine_is_at_least_as_good_as_the_transductive_one(blobs, search):
    X, y, truth = blobs
    np.testing.assert_array_equal(search.transduction_, truth)
    np.testing.assert_array_equal(search.predict(X), truth)
    alone = TransductiveSVC(gamma=0.1, stall=2, random_state=0).fit(X, y)
    total = search.front_.values[search.best_index_].sum()
    # Both losses cost 1 here, so the total is what TransductiveSVC minimises.
    assert total == pytest.approx(alone.objective_, rel=2e-3)
    assert total == search.front_.values.sum(axis=1).min()


def test_every_machine_keeps_the_class_ratio(blobs):
    X, y, _ = blobs
    search = ParetoTransductiveSVC(**SMALL, positive_ratio=(0.4, 0.5)).fit(X, y)
    for index in range(0, len(search.front_), 7):
        scores = search.front_.solution(index).decision_function(X[6:])
        assert 0.39 < (scores > 0).mean() < 0.51
    free = ParetoTransductiveSVC(**SMALL, positive_ratio=None).fit(X, y)
    # Without the constraint a constant has margin and test loss for nothing.
    assert edge(free.front_, ["margin", "test"]).values.sum() == pytest.approx(0.0, abs=1e-9)


def test_without_labels_it_clusters(blobs):
    X, _, truth = blobs
    for y in (None, np.full(50, -1)):
        search = ParetoTransductiveSVC(**SMALL).fit(X, y)
        assert search.classes_.tolist() == [0, 1]
        assert abs((search.transduction_ == truth).mean() - 0.5) == 0.5
        assert not search.front_.values[:, 1].any()


def test_without_unlabelled_rows_it_traces_the_path_of_the_plain_machine(blobs):
    X, _, truth = blobs
    X = X + 1.5 * np.random.default_rng(0).normal(size=X.shape)
    search = ParetoTransductiveSVC(**{**SMALL, "population_size": 40}).fit(X, truth)
    assert not search.front_.values[:, 2].any()
    for C in (0.1, 1.0, 10.0):
        exact = TransductiveSVC(C, gamma=0.1).fit(X, truth).objective_
        totals = search.front_.values @ [1.0, C, 0.0]
        assert totals.min() == pytest.approx(exact, rel=5e-3)
        assert totals.min() >= exact * (1 - 1e-3)


def test_exact_machines_include_the_plain_ones():
    problem = random_problem(1, n_unlabelled=6)
    machines = exact_machines(problem, good_labellings(problem, np.random.default_rng(0)))
    alone = ~machines[:, problem.unlabelled].any(axis=1) & machines.any(axis=1)
    assert alone.sum() >= 3
    rows = problem.labelled
    plain = TransductiveProblem(
        problem.kernel[np.ix_(rows, rows)], problem.known[rows], problem.upper[rows], 0, 0
    ).fit(np.zeros(0))
    coefficients = plain.solution.alpha * problem.known[rows]
    distances = np.abs(machines[alone][:, rows] - coefficients).max(axis=1)
    assert distances.min() < 1e-3


def test_after_the_deadline_one_labelling_is_left():
    problem = random_problem(1, n_unlabelled=30, gamma=3.0)
    fits = good_labellings(problem, np.random.default_rng(0))
    every, few = (exact_machines(problem, fits, deadline=end) for end in (None, 0.0))
    assert len(good_labellings(problem, np.random.default_rng(0), 0.0)) == 1 < len(fits)
    # Both constants, and machines at twenty prices, those without unlabelled rows among them.
    assert 2 < len(few) <= 2 + 20 < len(every)


def test_the_printed_mode_prefers_the_smaller_margin(blobs):
    X, y, truth = blobs
    printed = ParetoTransductiveSVC("dual", population_size=30, gamma=0.5, random_state=0)
    printed.fit(X, y)
    assert printed.front_.names == ("dual_objective", "train_sum", "test_sum")
    assert printed.front_.directions.maximised == printed.front_.names
    assert printed.n_iter_ == 200
    best = printed.front_.values[:, 0].max()
    assert printed.front_.values[printed.best_index_, 0] == best
    # The optimum of the right labelling is far below.
    assert best > 2.0 * TransductiveSVC(gamma=0.5, stall=1).fit(X, y).objective_
    assert (printed.transduction_[6:] != truth[6:]).mean() > 0.2


def test_rules(blobs, search):
    front = search.front_
    assert search.select("best:test_loss").transduction_.shape == (50,)
    cheap = search._index("penalised:C=0.001,C_unlabelled=0.001")
    dear = search._index("penalised:C=100,C_unlabelled=100")
    assert front.values[cheap, 0] < front.values[dear, 0]
    assert search._index(3) == 3
    limited = search._index("penalised where test_loss<=0.5 and n_support<=40")
    assert front.values[limited, 2] <= 0.5
    own = ParetoTransductiveSVC(**SMALL, choose="best:margin_term")
    own.fit(blobs[0], np.where(np.arange(50) < 6, search.transduction_, -1))
    assert own.best_index_ == own.front_.best("margin_term")
    for text in ("penalised:C=-1", "penalised:D=2", "penalised:C=x"):
        with pytest.raises(InvalidInputError, match="penalised takes prices"):
            search.select(text)


def test_table_and_picture_are_those_of_every_front(search):
    frame = search.to_frame()
    names = ["margin_term", "train_loss", "test_loss", "penalised", "n_support"]
    assert list(frame.columns) == names
    np.testing.assert_allclose(frame.penalised, frame[names[:3]].sum(axis=1))
    assert int(np.argmin(frame.penalised)) == search.best_index_
    assert frame.n_support.iloc[5] == len(search.select(5).support_)
    assert search.plot() is not None
    plt.close("all")


def test_rules_pass_over_machines_that_give_all_rows_to_one_class(blobs):
    X, y, _ = blobs
    free = ParetoTransductiveSVC(**SMALL, positive_ratio=None).fit(X, y)
    constant = free.front_.best("margin_term")
    assert len(set(free.front_.solution(constant).predict(X))) == 1
    assert len(set(free.select("best:margin_term").predict(X))) == 2
    with pytest.raises(EmptyFrontError, match="beats one class for every row"):
        free.select("knee where margin_term<=0")


def test_edges_are_fronts_of_their_own(blobs, search):
    front = search.front_
    pair = edge(front, ["test", "margin"])
    assert pair.names == ("margin_term", "test_loss")
    assert nondominated(pair.values).all()
    for index, row in enumerate(pair.rows):
        place = np.flatnonzero(front.rows == row)[0]
        np.testing.assert_array_equal(pair.values[index], front.values[place, [0, 2]])
    model = pair.solution(0)
    assert model.predict(blobs[0]).shape == (50,)
    assert edge(front, ["margin", "train", "test"]) == front
    assert len(edge(front, "margin")) >= 1


def test_odd_edges_are_refused(search):
    for pair in (["margin", "size"], [], ["test", "test"]):
        with pytest.raises(InvalidInputError, match="one to three of margin, train and test"):
            edge(search.front_, pair)
    with pytest.raises(InvalidInputError, match="this one has f1, f2"):
        edge(Front([[1.0, 2.0]], 2), ["margin", "test"])


def test_operators():
    space, rng = Box(-np.inf, np.inf, n_variables=3), np.random.default_rng(0)
    first, second = rng.normal(size=(2, 50, 3))
    a, b = BlendCrossover(rate=0.5)(first, second, space, rng)
    np.testing.assert_allclose(a + b, first + second)
    kept = (a == first).all(axis=1)
    assert 10 < kept.sum() < 40
    children = ScaleMutation(spread=0.2, shift=0.5)(first, space, rng)
    factors = children[:, :2] / first[:, :2]
    np.testing.assert_allclose(factors[:, 0], factors[:, 1])
    assert 0.1 < np.log(factors[:, 0]).std() < 0.3
    moved = ~np.isclose(children[:, 2] / first[:, 2], factors[:, 0])
    assert 10 < moved.sum() < 40
    box = Box([0.0, -1.0], [1.0, 1.0])
    drawn = SignedSparsityMutation()(np.zeros((200, 2)), box, rng)
    assert drawn[:, 0].min() == 0.0
    assert drawn[:, 1].min() < -0.5


def test_same_seed_same_front_and_searches_can_be_cut(blobs, search):
    X, y, _ = blobs
    assert ParetoTransductiveSVC(**SMALL).fit(X, y).front_ == search.front_
    late = ParetoTransductiveSVC(**SMALL, time_limit=1e-6).fit(X, y)
    assert late.stopped_by_ == "time_limit"
    assert len(late.front_) > 0


@pytest.mark.parametrize("objectives", ["primal", "dual"])
def test_evolution_gets_what_is_left_of_the_time(blobs, monkeypatch, objectives):
    seconds = []

    def recorded(*given, time_limit, **options):
        seconds.append(time_limit)
        return nsga2(*given, **options)

    monkeypatch.setattr(_transductive_front, "nsga2", recorded)
    ParetoTransductiveSVC(objectives, **SMALL, time_limit=100.0).fit(*blobs[:2])
    assert 0 < seconds[0] < 100.0


def test_labels_that_contradict_each_other_leave_the_best_total_with_a_warning():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat([[0.0, 0.0], [1.0, 1.0]], 2, axis=0), rng.normal(size=(12, 2))])
    y = np.append([0, 1, 0, 1], np.full(12, -1))
    with pytest.warns(ConstantPredictionWarning, match="predicts with the machine of the best"):
        search = ParetoTransductiveSVC(**SMALL).fit(X, y)
    assert search.best_index_ == search.to_frame()["penalised"].to_numpy().argmin()
    assert set(search.transduction_) == {0, 1}


def test_it_goes_on_from_a_checkpoint_to_the_same_front(blobs, search, tmp_path):
    X, y, _ = blobs
    options = {**SMALL, "checkpoint": tmp_path / "state.npz"}
    ParetoTransductiveSVC(**{**options, "max_iter": 2}).fit(X, y)
    resumed = ParetoTransductiveSVC(**options).fit(X, y)
    assert resumed.front_ == search.front_


@pytest.mark.parametrize("objectives", ["primal", "dual"])
def test_a_search_without_a_seed_goes_on_from_its_checkpoint(blobs, objectives, tmp_path):
    options = {"population_size": 10, "gamma": 0.1, "checkpoint": tmp_path / "state.npz"}
    ParetoTransductiveSVC(objectives, max_iter=2, **options).fit(*blobs[:2])
    resumed = ParetoTransductiveSVC(objectives, max_iter=4, **options).fit(*blobs[:2])
    assert resumed.n_iter_ == 4


def test_a_second_fit_is_the_first_with_a_sequence_as_seed(blobs):
    options = {**SMALL, "max_iter": 2, "random_state": np.random.SeedSequence(7)}
    search = ParetoTransductiveSVC(**options).fit(*blobs[:2])
    front = search.front_
    assert search.fit(*blobs[:2]).front_ == front


def test_two_classes_and_options_are_checked(blobs):
    X, y, _ = blobs
    with pytest.raises(InvalidInputError, match="takes two classes, got 3"):
        ParetoTransductiveSVC().fit(X, np.where(np.arange(50) == 9, 2, y))
    with pytest.raises(InvalidInputError, match="got one class: 1"):
        ParetoTransductiveSVC().fit(X, np.where(y == 0, -1, y))
    with pytest.raises(InvalidInputError, match="objectives must be"):
        ParetoTransductiveSVC("exact").fit(X, y)
    with pytest.raises(InvalidInputError, match="population_size must be"):
        ParetoTransductiveSVC(population_size=2).fit(X, y)


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.parametrize("objectives", ["primal", "dual"])
@pytest.mark.parametrize("limit", [1e-9, 16, 64, 256])
def test_a_search_that_time_cut_short_never_spoils_its_checkpoint(
    blobs, objectives, limit, tmp_path, monkeypatch
):
    X, y = blobs[:2]
    options = {"population_size": 10, "gamma": 0.1, "random_state": 0, "objectives": objectives}
    kept = options | {"checkpoint": tmp_path / "state.npz"}
    # A clock that goes on whenever it is looked at: where time ends is the same on all machines.
    with monkeypatch.context() as patched:
        patched.setattr("time.monotonic", count().__next__)
        ParetoTransductiveSVC(**kept, max_iter=2, time_limit=limit).fit(X, y)
    resumed = ParetoTransductiveSVC(**kept, max_iter=2).fit(X, y)
    assert resumed.front_ == ParetoTransductiveSVC(**options, max_iter=2).fit(X, y).front_
