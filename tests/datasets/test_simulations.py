"""Simulated studies: what the simulator of alerts draws, and how variants are planted."""

import numpy as np
import pytest

from parsimon.datasets import make_alerts, make_variants, sound_alerts
from parsimon.exceptions import InvalidInputError
from parsimon.roc import auc


def test_the_same_seed_gives_the_same_rows():
    ours, theirs = make_alerts(50, random_state=3), make_alerts(50, random_state=3)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])


def test_a_wider_alert_sounds_wherever_a_narrower_one_does():
    X, _ = make_alerts(300, random_state=0)
    narrow, wide = sound_alerts([[60, 2, 8], [90, 3, 10]], X)
    assert not (narrow & ~wide).any()
    assert narrow.sum() < wide.sum()
    np.testing.assert_array_equal(sound_alerts([60, 2, 8], X), narrow)


def test_the_alert_knows_much_but_not_all():
    X, y = make_alerts(3000, random_state=0)
    area = auc(y, sound_alerts([120, 3, 10], X).astype(float))
    assert 0.8 < area < 0.97


def test_wrong_shapes_are_refused():
    with pytest.raises(InvalidInputError, match="3 settings and rows of 6"):
        sound_alerts([1, 2], np.zeros((3, 6)))


def test_variants_are_balanced_within_chromosomes_and_the_same_for_a_seed():
    found = make_variants(5, 20, random_state=1)
    assert found.table.shape == (100, 28)
    assert [sum(found.target[found.chromosome == c]) for c in range(1, 6)] == [10] * 5
    again = make_variants(5, 20, random_state=1)
    assert found.table.equals(again.table)
    np.testing.assert_array_equal(found.target, again.target)
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert [name for names in found.columns.values() for name in names] == list(found.table)


def test_only_planted_groups_matter():
    alone = make_variants(10, 60, weights={"spectrum": 2.0}, noise=0.0, random_state=0)
    assert alone.weights == {"evolution": 0, "consequence": 0, "distance": 0, "spectrum": 1}
    words = alone.table["before"] + alone.table["after"]
    counts = np.array([[word.count(letter) for letter in "ACGT"] for word in words])
    fitted = counts @ np.linalg.lstsq(counts, alone.target, rcond=None)[0]
    numbers = alone.table.drop(columns=["before", "after"]).to_numpy()
    others = numbers @ np.linalg.lstsq(numbers, alone.target - 0.5, rcond=None)[0]
    assert np.corrcoef(fitted, alone.target)[0, 1] > 0.3
    assert abs(np.corrcoef(others, alone.target)[0, 1]) < 0.3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": {"size": 1.0}}, "names 'size'"),
        ({"weights": {"distance": 0.0}}, "All weights are zero"),
        ({"noise": -1.0}, "noise must be"),
        ({"n_each": 1}, "n_each must be"),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(InvalidInputError, match=words):
        make_variants(**options)
