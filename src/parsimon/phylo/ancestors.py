"""Traits of ancestors: expectations given the tips, and what a regression says about them.

The features of ancestors were never seen. They are reconstructed as they would have evolved by
Brownian motion; the fitted regression then predicts the target from them. A reconstructed feature
is a weighted mean of those of the tips, with weights that are positive and sum to one:
compositions stay compositions.
"""

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_choice, check_probability, finite_matrix
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._matrix_normal import moments
from parsimon.phylo._tips import TreeRegressor, check_tree, split_tips, tip_gaussian, trait_table
from parsimon.phylo.pgls import PGLS
from parsimon.phylo.tree import Tree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MODELS: dict[str, dict[str, Any]] = {
    "brownian": {"pagel_lambda": 1.0},
    "lambda": {"pagel_lambda": "ML"},
    "ou": {"pagel_lambda": 1.0, "alpha": "ML"},
}


@dataclass(frozen=True, eq=False)
class AncestralStates:
    """Traits of all nodes; those of tips with data are the data.

    mean, sd, lower, upper (n_nodes, n_traits): Row i is node i of the tree; node 0 is the root.
    level: Of the intervals from `lower` to `upper`.
    parameters: Lambda or alpha of each trait; 1 under Brownian motion.
    """

    tree: Tree
    traits: tuple[str, ...]
    mean: Array
    sd: Array
    lower: Array
    upper: Array
    level: float
    parameters: tuple[float, ...]

    @property
    def nodes(self) -> Indices:
        """Inner nodes, the root first."""
        return np.flatnonzero(~self.tree.is_tip)

    def to_frame(self, trait: str | None = None) -> "pd.DataFrame":
        """Return the ancestors' states of one trait, the first if left out: one row a node."""
        import pandas as pd

        column, nodes = self._column(trait), self.nodes
        size = np.ones(len(self.tree.parent), dtype=np.intp) * self.tree.is_tip
        for node in range(len(size) - 1, 0, -1):
            size[self.tree.parent[node]] += size[node]
        return pd.DataFrame(
            {
                "name": [self.tree.name[node] for node in nodes],
                "tips": size[nodes],
                "depth": self.tree.depth[nodes],
                "mean": self.mean[nodes, column],
                "sd": self.sd[nodes, column],
                "lower": self.lower[nodes, column],
                "upper": self.upper[nodes, column],
            },
            index=pd.Index(nodes, name="node"),
        )

    def plot(self, trait: str | None = None, *, ax: "Axes | None" = None, **options: Any) -> "Axes":
        """Draw the tree with the trait as the colour of branches: options as in `plot_tree`."""
        from parsimon.phylo.plot import plot_tree

        column = self._column(trait)
        options.setdefault("label", self.traits[column])
        return plot_tree(self.tree, node_values=self.mean[:, column], ax=ax, **options)

    def _column(self, trait: str | None) -> int:
        if trait is None:
            return 0
        if trait not in self.traits:
            raise InvalidInputError(f"There is no trait {trait!r}; there are {self.traits}.")
        return self.traits.index(trait)


def ancestral_states(
    tree: Tree,
    values: Any,
    *,
    model: Literal["brownian", "lambda", "ou"] = "brownian",
    level: float = 0.95,
) -> AncestralStates:
    """Reconstruct traits of ancestors, and of tips without data.

    Parameters
    ----------
    tree : Tree
    values : DataFrame, Series or dict
        Numbers by tip name; tips without a row are predicted. Each column is its own trait.
    model : {"brownian", "lambda", "ou"}
        How traits evolve: Brownian motion, with Pagel's lambda, or as an Ornstein-Uhlenbeck
        process that begins at its mean; parameters are estimated by maximum likelihood.
    level : float
        Of the intervals: Student's, that count the uncertainty of the root's value and of the
        rate, but not that of lambda or alpha.

    Returns
    -------
    AncestralStates

    Notes
    -----
    The expectation under Brownian motion is that of generalised least squares (Martins and Hansen
    1997), which is also that of maximum likelihood (Schluter et al. 1997).

    Examples
    --------
    >>> from parsimon.phylo import read_tree
    >>> tree = read_tree("((A:1,B:1):1,C:2);")
    >>> states = ancestral_states(tree, {"A": 1.0, "B": 3.0, "C": 6.0})
    >>> states.to_frame()[["tips", "mean"]].round(3).to_numpy().tolist()
    [[3.0, 3.714], [2.0, 2.571]]
    """
    check_choice("model", model, list(_MODELS))
    level = check_probability("level", level)
    names, table, traits = trait_table(values)
    positions = tree.match(names)
    if len(names) < 2:
        raise InvalidInputError("Values of at least two tips are needed for intervals.")
    found = [_reconstruct_trait(tree, positions, column, model) for column in table.T]
    mean, sd = (np.column_stack([trait[part] for trait in found]) for part in range(2))
    parameters = tuple(float(trait[2]) for trait in found)
    return _with_intervals(tree, traits, mean, sd, level, len(names), parameters)


