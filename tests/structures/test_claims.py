"""Variables that stand for each other: what is claimed of them together."""

from itertools import combinations

import numpy as np
import pytest

from parsimon.structures import Claim, _best_first, find_structures, merged, posterior, steady
from parsimon.structures.claims import CERTAIN, StandIns, find_stand_ins, say_sets


def _sets(weights: dict[str, float], d: int = 6):
    """Return the sets of a posterior whose structures are texts of digits."""
    held = [frozenset(map(int, one)) for one in weights]
    chances = np.array(list(weights.values()))
    chances = chances / chances.sum()
    variables = np.zeros(d)
    for one, chance in zip(held, chances, strict=True):
        variables[list(one)] += chance
    return find_stand_ins(held, chances, variables), held, chances, variables


def test_copies_are_one_set():
    found, *_ = _sets({"0": 0.4, "1": 0.35, "2": 0.23, "": 0.02})
    assert [one.members for one in found] == [(0, 1, 2)]
    assert found[0].chance == pytest.approx(0.98)


def test_the_smallest_set_is_claimed():
    found, *_ = _sets({"0": 0.6, "1": 0.37, "2": 0.03})
    assert [one.members for one in found] == [(0, 1)]


def test_two_separate_suggestions_are_no_set():
    weights = {"": 0.04, "0": 0.16, "1": 0.16, "01": 0.64}
    found, *_ = _sets(weights)
    assert found == ()


def test_a_separate_suggestion_does_not_complete_a_set():
    copies = {"0": 0.5, "1": 0.42, "": 0.08}
    weights = {
        one + two: a * b for one, a in copies.items() for two, b in {"2": 0.6, "": 0.4}.items()
    }
    found, *_ = _sets(weights)
    assert found == ()


def test_a_certain_variable_is_in_no_set():
    found, *_ = _sets({"30": 0.5, "31": 0.47, "3": 0.03})
    assert [one.members for one in found] == [(0, 1)]


@pytest.mark.parametrize("seed", range(20))
def test_sets_are_what_all_structures_say(seed):
    rng = np.random.default_rng(seed)
    every = ["".join(one) for k in range(4) for one in combinations("012345", k)]
    weights = dict(zip(every, rng.dirichlet(np.full(len(every), 0.05)), strict=True))
    found, held, chances, variables = _sets(weights)

    def chance_of(members):
        return sum(c for one, c in zip(held, chances, strict=True) if one & set(members))

    taken = [place for one in found for place in one.members]
    assert len(taken) == len(set(taken))
    for one in found:
        assert one.chance == pytest.approx(chance_of(one.members))
        assert one.chance >= CERTAIN
        assert max(variables[list(one.members)]) < CERTAIN
        for left_out in one.members:
            assert chance_of(set(one.members) - {left_out}) < CERTAIN


def _copied(seed=0, n=120):
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=n)
    copies = [0.97 * cause + 0.24 * rng.normal(size=n) for _ in range(2)]
    X = np.column_stack([cause, *copies, rng.normal(size=(n, 3))])
    return X, cause + rng.normal(size=n)


def test_noisy_copies_of_a_cause_are_claimed_together():
    named = 0
    for seed in range(12):
        X, y = _copied(seed)
        claims = find_structures(X, y, "regression", names=list("abcdef")).claims()
        sets = [one for one in claims if one.kind == "set"]
        assert all("a" in one.variables and one.certain for one in sets)
        assert any(one.certain and "a" in one.variables for one in claims)
        named += len(sets)
    assert named >= 4


def test_structures_that_are_not_kept_count_too(monkeypatch):
    X, y = _copied(2)
    whole = find_structures(X, y, "regression").sets
    monkeypatch.setattr(_best_first, "_MOST_KEPT", 1)
    assert whole
    assert find_structures(X, y, "regression").sets == whole


def test_what_is_supported_has_one_of_a_set():
    rng = np.random.default_rng(2)
    x = rng.normal(size=150)
    copies = [x + 1e-9 * rng.normal(size=150) for _ in range(3)]
    X = np.column_stack([*copies, rng.normal(size=(150, 5))])
    found = find_structures(X, x + rng.normal(size=150), "regression")
    assert found.variables.max() < 0.5
    assert len(found.supported.variables) == 1


