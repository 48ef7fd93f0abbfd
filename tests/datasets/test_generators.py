"""What every generator promises: shapes, types, seeds."""

import numpy as np
import pytest

from parsimon import datasets
from parsimon.exceptions import InvalidInputError

MAKERS = [getattr(datasets, name) for name in datasets.__all__ if name.startswith("make_")]
# Variants come by chromosomes, with more than rows and labels: they have tests of their own.
OF_ROWS = [make for make in MAKERS if make is not datasets.make_variants]
by_name = pytest.mark.parametrize("make", OF_ROWS, ids=lambda make: make.__name__)


def test_every_generator_of_the_plan_is_here():
    assert {make.__name__.removeprefix("make_") for make in MAKERS} == {
        "ripley",
        "waveform",
        "spiral",
        "checkerboard",
        "global_and_local",
        "four_clusters",
        "three_clusters",
        "crescent",
        "clutter",
        "banana",
        "alerts",
        "variants",
    }


@by_name
@pytest.mark.parametrize("n", [6, 31, np.int64(60)])
def test_n_rows_of_numbers_and_labels(make, n):
    X, y = make(n, random_state=0)
    assert X.shape[0] == len(y) == n
    assert X.dtype == np.float64
    assert y.dtype == np.intp
    assert np.isfinite(X).all()


@by_name
def test_same_seed_same_sample(make):
    for first, second in zip(make(random_state=7), make(random_state=7), strict=True):
        np.testing.assert_array_equal(first, second)


@by_name
def test_another_seed_gives_another_sample(make):
    options = {"spread": 0.1} if make is datasets.make_four_clusters else {}
    assert not np.array_equal(
        make(random_state=1, **options)[0], make(random_state=2, **options)[0]
    )


@by_name
def test_a_generator_goes_on_where_it_was(make):
    options = {"spread": 0.1} if make is datasets.make_four_clusters else {}
    rng = np.random.default_rng(0)
    first, second = make(random_state=rng, **options)[0], make(random_state=rng, **options)[0]
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, make(random_state=np.random.default_rng(0), **options)[0])


@by_name
@pytest.mark.parametrize("n", [0, -3, 2.5, True, "9"])
def test_n_must_be_a_count(make, n):
    with pytest.raises(InvalidInputError, match="n must be an integer of at least"):
        make(n)
