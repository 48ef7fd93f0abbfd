"""A fitted model of a trait that takes tables of species as they are: words and holes included."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from parsimon._checks import shorten
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.front import write_number
from parsimon.phylo import Tree
from parsimon.statistician.contributions import Contributions, joint_variables, shapley_values
from parsimon.statistician.families.phylo._features import FeatureSource, completed
from parsimon.statistician.families.phylo._regressions import FittedRegression
from parsimon.statistician.families.phylo._species import match_rows
from parsimon.statistician.prepare.frames import as_frame, named_frame

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.table_model import TableModel

# The name of what comes from the tree, beside the columns.
RELATIVES = "relatives"
_NORMAL = 1.959963984540054


class TraitModel(BaseEstimator):
    """A fitted model of a trait that takes tables of species as they are.

    Made by `TraitAnalysis.recommended`; saved with `save_model`, it needs nothing but itself.

    Parameters
    ----------
    model : FittedRegression or TableModel
        A regression on the tree, or a rival that only sees the features.
    tree : Tree
        Of all species that can be predicted.
    sources : sequence of FeatureSource
        Columns of a table, and the features that come from them.
    X : ndarray of shape (n, d)
        Features of the species that the model was fitted to: empty cells of new rows are expected
        from them, along the tree.
    tips : sequence of str, length n
        These species.
    target : str
        What is predicted.
    tip : str, optional
        The column of tip names; otherwise the one with the most names of tips.

    Examples
    --------
    >>> from parsimon.phylo import brownian_traits, yule_tree
    >>> from parsimon.statistician import analyse_traits
    >>> tree = yule_tree(30, random_state=0)
    >>> table = brownian_traits(tree, 2, random_state=0)
    >>> table["mass"] = 3 * table["trait1"] + 0.1 * table["trait2"]
    >>> model = analyse_traits(table, tree, "mass", features=["trait1"], folds=0).recommended
    >>> model.predict(table.head(2)).round(1).tolist()
    [-2.2, 5.9]
    """

    def __init__(
        self,
        model: "FittedRegression | TableModel",
        tree: Tree,
        sources: Sequence[FeatureSource],
        X: Array,
        tips: Sequence[str],
        target: str = "",
        tip: str | None = None,
    ) -> None:
        self.model = model
        self.tree = tree
        self.sources = sources
        self.X = X
        self.tips = tips
        self.target = target
        self.tip = tip

    @property
    def classes(self) -> tuple[str, ...]:
        """None: a trait is a number."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that the model uses."""
        return tuple(one.column for one in self._used_sources)

    @property
    def _used_sources(self) -> list[FeatureSource]:
        used = self._used
        return [one for one in self.sources if used & set(one.features)]

    @property
    def _used(self) -> set[str]:
        """The features that the model uses."""
        if not isinstance(self.model, FittedRegression):
            return set(self.model.columns)
        coefficients = getattr(self.model.regressor, "coef_", ())
        named = zip(self.model.columns, coefficients, strict=False)
        return {name for name, coefficient in named if coefficient != 0}

    @property
    def features(self) -> list[str]:
        """The features, in the order of `X`."""
        return [name for one in self.sources for name in one.features]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, table: Any) -> Array:
        """Return the trait of each row, shape (m,); every row must be a species of the tree."""
        return self._predicted(self.numbers(table))

    def _predicted(self, X: "pd.DataFrame") -> Array:
        if isinstance(self.model, FittedRegression):
            return self.model.predict(X)[0]
        return self.model.predict(X)

    def predict_deviation(self, table: Any) -> Array:
        """Return the standard deviation of each predicted value, shape (m,)."""
        X = self.numbers(table)
        if isinstance(self.model, FittedRegression):
            return self.model.predict(X)[1] / _NORMAL
        return self.model.predict_deviation(X)

    def numbers(self, table: Any) -> "pd.DataFrame":
        """Return the features of each row by tip name, empty cells expected; shape (m, d)."""
        import pandas as pd

        frame = named_frame(as_frame(table))
        tips = self._tips(frame)
        found: dict[str, Array] = {}
        for one in self.sources:
            if one.column in frame.columns:
                found |= one.encode(frame[one.column])
            elif one.column in self.columns:
                raise InvalidInputError(
                    f"The table lacks the column {one.column!r}; add it, cells may be empty."
                )
        new = pd.DataFrame(found, index=tips, columns=self.features, dtype=np.float64)
        known = pd.DataFrame(self.X, index=list(self.tips), columns=self.features)
        if not new[sorted(self._used)].isna().to_numpy().any():
            # What is not used may be anything.
            return new.fillna(known.mean())
        filled = completed(pd.concat([new, known[~known.index.isin(tips)]]), self.tree)
        if filled is None:
            raise InvalidInputError(
                f"Too few cells of {shorten(self.columns, 6)} are known to expect the empty ones."
            )
        return filled.iloc[: len(new)]

    def outside(self, table: Any) -> tuple[()]:
        """Return nothing: a line along the tree has no range."""
        del table
        return ()

    def treatments_of(self, table: Any) -> tuple[()]:
        """Return nothing: empty cells are expected from relatives, one by one."""
        del table
        return ()

    def contributions(self, table: Any) -> Contributions:
        """Return what each column, and the relatives in the tree, add to each prediction.

        Returns
        -------
        Contributions
        """
        X = self.numbers(table)
        names, sources = self.features, self._used_sources
        groups = [[names.index(one) for one in source.features] for source in sources]
        typical = np.quantile(self.X, 0.5, axis=0, method="nearest")
        values, base, exact = np.zeros((len(X), 0)), float(self._line(typical[None])[0]), True
        if groups:
            found = shapley_values(
                self._line, X.to_numpy(dtype=np.float64), typical, groups, self._tied
            )
            values, exact = found.values, found.exact
        columns, words = self.columns, tuple(self._typical_cell(one) for one in sources)
        if getattr(getattr(self.model, "regressor", None), "tree", None) is not None:
            rest = self._predicted(X) - base - values.sum(axis=1)
            columns, words = (*columns, RELATIVES), (*words, "none")
            values = np.column_stack([values, rest])
        return Contributions(
            columns=columns,
            values=values,
            base=np.full(len(X), base),
            towards=None,
            typical=words,
            exact=exact,
        )

    def _tips(self, frame: "pd.DataFrame") -> list[str]:
        matched = match_rows(frame, self.tree, self.tip, self.target)
        if len(matched.tips) < len(frame):
            unknown = matched.not_in_tree or ("rows without a name",)
            raise InvalidInputError(
                f"These rows are no species of the model's tree: {shorten(list(unknown))}. Leave "
                "them out."
            )
        return list(matched.tips)

    def _line(self, X: Array) -> Array:
        """Return what the features alone say, shapes (m, d) -> (m,)."""
        import pandas as pd

        frame = pd.DataFrame(X, columns=self.features)
        if not isinstance(self.model, FittedRegression):
            return self.model.predict(frame)
        return self.model.line(frame)

    @property
    def _tied(self) -> tuple[frozenset[int], ...]:
        """Sets of features that the model ties together."""
        d = self.X.shape[1]
        if isinstance(self.model, FittedRegression):
            return tuple(frozenset({place}) for place in range(d))
        places = self.model.screener.kept_
        joint = joint_variables(self.model.models[0], len(places))
        sources = [one.column for one in self.model.variables]
        names = self.features
        return tuple(
            frozenset(names.index(sources[place]) for place in one if sources[place] in names)
            for one in joint
        )

    def _typical_cell(self, source: FeatureSource) -> str:
        values = self.X[:, [self.features.index(name) for name in source.features]]
        middle = np.quantile(values, 0.5, axis=0, method="nearest")
        if source.recipe is None:
            return write_number(float(middle[0]))
        levels = [name for name, value in zip(source.features, middle, strict=True) if value == 1]
        if levels:
            return levels[0].removeprefix(source.column).removeprefix(" = ").strip()
        return source.recipe.reference or "another level"