def _reconstruct_trait(
    tree: Tree, positions: Indices, y: Array, model: str
) -> tuple[Array, Array, float]:
    """Return mean and standard deviation at every node, and lambda or alpha."""
    # The regression on a constant alone: a column of zeros adds nothing to it.
    codes = np.column_stack([positions, np.zeros(len(y))])
    fit = PGLS(tree, tips=0, **_MODELS[model]).fit(codes, y)
    nodes = np.arange(len(tree.parent))
    mean, sd = fit.at_nodes(np.zeros((len(nodes), 1)), nodes, "conditional")
    return mean, sd, fit.alpha_ if model == "ou" else fit.lambda_


def _with_intervals(
    tree: Tree,
    traits: tuple[str, ...],
    mean: Array,
    sd: Array,
    level: float,
    n: int,
    parameters: tuple[float, ...],
) -> AncestralStates:
    """Return states with Student's intervals of n - 1 degrees of freedom."""
    from scipy.stats import t

    half = sd * t.ppf(0.5 + 0.5 * level, n - 1)
    return AncestralStates(tree, traits, mean, sd, mean - half, mean + half, level, parameters)


# Of central differences, in standard deviations of a column.
_STEP = 1e-4


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
    steps, final = _divide(model)
    _check_same_tree(tree, final)
    table, positions = split_tips(features, tree, None if steps else getattr(final, "tips", None))
    columns = finite_matrix(np.asarray(table, dtype=np.float64), "features")
    expected, spread, rates = _reconstruct_features(tree, positions, columns)
    regression = _Regression(tree, steps, final, getattr(table, "columns", None))
    mean, own = regression.at(expected, prediction)
    slopes = regression.slopes(expected, np.std(columns, axis=0))
    unsure = np.einsum("ij,jk,ik->i", slopes, rates, slopes)
    sd = np.sqrt(own**2 + spread * np.maximum(unsure, 0.0))
    share = float(getattr(final, "lambda_", 0.0))
    return _with_intervals(tree, (name,), mean[:, None], sd[:, None], level, len(columns), (share,))


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
            return self.final.at_nodes(np.asarray(table, dtype=np.float64), self.nodes, kind)
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


def _divide(model: Any) -> tuple[Any, Any]:
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


def _reconstruct_features(
    tree: Tree, positions: Indices | None, columns: Array
) -> tuple[Array, Array, Array]:
    """Return features of every node given those of the tips, under Brownian motion.

    Their expectation, shape (n_nodes, d), its variance over the rates, (n_nodes,), and the rates,
    (d, d).
    """
    gaussian = tip_gaussian(tree, positions)
    if gaussian is None or len(columns) < 2:
        raise InvalidInputError("Features of at least two tips are needed for intervals.")
    found = moments(gaussian, columns)
    around = gaussian.conditional(np.column_stack([columns - found.mean, np.ones(len(columns))]))
    root = 1.0 / float(np.sum(gaussian.whiten(np.ones(len(columns))) ** 2))
    return (
        found.mean + around.mean[:, :-1],
        around.variance + root * (1.0 - around.mean[:, -1]) ** 2,
        found.scatter / (found.n - 1),
    )
