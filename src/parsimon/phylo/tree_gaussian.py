"""Traits of the tips as one Gaussian vector: densities, whitening and expectations given relatives.

Nothing here builds the covariance matrix except `TreeGaussian.covariance`, which is for small
trees and for tests.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import finite_matrix
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._evolution import Evolution, Model, evolution
from parsimon.phylo._passes import (
    Schedule,
    Upwards,
    downwards,
    from_root,
    make_schedule,
    slot_branches,
    upwards,
)
from parsimon.phylo.tree import Tree


class Conditional(NamedTuple):
    """Values of all nodes given those of the tips with data.

    Shapes: mean (n_nodes,).

    variance (n_nodes,): For unit rate.
    """

    mean: Array
    variance: Array


@dataclass(frozen=True, eq=False)
class TreeGaussian:
    """A zero-mean Gaussian vector with one entry for each tip, of unit rate.

    The covariance of two tips under Brownian motion is the length of the path that they share
    from the root; `model` changes it. Every method but `covariance` is linear in the nodes of the
    tree.

    Parameters
    ----------
    tree : Tree
    model : Model
        Brownian motion if left out.
    tips : array of int, optional
        Positions in ``tree.tips`` of the rows, in their order; all tips if left out.

    Examples
    --------
    >>> from parsimon.phylo import read_tree
    >>> gaussian = TreeGaussian(read_tree("(A:2,(B:1,C:1):1);"))
    >>> gaussian.covariance()
    array([[2., 0., 0.],
           [0., 2., 1.],
           [0., 1., 2.]])
    >>> round(gaussian.log_determinant, 6) == round(float(np.log(6)), 6)
    True
    """

    tree: Tree
    model: Model = field(default_factory=Model)
    tips: Indices | None = None

    def __post_init__(self) -> None:
        if self.tips is not None and np.bincount(self.tips).max(initial=0) > 1:
            raise InvalidInputError(
                "A tip has more than one row, so that their covariance is singular. Average "
                "the rows of each tip."
            )

    @cached_property
    def nodes(self) -> Indices:
        """Nodes of the tree that the rows are, shape (n,)."""
        return self.tree.tips if self.tips is None else self.tree.tips[np.asarray(self.tips)]

    @cached_property
    def schedule(self) -> Schedule:
        if len(self.nodes) == self.tree.n_tips:
            return replace(self.tree.joins, tips=self.tree.joins.slot[self.nodes])
        return make_schedule(self.tree, self.nodes)

    @cached_property
    def _branches(self) -> Evolution:
        return evolution(self.tree, self.model)

    def with_model(self, model: Model) -> "TreeGaussian":
        """Return the same rows of the same tree under another model, without a new schedule."""
        other = TreeGaussian(self.tree, model, self.tips)
        other.__dict__["nodes"] = self.nodes
        other.__dict__["schedule"] = self.schedule
        return other

    def whiten(self, values: Any) -> Array:
        """Return W @ values, with W.T @ W the inverse of the covariance.

        Parameters
        ----------
        values : array-like of shape (n,) or (n, k)

        Returns
        -------
        ndarray of the same shape
        """
        return self.whitened(values)[0]

    def whitened(self, values: Any) -> tuple[Array, float]:
        """Return `whiten` of the values and the log determinant of the covariance, in one pass."""
        columns, flat = self._columns(values)
        white, log_determinant = self.whitened_columns(columns)
        return white[:, 0] if flat else white, log_determinant

    def whitened_columns(self, columns: Array) -> tuple[Array, float]:
        """Do what `whitened` does for finite columns of shape (n, k), without looking at them."""
        up = upwards(self.schedule, self._branches, columns)
        self._check_regular(up)
        return up.contrasts, float(np.sum(np.log(up.variances)))

    @cached_property
    def log_determinant(self) -> float:
        """Log determinant of the covariance."""
        return self.whitened(np.zeros((len(self.nodes), 0)))[1]

    def log_density(self, values: Any, *, variance: float = 1.0) -> Array:
        """Return the log density of each column, for rates `variance`; shape (k,)."""
        white, log_determinant = self.whitened(self._columns(values)[0])
        n = len(white)
        constant = n * np.log(2.0 * np.pi * variance) + log_determinant
        return -0.5 * (constant + np.sum(white**2, axis=0) / variance)

    def conditional(self, values: Any) -> Conditional:
        """Return expectation and variance of every node of the tree given values at the rows.

        Parameters
        ----------
        values : array-like of shape (n,) or (n, k)

        Returns
        -------
        Conditional
            Row i is node i of the tree.
        """
        columns, flat = self._columns(values)
        tips = self.tree.tips
        place = np.full(len(self.tree.parent), -1)
        place[self.nodes] = np.arange(len(self.nodes))
        rows = place[tips]
        schedule = self.tree.joins
        known = rows >= 0
        up = upwards(schedule, self._branches, columns[np.maximum(rows, 0)], known)
        self._check_regular(up)
        mean, variance = downwards(schedule, self._branches, up)
        return Conditional(mean[:, 0] if flat else mean, variance)

    def marginal_variance(self) -> Array:
        """Return the variance of every node of the tree without data, shape (n_nodes,)."""
        schedule = self.tree.joins
        decay, variance = slot_branches(schedule, self._branches)
        spread = from_root(schedule, decay, variance, np.zeros((len(decay), 0)))[1]
        return spread[schedule.slot]

    def covariance_with_mean(self) -> Array:
        """Return the covariance of every node with the plain mean of the rows, in two walks."""
        parent, (decay, variance) = self.tree.parent.tolist(), self._branches
        # What a step of each branch adds to the mean of the rows.
        weight = np.zeros(len(parent))
        weight[self.nodes] = 1.0 / len(self.nodes)
        for node in range(len(parent) - 1, 0, -1):
            weight[parent[node]] += decay[node] * weight[node]
        shared = variance * weight
        for node in range(1, len(parent)):
            shared[node] += decay[node] * shared[parent[node]]
        return shared

    def sample(self, n_draws: int = 1, *, random_state: Seed = None) -> Array:
        """Return draws, shape (n, n_draws)."""
        rng = generator(random_state)
        schedule = self.schedule
        decay, variance = slot_branches(schedule, self._branches)
        noise = rng.normal(size=(len(decay), n_draws)) * np.sqrt(variance)[:, None]
        return from_root(schedule, decay, variance, noise)[0][schedule.tips]

    def covariance(self) -> Array:
        """Return the covariance matrix, shape (n, n): for small trees."""
        parent, (decay, variance) = self.tree.parent, self._branches
        full = np.zeros((len(parent), len(parent)))
        full[0, 0] = variance[0]
        for node in range(1, len(parent)):
            full[node, :node] = full[:node, node] = decay[node] * full[parent[node], :node]
            full[node, node] = decay[node] ** 2 * full[parent[node], parent[node]] + variance[node]
        return full[np.ix_(self.nodes, self.nodes)]

    def precision(self) -> Array:
        """Return the inverse of the covariance matrix, shape (n, n), at quadratic cost."""
        white = self.whiten(np.eye(len(self.nodes)))
        return white.T @ white

    def _columns(self, values: Any) -> tuple[Array, bool]:
        array = np.asarray(values, dtype=np.float64)
        flat = array.ndim == 1
        columns = finite_matrix(array[:, None] if flat else array, "values")
        if len(columns) != len(self.nodes):
            raise InvalidInputError(f"{len(columns)} rows were given for {len(self.nodes)} tips.")
        return columns, flat

    def _check_regular(self, up: Upwards) -> None:
        if (up.variances > 0).all():
            return
        names = _coinciding(self.tree, self._branches, self.nodes)
        raise InvalidInputError(
            f"The covariance of the tips is singular: {names}. Prune all but one of such tips, "
            "lengthen their branches, or use a lambda below 1."
        )


def _coinciding(tree: Tree, branches: Evolution, nodes: Indices) -> str:
    """Say which tips have no branch between them, or none to the root."""
    above = tree.parent.tolist()
    still = (branches.variance == 0).tolist()
    place = list(range(len(above)))
    for node in range(1, len(above)):
        if still[node]:
            place[node] = place[above[node]]
    groups: dict[int, list[str]] = {}
    for node in nodes.tolist():
        groups.setdefault(place[node], []).append(tree.name[node])
    for node, names in groups.items():
        if len(names) > 1:
            return f"{names[0]} and {names[1]} are at distance zero"
        if place[node] == 0 and still[0]:
            return f"{names[0]} is at the root"
    return "some tips are too close to be told apart"


def covariance(tree: Tree, **parameters: Any) -> Array:
    """Return the covariance matrix of the tips, in the order of ``tree.tip_names``.

    Parameters
    ----------
    tree : Tree
    **parameters
        Of `Model`: pagel_lambda, kappa, delta, alpha, root.

    Returns
    -------
    ndarray of shape (n_tips, n_tips)

    Examples
    --------
    >>> from parsimon.phylo import read_tree
    >>> covariance(read_tree("((A:1,B:1):1,C:2);"), pagel_lambda=0.5)
    array([[2. , 0.5, 0. ],
           [0.5, 2. , 0. ],
           [0. , 0. , 2. ]])
    """
    return TreeGaussian(tree, Model(**parameters)).covariance()
