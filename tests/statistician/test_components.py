from itertools import permutations

import numpy as np
import pytest

from parsimon.gp import Candidate, GPClassifier
from parsimon.kernels import Constant, Linear, Periodic, SquaredExponential, structure
from parsimon.kernels.form import sum_of_products
from parsimon.statistician.families.gp import _parts
from parsimon.statistician.families.gp._kernel_result import posterior_of
from parsimon.statistician.families.gp._parts import (
    component_findings,
    growing_sums,
    interaction_findings,
    join_parts,
    split,
)
from tests.statistician.questions import result_of, table

SE = SquaredExponential


@pytest.fixture(scope="module")
def additive():
    """A number that rises with a, turns with b, and needs c and d together."""
    rng = np.random.default_rng(1)
    X = table(rng.uniform(-1, 1, size=(60, 4))).set_axis(list("abcd"), axis=1)
    y = 50 + 10 * (2 * X["a"] + 2 * X["b"] ** 2 + 1.5 * X["c"] * X["d"])
    subject = result_of(X, y + rng.normal(size=60), depth=1)
    search = subject.search
    search.best_candidate_ = search.judge((SE(0) + SE(1) + SE(2) * SE(3)).start(X.to_numpy()))
    return subject


@pytest.fixture(scope="module")
def found(additive):
    return component_findings(additive)


def test_the_order_is_that_of_trying_every_sum(additive, found):
    search = additive.search
    parts = {str(part): part for part in sum_of_products(search.best_candidate_.kernel)}
    order, rest = [], set(parts)
    while rest:
        errors = {
            name: search.judge(join_parts([parts[key] for key in [*order, name]], [])).error
            for name in rest
        }
        order.append(min(errors, key=errors.__getitem__))
        rest.remove(order[-1])
    assert [one.alone.symbols for one in found] == order
    assert len(order) == 3


def test_gains_add_up_from_the_baseline_to_the_whole(additive, found):
    total = additive.search.baseline_.error - additive.search.best_candidate_.error
    assert sum(one.gain for one in found) == pytest.approx(total)
    assert found[0].gain == additive.search.baseline_.error - found[0].cumulative.error
    assert found[0].alone == found[0].cumulative
    assert found[-1].cumulative.symbols == "SE_1 + SE_2 + SE_3 × SE_4"
    assert found[-1].cumulative.error == additive.search.best_candidate_.error
    assert [one.cumulative.size for one in found][-1] == 4


def test_strengths_are_those_of_the_full_model(additive, found):
    by_name = {one.alone.symbols: one for one in found}
    assert set(by_name) == {"SE_1", "SE_2", "SE_3 × SE_4"}
    posterior = posterior_of(additive.search, additive.search.best_candidate_)
    rows = additive.question.X.to_numpy()
    means = {
        str(part): posterior.component(part, rows).mean
        for part in sum_of_products(additive.search.best_candidate_.kernel)
    }
    np.testing.assert_allclose(sum(means.values()), posterior.latent(rows).mean, atol=1e-8)
    for name, one in by_name.items():
        assert one.strength == pytest.approx(additive.question.y.std() * means[name].std())
    # In units of the target: the sd of 20 a is 11.5.
    assert by_name["SE_1"].strength == pytest.approx(20 * additive.question.X["a"].std(), rel=0.1)


def test_all_parts_together_are_the_best_structure_itself(additive):
    """Multiplied out, a factored kernel has more free numbers, and would be another model."""
    search = additive.search
    before = search.best_candidate_
    search.best_candidate_ = search.judge(
        (SE(0) * (SE(1) + SE(2))).start(additive.question.X.to_numpy())
    )
    last = component_findings(additive)[-1].cumulative
    assert last.symbols == "SE_1 × (SE_2 + SE_3)"
    assert last.error == search.best_candidate_.error
    search.best_candidate_ = before


def test_components_of_a_classifier_have_its_own_means():
    rng = np.random.default_rng(5)
    X = table(rng.normal(size=(80, 2))).set_axis(["a", "b"], axis=1)
    y = X["a"] - X["b"] + 0.4 * rng.normal(size=80) > 0
    subject = result_of(X, y, depth=1)
    best = subject.search.judge(SE(0) + SE(1))
    subject.search.best_candidate_ = best
    found = component_findings(subject)
    assert {one.alone.symbols for one in found} == {"SE_1", "SE_2"}
    model = GPClassifier(best.kernel, optimise=False).fit(X, y)
    expected = {part.name: part.mean.std() for part in model.components(X)}
    for one in found:
        assert one.strength == pytest.approx(expected[one.alone.expression], rel=1e-4)


