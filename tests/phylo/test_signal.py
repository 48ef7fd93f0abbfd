import numpy as np
import pytest
from scipy.stats import chi2

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import (
    PGLS,
    TreeGaussian,
    birth_death_tree,
    brownian_traits,
    covariance,
    phylogenetic_signal,
    signal,
    yule_tree,
)


def test_k_equals_the_dense_formula():
    tree = birth_death_tree(25, random_state=0)
    y = np.random.default_rng(1).normal(size=25)
    inverse = np.linalg.inv(covariance(tree))
    one = np.ones(25)
    mean = one @ inverse @ y / inverse.sum()
    observed = np.sum((y - mean) ** 2) / ((y - mean) @ inverse @ (y - mean))
    expected = (np.trace(covariance(tree)) - 25 / inverse.sum()) / 24
    found = signal.blomberg_k(TreeGaussian(tree), y[:, None])
    np.testing.assert_allclose(found, observed / expected, rtol=1e-10)


def test_traits_with_and_without_signal_are_told_apart():
    tree = yule_tree(120, random_state=0)
    strong = brownian_traits(tree, random_state=1)["trait1"]
    with_signal = phylogenetic_signal(tree, strong, n_permutations=199, random_state=0)
    assert with_signal.pagel_lambda > 0.9
    assert with_signal.lambda_p_value < 1e-6
    assert with_signal.K_p_value == 1 / 200
    noise = strong.sample(frac=1, random_state=2)
    noise.index = strong.index
    without = phylogenetic_signal(tree, noise, n_permutations=199, random_state=0)
    assert without.pagel_lambda < 0.3
    assert without.lambda_p_value > 0.05
    assert without.K_p_value > 0.05
    assert without.K < with_signal.K


def test_the_parts_agree_with_the_regression_on_a_constant():
    tree = yule_tree(30, random_state=4)
    y = brownian_traits(tree, pagel_lambda=0.5, random_state=4)["trait1"]
    found = phylogenetic_signal(tree, y[::2], n_permutations=9, random_state=0)
    constant = np.zeros((15, 1))
    fit = PGLS(tree, tips=0).fit(np.column_stack([tree.match(y[::2]), constant]), y[::2])
    assert found.pagel_lambda == fit.lambda_
    assert found.log_likelihood == fit.log_likelihood_
    ratio = 2 * (found.log_likelihood - found.log_likelihood_without)
    assert found.likelihood_ratio == pytest.approx(max(ratio, 0))
    assert found.lambda_p_value == pytest.approx(chi2.sf(found.likelihood_ratio, 1))
    assert found.n == 15
    low, high = found.lambda_interval
    assert low <= found.pagel_lambda <= high


def test_the_same_seed_gives_the_same_p_value_in_any_blocks(monkeypatch):
    tree = yule_tree(20, random_state=0)
    y = brownian_traits(tree, pagel_lambda=0.2, random_state=3)["trait1"].to_dict()
    one = phylogenetic_signal(tree, y, n_permutations=60, random_state=5)
    monkeypatch.setattr(signal, "_CELLS", 20 * 7)
    assert phylogenetic_signal(tree, y, n_permutations=60, random_state=5) == one
    other = phylogenetic_signal(tree, y, n_permutations=61, random_state=6)
    assert other.K == one.K
    assert other.K_p_value != one.K_p_value


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"t1": 1.0, "t2": 2.0}, "at least three tips is needed, got 1 of 2"),
        ({"t1": 1.0, "t2": 1.0, "t3": 1.0}, "no variation"),
        ({"t1": 1.0, "t2": np.nan, "t3": 1.0}, "values must be finite"),
        ([1.0, 2.0, 3.0], "must be a DataFrame or a Series"),
    ],
)
def test_values_without_signal_are_refused(values, message):
    with pytest.raises(InvalidInputError, match=message):
        phylogenetic_signal(yule_tree(5, random_state=0), values)


def test_a_table_of_two_traits_is_refused():
    tree = yule_tree(5, random_state=0)
    with pytest.raises(InvalidInputError, match="got 2 of 5"):
        phylogenetic_signal(tree, brownian_traits(tree, 2, random_state=0))
    with pytest.raises(InvalidInputError, match="n_permutations must be an integer"):
        phylogenetic_signal(tree, brownian_traits(tree, random_state=0), n_permutations=0)


def test_tips_without_data_have_no_part_in_it():
    tree = yule_tree(40, random_state=3)
    trait = brownian_traits(tree, pagel_lambda=0.6, random_state=4)["trait1"]
    # All but the clades on one side of the root.
    kept = [name for name, side in zip(tree.tip_names, _sides(tree), strict=True) if side]
    whole, pruned = (
        phylogenetic_signal(one, trait[kept], n_permutations=9, random_state=0)
        for one in (tree, tree.keep(kept, trim=True))
    )
    assert whole == pruned


def _sides(tree):
    first = int(np.flatnonzero(tree.parent == 0)[0])
    side = np.zeros(len(tree.parent), dtype=bool)
    side[first] = True
    for node in range(1, len(side)):
        side[node] |= side[tree.parent[node]]
    return ~side[tree.tips]
