"""Which labels the unlabelled rows get, and whether the labelled rows support the change.

`find_labels` is the entry to the searches of two classes: the evolution and the greedy solver of
`_labellings`, and here `exhaust`, which proves its labelling the best by branch and bound. With
more than two classes `share_labels` looks for one labelling that the machines of all classes
share. `choose_price` and `weigh` are what keeps the defaults from harm: the labelled rows, left
out in turn, say which price of slack to take and whether labels travel along neighbours as well as
the machine of the labelled rows predicts.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from parsimon._deadline import is_late
from parsimon._parallel import Workers
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.svm._dual import Dual, solve
from parsimon.svm._labellings import (
    IMPROVEMENT,
    NEIGHBOURS,
    FoundLabelling,
    annealed,
    evolve_labellings,
    greedy,
    inductive_scores,
    is_lower,
    neighbour_graph,
    share_heat,
    spread_heat,
    squared_kernel_distances,
    warm,
)
from parsimon.svm._transductive_problem import (
    LabellingFit,
    TransductiveProblem,
    TransductiveRows,
    machine,
)

# Bounds are compared with objectives, so both are solved more exactly than usual.
_TOLERANCE = 1e-6
# With so few unlabelled rows every search is exact; more than the second number are refused.
FEW_ROWS, MOST_ROWS = 12, 24


# Prices of slack to choose from; another than the first must be better at this level.
_PRICES, _LEVEL = (1.0, 10.0, 100.0), 0.01
_MOST_FOLDS = 10
# Fewer than one of ten nearest neighbours, on average, may be across the border that is found.
_MOST_NEIGHBOURS, _MOST_CROSSED = 10, 0.1
# Relabellings after which a search for a shared labelling ends.
_MOST_ROUNDS = 100


def exhaust(problem: TransductiveProblem, *, deadline: float | None = None) -> FoundLabelling:
    """Return the labelling of least optimum among all that the class ratio allows.

    Chapelle, Sindhwani and Keerthi (2007), Branch and bound for semi-supervised support vector
    machines, Advances in Neural Information Processing Systems 19:217-224.
    """
    if problem.n_unlabelled > MOST_ROWS:
        raise InvalidInputError(
            f'method="exhaustive" is for at most {MOST_ROWS} unlabelled rows, got '
            f'{problem.n_unlabelled}. Use method="evolution".'
        )
    guess = problem.ranked(inductive_scores(problem)[problem.unlabelled])
    start = problem.fit(annealed(problem, guess).labels, tol=_TOLERANCE)
    # Rows far from the boundary first: giving them the other label costs most, so that wrong
    # branches are cut near the root.
    order = np.argsort(-np.abs(start.scores[problem.unlabelled]), kind="stable")
    tree = _Tree(problem, order, start, deadline)
    tree.visit(np.zeros(problem.n_unlabelled), 0)
    return FoundLabelling(tree.best, tree.n_fits, "time_limit" if tree.is_cut else "exact")


class _Tree:
    """The labellings in order of their first rows, without branches that cannot win."""

    def __init__(
        self,
        problem: TransductiveProblem,
        order: Indices,
        best: LabellingFit,
        deadline: float | None,
    ) -> None:
        self.problem, self.order, self.best, self.deadline = problem, order, best, deadline
        self.n_fits, self.is_cut = 1, False

    def visit(self, labels: Array, depth: int) -> None:
        """Look at all labellings that agree with `labels` in the first `depth` rows."""
        if depth == len(labels):
            return
        place = self.order[depth]
        branches = []
        for sign in (-1.0, 1.0):
            branch = labels.copy()
            branch[place] = sign
            if self._is_allowed(branch, depth + 1):
                branches.append((self._bound(branch, depth + 1), branch))
        for bound, branch in sorted(branches, key=lambda pair: pair[0]):
            if is_late(self.deadline):
                self.is_cut = True
                return
            if bound < self.best.objective - IMPROVEMENT * max(1.0, self.best.objective):
                self.visit(branch, depth + 1)

    def _is_allowed(self, labels: Array, depth: int) -> bool:
        n_positive = int(np.count_nonzero(labels > 0))
        left = len(labels) - depth
        return n_positive <= self.problem.most and n_positive + left >= self.problem.fewest

    def _bound(self, labels: Array, depth: int) -> float:
        self.n_fits += 1
        if depth == len(labels):
            fit = self.problem.fit(labels, tol=_TOLERANCE)
            if fit.objective < self.best.objective:
                self.best = fit
            return fit.objective
        signs = self.problem.signs(labels)
        rows = np.flatnonzero(signs)
        kernel = self.problem.kernel[np.ix_(rows, rows)]
        found = machine(kernel, signs[rows], self.problem.upper[rows], tol=_TOLERANCE)
        return found.objective


METHODS = ("evolution", "greedy", "exhaustive")


@dataclass(frozen=True)
class LabellingOptions:
    """How to search.

    population_size, max_iter, stall: As in `evolve_labellings`.
    deadline: On the monotonic clock.
    """

    method: str = "evolution"
    population_size: int = 10
    max_iter: int = 100
    stall: int = 10
    deadline: float | None = None


def find_labels(
    problem: TransductiveProblem, how: LabellingOptions, seed: np.random.SeedSequence
) -> FoundLabelling:
    """Return the labelling that a method finds.

    Without unlabelled rows it is the plain support vector machine. Evolution has nothing to do
    where at most 12 rows are unlabelled: the optimum is then found by `exhaust`.
    """
    n = problem.n_unlabelled
    if n == 0:
        return FoundLabelling(problem.fit(np.zeros(0)), 1, "converged")
    if how.method == "exhaustive" or (how.method == "evolution" and n <= FEW_ROWS):
        return exhaust(problem, deadline=how.deadline)
    if how.method == "greedy":
        fit, n_fits = greedy(problem, greedy_count(problem), deadline=how.deadline)
        return FoundLabelling(fit, n_fits, "time_limit" if is_late(how.deadline) else "converged")
    return evolve_labellings(
        problem,
        population_size=how.population_size,
        max_iter=how.max_iter,
        stall=how.stall,
        rng=np.random.default_rng(seed),
        deadline=how.deadline,
    )


def greedy_count(problem: TransductiveProblem) -> int:
    """Return how many positives Joachims' solver keeps: the share among the labelled rows.

    It is moved into what the class ratio allows; where that is everything, the machine of the
    labelled rows decides instead.
    """
    n = problem.n_unlabelled
    if (problem.fewest, problem.most) == (0, n):
        wanted = int(np.count_nonzero(inductive_scores(problem)[problem.unlabelled] > 0))
    else:
        wanted = int(np.floor(problem.labelled_share * n + 0.5))
    return min(max(wanted, problem.fewest), problem.most)


def settle(problem: TransductiveProblem, fit: LabellingFit) -> LabellingFit:
    """Return the machine of the labelling found, as scikit-learn's SVC would fit it."""
    signs = problem.signs(fit.labels)
    if (signs == signs[0]).all():
        return fit
    solution = solve(Dual(problem.kernel, signs, problem.upper))
    scores = problem.kernel @ (solution.alpha * signs) + solution.bias
    return LabellingFit(fit.labels, solution, scores)


