"""Random trees and traits."""

from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import check_count, check_positive, finite_matrix
from parsimon._random import Seed, generator
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._evolution import Model
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_gaussian import TreeGaussian

if TYPE_CHECKING:
    import pandas as pd

_MOST_ATTEMPTS = 1000


def yule_tree(n_tips: int, *, birth: float = 1.0, random_state: Seed = None) -> Tree:
    """Return a tree of the pure-birth process, stopped just before it would have one tip more.

    Parameters
    ----------
    n_tips : int
        At least 2.
    birth : float
        Rate at which each lineage splits.
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    Tree
        Ultrametric, with tips named t1, t2, ...

    Examples
    --------
    >>> yule_tree(100, random_state=1).is_ultrametric()
    True
    """
    return birth_death_tree(n_tips, birth=birth, death=0.0, random_state=random_state)


def birth_death_tree(
    n_tips: int, *, birth: float = 1.0, death: float = 0.5, random_state: Seed = None
) -> Tree:
    """Return the living part of a birth-death tree, at the first time that it has so many tips.

    It begins with two lineages, and again if all die; the last interval is one of the process
    with `n_tips` lineages.

    Parameters
    ----------
    n_tips : int
        At least 2.
    birth, death : float
        Rates at which each lineage splits and dies; `death` is the smaller.
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    Tree
        Ultrametric, with tips named t1, t2, ...

    Examples
    --------
    >>> birth_death_tree(20, death=0.8, random_state=0).n_tips
    20
    """
    n_tips = check_count("n_tips", n_tips, least=2)
    birth = check_positive("birth", birth)
    death = check_positive("death", death, or_zero=True)
    if death >= birth:
        raise InvalidInputError(f"death must be below birth, got {death:g} and {birth:g}.")
    rng = generator(random_state)
    for _ in range(_MOST_ATTEMPTS):
        grown = _grow(n_tips, birth, death, rng)
        if grown is not None:
            return _living(*grown)
    raise InvalidInputError(f"All of {_MOST_ATTEMPTS} trees died out. Give a lower death rate.")


def _grow(
    n_tips: int, birth: float, death: float, rng: np.random.Generator
) -> tuple[list[int], list[float], list[int]] | None:
    """Return parents, lengths and living nodes; None if the process died out."""
    parent, born, length = [-1, 0, 0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    alive, now, rate = [1, 2], 0.0, birth + death
    chances: list[tuple[float, float, float]] = []
    while alive:
        if not chances:
            # Many at once: single calls of the generator would take most of the time.
            block = np.column_stack(
                [rng.standard_exponential(4 * n_tips), rng.random((4 * n_tips, 2))]
            )
            chances = [tuple(numbers) for numbers in block.tolist()]
        wait, which, what = chances.pop()
        now += wait / (len(alive) * rate)
        if len(alive) == n_tips:
            for node in alive:
                length[node] = now - born[node]
            return parent, length, alive
        place = int(which * len(alive))
        node = alive[place]
        length[node] = now - born[node]
        alive[place] = alive[-1]
        alive.pop()
        if what * rate < birth:
            alive += [len(parent), len(parent) + 1]
            parent += [node, node]
            born += [now, now]
            length += [0.0, 0.0]
    return None


def _living(parent: list[int], length: list[float], alive: list[int]) -> Tree:
    """Return the tree of the living, named in order."""
    names = [f"dead{node}" for node in range(len(parent))]
    labels = [f"t{number}" for number in range(1, len(alive) + 1)]
    for label, node in zip(labels, sorted(alive), strict=True):
        names[node] = label
    for above in parent[1:]:
        names[above] = ""
    tree = Tree(np.array(parent), np.array(length), tuple(names))
    return tree if tree.n_tips == len(alive) else tree.keep(labels)


def brownian_traits(
    tree: Tree,
    n_traits: int = 1,
    *,
    covariance: Any = None,
    root: Any = 0.0,
    random_state: Seed = None,
    **parameters: Any,
) -> "pd.DataFrame":
    """Return traits that evolved along a tree.

    Parameters
    ----------
    tree : Tree
    n_traits : int
    covariance : float or array-like of shape (n_traits, n_traits), optional
        Rate of evolution of each trait, and between them; 1 and independent if left out.
    root : float or array-like of shape (n_traits,)
        Values at the root.
    random_state : int, Generator, SeedSequence, RandomState or None
    **parameters
        Of `Model`: pagel_lambda, kappa, delta, alpha, root distribution excepted.

    Returns
    -------
    DataFrame of shape (n_tips, n_traits)
        The index holds the names of the tips.

    Examples
    --------
    >>> tree = yule_tree(4, random_state=0)
    >>> brownian_traits(tree, 2, pagel_lambda=0.5, random_state=0).shape
    (4, 2)
    """
    import pandas as pd

    n_traits = check_count("n_traits", n_traits)
    rates = finite_matrix(1.0 if covariance is None else covariance, "covariance")
    if rates.shape == (1, 1):
        rates = rates[0, 0] * np.eye(n_traits)
    if rates.shape != (n_traits, n_traits) or not np.allclose(rates, rates.T):
        raise InvalidInputError(
            f"covariance must be a number or symmetric of shape ({n_traits}, {n_traits}), "
            f"got shape {rates.shape}."
        )
    values, vectors = np.linalg.eigh(rates)
    if values.min() < -1e-10 * max(values.max(), 1e-300):
        raise InvalidInputError("covariance must not have negative eigenvalues.")
    draws = TreeGaussian(tree, Model(**parameters)).sample(n_traits, random_state=random_state)
    mixed = draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T + np.asarray(root, dtype=float)
    names = [f"trait{number}" for number in range(1, n_traits + 1)]
    return pd.DataFrame(mixed, index=list(tree.tip_names), columns=names)
