"""Ways to few members: columns of predictions and the truth in, weights for each size out.

Each way returns a path: a list of weight vectors, shape (M,), one for each number of members it
reached. Columns hold what members say, 0 or 1 or any score that rises with yes.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls

from parsimon._typing import Array, Indices
from parsimon.ensembles._votes import ErrorOf
from parsimon.inference.sparse_bayes import sparse_classification, sparse_regression
from parsimon.pareto import Bits, nsga2

Path = list[Array]
Way = Callable[[Array, Indices, int, np.random.Generator], Path]
# How far a member of a mixture is trusted: the probability it gives to what it says.
_TRUST = 0.9
_PRESSURES = np.concatenate([[0.0], np.geomspace(0.05, 50.0, 25)])


def weighted_scores(columns: Array, weights: Array) -> Array:
    """Return the weighted vote between 0 and 1, shapes (n, M), (M,) -> (n,).

    Negative weights count against; a vote of 0 or 1 is then the least or greatest there can be.
    """
    low, high = weights[weights < 0].sum(), weights[weights > 0].sum()
    return (columns @ weights - low) / max(high - low, np.finfo(float).tiny)


def pair_areas(columns: Array, codes: Indices) -> Array:
    """Return the mid-rank area under the ROC curve of every column, shapes (n, M), (n,) -> (M,)."""
    from scipy.stats import rankdata

    positive = codes == 1
    n_positive = int(positive.sum())
    ranks = rankdata(columns, axis=0)[positive].sum(axis=0)
    pairs = n_positive * (len(codes) - n_positive)
    return (ranks - n_positive * (n_positive + 1) / 2) / pairs


def by_performance(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:  # noqa: ARG001
    """Return equal weights of the best columns by their own area (Clark 2011, section 5.5.1).

    That is the conservative one, T (1 - F), of the labels.
    """
    order = np.argsort(ErrorOf("auc", codes)(columns.T > 0.5), kind="stable")
    return [_equal(columns.shape[1], order[:size]) for size in range(1, most + 1)]


def by_regression(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:  # noqa: ARG001
    """Return a relevance vector regression of the average of all members on them (5.5.2)."""
    design = np.column_stack([columns, np.ones(len(columns))])
    found = sparse_regression(design, columns.mean(axis=1), max_iter=300)
    return _truncate(columns, columns.mean(axis=1), found.active, found.mean, most)


def by_classification(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:  # noqa: ARG001
    """Return a relevance vector classifier on the members (5.5.3), for study: it overfits."""
    design = np.column_stack([columns, np.ones(len(columns))])
    found = sparse_classification(design, codes, max_iter=300)
    return _truncate(columns, codes.astype(float), found.active, found.mean, most)


def by_nonnegative(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:  # noqa: ARG001
    """Return non-negative least squares of the truth, one member more at a time, sum one."""
    return _nonnegative(columns, codes.astype(np.float64), most)


def by_consensus(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:  # noqa: ARG001
    """Return the same of the mean of the truth and of the average of all members.

    The truth is a noisy label of each row; the average says how sure many members are, and keeps
    few of them from fitting the noise. Members that guess are nearly constant in it.
    """
    return _nonnegative(columns, 0.5 * (codes + columns.mean(axis=1)), most)


def _nonnegative(columns: Array, target: Array, most: int) -> Path:
    """Return non-negative least squares of a target, shape (n,), for each number of members.

    The next member is the one that agrees most with what is left over; all weights are then
    fitted again, and a member that is no longer needed leaves.
    """
    centred, target = columns - columns.mean(axis=0), target - target.mean()
    norms = np.sqrt((centred**2).sum(axis=0))
    norms[norms == 0] = np.inf
    best: dict[int, tuple[float, Array]] = {}
    active: list[int] = []
    for _ in range(2 * most):
        part, left = np.zeros(0), target
        if active:
            part, _ = nnls(centred[:, active], target)
            left = target - centred[:, active] @ part
            _keep(best, columns.shape[1], active, part, float(left @ left))
            active = [member for member, weight in zip(active, part, strict=True) if weight > 0]
        gain = centred.T @ left / norms
        gain[active] = -np.inf
        # Equal columns differ by rounding alone; the first of them is taken.
        new = int(np.round(gain, 9).argmax())
        if gain[new] <= 1e-10 or len(active) >= most:
            break
        active.append(new)
    return [best[size][1] for size in sorted(best)]


def by_dirichlet(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:  # noqa: ARG001
    """Return the mode of a mixture of members under Dirichlet priors of falling precision.

    Expectation maximisation: a member's weight is what it is responsible for, less the pressure
    1 - alpha of the prior; below zero it leaves (future work 5 of the source).
    """
    says = np.clip(columns, 1.0 - _TRUST, _TRUST)
    given = np.where(codes[:, None] == 1, says, 1.0 - says)
    weights = np.full(columns.shape[1], 1.0 / columns.shape[1])
    best: dict[int, tuple[float, Array]] = {}
    for pressure in _PRESSURES:
        for _ in range(60):
            kept = np.flatnonzero(weights)
            share = given[:, kept] * weights[kept]
            share /= share.sum(axis=1, keepdims=True)
            raised = np.maximum(share.sum(axis=0) - pressure, 0.0)
            if not raised.any():
                return _down_to_one(best)
            before, weights = weights, np.zeros_like(weights)
            weights[kept] = raised / raised.sum()
            if np.abs(weights - before).max() < 1e-6:
                break
        active = np.argsort(-weights, kind="stable")[: min(most, int((weights > 0).sum()))]
        likelihood = float(np.log(given[:, active] @ weights[active] / weights[active].sum()).sum())
        _keep(best, len(weights), active.tolist(), weights[active], -likelihood)
    return _down_to_one(best)


def by_combination(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:
    """Return Bayesian model combination: weight vectors drawn, weighed by what they explain.

    Batches of Dirichlet draws; the best of each raises the chances of its members (Monteith et
    al. 2011, future work 6 of the source). The averages are cut to the largest weights.
    """
    says = np.clip(columns, 1.0 - _TRUST, _TRUST)
    given = np.where(codes[:, None] == 1, says, 1.0 - says)
    alpha, total = np.ones(columns.shape[1]), np.zeros(columns.shape[1])
    for _ in range(200):
        drawn = rng.dirichlet(alpha, size=5)
        logs = np.log(drawn @ given.T).sum(axis=1)
        total += np.exp(logs - logs.max()) @ drawn
        alpha += drawn[int(logs.argmax())]
    order = np.argsort(-total, kind="stable")
    return [_place(len(total), order[:size], total[order[:size]]) for size in range(1, most + 1)]


def by_evolution(columns: Array, codes: Indices, most: int, rng: np.random.Generator) -> Path:
    """Return subsets of equal weight on the front of area against size, found by NSGA-II.

    The search starts from the members of the non-negative path (future work 4 of the source).
    """
    starts = np.array([w > 0 for w in by_nonnegative(columns, codes, most, rng)], dtype=float)
    if not len(starts):
        return []

    def evaluate(rows: Array) -> Array:
        sizes = rows.sum(axis=1)
        votes = columns @ (rows / np.maximum(sizes, 1.0)[:, None]).T
        value = np.column_stack([1.0 - pair_areas(votes, codes), sizes])
        value[(sizes == 0) | (sizes > most)] = np.inf
        return value

    found = nsga2(
        evaluate, Bits(columns.shape[1]), start=starts[:40], population_size=40, max_iter=40,
        random_state=rng,
    )  # fmt: skip
    subsets = sorted((np.asarray(row) > 0.5 for row in found.solutions), key=np.count_nonzero)
    return [_equal(columns.shape[1], np.flatnonzero(subset)) for subset in subsets]


WAYS: dict[str, Way] = {
    "consensus": by_consensus,
    "nonnegative": by_nonnegative,
    "dirichlet": by_dirichlet,
    "evolution": by_evolution,
    "combination": by_combination,
    "performance": by_performance,
    "regression": by_regression,
    "classification": by_classification,
}


def _keep(
    best: dict[int, tuple[float, Array]], n: int, active: list[int], part: Array, loss: float
) -> None:
    """Remember the weights of each size with the least loss."""
    size = int((part > 0).sum())
    if size and (size not in best or loss < best[size][0]):
        best[size] = loss, _place(n, np.array(active), part)


def _down_to_one(best: dict[int, tuple[float, Array]]) -> Path:
    """Return the weights by size; below the least size its own are cut to the largest."""
    if not best:
        return []
    least = best[min(best)][1]
    order = np.argsort(-least, kind="stable")
    cut = [_place(len(least), order[:k], least[order[:k]]) for k in range(1, min(best))]
    return [*cut, *(best[size][1] for size in sorted(best))]


def _equal(n: int, chosen: Indices) -> Array:
    return _place(n, chosen, np.ones(len(chosen)))


def _place(n: int, chosen: Indices, part: Array) -> Array:
    """Return weights of all members, those of the chosen ones with absolute values of sum one."""
    weights = np.zeros(n)
    weights[chosen] = part / max(np.abs(part).sum(), np.finfo(float).tiny)
    return weights


def _truncate(columns: Array, target: Array, active: Indices, mean: Array, most: int) -> Path:
    """Return least squares on the heaviest members for each size, and all of them at last."""
    is_member = active < columns.shape[1]
    members, weights = active[is_member], mean[is_member]
    if not len(members):
        return []
    heavy = members[np.argsort(-np.abs(weights) * columns[:, members].std(axis=0), kind="stable")]
    path = []
    for size in range(1, min(most, len(members) - 1) + 1):
        own = heavy[:size]
        design = np.column_stack([columns[:, own], np.ones(len(columns))])
        solved = np.linalg.lstsq(design, target)[0].astype(np.float64)
        path.append(_place(columns.shape[1], own, solved[:-1]))
    return [*path, _place(columns.shape[1], members, weights)]
