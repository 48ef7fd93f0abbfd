import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import (
    Model,
    TreeGaussian,
    birth_death_tree,
    brownian_traits,
    simulate,
    yule_tree,
)


@pytest.mark.parametrize("death", [0.0, 0.6])
def test_trees_have_the_tips_asked_for_and_end_today(death):
    for seed in range(5):
        tree = birth_death_tree(17, death=death, random_state=seed)
        assert sorted(tree.tip_names) == sorted(f"t{i}" for i in range(1, 18))
        assert tree.is_ultrametric()
        inner = np.bincount(tree.parent[1:], minlength=len(tree.parent))[~tree.is_tip]
        assert (inner[1:] == 2).all()
        assert (tree.length[1:] > 0).all()
    assert tree == birth_death_tree(17, death=death, random_state=4)
    assert tree != birth_death_tree(17, death=death, random_state=5)


def test_the_age_of_a_yule_tree_is_a_sum_of_waiting_times():
    # From 2 lineages: the sum over k = 2..n of exponential times of rate k * birth.
    ages = [yule_tree(20, birth=2.0, random_state=seed).depth.max() for seed in range(200)]
    rates = 2.0 * np.arange(2, 21)
    mean, deviation = np.sum(1 / rates), np.sqrt(np.sum(1 / rates**2))
    assert np.mean(ages) == pytest.approx(mean, abs=3 * deviation / 200**0.5)


def test_deaths_are_as_frequent_as_their_rate():
    rng = np.random.default_rng(0)
    births = deaths = 0
    for _ in range(10):
        grown = simulate._grow(200, 1.5, 0.5, rng)
        if grown is not None:
            births += (len(grown[0]) - 3) // 2
            deaths += (len(grown[0]) - 3) // 2 + 2 - 200
    assert deaths / (births + deaths) == pytest.approx(0.25, abs=0.03)


def test_deaths_make_living_trees_with_more_recent_splits():
    def share(tree):
        inner = ~tree.is_tip
        return np.median(tree.depth[inner]) / tree.depth.max()

    pure = [share(yule_tree(40, random_state=seed)) for seed in range(20)]
    pulled = [share(birth_death_tree(40, death=0.9, random_state=seed)) for seed in range(20)]
    assert np.mean(pulled) > np.mean(pure)


def test_traits_are_independent_ones_mixed_by_a_root_of_the_rates():
    # That the independent ones have the covariance of the tree is tested with TreeGaussian.
    tree = yule_tree(9, random_state=0)
    rates = np.array([[2.0, -0.8, 0.0], [-0.8, 1.0, 0.1], [0.0, 0.1, 0.5]])
    options = {"pagel_lambda": 0.5, "random_state": 3}
    unit = brownian_traits(tree, 3, **options)
    mixed = brownian_traits(tree, 3, covariance=rates, root=[1.0, 5.0, 0.0], **options)
    factor, rest, *_ = np.linalg.lstsq(unit, mixed - [1.0, 5.0, 0.0], rcond=None)
    np.testing.assert_allclose(factor.T @ factor, rates, atol=1e-10)
    np.testing.assert_allclose(rest, 0.0, atol=1e-20)
    drawn = TreeGaussian(tree, Model(pagel_lambda=0.5)).sample(3, random_state=3)
    np.testing.assert_allclose(unit, drawn)


def test_traits_are_named_and_repeat_with_their_seed():
    tree = yule_tree(5, random_state=0)
    one = brownian_traits(tree, 2, covariance=4.0, random_state=1)
    assert list(one.columns) == ["trait1", "trait2"]
    assert list(one.index) == list(tree.tip_names)
    unit = brownian_traits(tree, 2, random_state=1)
    np.testing.assert_allclose(one, 2.0 * unit)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: yule_tree(1), "n_tips must be an integer of at least 2"),
        (lambda: yule_tree(5, birth=0), "birth must be a positive number"),
        (lambda: birth_death_tree(5, birth=1, death=1), "death must be below birth"),
        (lambda: brownian_traits(yule_tree(3), 0), "n_traits must be"),
        (lambda: brownian_traits(yule_tree(3), 2, covariance=np.eye(3)), "got shape"),
        (
            lambda: brownian_traits(yule_tree(3), 2, covariance=[[1, 2], [2, 1]]),
            "negative eigenvalues",
        ),
    ],
)
def test_simulations_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()