class LabelledMachines(NamedTuple):
    """The machine of each class (of two, of the second alone) and the labels behind them.

    codes (n_unlabelled,): Classes found; None where the highest score decides.
    n_iter: Generations, or machines fitted where there are none.
    """

    fits: list[LabellingFit]
    codes: Indices | None
    n_iter: int
    stopped_by: str

    @property
    def objective(self) -> float:
        """The sum of the optima of all machines."""
        return sum(fit.objective for fit in self.fits)

    def coefficients(self, problems: list[TransductiveProblem]) -> Array:
        """Return multipliers times labels of all rows, shape (n_machines, n)."""
        pairs = zip(problems, self.fits, strict=True)
        return np.array([fit.solution.alpha * own.signs(fit.labels) for own, fit in pairs])

    def every_code(self, given: TransductiveRows) -> Indices:
        """Return the classes of all rows: those given, and those found."""
        codes = given.labels.codes.copy()
        codes[codes < 0] = self.codes if self.codes is not None else self._by_score(codes < 0)
        return codes

    def _by_score(self, rows: Mask) -> Indices:
        scores = np.column_stack([fit.scores[rows] for fit in self.fits])
        codes: Indices = scores.argmax(axis=1)
        return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else codes


def share_labels(
    problems: list[TransductiveProblem], *, deadline: float | None = None, n_jobs: int | None = 1
) -> LabelledMachines:
    """Return the labelling of least total optimum that local searches from several guesses reach.

    `problems` has one class each against the others. Searched one by one, they may claim a row
    twice, or leave it to nobody; here each row has one class, and all machines see the same labels.
    """
    bounds = class_bounds(problems)
    calls = [(problems, bounds, codes, deadline) for codes in _guesses(problems, bounds)]
    with Workers(n_jobs) as workers:
        ends = list(workers.map(_share_from, calls))
    return min(ends, key=lambda end: end.objective)


