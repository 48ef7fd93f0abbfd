r"""What a regression says about ancestors, whose features were never seen.

Features of ancestors are reconstructed as they would have evolved by Brownian motion; the fitted
regression then predicts the target from them. A reconstructed feature is a weighted mean of those
of the tips, with weights that are positive and sum to one: compositions stay compositions.
"""

import inspect
from typing import Any, NamedTuple

import numpy as np

from parsimon._options import check_choice, check_probability
from parsimon._typing import Array, Indices
from parsimon._validation import finite_matrix
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.ancestors import AncestralStates
from parsimon.phylo.matrix_normal import moments
from parsimon.phylo.rows import check_tree, split_tips, tip_gaussian
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_regressor import TreeRegressor

# Of central differences, in standard deviations of a column.
_STEP = 1e-4


class _Features(NamedTuple):
    """Columns at every node: expectation, shape (n_nodes, d), variance over rate, rates (d, d)."""

    mean: Array
    spread: Array
    rates: Array


def ancestral_predictions(
    tree: Tree,
    model: Any,
    features: Any,
    *,
    prediction: str | None = None,
    level: float = 0.95,
    name: str = "target",
) -> AncestralStates:
    r"""Predict the target of ancestors from their reconstructed features.

    Parameters
    ----------
    tree : Tree
    model : regressor
        Fitted: `PGLS`, `PhyRVM`, another regressor, or a Pipeline that ends in one.
    features : DataFrame or array of shape (n, d)
        Of tips, as they were given to `model`, with tip names in the index or where its option
        `tips` says. They evolve by Brownian motion with correlated rates.
    prediction : {"conditional", "marginal"}, optional
        Whether `PGLS` and `PhyRVM` add to the regression what the residuals of descendants say;
        their own option of this name if left out.
    level : float
        Of the intervals: Student's with n - 1 degrees of freedom.
    name : str
        What is predicted.

    Returns
    -------
    AncestralStates
        With one trait. Standard deviations count the uncertainty of the features, to first order
        in the slope of the model, and what the model itself is unsure of, if its `predict` takes
        `return_std`.

    Notes
    -----
    With lambda 1 in the regression the conditional prediction equals the reconstruction of the
    target itself by `ancestral_states`: features then add nothing to what the tree says. A marginal
    prediction, as in [1]_, is the regression line at the reconstructed features.

    References
    ----------
    .. [1] Fearn (2021), PhD thesis, University of Bristol, section 5.4.

    Examples
    --------
    >>> from parsimon.phylo import PGLS, brownian_traits, yule_tree
    >>> tree = yule_tree(40, random_state=0)
    >>> table = brownian_traits(tree, 2, root=[1.0, 0.0], random_state=0)
    >>> y = 10 * table["trait1"] + 0.1 * table["trait2"]
    >>> model = PGLS(tree).fit(table[["trait1"]], y)
    >>> states = ancestral_predictions(tree, model, table[["trait1"]])
    >>> bool(states.lower[0, 0] < 10 < states.upper[0, 0])
    True
    """
    check_tree(tree)
    level = check_probability("level", level)
    if prediction is not None:
        check_choice("prediction", prediction, ["conditional", "marginal"])
    steps, final = _divided(model)
    _check_same_tree(tree, final)
    table, positions = split_tips(features, tree, None if steps else getattr(final, "tips", None))
    columns = finite_matrix(np.asarray(table, dtype=np.float64), "features")
    known = _reconstructed(tree, positions, columns)
    regression = _Regression(tree, steps, final, getattr(table, "columns", None))
    mean, own = regression.at(known.mean, prediction)
    slopes = regression.slopes(known.mean, np.std(columns, axis=0))
    unsure = np.einsum("ij,jk,ik->i", slopes, known.rates, slopes)
    sd = np.sqrt(own**2 + known.spread * np.maximum(unsure, 0.0))
    return _states(tree, name, mean, sd, level, len(columns), final)


class _Regression(NamedTuple):
    """A fitted model as a function of features at the nodes of a tree."""

    tree: Tree
    steps: Any
    final: Any
    names: Any

    def at(self, columns: Array, prediction: str | None) -> tuple[Array, Array]:
        """Return means and standard deviations, shape (n_nodes,), for features of each node."""
        table = columns if self.names is None else self._frame(columns)
        if self.steps:
            table = self.steps.transform(table)
        if isinstance(self.final, TreeRegressor):
            kind = self.final.prediction if prediction is None else prediction
            return self.final._at_nodes(np.asarray(table, dtype=np.float64), self.nodes, kind)
        if "return_std" in inspect.signature(self.final.predict).parameters:
            mean, sd = self.final.predict(table, return_std=True)
        else:
            mean, sd = self.final.predict(table), np.zeros(len(columns))
        return np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)

    def slopes(self, columns: Array, scale: Array) -> Array:
        """Return derivatives of the line by each feature at each node, shape (n_nodes, d)."""
        found = np.zeros_like(columns)
        for j in np.flatnonzero(scale > 0):
            step = np.zeros(columns.shape[1])
            step[j] = _STEP * scale[j]
            above, below = (self.at(columns + move, "marginal")[0] for move in (step, -step))
            found[:, j] = (above - below) / (2.0 * step[j])
        return found

    @property
    def nodes(self) -> Indices | None:
        return None if self.final.tree is None else np.arange(len(self.tree.parent))

    def _frame(self, columns: Array) -> Any:
        import pandas as pd

        return pd.DataFrame(columns, columns=list(self.names))


def _divided(model: Any) -> tuple[Any, Any]:
    """Return what prepares features, None if nothing does, and the regressor."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if not isinstance(model, Pipeline):
        return None, model
    return (model[:-1] if len(model) > 1 else None), model[-1]


def _check_same_tree(tree: Tree, final: Any) -> None:
    theirs = getattr(final, "tree", None)
    if isinstance(theirs, Tree) and theirs != tree:
        raise InvalidInputError(
            f"The model was fitted with another tree, of {theirs.n_tips} tips; give that one."
        )


def _reconstructed(tree: Tree, positions: Indices | None, columns: Array) -> _Features:
    """Return the features of every node given those of the tips, under Brownian motion."""
    gaussian = tip_gaussian(tree, positions)
    if gaussian is None or len(columns) < 2:
        raise InvalidInputError("Features of at least two tips are needed for intervals.")
    found = moments(gaussian, columns)
    around = gaussian.conditional(np.column_stack([columns - found.mean, np.ones(len(columns))]))
    root = 1.0 / float(np.sum(gaussian.whiten(np.ones(len(columns))) ** 2))
    return _Features(
        found.mean + around.mean[:, :-1],
        around.variance + root * (1.0 - around.mean[:, -1]) ** 2,
        found.scatter / (found.n - 1),
    )


def _states(
    tree: Tree, name: str, mean: Array, sd: Array, level: float, n: int, final: Any
) -> AncestralStates:
    from scipy.stats import t

    mean, sd = mean[:, None], sd[:, None]
    half = t.ppf(0.5 + 0.5 * level, n - 1) * sd
    share = float(getattr(final, "lambda_", 0.0))
    return AncestralStates(tree, (name,), mean, sd, mean - half, mean + half, level, (share,))
