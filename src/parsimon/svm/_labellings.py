"""Labellings: local searches, guesses, variation, and the evolution that combines them.

Read `evolve_labellings` first. Each of its individuals is a labelling of the unlabelled rows at the
end of a local search; its fitness is the exact optimum of its support vector machine. `descend`
alternates between better labels for given scores and new scores for given labels, `annealed` does
so while the unlabelled rows slowly gain weight, and `greedy` is Joachims' solver, one pair at a
time. The first individuals are guesses, of the machine of the labelled rows and of labels spread
along graphs of nearest neighbours, which are kept only if the objective says so. A single flipped
label is undone by the next local search, so most changes concern a row and its nearest rows
together.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from parsimon._deadline import is_late
from parsimon._typing import Array, Indices, Mask
from parsimon.svm._transductive_problem import LabellingFit, TransductiveProblem, machine

# Relative differences of objectives below this are rounding, or the tolerance of the inner solver.
IMPROVEMENT = 1e-7
_MOST_STEPS = 200
_HALVINGS = 10
# How many rows nearest to the boundary, on each side, `polish` tries to move.
_DOUBTFUL = 6
# Joachims' first cost of unlabelled rows, as a share of the last.
_FIRST_SHARE = 1e-5


def is_lower(objective: float, other: float) -> bool:
    """Return whether an objective is lower by more than rounding."""
    return objective < other - IMPROVEMENT * max(1.0, abs(other))


def descend(
    problem: TransductiveProblem, labels: Array, *, deadline: float | None = None
) -> LabellingFit:
    """Return a labelling that no relabelling by its own scores improves.

    Both steps lower the primal objective: the labels are the best for the scores (all rows at
    once, not one pair), the scores the best for the labels.
    """
    fit = problem.fit(labels)
    for _ in range(_MOST_STEPS):
        relabelled = problem.relabelled(fit.scores)
        if np.array_equal(relabelled, fit.labels) or is_late(deadline):
            break
        following = problem.fit(relabelled, start=warm(fit, relabelled, problem))
        if not is_lower(following.objective, fit.objective):
            break
        fit = following
    return fit


def warm(fit: LabellingFit, labels: Array, problem: TransductiveProblem) -> Array:
    """Return multipliers from which to begin for other labels: a row that changed has none."""
    start = fit.solution.alpha.copy()
    start[problem.unlabelled[fit.labels != labels]] = 0.0
    return start


def polish(
    problem: TransductiveProblem, fit: LabellingFit, *, deadline: float | None = None
) -> LabellingFit:
    """Return a labelling that no flip and no swap of rows near the boundary improves.

    Unlike `descend`, which trusts the scores of the present machine, every change is judged by
    the exact optimum of its own machine.
    """
    improved = True
    while improved:
        improved = False
        for labels in _neighbours(problem, fit):
            if is_late(deadline):
                return fit
            start = warm(fit, labels, problem)
            following = problem.fit(labels, start=start)
            if is_lower(following.objective, fit.objective):
                fit, improved = following, True
                break
    return fit


def _neighbours(problem: TransductiveProblem, fit: LabellingFit) -> Iterator[Array]:
    """Yield labellings with one doubtful row flipped, or one of each side exchanged."""
    doubt = np.argsort(fit.labels * fit.scores[problem.unlabelled], kind="stable")
    positive = [row for row in doubt if fit.labels[row] > 0][:_DOUBTFUL]
    negative = [row for row in doubt if fit.labels[row] < 0][:_DOUBTFUL]
    n_positive = int(np.count_nonzero(fit.labels > 0))
    lowered = [[row] for row in positive if n_positive > problem.fewest]
    raised = [[row] for row in negative if n_positive < problem.most]
    for rows in lowered + raised + [[a, b] for a in positive for b in negative]:
        labels = fit.labels.copy()
        labels[rows] *= -1.0
        yield labels


def annealed(
    problem: TransductiveProblem, labels: Array, *, deadline: float | None = None
) -> LabellingFit:
    """Return where `descend` leads while the cost of the unlabelled rows doubles to its value."""
    upper = problem.upper.copy()
    for halvings in range(_HALVINGS, 0, -1):
        upper[problem.unlabelled] = problem.upper[problem.unlabelled] * 0.5**halvings
        labels = descend(replace(problem, upper=upper), labels, deadline=deadline).labels
    return descend(problem, labels, deadline=deadline)


def greedy(
    problem: TransductiveProblem, count: int, *, deadline: float | None = None
) -> tuple[LabellingFit, int]:
    """Return Joachims' labelling with `count` positives, and how many machines were fitted.

    The machine of the labelled rows ranks the others. Their cost then doubles from 1e-5 of its
    value, of positives and negatives in inverse proportion to their numbers; at each cost the
    positive and the negative row that are most on the wrong side change labels, as long as their
    slacks add up to more than 2 (each swap then lowers the objective).

    Joachims (1999), Transductive inference for text classification using support vector machines,
    ICML, 200-209.
    """
    labels = problem.ranked(inductive_scores(problem)[problem.unlabelled], count)
    n_negative = max(problem.n_unlabelled - count, 1)
    share = np.array([1.0, max(count, 1) / n_negative]) * _FIRST_SHARE
    n_fits = 1
    while True:
        share = np.minimum(share, 1.0)
        for _ in range(10 * problem.n_unlabelled):
            upper = problem.upper.copy()
            upper[problem.unlabelled] *= np.where(labels > 0, share[1], share[0])
            fit, n_fits = replace(problem, upper=upper).fit(labels), n_fits + 1
            swapped = _swap_worst(problem, fit)
            if swapped is None or is_late(deadline):
                break
            labels = swapped
        if (share == 1.0).all() or is_late(deadline):
            return problem.fit(labels), n_fits
        share = share * 2.0


def inductive_scores(problem: TransductiveProblem) -> Array:
    """Return the scores, at all rows, of the machine of the labelled rows alone, shape (n,)."""
    rows = problem.labelled
    signs = problem.known[rows]
    found = machine(problem.kernel[np.ix_(rows, rows)], signs, problem.upper[rows])
    return problem.kernel[:, rows] @ (found.alpha * signs) + found.bias


def _swap_worst(problem: TransductiveProblem, fit: LabellingFit) -> Array | None:
    """Return the labels after exchanging the worst positive and the worst negative, if it helps."""
    slack = np.maximum(0.0, 1.0 - fit.labels * fit.scores[problem.unlabelled])
    positive, negative = fit.labels > 0, fit.labels < 0
    if not positive.any() or not negative.any():
        return None
    first = int(np.argmax(np.where(positive, slack, -1.0)))
    second = int(np.argmax(np.where(negative, slack, -1.0)))
    if min(slack[first], slack[second]) <= 0 or slack[first] + slack[second] <= 2.0 + 1e-6:
        return None
    swapped = fit.labels.copy()
    swapped[first], swapped[second] = -1.0, 1.0
    return swapped


def nearest_order(distances: Array) -> Indices:
    """Return, for each row, all rows from the nearest (itself) to the farthest, shape (n, n)."""
    return np.argsort(distances, axis=1, kind="stable")


def cross_labellings(
    first: Array, second: Array, order: Indices, rng: np.random.Generator
) -> Array:
    """Return a child of two labellings: a mixture row by row, or one with a region of the other."""
    if rng.random() < 0.5:
        chosen: Mask = rng.random(len(first)) < 0.5
    else:
        chosen = _region(order, rng)
    return np.where(chosen, second, first)


def mutate_labels(labels: Array, order: Indices, rng: np.random.Generator) -> Array:
    """Return a labelling with single flips, one exchanged pair, or a flipped region."""
    kind = rng.random()
    if kind < 0.25:
        flips: Mask = rng.random(len(labels)) < 1.0 / len(labels)
    elif kind < 0.5:
        flips = _pair(labels, rng)
    else:
        flips = _region(order, rng)
    return np.where(flips, -labels, labels)


def _pair(labels: Array, rng: np.random.Generator) -> Mask:
    flips = np.zeros(len(labels), dtype=np.bool_)
    for sign in (-1.0, 1.0):
        own = np.flatnonzero(labels == sign)
        if len(own):
            flips[own[int(rng.random() * len(own))]] = True
    return flips


def _region(order: Indices, rng: np.random.Generator) -> Mask:
    """Return a row and its nearest, from one to half of all; every scale is as likely."""
    n = len(order)
    centre = int(rng.random() * n)
    size = int(np.exp(rng.random() * np.log(max(n / 2.0, 1.0)))) if n > 1 else 1
    region = np.zeros(n, dtype=np.bool_)
    region[order[centre, : max(size, 1)]] = True
    return region


# As in scikit-learn's LabelSpreading, a little firmer: labels travel far before they fade.
_SPREAD = 0.99


def squared_kernel_distances(kernel: Array) -> Array:
    """Return the squared distances in feature space, k(x,x) + k(z,z) - 2 k(x,z)."""
    diagonal = np.diag(kernel)
    distances: Array = diagonal[:, None] + diagonal[None, :] - 2.0 * kernel
    np.fill_diagonal(distances, 0.0)
    return distances


def neighbour_graph(distances: Array, n_neighbours: int) -> Array:
    """Return the normalised graph in which a row is joined to its nearest others.

    Shapes: distances (n, n) -> (n, n).
    """
    n = len(distances)
    away = distances.copy()
    np.fill_diagonal(away, np.inf)
    count = max(1, min(n_neighbours, n - 1))
    near = np.argsort(away, axis=1, kind="stable")[:, :count]
    links = np.zeros((n, n))
    np.put_along_axis(links, near, 1.0, axis=1)
    np.fill_diagonal(links, 0.0)
    links = np.maximum(links, links.T)
    roots = np.sqrt(np.maximum(links.sum(axis=1), 1.0))
    return links / (roots[:, None] * roots[None, :])


def spread_heat(graph: Array, rows: Indices) -> Array:
    """Return how strongly each of some rows reaches every row, shape (n, n_rows).

    Zhou, Bousquet, Lal, Weston and Schölkopf (2004), Advances in Neural Information Processing
    Systems 16:321-328.
    """
    n = len(graph)
    heat = np.linalg.solve(np.eye(n) - _SPREAD * graph, np.eye(n)[:, rows])
    return np.asarray(heat, dtype=np.float64)


def share_heat(heat: Array, codes: Indices, n_classes: int) -> Array:
    """Return how strongly the labels of each class reach every row, shape (n, n_classes).

    Each class has the same mass to give, so that the class with more labels does not flood the
    others. Labelled rows of code -1 give nothing.

    Shapes: heat (n, n_labelled), codes (n_labelled,).
    """
    mass = heat @ (codes[:, None] == np.arange(n_classes)).astype(np.float64)
    return mass / np.maximum(mass.sum(axis=0), np.finfo(np.float64).tiny)


def spread_labels(graph: Array, known: Array) -> Array:
    """Return scores of all rows, positive where the positive labels reach more strongly.

    Shapes: graph (n, n), known (n,).
    """
    rows = np.flatnonzero(known)
    shares = share_heat(spread_heat(graph, rows), (known[rows] < 0).astype(np.intp), 2)
    # Rows that no label reaches have no opinion; relative differences keep far rows in order.
    return (shares[:, 0] - shares[:, 1]) / np.maximum(shares.sum(axis=1), np.finfo(np.float64).tiny)


def spectral_splits(graph: Array, n_splits: int) -> Array:
    """Return scores whose signs cut the graph where it is thin, shape (n_splits, n).

    They are the leading eigenvectors after the trivial one, which is the root of the degrees
    (Shi and Malik 2000).
    """
    roots = np.sqrt(np.maximum(np.count_nonzero(graph, axis=1), 1.0))
    trivial = roots / np.linalg.norm(roots)
    _, vectors = np.linalg.eigh(graph - np.outer(trivial, trivial))
    splits = vectors[:, ::-1][:, :n_splits].T / roots
    # An eigenvector's sign is the library's whim; the largest entry decides instead.
    largest = np.take_along_axis(splits, np.abs(splits).argmax(axis=1)[:, None], axis=1)
    return splits * np.sign(largest)


CROSSOVER_RATE = 0.9
TOURNAMENT_SHARE = 0.25
NEIGHBOURS = (5, 10, 20)
_N_RATIOS = 5
_N_SPLITS = 2
# Labellings drawn at random in the place of a child that was tried before.
_DRAWS = 8


class FoundLabelling(NamedTuple):
    """The outcome of a search over labellings.

    n_iter: Generations, or machines fitted where there are none.
    """

    fit: LabellingFit
    n_iter: int
    stopped_by: str


def evolve_labellings(
    problem: TransductiveProblem,
    *,
    population_size: int = 10,
    max_iter: int = 100,
    stall: int = 10,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> FoundLabelling:
    """Search for the labelling whose machine has the least optimum."""
    distances = squared_kernel_distances(problem.kernel)
    order = nearest_order(distances[np.ix_(problem.unlabelled, problem.unlabelled)])
    population = _Population(population_size)
    for labels, anneal in first_labellings(problem, distances):
        if anneal or population.is_new(labels):
            local = annealed if anneal else descend
            population.add(local(problem, labels, deadline=deadline))
        if is_late(deadline):
            break
    best, since = population.best, 0
    for n_iter in range(1, max_iter + 1):
        if is_late(deadline):
            return FoundLabelling(best, n_iter - 1, "time_limit")
        _generation(population, problem, order, rng, deadline)
        since = 0 if is_lower(population.best.objective, best.objective) else since + 1
        best = population.best
        if since >= stall:
            # Before it gives up, the search tries single changes of the best by hand.
            polished = polish(problem, best, deadline=deadline)
            if not is_lower(polished.objective, best.objective):
                return FoundLabelling(best, n_iter, "stall")
            population.add(polished)
            best, since = polished, 0
    return FoundLabelling(best, max_iter, "max_iter")


def first_labellings(
    problem: TransductiveProblem, distances: Array
) -> Iterator[tuple[Array, bool]]:
    """Yield the guesses with which a search begins, and whether each is to be annealed.

    Graphs are made when a guess needs them: on thousands of rows each takes a part of a second.
    """
    counts = np.unique(np.linspace(problem.fewest, problem.most, _N_RATIOS).round().astype(int))
    graphs = (neighbour_graph(distances, k) for k in NEIGHBOURS if k < len(distances))
    if len(problem.labelled) == 0:
        yield from ((labels, False) for labels in _clusterings(problem, list(graphs), counts))
        return
    rows = problem.unlabelled
    inductive = inductive_scores(problem)[rows]
    yield from ((problem.ranked(inductive), is_annealed) for is_annealed in (True, False))
    for graph in graphs:
        spread = spread_labels(graph, problem.known)[rows]
        yield problem.ranked(spread), False
        yield from ((problem.ranked(spread, int(count)), False) for count in counts[1:-1:2])
    yield from ((problem.ranked(inductive, int(count)), False) for count in counts)


def _clusterings(problem: TransductiveProblem, graphs: list[Array], counts: Indices) -> list[Array]:
    """Return splits of the rows where no row has a label."""
    splits = [split for graph in graphs for split in spectral_splits(graph, _N_SPLITS)]
    if not splits:
        # Too few rows for a graph: the direction of most variation splits them.
        centred = problem.kernel - problem.kernel.mean(axis=0)
        splits = [np.linalg.eigh(0.5 * (centred + centred.T))[1][:, -1]]
    made = [problem.ranked(split) for split in splits]
    return made + [problem.ranked(splits[0], int(count)) for count in counts]


class _Population:
    """The best distinct labellings so far, and all that were tried."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.fits: list[LabellingFit] = []
        self._tried: set[bytes] = set()

    @property
    def best(self) -> LabellingFit:
        return self.fits[0]

    def is_new(self, labels: Array) -> bool:
        """Return whether a labelling was never tried, and remember it."""
        key = labels.tobytes()
        if key in self._tried:
            return False
        self._tried.add(key)
        return True

    def add(self, fit: LabellingFit) -> None:
        self._tried.add(fit.labels.tobytes())
        if any(np.array_equal(fit.labels, other.labels) for other in self.fits):
            return
        self.fits = sorted([*self.fits, fit], key=lambda other: other.objective)[: self.size]

    def parent(self, rng: np.random.Generator) -> LabellingFit:
        """Return the winner of a tournament; the list is sorted, so the lowest place wins."""
        entrants = max(1, round(TOURNAMENT_SHARE * len(self.fits)))
        return self.fits[int((rng.random(entrants) * len(self.fits)).min())]


def _generation(
    population: _Population,
    problem: TransductiveProblem,
    order: Indices,
    rng: np.random.Generator,
    deadline: float | None,
) -> None:
    for _ in range(population.size):
        parent, other = population.parent(rng), population.parent(rng)
        labels = parent.labels
        if rng.random() < CROSSOVER_RATE:
            labels = cross_labellings(labels, other.labels, order, rng)
        labels = problem.repaired(mutate_labels(labels, order, rng), parent.scores)
        if is_late(deadline):
            return
        # Where everything near was tried, chance looks elsewhere.
        for _ in range(_DRAWS):
            if population.is_new(labels):
                population.add(descend(problem, labels, deadline=deadline))
                break
            labels = problem.random_labels(rng)
