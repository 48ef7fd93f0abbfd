"""The moves of the genome: what they may do, how often they do it, what they never do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.rvm._genome import Moves, alpha_of, levels_of

genes = st.dictionaries(st.integers(0, 9), st.floats(-12, 12), min_size=1)


def changed(before, after):
    return {c for c in range(10) if before.get(c) != after.get(c)}


@given(genes, st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_a_child_differs_in_at_most_so_many_columns_and_is_never_empty(before, most, seed):
    kept = dict(before)
    after = Moves(10, most=most).perturb(before, np.random.default_rng(seed))
    assert before == kept
    assert after
    assert set(after) <= set(range(10))
    assert all(-12 <= level <= 12 for level in after.values())
    assert len(changed(before, after)) <= most + (len(before) <= most)


@given(genes, st.integers(0, 2**32 - 1))
def test_diversity_flips_a_tenth_but_at_least_two_each_way(before, seed):
    after = Moves(10).diversify(before, np.random.default_rng(seed))
    off, on = set(before) - set(after), set(after) - set(before)
    count = max(2, int(np.ceil(0.1 * len(before))))
    assert after
    assert len(off) == min(count, len(before))
    assert len(on) == min(count, 10 - len(before)) or len(before) == 10
    assert all(after[c] == before[c] for c in set(after) & set(before))


def test_the_three_moves_are_equally_likely_and_take_any_column():
    rng, moves = np.random.default_rng(0), Moves(6, most=1)
    before = {1: 0.0, 4: 1.0}
    counts = {"step": 0, "off": 0, "on": 0}
    seen = set()
    for _ in range(6000):
        after = moves.perturb(before, rng)
        if len(after) == 3:
            counts["on"] += 1
            seen |= set(after) - set(before)
        else:
            gone = set(before) - set(after)
            counts["off" if gone else "step"] += 1
            seen |= changed(before, after)
    # A step beyond 12 switches off: its chance is half of exp(-11.5 / 2), a third of the time.
    assert all(abs(count - 2000) < 5 * np.sqrt(6000 * 2 / 9) for count in counts.values())
    assert seen == set(range(6))


def test_steps_are_laplacian_of_scale_two_and_clipped_below():
    rng, moves = np.random.default_rng(1), Moves(2, most=1)
    children = [moves.perturb({0: 0.0}, rng) for _ in range(30000)]
    steps = np.array([c[0] for c in children if set(c) == {0} and c[0] not in (0.0, -12.0)])
    # The mean size of a Laplace variable is its scale; 12 is six scales away.
    assert np.abs(steps).mean() == pytest.approx(2.0, abs=0.06)
    assert steps.mean() == pytest.approx(0.0, abs=0.1)
    low = [moves.perturb({0: -12.0}, rng) for _ in range(300)]
    assert sum(c == {0: -12.0} for c in low) > 20


def test_a_level_beyond_the_largest_switches_the_column_off():
    rng, moves = np.random.default_rng(2), Moves(3, most=1)
    children = [moves.perturb({0: 12.0, 1: 0.0}, rng) for _ in range(3000)]
    off = sum(0 not in c for c in children)
    # A sixth by the switch; of the sixth that step, half go up.
    assert off / 3000 == pytest.approx(1 / 6 + 1 / 12, abs=0.03)


def test_columns_are_switched_on_at_levels_uniform_over_the_range():
    rng, moves = np.random.default_rng(3), Moves(50, most=1)
    on = [c for c in (moves.perturb({0: 0.0}, rng) for _ in range(9000)) if len(c) == 2]
    levels = np.array([level for c in on for column, level in c.items() if column])
    quartiles = np.quantile(levels, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(quartiles, [-12, -6, 0, 6, 12], atol=0.8)


def test_with_everything_on_a_column_is_never_added_but_stepped():
    rng, moves = np.random.default_rng(4), Moves(2, most=1)
    full = {0: 0.0, 1: 0.0}
    children = [moves.perturb(full, rng) for _ in range(300)]
    off = sum(len(c) == 1 for c in children)
    assert 60 < off < 140
    assert all(set(c) <= {0, 1} for c in children)


def test_singles_are_different_columns_at_the_smallest_precision():
    singles = Moves(5).singles(9, np.random.default_rng(0))
    assert sorted(c for genome in singles for c in genome) == [0, 1, 2, 3, 4]
    assert {level for genome in singles for level in genome.values()} == {-12.0}


def test_levels_and_precisions_are_each_other_within_the_range():
    levels = [-12.0, -0.5, 12.0]
    np.testing.assert_allclose(levels_of(alpha_of(levels)), levels)
    assert levels_of(np.array([1e-30, 1e30])) == [-12.0, 12.0]
