"""Traits of ancestors: expectations given the tips, with intervals."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._options import check_choice, check_probability
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.matching import trait_table
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
    found = [_one_trait(tree, positions, column, model, level) for column in table.T]
    mean, sd, half = (np.column_stack([one[part] for one in found]) for part in range(3))
    parameters = tuple(float(one[3]) for one in found)
    return AncestralStates(tree, traits, mean, sd, mean - half, mean + half, level, parameters)


def _one_trait(
    tree: Tree, positions: Indices, y: Array, model: str, level: float
) -> tuple[Array, Array, Array, float]:
    from scipy.stats import t

    # The regression on a constant alone: a column of zeros adds nothing to it.
    codes = np.column_stack([positions, np.zeros(len(y))])
    fit = PGLS(tree, tips=0, **_MODELS[model]).fit(codes, y)
    nodes = np.arange(len(tree.parent))
    mean, sd = fit._at_nodes(np.zeros((len(nodes), 1)), nodes, "conditional")
    half = sd * t.ppf(0.5 + 0.5 * level, fit.degrees_of_freedom_)
    return mean, sd, half, fit.alpha_ if model == "ou" else fit.lambda_