def class_bounds(problems: list[TransductiveProblem]) -> Array:
    """Return the fewest and the most unlabelled rows of each class, shape (2, n_classes)."""
    bounds = np.array([[problem.fewest, problem.most] for problem in problems], dtype=np.float64).T
    n = problems[0].n_unlabelled
    for room in (0.0, 1.0):
        # Shares of few rows are rounded, which a row of room for each class makes good.
        widened = np.array([np.maximum(bounds[0] - room, 0.0), bounds[1] + room])
        if widened[0].sum() <= n <= widened[1].sum():
            return widened
    raise InvalidInputError(
        f"positive_ratio allows {bounds[0].sum():g} to {bounds[1].sum():g} rows in all "
        f"{len(problems)} classes together, but {n} are without a label; give a pair of shares "
        "that leaves room."
    )


def assign_classes(gains: Array, bounds: Array) -> Indices:
    """Return the class of each row such that the sum of gains is greatest within the bounds.

    Where the rows' own wishes break the bounds it is a transport problem, whose linear programme
    has a whole solution.

    Shapes: gains (n, n_classes), bounds (2, n_classes) -> (n,).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import eye_array, kron

    n, n_classes = gains.shape
    codes: Indices = gains.argmax(axis=1)
    counts = np.bincount(codes, minlength=n_classes)
    if ((bounds[0] <= counts) & (counts <= bounds[1])).all():
        return codes
    one_class = LinearConstraint(kron(eye_array(n), np.ones((1, n_classes))), 1.0, 1.0)
    in_bounds = LinearConstraint(kron(np.ones((1, n)), eye_array(n_classes)), bounds[0], bounds[1])
    found = milp(-gains.ravel(), constraints=(one_class, in_bounds), bounds=Bounds(0.0, 1.0))
    shares = np.asarray(found.x, dtype=np.float64).reshape(n, n_classes)
    return shares.argmax(axis=1)


def _guesses(problems: list[TransductiveProblem], bounds: Array) -> list[Indices]:
    """Return labellings by the machine of the labelled rows and by spreading along neighbours."""
    first = problems[0]
    known = np.array([problem.known[problem.labelled] for problem in problems])
    codes: Indices = known.argmax(axis=0)
    distances = squared_kernel_distances(first.kernel)
    graphs = [neighbour_graph(distances, k) for k in NEIGHBOURS if k < len(distances)]
    reached = [
        share_heat(spread_heat(graph, first.labelled), codes, len(problems)) for graph in graphs
    ]
    inductive = np.column_stack([inductive_scores(problem) for problem in problems])
    return [assign_classes(scores[first.unlabelled], bounds) for scores in (*reached, inductive)]


def _share_from(
    problems: list[TransductiveProblem], bounds: Array, codes: Indices, deadline: float | None
) -> LabelledMachines:
    """Return a labelling that no relabelling by the scores of its own machines improves."""
    best = _fit_shared(problems, codes, None)
    for _ in range(_MOST_ROUNDS):
        gains = [
            problem.gains(fit.scores) for problem, fit in zip(problems, best.fits, strict=True)
        ]
        better = assign_classes(np.column_stack(gains), bounds)
        if np.array_equal(better, codes) or is_late(deadline):
            break
        following = _fit_shared(problems, better, best)
        if not is_lower(following.objective, best.objective):
            break
        best, codes = following, better
    return best


def _fit_shared(
    problems: list[TransductiveProblem], codes: Indices, before: LabelledMachines | None
) -> LabelledMachines:
    fits = []
    for code, problem in enumerate(problems):
        labels = np.where(codes == code, 1.0, -1.0)
        start = None if before is None else warm(before.fits[code], labels, problem)
        fits.append(problem.fit(labels, start=start))
    return LabelledMachines(fits, codes, len(fits), "converged")


def find_machines(
    problems: list[TransductiveProblem],
    how: LabellingOptions,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
) -> LabelledMachines:
    """Return the machines of the labelling that a method finds, one labelling for all classes.

    Of more than two classes every method but "evolution" treats each on its own.
    """
    if how.method == "evolution" and len(problems) > 1 and problems[0].n_unlabelled:
        shared = share_labels(problems, deadline=how.deadline, n_jobs=n_jobs)
        ended = "time_limit" if is_late(how.deadline) else "converged"
        return shared._replace(fits=list(map(settle, problems, shared.fits)), stopped_by=ended)
    seeds = seed.spawn(len(problems))
    calls = [(problem, how, child) for problem, child in zip(problems, seeds, strict=True)]
    with Workers(n_jobs if len(problems) > 1 else 1) as workers:
        found = list(workers.map(_find_and_settle, calls))
    codes = (found[0].fit.labels > 0).astype(np.intp) if len(found) == 1 else None
    n_iter, stopped_by = max((labelling.n_iter, labelling.stopped_by) for labelling in found)
    return LabelledMachines([labelling.fit for labelling in found], codes, n_iter, stopped_by)


def _find_and_settle(
    problem: TransductiveProblem, how: LabellingOptions, seed: np.random.SeedSequence
) -> FoundLabelling:
    found = find_labels(problem, how, seed)
    return found._replace(fit=settle(problem, found.fit))


def inductive_machines(
    problems: list[TransductiveProblem], *, keep_ratio: bool
) -> LabelledMachines:
    """Return the machines of the labelled rows alone; labels keep the class ratio if asked for."""
    fits = [_inductive(problem) for problem in problems]
    rows, codes = problems[0].unlabelled, None
    if keep_ratio and len(fits) == 1:
        codes = (problems[0].ranked(fits[0].scores[rows]) > 0).astype(np.intp)
    elif keep_ratio:
        scores = np.column_stack([fit.scores[rows] for fit in fits])
        codes = assign_classes(scores, class_bounds(problems))
    return LabelledMachines(fits, codes, len(fits), "converged")


def _inductive(problem: TransductiveProblem) -> LabellingFit:
    rows, alpha = problem.labelled, np.zeros(len(problem.known))
    signs = problem.known[rows]
    found = solve(Dual(problem.kernel[np.ix_(rows, rows)], signs, problem.upper[rows]))
    alpha[rows] = found.alpha
    scores = problem.kernel[:, rows] @ (found.alpha * signs) + found.bias
    labels = np.where(scores[problem.unlabelled] > 0, 1.0, -1.0)
    return LabellingFit(labels, replace(found, alpha=alpha), scores)


class SpreadEvidence(NamedTuple):
    """What the labelled rows say, when they are left out in turn, for or against transduction.

    n_labelled: Labelled rows, by weight.
    inductive: How many of these the machine of the other labelled rows gets wrong.
    spread: How many of these labels spread from the other labelled rows get wrong.
    codes (n,): The classes of all rows as labels spread.
    graph (n, n): Of nearest neighbours.
    """

    n_labelled: float
    inductive: float
    spread: float
    codes: Indices
    graph: Array

    @property
    def favours(self) -> bool:
        """Whether labels travel along neighbours, and as well as the machine predicts."""
        return self.spread <= self.inductive + 1e-9 and self.supports(self.codes)

    def supports(self, codes: Indices) -> bool:
        """Return whether the border of a labelling of all rows runs between few neighbours."""
        return self._crossed(codes) < _MOST_CROSSED

    def _crossed(self, codes: Indices) -> float:
        first, second = np.nonzero(self.graph)
        return float((codes[first] != codes[second]).mean()) if len(first) else 0.0

    def sentence(self, codes: Indices | None) -> str:
        """Return in words what was decided and why; codes of the labelling found, if any was."""
        found = self.codes if codes is None else codes
        used = codes is not None and self.supports(codes)
        return (
            f"The unlabelled rows were {'' if used else 'not '}used: labels that spread along "
            f"neighbours get {self.spread:g} of {self.n_labelled:g} labelled rows wrong when these "
            f"are left out, the machine of the labelled rows alone {self.inductive:g}, and the "
            f"border so found crosses {100 * self._crossed(found):.2g} % of the links between "
            f"neighbours, where less than {100 * _MOST_CROSSED:g} % is asked for."
        )


def weigh(given: TransductiveRows, C: float) -> SpreadEvidence:
    """Return what speaks for transduction; C is the price of the machine of the labelled rows."""
    rows = np.flatnonzero(given.labels.known)
    codes, weights = given.labels.codes[rows], given.weights[rows]
    # Of few rows a quarter, so that a row's neighbours can be of its own class.
    count = min(_MOST_NEIGHBOURS, max(1, len(given.rows) // 4))
    graph = neighbour_graph(squared_kernel_distances(given.kernel), count)
    heat, n_classes, folds = spread_heat(graph, rows), len(given.labels.classes), _folds(codes)
    spread = np.zeros((len(rows), n_classes))
    for fold in range(folds.max() + 1):
        left = folds == fold
        spread[left] = share_heat(heat, np.where(left, -1, codes), n_classes)[rows[left]]
    wrong, wrong_spread = _wrong(_left_out(given, C), codes), _wrong(spread, codes)
    return SpreadEvidence(
        float(weights.sum()),
        float(weights[wrong].sum()),
        float(weights[wrong_spread].sum()),
        share_heat(heat, codes, n_classes).argmax(axis=1),
        graph,
    )


def choose_price(given: TransductiveRows) -> float:
    """Return the price of slack, 1 unless the labelled rows left out clearly prefer a higher one.

    Of the prices whose hinge losses of rows left out are less by a paired t test at 1 per cent, it
    is the one of least loss.
    """
    known = given.labels.known
    codes, weights = given.labels.codes[known], given.weights[known]
    signs = np.where(codes[:, None] == np.arange(len(given.labels.classes)), 1.0, -1.0)
    losses = [np.maximum(0.0, 1.0 - signs * _left_out(given, C)).sum(axis=1) for C in _PRICES]
    best, least = _PRICES[0], math.inf
    for C, loss in zip(_PRICES[1:], losses[1:], strict=True):
        total = float(weights @ loss)
        if total < least and _is_less(loss, losses[0], weights):
            best, least = C, total
    return best


def _is_less(losses: Array, others: Array, weights: Array) -> bool:
    """Return whether losses are less by a one-sided paired t test; a weight of two is two rows."""
    from scipy.stats import t

    n, gains = float(weights.sum()), others - losses
    mean = float(weights @ gains) / n
    variance = float(weights @ (gains - mean) ** 2) / (n - 1.0) if n > 1 else 0.0
    return variance > 0 and float(t.sf(mean / math.sqrt(variance / n), n - 1.0)) <= _LEVEL


def _folds(codes: Indices) -> Indices:
    """Return a fold for each labelled row: one row of each class, or a tenth, is left out."""
    places = np.zeros(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        own = codes == code
        places[own] = np.arange(np.count_nonzero(own))
    return places % min(_MOST_FOLDS, int(places.max()) + 1)


def _left_out(given: TransductiveRows, C: float) -> Array:
    """Return scores for each class of labelled rows by machines that had not seen them."""
    rows = np.flatnonzero(given.labels.known)
    codes, n_classes = given.labels.codes[rows], len(given.labels.classes)
    upper, folds = C * given.weights[rows] * given.factors[rows], _folds(codes)
    scores = np.zeros((len(rows), n_classes))
    for fold in range(folds.max() + 1):
        kept, left = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(kept):
            continue
        inner = given.kernel[np.ix_(rows[kept], rows[kept])]
        outer = given.kernel[np.ix_(rows[left], rows[kept])]
        for code in range(n_classes if n_classes > 2 else 1):
            signs = np.where(codes[kept] == code, 1.0, -1.0)
            found = machine(inner, signs, upper[kept])
            scores[left, code] = outer @ (found.alpha * signs) + found.bias
    if n_classes == 2:
        scores[:, 1] = -scores[:, 0]
    return scores


def _wrong(scores: Array, codes: Indices) -> Mask:
    """Return which rows are not given to their own class, shape (n,); a tie is wrong."""
    own = scores[np.arange(len(codes)), codes]
    others = scores.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    return own <= others.max(axis=1)
