"""What the regressions along a tree share: how rows find their tips, and prediction."""

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._options import check_choice
from parsimon._typing import Array, Indices
from parsimon.phylo.rows import check_same_order, split_tips
from parsimon.phylo.tree import Tree


class TreeRegressor(RegressorMixin, BaseEstimator):
    """Rows find their tips, and relatives take part in predictions."""

    tree: Tree | None
    tips: str | int | None
    prediction: Literal["conditional", "marginal"]
    _y: Array

    def predict(self, X: Any, return_std: bool = False, *, prediction: str | None = None) -> Any:
        """Predict the target of tips, new or not.

        Shapes: X (m, d) -> (m,).
        """
        check_is_fitted(self)
        kind = self.prediction if prediction is None else prediction
        check_choice("prediction", kind, ["conditional", "marginal"])
        features, positions = split_tips(X, self.tree, self.tips)
        features = validate_data(self, features, dtype=np.float64, reset=False)
        nodes = None if self.tree is None else self.tree.tips[positions]
        mean, sd = self._at_nodes(features, nodes, kind)
        return (mean, sd) if return_std else mean

    def _read(self, X: Any, y: Any) -> tuple[Array, Indices | None]:
        """Return features and the positions of tips, and keep the target."""
        features, positions = split_tips(X, self.tree, self.tips)
        if self.tree is not None:
            check_same_order(y, self.tree, positions)
        features, y = validate_data(self, features, y, dtype=np.float64, y_numeric=True)
        self._y = np.asarray(y, dtype=np.float64)
        return features, positions

    @abstractmethod
    def _at_nodes(self, features: Array, nodes: Indices | None, kind: str) -> tuple[Array, Array]:
        """Return means and standard deviations at nodes of the tree with these features."""
