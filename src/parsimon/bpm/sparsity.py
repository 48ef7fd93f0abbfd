"""What it costs to fit a Bayes point machine to fewer rows: a front of error and rows kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from parsimon._parallel import Workers
from parsimon.bpm._options import FewRows
from parsimon.bpm.gamma_ep import AlphaRows, RowRule, SupportRows
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front

# All rows, from nearly all to a few by how hard they push, and support vectors.
_RULES: tuple[RowRule | None, ...] = (
    None,
    *(AlphaRows(threshold) for threshold in (1e-4, 1e-3, 1e-2, 3e-2, 0.1)),
    *(SupportRows(C) for C in (0.01, 0.1, 1.0, 10.0, 100.0)),
)


def sparsity_front(
    model: Any,
    X: Any,
    y: Any,
    *,
    rules: Sequence[RowRule | str | None] | None = None,
    cv: Any = 5,
    groups: Any = None,
    n_jobs: int | None = None,
) -> Front:
    """Fit a Bayes point machine to fewer and fewer rows, and keep the useful trade-offs.

    Parameters
    ----------
    model : BayesPointClassifier
        With all options but `sparsify`.
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    rules : sequence of AlphaRows, SupportRows, "alpha", "support" or None, optional
        Which rows to keep; None is all of them. Eleven rules if not given.
    cv : int or splitter
        Folds for the error; rows are chosen anew inside each.
    groups : array-like of shape (n,), optional
        For splitters that keep groups together.
    n_jobs : int, optional
        Rules that are tried at once.

    Returns
    -------
    Front
        ``error``, on rows left out by the folds, and ``rows``, how many of all the fit keeps; both
        are better when lower. ``solution(index)`` is the classifier fitted to all of X by that
        rule, whose ``support_`` are the rows. The errors chose the front: measure the chosen one on
        rows that were not given.

    Examples
    --------
    >>> from parsimon.bpm import BayesPointClassifier
    >>> from parsimon.datasets import make_ripley
    >>> X, y = make_ripley(200, random_state=0)
    >>> front = sparsity_front(BayesPointClassifier(), X, y, cv=3)
    >>> front.names
    ('error', 'rows')
    >>> few = front.solution(front.best("rows"))
    >>> len(few.support_) < 100
    True
    """
    if not isinstance(model, FewRows):
        raise InvalidInputError(
            f"model must be a BayesPointClassifier, got {type(model).__name__}."
        )
    tried = list(_RULES if rules is None else rules)
    if not tried:
        raise InvalidInputError("rules holds no rule; give at least one.")
    calls = ((clone(model).set_params(sparsify=rule), X, y, cv, groups) for rule in tried)
    with Workers(n_jobs) as workers:
        found = list(workers.map(_measure_rule, calls))
    values = [[error, n_kept] for error, n_kept, _ in found]
    return Front(values, ("error", "rows"), solutions=[fitted for *_, fitted in found])


def _measure_rule(model: Any, X: Any, y: Any, cv: Any, groups: Any) -> tuple[float, int, Any]:
    """Return a rule's error on rows left out, the rows that it keeps of all, and that fit."""
    # Streams, which need little memory, leave it out.
    from sklearn.model_selection import cross_val_score

    scores = cross_val_score(model, X, y, cv=cv, groups=groups, error_score="raise")
    fitted = model.fit(X, y)
    n_kept = len(getattr(fitted, "support_", np.asarray(y)))
    return 1.0 - float(np.mean(scores)), n_kept, fitted
