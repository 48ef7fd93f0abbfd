"""Models of evolution along the branches: what a branch keeps of a value, and what it adds.

Along a branch a trait goes from x to ``decay * x`` plus noise of the given variance. Brownian
motion keeps everything and adds the branch length; Pagel's lambda, kappa and delta change lengths;
the Ornstein-Uhlenbeck process forgets.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_choice, check_positive, shorten
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.tree import Tree, depths

Root = Literal["fixed", "stationary"]


@dataclass(frozen=True)
class Model:
    """Parameters of evolution; the values left out are Brownian motion.

    Parameters
    ----------
    pagel_lambda : float
        Factor of the depth of inner nodes, tips staying where they are: 0 is independence, 1 the
        tree as it is. Zero or more, and no more than the tips allow: see `greatest_lambda`.
    kappa : float
        Power of branch lengths; 0 makes all that are not zero equal.
    delta : float
        Power of depths; above 1 change is recent, below 1 it is early.
    alpha : float
        Pull of an Ornstein-Uhlenbeck process towards the mean, per unit of length; 0 is none.
    root : {"fixed", "stationary"}
        With `alpha`: the process begins at its mean, or in its long-run distribution.

    Examples
    --------
    >>> Model(pagel_lambda=0.5).delta
    1.0
    """

    pagel_lambda: float = 1.0
    kappa: float = 1.0
    delta: float = 1.0
    alpha: float = 0.0
    root: Root = "fixed"

    def __post_init__(self) -> None:
        for name in ("pagel_lambda", "kappa", "delta", "alpha"):
            check_positive(name, getattr(self, name), or_zero=True)
        check_choice("root", self.root, ["fixed", "stationary"])
        if self.root == "stationary" and self.alpha == 0:
            raise InvalidInputError(
                'root="stationary" needs alpha above zero: Brownian motion has no long-run '
                "distribution."
            )


def check_parameter(name: str, value: Any) -> None:
    """Refuse what is neither "ML", to be estimated, nor a number of zero or more."""
    if isinstance(value, str) and value == "ML":
        return
    if not isinstance(value, Real):
        raise InvalidInputError(f'{name} must be a number or "ML", got {value!r}.')
    check_positive(name, value, or_zero=True)


class Evolution(NamedTuple):
    """What every branch does, shape (n_nodes,) each; the root's is its variance at the start."""

    decay: Array
    variance: Array


def evolution(tree: Tree, model: Model) -> Evolution:
    """Return decay and variance of every branch."""
    length = transformed_lengths(tree, model)
    if model.alpha == 0:
        return Evolution(np.ones(len(length)), length)
    # (1 - exp(-2 alpha t)) / (2 alpha): Hansen (1997), "Stabilizing selection and the
    # comparative analysis of adaptation", Evolution 51.
    variance = -np.expm1(-2.0 * model.alpha * length) / (2.0 * model.alpha)
    decay = np.exp(-model.alpha * length)
    variance[0] = 0.5 / model.alpha if model.root == "stationary" else 0.0
    decay[0] = 1.0
    return Evolution(decay, variance)


def transformed_lengths(tree: Tree, model: Model) -> Array:
    """Return branch lengths after kappa, delta and lambda, that of the root as zero.

    The order is that of BayesTraits: lambda multiplies depths that delta has raised.
    """
    length, depth = tree.length.copy(), tree.depth
    length[0] = 0.0
    if model.kappa != 1:
        # A branch of length zero stays one: no change happens on it.
        length = np.where(length > 0, length, 1.0) ** model.kappa * (length > 0)
        depth = depths(tree.parent, length)
    above = np.maximum(tree.parent, 0)
    if model.delta != 1:
        moved = depth > 0
        depth = np.where(moved, depth, 1.0) ** model.delta * moved
        # No branch of length zero gets a length from rounding.
        length = np.where(length > 0, depth - depth[above], 0.0)
    if model.pagel_lambda != 1:
        share = model.pagel_lambda
        longer = length + (1.0 - share) * depth[above]
        _check_lambda(tree, longer, share)
        length = np.where(tree.is_tip, np.maximum(longer, 0.0), share * length)
        length[0] = 0.0
    return length


def greatest_lambda(tree: Tree) -> float:
    """Return the greatest lambda at which no tip branch is negative, kappa and delta being 1."""
    above = tree.depth[tree.parent[tree.tips]]
    deep = above > 0
    return float(np.min(tree.depth[tree.tips][deep] / above[deep])) if deep.any() else np.inf


def transformed_tree(tree: Tree, model: Model) -> Tree:
    """Return a tree whose Brownian covariance is that of the model."""
    length = transformed_lengths(tree, model)
    if model.alpha:
        moved = Tree(tree.parent, length, tree.name)
        if model.root == "stationary" or not moved.is_ultrametric():
            raise InvalidInputError(
                "An Ornstein-Uhlenbeck process is Brownian motion on another tree only where it "
                "begins at its mean and all tips are equally deep, after kappa and delta; use "
                "TreeGaussian for this one."
            )
        depth = moved.depth
        # exp(-2 alpha (H - s)) - exp(-2 alpha H), over 2 alpha, as the depth of a node at s.
        rest = 2.0 * model.alpha * (depth.max() - depth)
        grown = (np.exp(-rest) - np.exp(-rest[0])) / (2.0 * model.alpha)
        length = np.maximum(grown - grown[np.maximum(tree.parent, 0)], 0.0)
    length[0] = tree.length[0]
    return Tree(tree.parent, length, tree.name)


def _check_lambda(tree: Tree, longer: Array, share: float) -> None:
    short = tree.is_tip & (longer < -1e-12 * tree.depth)
    if short.any():
        names = [tree.name[node] for node in np.flatnonzero(short)]
        raise InvalidInputError(
            f"lambda = {share:g} makes the branches of these tips negative: {shorten(names)}. "
            "Give a smaller one."
        )
