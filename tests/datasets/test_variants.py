import numpy as np
import pytest

from parsimon.datasets import make_variants
from parsimon.exceptions import InvalidInputError


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
