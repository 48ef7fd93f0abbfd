"""The lasso's claims: L1 regression on columns, squares and products, at one standard error.

A variable or pair is claimed if any of its terms has a weight. Classes are asked for one by one
where there are three. The score of a term is the penalty at which it enters the path, in standard
errors of a gradient that is pure noise.
"""

import warnings
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from benchmarks.peers._claims_statements import Statement, about_pairs, about_variables
from benchmarks.peers._claims_truths import SimulatedTable, is_text

N_FOLDS = 5
N_PENALTIES = 20
SMALLEST_PENALTY = 0.06  # of the penalty that leaves nothing
N_LEVELS = 10  # text of more levels enters as levels, without products
LEVEL_ROWS = 5  # rarer levels enter with the reference
PATIENCE = 3  # penalties beyond two standard errors of the best before the path ends
INTERCEPT_SCALE = 10.0  # liblinear shrinks the intercept; this much less than a weight

Term = frozenset[str]


def state(table: SimulatedTable, *, quick: bool = False) -> list[Statement]:  # noqa: ARG001
    """Return the lasso's statements about a table."""
    terms, columns = expand(table.peer_inputs)
    target = table.coded_target
    if table.is_regression:
        entries = _lasso(columns, target)
    else:
        classes = range(1, 2) if target.max() == 1 else range(int(target.max()) + 1)
        found = [_logistic(columns, (target == which).astype(float)) for which in classes]
        entries = np.max(found, axis=0)
    variables: dict[str, float] = {}
    pairs: dict[frozenset[str], float] = {}
    for term, entry in zip(terms, entries, strict=True):
        if entry <= 0:
            continue
        for name in term:
            variables[name] = max(variables.get(name, 0.0), entry)
        if len(term) == 2:
            pairs[term] = max(pairs.get(term, 0.0), entry)
    return [*about_variables(variables, above=0.0), *about_pairs(pairs, above=0.0)]


def expand(inputs: pd.DataFrame) -> tuple[list[Term], np.ndarray]:
    """Return terms and standardised columns, (n, n_terms): columns, squares and products."""
    single: list[tuple[str, np.ndarray]] = []
    alone: list[tuple[str, np.ndarray]] = []  # levels of a text too long for products
    squares: list[tuple[str, np.ndarray]] = []
    for name in map(str, inputs):
        column = inputs[name]
        if is_text(column):
            counts = column.value_counts()
            levels = counts.index[counts >= LEVEL_ROWS][1:]
            place = single if len(counts) <= N_LEVELS else alone
            place += [(name, _standard((column == level).to_numpy(float))) for level in levels]
            continue
        values = _standard(column.to_numpy(float))
        single.append((name, values))
        if column.nunique() > 2:
            squares.append((name, _standard(values**2)))
    terms = [frozenset({name}) for name, _ in [*single, *alone, *squares]]
    columns = [values for _, values in [*single, *alone, *squares]]
    for (first, left), (second, right) in combinations(single, 2):
        if first != second:
            terms.append(frozenset({first, second}))
            columns.append(_standard(left * right))
    return terms, np.column_stack(columns)


def _standard(values: np.ndarray) -> np.ndarray:
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 1e-12 else 1.0))


def _lasso(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the standardised penalty at which each term enters, 0 for those left out."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LassoCV, lasso_path

    y = _standard(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LassoCV(alphas=N_PENALTIES, eps=SMALLEST_PENALTY, cv=N_FOLDS).fit(columns, y)
        chosen = _one_standard_error(model.mse_path_)
        penalties = model.alphas_[: chosen + 1]
        _, weights, _ = lasso_path(columns, y, alphas=penalties)
    return _entries(penalties, [weights[:, place] for place in range(len(penalties))], y)


def _logistic(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the standardised penalty at which each term enters, 0 for those left out."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import StratifiedKFold

    greatest = np.abs(columns.T @ (target - target.mean())).max() / len(target)
    penalties = greatest * np.geomspace(0.999, SMALLEST_PENALTY, N_PENALTIES)
    smallest_class = int(min(target.sum(), (1 - target).sum()))
    folds = StratifiedKFold(max(2, min(N_FOLDS, smallest_class)), shuffle=True, random_state=0)
    parts = list(folds.split(columns, target))
    losses: list[list[float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for penalty in penalties:
            losses.append([_held_out_loss(columns, target, penalty, *part) for part in parts])
            if _is_past_the_best(losses):
                break
        chosen = _one_standard_error(np.array(losses))
        weights = [_fit(columns, target, penalty)[0] for penalty in penalties[: chosen + 1]]
    return _entries(penalties[: chosen + 1], weights, target)


def _fit(columns: np.ndarray, target: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        l1_ratio=1.0,
        C=1 / (penalty * len(target)),
        solver="liblinear",
        intercept_scaling=INTERCEPT_SCALE,
        random_state=0,
        tol=1e-3,
        max_iter=50,
    ).fit(columns, target)
    return model.coef_[0], float(model.intercept_[0])


def _held_out_loss(
    columns: np.ndarray, target: np.ndarray, penalty: float, train: np.ndarray, test: np.ndarray
) -> float:
    weights, intercept = _fit(columns[train], target[train], penalty)
    latent = columns[test] @ weights + intercept
    return float(np.mean(np.logaddexp(0.0, latent) - target[test] * latent))


def _is_past_the_best(losses: Sequence[Sequence[float]]) -> bool:
    means = np.mean(losses, axis=1)
    best = int(means.argmin())
    error = np.std(losses[best], ddof=1) / len(losses[best]) ** 0.5
    late = means[-PATIENCE:] > means[best] + 2 * error
    return len(losses) > PATIENCE and len(losses) - 1 - best >= PATIENCE and bool(late.all())


def _one_standard_error(losses: np.ndarray) -> int:
    """Return the place of the greatest penalty within one standard error of the best.

    `losses` are (n_penalties, n_folds), the greatest penalty first.
    """
    means = losses.mean(axis=1)
    best = int(means.argmin())
    error = losses[best].std(ddof=1) / losses.shape[1] ** 0.5
    return int(np.flatnonzero(means <= means[best] + error)[0])


def _entries(
    penalties: np.ndarray, weights: Sequence[np.ndarray], target: np.ndarray
) -> np.ndarray:
    """Return for each term with a weight at the last penalty where it entered, else 0."""
    at_work = np.array([part != 0 for part in weights])  # (n_penalties, n_terms)
    entered = penalties[at_work.argmax(axis=0)] * len(target) ** 0.5 / target.std()
    return np.where(at_work[-1], entered, 0.0)
