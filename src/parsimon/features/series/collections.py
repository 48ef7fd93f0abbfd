"""Features across tasks: a standard set, and models of given features.

Mierswa (2009), section 7.4: what many tasks select is a standard set, which `fixed_features` then
tries on each.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parsimon._checks import check_choice, check_probability
from parsimon._data import read_target
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.evaluate import SeriesTable, tree_values
from parsimon.features.series.series_model import SeriesClassModel, SeriesNumberModel
from parsimon.features.series.tree_search import Targets, standardise_features
from parsimon.features.series.trees import MethodTree


def standard_set(
    chosen: Sequence[Sequence[MethodTree]], X: Any, *, share: float = 0.5, limit: float = 0.9
) -> list[MethodTree]:
    """Return the features that a share of the tasks has chosen.

    A task has chosen a feature if it has chosen it or one like it: of a correlation of `limit` or
    more over the series X. Of features alike the cheapest to say stands for all.

    Parameters
    ----------
    chosen : sequence of sequences of MethodTree
        The features of each task, such as ``search.trees_``.
    X : SeriesTable, or what it reads
        Series of all tasks.
    share : float
        Of the tasks.
    limit : float
        From which on two features are alike.

    Returns
    -------
    list of MethodTree
        Those chosen most often first.

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> mean, last, median = map(parse_tree, ["mean", "last", "median"])
    >>> X = np.random.default_rng(0).normal(size=(30, 20))
    >>> standard_set([[mean], [mean, last], [mean]], X)
    [parse_tree('mean')]
    """
    check_probability("share", share)
    trees = sorted(
        {tree for task in chosen for tree in task}, key=lambda tree: (tree.size, str(tree))
    )
    if not trees:
        raise InvalidInputError("No task has chosen a feature; give at least one.")
    Z = standardise_features(tree_values(trees, X))[0]
    alike = np.abs(Z.T @ Z / len(Z)) >= limit
    np.fill_diagonal(alike, True)
    has = np.array([[tree in set(task) for tree in trees] for task in chosen])
    counts = ((has.astype(int) @ alike.astype(int)) > 0).sum(axis=0)
    found: list[int] = []
    for at in np.argsort(-counts, kind="stable"):
        if counts[at] >= share * len(chosen) and not alike[at, found].any():
            found.append(int(at))
    return [trees[at] for at in found]


def fixed_features(trees: Sequence[MethodTree], X: Any, y: Any, *, task: str = "auto") -> Any:
    """Return a model of given features, with no search.

    Parameters
    ----------
    trees : sequence of MethodTree
    X : SeriesTable, or what it reads
    y : array-like of shape (n,)
        Classes or numbers.
    task : {"auto", "classification", "regression"}
        "auto" goes by y, as in `SeriesExtractor`.

    Returns
    -------
    SeriesClassModel or SeriesNumberModel

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> X = np.vstack([np.zeros((5, 9)), np.ones((5, 9))]) + np.arange(10)[:, None] / 50
    >>> model = fixed_features([parse_tree("mean")], X, np.repeat(["low", "high"], 5))
    >>> model.predict([[0.0] * 9, [1.1] * 9]).tolist()
    ['low', 'high']
    """
    table, y = X if isinstance(X, SeriesTable) else SeriesTable(X), np.asarray(y)
    check_choice("task", task, ("auto", "classification", "regression"))
    y, classes = read_target(y, task)
    if classes is not None:
        return SeriesClassModel.fitted(trees, table, Targets.of_classes(y).T, classes=classes)
    mean, spread = float(y.mean()), float(y.std()) or 1.0
    return SeriesNumberModel.fitted(trees, table, Targets.of_numbers(y).T, mean=mean, spread=spread)
