"""One part of a table, one question: prepare, screen, search, and fit the structure to all rows.

The same function answers for the whole table and for each outer training part, so that the outer
folds measure everything that was done.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.gp import KernelSearch
from parsimon.report.findings import Task
from parsimon.statistician.options import SEARCHED_ROWS, SEARCHED_VARIABLES, Options

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.prepare.preparation import Preparer
    from parsimon.statistician.prepare.screening import Screener

# Beyond this the structure is fitted by inducing points instead of exactly.
EXACT_ROWS = 3000
INNER_FOLDS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """What came of one question on one part of the table.

    preparer, screener: From cells to the numbers that were searched.
    model: The structure that was found, fitted to all rows of the part.
    X (n, d): All rows of the part, as numbers.
    searched: Places of the rows that were searched.
    """

    preparer: "Preparer"
    screener: "Screener"
    search: KernelSearch
    model: Any
    X: "pd.DataFrame"
    searched: Indices

    def predict(self, table: "pd.DataFrame") -> Array:
        """Return the probability of class 1, or the number, for rows of a table."""
        return predicted(self.model, self.screener.transform(self.preparer.transform(table)))


def answer(
    table: "pd.DataFrame",
    groups: Array,
    y: Array,
    task: Task,
    options: Options,
    seed: np.random.SeedSequence,
    *,
    time_limit: float | None = None,
) -> Answer:
    """Answer one question on one part of a table.

    Shapes: table (n, ...), groups (n,), y (n,).
    """
    from parsimon.statistician.prepare.preparation import Preparer
    from parsimon.statistician.prepare.screening import Screener

    preparer = Preparer().fit(table)
    numbers = preparer.transform(table)
    screener = Screener(most=SEARCHED_VARIABLES, task=task).fit(numbers, groups)
    X: pd.DataFrame = screener.transform(numbers)
    sampling, searching, fitting = seed.spawn(3)
    rows = sampled_rows(y, task, SEARCHED_ROWS, sampling)
    search = KernelSearch(
        base=options.base,
        depth=options.depth_for(X.shape[1]),
        beam=options.beam,
        guide=options.guide,
        cv=inner_folds(y[rows], task),
        task=task,
        time_limit=time_limit,
        random_state=searching,
    ).fit(X.iloc[rows], y[rows])
    return Answer(
        preparer=preparer,
        screener=screener,
        search=search,
        model=on_all_rows(search, search.best_candidate_, X, y, task, fitting),
        X=X,
        searched=rows,
    )


def sampled_rows(y: Array, task: Task, most: int, seed: np.random.SeedSequence) -> Indices:
    """Return the places of at most `most` rows, in order; classes keep their shares."""
    if len(y) <= most:
        return np.arange(len(y))
    rng = np.random.default_rng(seed)
    if task == "regression":
        return np.sort(rng.choice(len(y), most, replace=False))
    chosen = []
    for label in (0, 1):
        places = np.flatnonzero(y == label)
        share = min(len(places), max(2, round(most * len(places) / len(y))))
        chosen.append(rng.choice(places, share, replace=False))
    return np.sort(np.concatenate(chosen))


def inner_folds(y: Array, task: Task) -> Any:
    """Return the splitter of a search: five folds, fewer where a class or the table is small."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "regression":
        return KFold(min(INNER_FOLDS, len(y) // 2), shuffle=True)
    rarest = int(min(y.sum(), len(y) - y.sum()))
    return StratifiedKFold(max(2, min(INNER_FOLDS, rarest)), shuffle=True)


def on_all_rows(
    search: KernelSearch,
    candidate: Any,
    X: "pd.DataFrame",
    y: Array,
    task: Task,
    seed: np.random.SeedSequence,
) -> Any:
    """Return a structure that a search found, fitted to all rows.

    Where the search saw all rows its hyperparameters are final. Otherwise they are kept for an
    exact fit, or are the start of a sparse one.
    """
    from parsimon.gp import GPClassifier, GPRegressor, SparseGPClassifier

    if task == "regression":
        noise = float(np.var(y)) * (candidate.noise_variance or 1.0)
        return GPRegressor(candidate.kernel, noise=noise, optimise=False, n_restarts=0).fit(X, y)
    if len(X) <= EXACT_ROWS:
        inference = search.inference
        exact = GPClassifier(candidate.kernel, inference=inference, optimise=False, n_restarts=0)
        return exact.fit(X, y)
    return SparseGPClassifier(candidate.kernel, random_state=_whole_number(seed)).fit(X, y)


def predicted(model: Any, X: "pd.DataFrame") -> Array:
    """Return the probability of class 1, or the number."""
    values: Array = model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)
    return values


def _whole_number(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1)[0])
