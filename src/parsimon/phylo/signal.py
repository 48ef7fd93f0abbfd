"""Is a trait more alike among relatives than by chance? Pagel's lambda and Blomberg's K."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._checks import check_count
from parsimon._random import Seed, generator
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._tips import trait_table
from parsimon.phylo.pgls import PGLS
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_gaussian import TreeGaussian

# Cells of permuted data held at once: 32 MB.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Signal:
    """How strongly a trait follows the tree.

    pagel_lambda: 0 if relatives are no more alike than others, 1 if as alike as Brownian motion
        makes them.
    lambda_interval: At 95 %, by likelihood ratios.
    log_likelihood, log_likelihood_without: At the best lambda, and at 0.
    likelihood_ratio, lambda_p_value: Twice their difference, and its probability under a
        chi-squared distribution with one degree of freedom: the usual test, cautious because 0
        is the end of the range.
    K: Blomberg's K: 1 is expected under Brownian motion, 0 without signal.
    K_p_value: Share of permutations with a K as great, the data themselves counted as one.
    n: Tips with data.
    """

    pagel_lambda: float
    lambda_interval: tuple[float, float]
    log_likelihood: float
    log_likelihood_without: float
    likelihood_ratio: float
    lambda_p_value: float
    K: float
    K_p_value: float
    n_permutations: int
    n: int


def phylogenetic_signal(
    tree: Tree, values: Any, *, n_permutations: int = 999, random_state: Seed = None
) -> Signal:
    """Measure the phylogenetic signal of a trait, linear in tips for each permutation.

    Parameters
    ----------
    tree : Tree
    values : Series or dict
        Numbers by tip name, at least three. The tree is pruned to these tips first, and begins at
        their last common ancestor, as is usual in R.
    n_permutations : int
        Of the test of K: values are shuffled among the tips.
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    Signal

    References
    ----------
    Blomberg, Garland and Ives (2003), "Testing for phylogenetic signal in comparative data",
    Evolution 57. Pagel (1999), "Inferring the historical patterns of biological evolution",
    Nature 401.

    Examples
    --------
    >>> from parsimon.phylo import brownian_traits, yule_tree
    >>> tree = yule_tree(100, random_state=0)
    >>> trait = brownian_traits(tree, random_state=0)["trait1"]
    >>> signal = phylogenetic_signal(tree, trait, n_permutations=99, random_state=0)
    >>> signal.pagel_lambda > 0.9, signal.K_p_value
    (True, 0.01)
    """
    from scipy.stats import chi2

    n_permutations = check_count("n_permutations", n_permutations)
    names, table, _ = trait_table(values)
    if len(names) < 3 or table.shape[1] != 1:
        raise InvalidInputError(
            f"One trait of at least three tips is needed, got {table.shape[1]} of {len(names)}."
        )
    y = table[:, 0]
    # A stem above the species with data would change what lambda means.
    tree = tree.keep(names, trim=True)
    positions = tree.match(names)
    if np.ptp(y) == 0:
        raise InvalidInputError("All values are the same: there is no variation to explain.")
    codes = np.column_stack([positions, np.zeros(len(y))])
    best = PGLS(tree, tips=0).fit(codes, y)
    without = PGLS(tree, tips=0, pagel_lambda=0.0).fit(codes, y).log_likelihood_
    ratio = max(2.0 * (best.log_likelihood_ - without), 0.0)
    gaussian = TreeGaussian(tree, tips=positions)
    K = float(blomberg_k(gaussian, y[:, None])[0])
    greater = _permute(gaussian, y, n_permutations, random_state) >= K * (1.0 - 1e-12)
    return Signal(
        best.lambda_,
        best.profile(n_points=3).interval,
        best.log_likelihood_,
        without,
        ratio,
        float(chi2.sf(ratio, 1)),
        K,
        (1.0 + float(greater.sum())) / (1.0 + n_permutations),
        n_permutations,
        len(y),
    )


def blomberg_k(gaussian: TreeGaussian, columns: Array) -> Array:
    """Return Blomberg's K of each column, shape (k,)."""
    n = len(columns)
    white = gaussian.whiten(np.column_stack([np.ones(n), columns]))
    one, rest = white[:, 0], white[:, 1:]
    weight = one @ one
    mean = one @ rest / weight
    # Equation of their page 722: observed over expected ratio of mean squares.
    observed = np.sum((columns - mean) ** 2, axis=0) / np.sum(
        (rest - one[:, None] * mean) ** 2, axis=0
    )
    trace = float(np.sum(gaussian.marginal_variance()[gaussian.nodes]))
    expected = (trace - n / weight) / (n - 1)
    return observed / expected


def _permute(gaussian: TreeGaussian, y: Array, n_permutations: int, random_state: Seed) -> Array:
    rng = generator(random_state)
    block = max(_CELLS // len(y), 1)
    found = []
    for start in range(0, n_permutations, block):
        n_columns = min(block, n_permutations - start)
        shuffled = rng.permuted(np.tile(y, (n_columns, 1)), axis=1).T
        found.append(blomberg_k(gaussian, shuffled))
    return np.concatenate(found)
