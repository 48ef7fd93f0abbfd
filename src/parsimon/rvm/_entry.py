"""Would a solution still be worth keeping had other rows been drawn? A test before the archive.

Rates measured on a few hundred rows are uncertain, so that an archive collects solutions that are
better than its members by luck. The rows are resampled, the same rows for every solution, and a
candidate enters only if in most resamples no member dominates it: the probabilistic dominance that
Clark (2011) leaves as future work (section 3.9), after Fieldsend and Everson (2005).

Rates are those of each class, the share of its rows that are predicted right, for two classes or
more; with two, they are one minus the false positive rate and the true positive rate.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._checks import check_count, check_probability, finite_vector
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.roc._samples import label_vector

# Sums of the same weights in another order differ in their last digits; rates that differ by no
# more are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class EntryTest:
    """Refuses candidates that some member dominates in too many resamples.

    probability: In at least this share of the resamples no member may dominate a candidate.
    codes (n,): Class of each row, 0 to n_classes - 1.
    counts (n_resamples, n): How much each row counts in each resample.
    """

    probability: float
    codes: Indices
    counts: Array

    def rates(self, correct: Mask) -> Array:
        """Return the share of each class that is predicted right, in each resample.

        Shapes: correct (n_solutions, n) -> (n_solutions, n_classes, n_resamples).
        """
        return resampled_rates(correct, self.codes, self.counts)

    def admits(
        self, candidates: Array, complexity: Array, members: Array, member_complexity: Array
    ) -> Mask:
        """Return which candidates stay undominated in enough resamples, shape (n_candidates,).

        Shapes: candidates (n_candidates, n_classes, n_resamples), complexity (n_candidates,),
            members (n_members, n_classes, n_resamples), member_complexity (n_members,).
        """
        share = undominated_share(candidates, complexity, members, member_complexity)
        # A share such as 180 / 200 must not fail 0.9 by its last digit.
        admitted: Mask = share >= self.probability - 1e-12
        return admitted


def entry_test(
    codes: Indices,
    probability: float,
    *,
    n_rows: Array | None = None,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> EntryTest:
    """Return a test whose resamples are drawn once, the same for every solution.

    Shapes: codes (n,), n_rows (n,).
    """
    check_probability("entry", probability)
    counts = resampled_counts(
        codes, n_rows=n_rows, n_resamples=n_resamples, random_state=random_state
    )
    return EntryTest(float(probability), np.asarray(codes, dtype=np.intp), counts)


def resampled_counts(
    codes: Indices,
    *,
    n_rows: Array | None = None,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> Array:
    """Return how often each row is drawn, with replacement within its class.

    Rates are conditional on the class, so class sizes stay as they are; then no resample can lack
    a class.

    Shapes: codes (n,), n_rows (n,) -> (n_resamples, n).
    """
    check_count("n_resamples", n_resamples)
    rng = generator(random_state)
    sizes = np.ones(len(codes)) if n_rows is None else n_rows
    counts = np.empty((n_resamples, len(codes)))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        total = sizes[rows].sum()
        # Weights need not be whole numbers; the number of draws has to be.
        n_draws = max(1, round(total))
        counts[:, rows] = rng.multinomial(n_draws, sizes[rows] / total, size=n_resamples)
    return counts


def resampled_rates(correct: Mask, codes: Indices, counts: Array) -> Array:
    """Return the share of each class that is predicted right, in each resample.

    Shapes: correct (n_solutions, n), codes (n,), counts (n_resamples, n) -> (n_solutions,
        n_classes, n_resamples).
    """
    classes = range(int(codes.max()) + 1)
    rates = np.empty((len(correct), len(classes), len(counts)))
    for code in classes:
        rows = np.flatnonzero(codes == code)
        drawn = counts[:, rows]
        rates[:, code] = correct[:, rows].astype(np.float64) @ drawn.T / drawn.sum(axis=1)
    return rates.round(_DIGITS)


def undominated_share(
    candidates: Array, complexity: Array, members: Array, member_complexity: Array
) -> Array:
    """Return the share of resamples in which no member dominates a candidate.

    Shapes: candidates (n_candidates, n_classes, n_resamples), complexity (n_candidates,),
        members (n_members, n_classes, n_resamples), member_complexity (n_members,) ->
        (n_candidates,).
    """
    share = np.ones(len(candidates))
    for i, (rates, size) in enumerate(zip(candidates, complexity, strict=True)):
        rivals = member_complexity <= size
        if rivals.any():
            beaten = _dominated(members[rivals], member_complexity[rivals] < size, rates)
            share[i] = 1.0 - beaten.any(axis=0).mean()
    return share


def dominance_probability(
    y: Any,
    predictions: Any,
    complexity: Any,
    *,
    n_resamples: int = 1000,
    random_state: Seed = None,
) -> Array:
    r"""Return how probably each classifier dominates each other one.

    A classifier dominates another if it is no worse in the rate of any class (the share of its
    rows that are predicted right) and no more complex, and better in something. Rows are drawn
    with replacement within each class, the same rows for all classifiers, and dominance is
    counted [1].

    Shapes: y (n,), predictions (n_solutions, n), complexity (n_solutions,) -> (n_solutions,
        n_solutions).

    [1] Fieldsend and Everson (2005), "Multi-objective optimisation in the presence of
    uncertainty", IEEE Congress on Evolutionary Computation, 243-250.
    """
    truth = label_vector(y, "y")
    table = np.asarray(predictions)
    sizes = finite_vector(complexity, "complexity")
    if table.ndim != 2 or table.shape[1] != len(truth) or len(table) != len(sizes):
        raise InvalidInputError(
            f"predictions must have a row for each of the {len(sizes)} complexities and a column "
            f"for each of the {len(truth)} true classes, got shape {table.shape}."
        )
    codes = np.unique(truth, return_inverse=True)[1]
    counts = resampled_counts(codes, n_resamples=n_resamples, random_state=random_state)
    rates = resampled_rates(table == truth, codes, counts)
    columns = [
        _dominated(rates, sizes < sizes[j], rates[j]).mean(axis=1) * (sizes <= sizes[j])
        for j in range(len(sizes))
    ]
    return np.stack(columns, axis=1)


def _dominated(members: Array, smaller: Mask, rates: Array) -> Mask:
    """Return which members dominate in which resamples, shape (n_members, n_resamples).

    Members are taken to be no more complex; `smaller` says which are less complex.
    """
    no_worse = np.ones((len(members), members.shape[2]), dtype=np.bool_)
    better = np.repeat(smaller[:, None], members.shape[2], axis=1)
    for code, rate in enumerate(rates):
        no_worse &= members[:, code] >= rate
        better |= members[:, code] > rate
    dominating: Mask = no_worse & better
    return dominating