def test_a_line_keeps_its_height_and_a_curve_needs_none():
    rng = np.random.default_rng(5)
    X = table(rng.normal(size=(60, 2))).set_axis(["a", "b"], axis=1)
    y = X["a"] + 2 * X["b"] ** 2 + 0.4 * rng.normal(size=60) > 1.2
    subject = result_of(X, y, base=("se", "lin"), depth=1)
    search = subject.search
    search.best_candidate_ = search.judge(Constant() + Linear(0) + SE(1))
    search.structure_found_ = True
    found = {one.alone.symbols: one for one in component_findings(subject)}
    assert set(found) == {"C + LIN_1", "SE_2"}
    assert found["C + LIN_1"].alone.words == "a (linear) alone"
    assert found["C + LIN_1"].alone.error == next(
        one.error for one in search.first_layer_ if str(one.kernel) == "C + LIN_1"
    )


def test_a_periodic_part_has_the_strength_of_its_wave():
    x = np.linspace(0, 8, 80)
    y = np.sin(np.pi * x) + 0.2 * np.random.default_rng(0).normal(size=80)
    subject = result_of(table({"day": x}), y, base=("per",), depth=1)
    [one] = component_findings(subject)
    assert isinstance(subject.search.best_kernel_, Periodic)
    assert one.strength > 0.5


def test_nothing_found_has_no_components():
    rng = np.random.default_rng(0)
    subject = result_of(table({"a": rng.normal(size=40)}), rng.integers(0, 2, 40), depth=1)
    assert component_findings(subject) == ()


def measured(error, evidence=0.0):
    return Candidate(
        kernel=SE(0), depth=1, parent=None, columns=(0,), error=error, log_evidence=evidence
    )


def test_greedy_sums_equal_brute_force_over_all_orders():
    """Each prefix has the least error among all sums that extend the prefix before it."""
    rng = np.random.default_rng(0)
    errors = {}

    def judged(places):
        return measured(errors.setdefault(frozenset(places), float(rng.random())))

    found = [places for places, _ in growing_sums(judged, [1.0] * 4)]
    assert [len(places) for places in found] == [1, 2, 3, 4]
    best = min(
        permutations(range(4)),
        key=lambda order: [errors.get(frozenset(order[:k]), 2.0) for k in range(1, 5)],
    )
    assert found[-1] == list(best)


def test_equal_errors_are_decided_by_evidence_and_failures_come_last():
    table_of = {
        (0,): measured(float("nan"), 99.0),
        (1,): measured(0.20001, -5.0),
        (2,): measured(0.20004, -3.0),
    }

    def judged(places):
        return table_of.get(tuple(places), measured(0.1))

    assert next(growing_sums(judged, [0, 0, 0]))[0] == [2]


def test_of_many_parts_the_strongest_comes_next():
    calls = []

    def judged(places):
        calls.append(tuple(places))
        return measured(0.5)

    order = list(growing_sums(judged, [1.0, 2.0, 9.0, 5.0, 3.0], greedy=False))[-1][0]
    assert order == [2, 3, 4, 1, 0]
    assert calls == [tuple(order[:n]) for n in range(1, 6)]


def test_many_parts_come_by_strength_and_no_sum_of_them_is_fitted(additive, monkeypatch):
    monkeypatch.setattr(_parts, "_MOST_PARTS", 2)
    found = component_findings(additive)
    strengths = [one.strength for one in found]
    assert strengths == sorted(strengths, reverse=True)
    assert np.isnan([one.alone.error for one in found]).all()
    assert found[-1].cumulative.error == additive.search.best_candidate_.error
    monkeypatch.undo()
    assert repr(component_findings(additive, fitted=False)) == repr(found)
    monkeypatch.setattr(_parts, "_MOST_PARTS", 0)
    assert not interaction_findings(additive)


def test_sums_are_split_and_joined_again():
    parts, constants = split(Constant() + SE(0) * (SE(1) + Linear(2)))
    assert [str(part) for part in parts] == ["SE_1 × SE_2", "SE_1 × LIN_3"]
    assert structure(join_parts(parts[1:], constants)) == structure(Constant() + SE(0) * Linear(2))
    assert join_parts(parts[:1], constants) == parts[0]
