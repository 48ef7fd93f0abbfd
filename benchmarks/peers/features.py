"""Fronts of columns and of formulas beside other searches for them.

Columns, beside floating search, recursive elimination and the path of the lasso: six tables;
logistic regression on standardised columns inside, the same five folds for all. The subsets of a
peer are judged on these folds by the same code as ours, at each size by the best subset that is no
larger. Seconds are those of one core. Recursive elimination and the lasso rank columns by all rows,
so that their own choice of columns has seen what they are tested on. Formulas, beside pyoperon,
gplearn and a polynomial lasso: `_features_construction`. Columns without a target, beside a loop
over k-means: `_features_unsupervised`.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data_folder import point_to_data
from benchmarks.peers import bpm
from benchmarks.peers._features_construction import construction_rows
from benchmarks.peers._features_unsupervised import unsupervised_rows
from benchmarks.rivals import CONSTANT, GUESS
from benchmarks.rows import Row
from parsimon._typing import Array, Indices, Mask

SETS = ("pima", "heart", "wine", "wdbc", "ionosphere", "sonar")
# What was promised: less time than floating search if exact, a tenth of it otherwise.
EXACT_BAR, SEARCH_BAR = 1.0, 10.0
# Floating search takes minutes for all sizes of the widest table.
MOST = {"sonar": 20}
FLOATING = "floating search (mlxtend)"

Folds = list[tuple[Indices, Indices]]


def rows(*, quick: bool) -> list[Row]:
    """Return times, and how often a front is no worse than a peer's, for each table."""
    point_to_data()
    selection = [row for name in (("pima",) if quick else SETS) for row in _selection(name)]
    return [*selection, *unsupervised_rows(quick=quick), *construction_rows(quick=quick)]


def _selection(name: str) -> list[Row]:
    """Return the rows of one table."""
    from parsimon.features import ParetoSelector

    X, y = table(name)
    most = MOST[name] if name in MOST else int(X.shape[1])
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    options: dict[str, Any] = {"max_features": most, "random_state": 0}
    search = ParetoSelector(cv=folds, **options)
    _, own = _timed(lambda: search.fit(X, y))
    kind = "exact" if search.exact_ else "search"
    case = f"{name}, {X.shape[1]} columns, {kind}"
    made = []
    for peer, find in PEERS.items():
        found, spent = _timed(partial(find, X, y, folds, most))
        bar = (EXACT_BAR if search.exact_ else SEARCH_BAR) if peer == FLOATING else None
        note = f"{search.n_evaluations_} subsets"
        made.append(Row(case, f"seconds; {peer}", own, spent, bar=bar, note=note))
        made.append(_sizes(case, peer, search, found, y))
    return [*made, _outside(case, ParetoSelector(**options).fit(X, y))]


def _sizes(case: str, peer: str, search: Any, found: Mask, y: Indices) -> Row:
    """Return at how many of a peer's sizes our front is no worse.

    Beside it stand the larger class, and columns by lot, one subset of each size.
    """
    theirs = search.errors_(found).round(12)
    sizes = np.unique(found.sum(axis=1))
    best = np.array([theirs[found.sum(axis=1) <= size].min() for size in sizes])
    values = search.front_.values
    ours = np.array([values[values[:, 1] <= size, 0].min() for size in sizes])
    is_floating = peer == FLOATING
    return Row(
        case,
        f"sizes at which the front is no worse; sizes of {peer}",
        float(np.sum(ours <= best)),
        float(len(sizes)),
        higher_is_better=True,
        bar=1.0 if is_floating else None,
        note=f"better at {np.sum(ours < best)}; least error {ours.min():.4f}; {best.min():.4f}",
        rivals={
            CONSTANT: float(np.sum(1.0 - np.bincount(y).max() / len(y) <= best)),
            GUESS: float(np.sum(search.errors_(_drawn(sizes, found.shape[1])).round(12) <= best)),
        },
    ).without_empty_bar()


def _drawn(sizes: Indices, d: int) -> Mask:
    """Return one subset of columns by lot for each size."""
    rng = np.random.default_rng(0)
    return _masks([rng.choice(d, size, replace=False) for size in sizes], d)


def _outside(case: str, search: Any) -> Row:
    """Return the inner error of the default choice beside its error on rows set apart."""
    chosen = search.to_frame().iloc[search.best_index_]
    return Row(
        case,
        "error on rows set apart, default choice; on the folds it was chosen by",
        float(chosen["holdout_error"]),
        float(chosen["error"]),
        note=f"{int(chosen['n_features'])} of {search.n_features_in_} columns",
    )


def _timed(job: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the seconds of one core that it took."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = job()
    return found, time.process_time() - begin


def _floating(X: Array, y: Indices, folds: Folds, most: int) -> Mask:
    """Return the subsets that mlxtend's floating search ends at, one for each size."""
    from mlxtend.feature_selection import SequentialFeatureSelector

    learner = make_pipeline(StandardScaler(), LogisticRegression())
    search = SequentialFeatureSelector(
        learner, k_features=most, floating=True, scoring="accuracy", cv=folds
    ).fit(X, y)
    return _masks([one["feature_idx"] for one in search.subsets_.values()], X.shape[1])


def _eliminated(X: Array, y: Indices, folds: Folds, most: int) -> Mask:  # noqa: ARG001
    """Return the nested subsets of recursive elimination, by weights on all rows."""
    Z = StandardScaler().fit_transform(X)
    ranking = RFE(LogisticRegression(), n_features_to_select=1).fit(Z, y).ranking_
    return _masks([np.flatnonzero(ranking <= size) for size in range(1, most + 1)], X.shape[1])


def _lasso(X: Array, y: Indices, folds: Folds, most: int) -> Mask:  # noqa: ARG001
    """Return the subsets along the path of logistic regression with an L1 penalty."""
    Z = StandardScaler().fit_transform(X)
    found = []
    for C in np.logspace(-2.5, 2, 60):
        model = LogisticRegression(C=C, l1_ratio=1.0, solver="saga", max_iter=300).fit(Z, y)
        chosen = np.flatnonzero((model.coef_ != 0).any(axis=0))
        if 0 < len(chosen) <= most:
            found.append(chosen)
    return _masks(found, X.shape[1])


PEERS: dict[str, Callable[[Array, Indices, Folds, int], Mask]] = {
    FLOATING: _floating,
    "recursive elimination": _eliminated,
    "L1 path": _lasso,
}


def _masks(chosen: list[Any], d: int) -> Mask:
    return np.array([np.isin(np.arange(d), one) for one in chosen])


def table(name: str) -> tuple[Array, Indices]:
    """Return the numbers of a table, rows with missing cells left out, and codes of classes."""
    if name != "wine":
        return bpm.table(name)
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return X, y