# mpg, cyl, disp, hp, wt, qsec of 32 cars: Henderson and Velleman (1981), Biometrics 37:391-411.
_CARS = (
    "21 6 160 110 2.62 16.46; 21 6 160 110 2.875 17.02; 22.8 4 108 93 2.32 18.61; "
    "21.4 6 258 110 3.215 19.44; 18.7 8 360 175 3.44 17.02; 18.1 6 225 105 3.46 20.22; "
    "14.3 8 360 245 3.57 15.84; 24.4 4 146.7 62 3.19 20; 22.8 4 140.8 95 3.15 22.9; "
    "19.2 6 167.6 123 3.44 18.3; 17.8 6 167.6 123 3.44 18.9; 16.4 8 275.8 180 4.07 17.4; "
    "17.3 8 275.8 180 3.73 17.6; 15.2 8 275.8 180 3.78 18; 10.4 8 472 205 5.25 17.98; "
    "10.4 8 460 215 5.424 17.82; 14.7 8 440 230 5.345 17.42; 32.4 4 78.7 66 2.2 19.47; "
    "30.4 4 75.7 52 1.615 18.52; 33.9 4 71.1 65 1.835 19.9; 21.5 4 120.1 97 2.465 20.01; "
    "15.5 8 318 150 3.52 16.87; 15.2 8 304 150 3.435 17.3; 13.3 8 350 245 3.84 15.41; "
    "19.2 8 400 175 3.845 17.05; 27.3 4 79 66 1.935 18.9; 26 4 120.3 91 2.14 16.7; "
    "30.4 4 95.1 113 1.513 16.9; 15.8 8 351 264 3.17 14.5; 19.7 6 145 175 2.77 15.5; "
    "15 8 301 335 3.57 14.6; 21.4 4 121 109 2.78 18.6"
)
CARS = np.array([list(map(float, car.split())) for car in _CARS.split(";")])


def test_weight_and_displacement_stand_for_each_other():
    found = find_structures(
        CARS[:, 1:], CARS[:, 0], "regression", names=["cyl", "disp", "hp", "wt", "qsec"]
    )
    claims = found.claims("mpg")
    assert not any(one.certain for one in claims if one.kind == "variable")
    [together] = [one for one in claims if one.kind == "set"]
    assert together.certain
    assert together.words == "at least one of wt and disp matters"
    assert together.variables == ("wt", "disp")


def _claim(kind, *variables, probability=0.99):
    return Claim(
        kind=kind,
        variables=variables,
        probability=probability,
        certain=probability >= CERTAIN,
        words=" ".join(variables),
    )


@pytest.mark.parametrize(
    ("part", "certain"),
    [
        ((_claim("variable", "b", probability=0.6),), True),
        ((_claim("set", "b", "c"),), True),
        ((_claim("any", probability=0.7),), True),
        ((_claim("variable", "c"), _claim("interaction", "c", "d")), False),
        ((), False),
    ],
)
def test_a_part_bears_a_set_out_with_any_of_its_members(part, certain):
    [one] = steady([_claim("set", "a", "b")], [part])
    assert one.certain == certain


def test_questions_together_say_no_more_than_they_must():
    known = _claim("variable", "a")
    sets = [
        _claim("set", "a", "b"),
        _claim("set", "c", "d"),
        _claim("set", "d", "e", probability=0.96),
    ]
    some = _claim("any")
    assert merged([some, *sets, known]) == (known, sets[1])
    assert merged([some]) == (some,)


def test_that_something_matters_is_said_where_no_column_is_sure():
    found = find_structures(*_copied(1), "regression")
    unsure = [one for one in found.claims() if one.kind == "any"]
    assert unsure == []
    vague = posterior.StructurePosterior(
        ("a", "b"),
        ((0,), (1,)),
        (),
        np.zeros(0),
        np.array([0.6, 0.5]),
        np.zeros((2, 3)),
        np.zeros((2, 2)),
        1,
        1,
        nothing=0.03,
    )
    said = {one.kind: one for one in vague.claims("height")}
    assert said["any"].certain
    assert said["any"].words == "something here predicts height"
    assert said["any"].variables == ()


def test_the_surest_set_is_said_first():
    sets = [StandIns((0, 1), 0.95), StandIns((2, 3, 4), 0.999), StandIns((5, 6), 0.97)]
    said = list(say_sets(list("abcdefg"), sets))
    assert [one.variables for one in said] == [("c", "d", "e"), ("f", "g"), ("a", "b")]
    assert said[0].words == "at least one of c, d and e matters"
    assert [one.probability for one in said] == [0.999, 0.97, 0.95]
