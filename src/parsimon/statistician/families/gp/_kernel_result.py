"""A search over kernels that answered one question: kernels as candidates, and what it chose.

`KernelResult` is what everything about this family is made from; `_parts` turns it into
findings and pictures. `influence` says how much a row moves the posterior.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin

from parsimon._typing import Array, Indices
from parsimon.gp import (
    Candidate,
    KernelSearch,
    fit_classifier,
    fit_regressor,
    training_posterior,
)
from parsimon.inference import LatentPosterior
from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Sites
from parsimon.inference.prior import TOLERANCE
from parsimon.kernels import Constant, Kernel, Sum, kind, plain, spoken, structure
from parsimon.linalg import pivoted_cholesky
from parsimon.report.findings import (
    ComponentFinding,
    InteractionFinding,
    KernelSearchFindings,
    ModelFinding,
    Roc,
    SearchFindings,
    Study,
    Task,
    Variable,
    VariableFinding,
)
from parsimon.statistician.families.family import OwnPredictions, Question
from parsimon.statistician.time_budget import OutOfTimeError, TimedSteps

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from parsimon.statistician.gallery import Gallery


def influence(model: Any) -> Array | None:
    """Return how much the latent mean changes at all rows if a row is taken out.

    The posterior at the training rows is N(m, S) with S = inv(inv(K) + diag(t)) and m = S v,
    where site i is exp(-t_i f_i^2 / 2 + v_i f_i). Without the share s of site i, the precision
    inv(S) loses s t_i in one diagonal entry, so that by Sherman and Morrison

        S' = S + s t_i S_i S_i^T / (1 - s t_i S_ii),     with S_i the i-th column of S,

    and m' = S' (v - s v_i e_i). Multiplied out, m' - m = S_i (s t_i m_i - s v_i) / (1 - s t_i S_ii)
    and the root mean square of that vector needs only the lengths of the columns of S. All other
    sites and the hyperparameters stay as they are. For Gaussian noise this is exact; for classes
    it is what expectation propagation would say before it moves the other sites.

    Equal rows share one site; each takes out its share of it, and in the mean over rows every
    one of them counts.

    Shape: (n,).
    """
    fitted = training_posterior(model)
    if fitted is None:
        return None
    posterior, rows, unit = fitted.posterior, fitted.rows, fitted.unit
    used = rows.which >= 0
    place, share = rows.which[used], rows.share[used]
    precision = share * posterior.sites.precision[place]
    shift = share * posterior.sites.shift[place]
    lengths = _column_lengths(posterior, np.bincount(place, minlength=len(rows.X)))
    mean, variance = posterior.mean[place], posterior.variance[place]
    changes = np.zeros(len(used))
    changes[used] = (
        unit * np.abs(precision * mean - shift) / (1 - precision * variance) * lengths[place]
    )
    return changes


def _column_lengths(posterior: LatentPosterior, counts: Indices) -> Array:
    """Return the root mean square of each column of S, row j counted `counts[j]` times.

    With S = F Q F^T, the sum over j of counts_j S_ji^2 is F_i^T (G^T diag(counts) G) F_i for
    G = F Q: nothing larger than n by the rank is made.
    """
    F, Q = posterior.conditioned.basis()
    G = F @ Q
    squares = np.einsum("ik,kl,il->i", F, (G.T * counts) @ G, F, optimize=True)
    return np.sqrt(np.maximum(squares, 0.0) / counts.sum())


# Rows whose probit scores differ by less are told apart by rounding alone.
_SAME_SCORE = 1e-7
_PAIRS_AT_ONCE = 2**18
_LEAST_LEFT = 1e-12


def pair_wins(mean: Array, covariance: Array, sites: Sites) -> Array:
    """Return how many rows each row is ranked above, the two of a pair left out together.

    Ranked by leave-one-out, rows that a model cannot tell apart come in the wrong order: without a
    row its own class is rarer, so that the positive of two equal rows gets the lower probability.
    Without both rows of a pair the same others speak about either [1], and a row's wins over all
    others rank it [2]; a tie counts a half.

    The marginal of a pair is N(a, A); divided by its two sites, with T = diag(t_i, t_j), it has
    mean inv(I - A T) (a - A v) and covariance inv(I - A T) A, which for two rows is written out.

    Shapes: mean (n,), covariance (n, n) -> (n,).

    [1] Airola, Pahikkala, Waegeman, De Baets and Salakoski (2011), Comput. Stat. Data Anal.
    55:1828-1844.
    [2] Montoya Perez, Airola, Boström, Jambor and Pahikkala (2019), Stat. Methods Med. Res.
    28:2975-2991.
    """
    n = len(mean)
    own, (t, v) = np.diagonal(covariance), sites
    kept, alone = 1 - own * t, mean - own * v
    wins = np.empty(n)
    step = max(1, _PAIRS_AT_ONCE // n)
    for begin in range(0, n, step):
        i = slice(begin, begin + step)
        between = covariance[i]
        # Positive for a pair; a row with itself, which is a tie in any case, may be anything.
        determinant = np.maximum(kept[i, None] * kept - between**2 * t[i, None] * t, _LEAST_LEFT)
        first, second = alone[i, None] - between * v, alone - between * v[i, None]
        mine = _score(
            kept * first + between * t * second, kept * own[i, None] + between**2 * t, determinant
        )
        other = _score(
            kept[i, None] * second + between * t[i, None] * first,
            kept[i, None] * own + between**2 * t[i, None],
            determinant,
        )
        far = mine - other
        tied = np.abs(far) <= _SAME_SCORE * (1 + np.abs(mine))
        wins[i] = np.where(tied, 0.5, far > 0).sum(axis=1) - 0.5
    return wins


def _score(mean: Array, variance: Array, determinant: Array) -> Array:
    """Return the probit of the positive class from a cavity that is not divided out yet."""
    return mean / np.sqrt(determinant * (determinant + variance))


def in_order_of(wins: Array, probability: Array) -> Array:
    """Return the same probabilities given to rows in the order of their wins; ties share a mean.

    Shapes: wins (n,), probability (n,) -> (n,).
    """
    order = np.argsort(wins, kind="stable")
    _, group = np.unique(wins[order], return_inverse=True)
    means = np.bincount(group, np.sort(probability)) / np.bincount(group)
    ranked = np.empty(len(wins))
    ranked[order] = means[group]
    return ranked


# Beyond this the structure is fitted by inducing points instead of exactly.
EXACT_ROWS = 3000
# Starts of a second fit, beside that of the search.
_RESTARTS = 3
# Points that stand for more rows than that, of classes and of numbers.
_INDUCING, MOST_PIVOTS = 200, 500
# A fit to all rows has so many seconds, be the time up.
_LEAST_SECONDS = 1.0


class PivotRegressor(RegressorMixin, BaseEstimator):
    """A Gaussian process of a number that keeps the pivots of its kernel matrix, not all rows.

    With K = L L^T the function at x is f(x)^T u, u standard normal and f(x) = inv(L_P) k(P, x) for
    the pivots P, whose rows of L are triangular; what the rows say is the posterior of u.

    kernel_: With its hyperparameters.
    points (r, d): The pivots.
    root (r, r): L_P.
    weights (r,): The mean of u.
    precision_root (r, r): Lower Cholesky factor of the precision of u.
    """

    def __init__(
        self,
        kernel_: Kernel,
        points: Array,
        root: Array,
        weights: Array,
        precision_root: Array,
        *,
        centre: float,
        unit: float,
        noise_variance_: float,
        degrees_of_freedom_: float,
    ) -> None:
        self.kernel_ = kernel_
        self.points = points
        self.root = root
        self.weights = weights
        self.precision_root = precision_root
        self.centre = centre
        self.unit = unit
        self.noise_variance_ = noise_variance_
        self.degrees_of_freedom_ = degrees_of_freedom_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any, return_std: bool = False, *, include_noise: bool = False) -> Any:
        """Predict the function at new rows, shapes (m, d) -> (m,), with its deviation if asked."""
        rows = np.asarray(X, dtype=np.float64)
        parts = [self._latent(rows[at : at + _CHUNK]) for at in range(0, len(rows), _CHUNK)]
        mean = self.centre + self.unit * np.concatenate(
            [part for part, _ in parts] or [np.empty(0)]
        )
        if not return_std:
            return mean
        variance = self.unit**2 * np.concatenate([part for _, part in parts] or [np.empty(0)])
        return mean, np.sqrt(variance + (self.noise_variance_ if include_noise else 0.0))

    def _latent(self, X: Array) -> tuple[Array, Array]:
        features = solve_triangular(self.root, self.kernel_.gram(self.points, X), lower=True)
        known = solve_triangular(self.precision_root, features, lower=True)
        left = self.kernel_.diagonal(X) - np.einsum("ij,ij->j", features, features)
        mean: Array = features.T @ self.weights
        return mean, np.maximum(left, 0.0) + np.einsum("ij,ij->j", known, known)


# Rows that are predicted at once, so that memory stays small.
_CHUNK = 4096


def pivot_regressor(kernel: Kernel, X: Array, y: Array, noise: float) -> PivotRegressor:
    """Fit a kernel to many rows by at most `MOST_PIVOTS` of them.

    What the pivots leave of the variance of a row is noise to them (Snelson and Ghahramani 2006,
    "Sparse Gaussian processes using pseudo-inputs"); where they suffice, the fit is exact.

    Shapes: X (n, d), y (n,).

    noise: Its variance, in units of the variance of y.
    """
    centre, unit = float(np.mean(y)), float(np.std(y)) or 1.0
    low = pivoted_cholesky(
        lambda rows, columns: kernel.gram(X[rows], X[columns]),
        kernel.diagonal(X),
        tol=TOLERANCE / 10 * noise,
        max_rank=MOST_PIVOTS,
    )
    precision = 1.0 / (noise + (0.0 if low.converged else low.residual) * np.ones(len(X)))
    scaled = np.sqrt(precision)[:, None] * low.factor
    within = scaled.T @ scaled + np.eye(len(low.pivots))
    below = np.asarray(np.linalg.cholesky(within), dtype=np.float64)
    # The trace of the smoother: I less the inverse of the precision of u.
    left = solve_triangular(below, np.eye(len(below)), lower=True)
    return PivotRegressor(
        kernel,
        X[low.pivots],
        low.factor[low.pivots],
        cho_solve((below, True), low.factor.T @ (precision * (y - centre) / unit)),
        below,
        centre=centre,
        unit=unit,
        noise_variance_=noise * unit**2,
        degrees_of_freedom_=len(below) - float(np.sum(left**2)),
    )


@dataclass(frozen=True, eq=False)
class KernelCandidate:
    """A kernel that a search judged: words, size, error on the folds of the search, and fits."""

    search: KernelSearch
    judged: Candidate
    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """The kernel in words, without constants beside other terms."""
        return spoken(_without_constants(self.judged.kernel), self.names)

    @property
    def size(self) -> int:
        """Number of base kernels: the terms of the structure."""
        return self.judged.n_base

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that it acts on."""
        return tuple(self.names[column] for column in self.judged.columns)

    @property
    def error(self) -> float:
        """Mean over the folds of the search."""
        return self.judged.error

    @property
    def key(self) -> "Hashable":
        """The structure, whatever its hyperparameters."""
        return structure(self.judged.kernel)

    def fit(self, X: "pd.DataFrame", y: Array, seed: np.random.SeedSequence) -> Any:
        """Return the kernel fitted to rows.

        The hyperparameters are those of the search: on many rows more inducing points predict
        better than more steps for them. A number of many rows is kept at its pivots.

        Shapes: X (n, d), y (n,).
        """
        return self._fit(X, y, seed, {"optimise": False, "n_restarts": 0})

    def refit(self, X: "pd.DataFrame", y: Array, seed: np.random.SeedSequence) -> Any:
        """Return the kernel fitted to rows with hyperparameters of its own, from several starts.

        Of many rows the fit stays as it is, since the search saw some of them only.
        """
        if len(X) > len(self.search.problem_.y):
            return self.fit(X, y, seed)
        again = {"n_restarts": _RESTARTS, "random_state": int(seed.generate_state(1)[0])}
        return self._fit(X, y, seed, again)

    @property
    def start(self) -> tuple[tuple[str, ...], Candidate]:
        """The names of the columns, and the kernel with its hyperparameters."""
        return self.names, self.judged

    def _fit(
        self, X: "pd.DataFrame", y: Array, seed: np.random.SeedSequence, exact: dict[str, Any]
    ) -> Any:
        from parsimon.gp import GPClassifier, GPRegressor, SparseGPClassifier

        kernel = self.judged.kernel
        if self.search.task_ == "regression":
            share = self.judged.noise_variance or 1.0
            if len(X) > EXACT_ROWS:
                return pivot_regressor(kernel, X.to_numpy(dtype=np.float64), y, share)
            noise = float(np.var(y)) * share if "optimise" in exact else None
            return GPRegressor(kernel, noise=noise, **exact).fit(X, y)
        if len(X) <= EXACT_ROWS:
            return GPClassifier(kernel, **exact).fit(X, y)
        whole = int(seed.generate_state(1)[0])
        limit = self.search.time_limit
        sparse: dict[str, Any] = {
            "optimise": False,
            "n_inducing": _INDUCING,
            "time_limit": None if limit is None else max(limit, _LEAST_SECONDS),
        }
        return SparseGPClassifier(kernel, random_state=whole, **sparse).fit(X, y)

    def left_out(self) -> Array | None:
        """Return leave-one-out probabilities of the rows that were searched; None for a number.

        They are those of `in_order_of`, good for ranking.
        """
        problem = self.search.problem_
        if problem.task == "regression":
            return None
        posterior = posterior_of(self.search, self.judged)
        if isinstance(self.judged.kernel, Constant):
            # Leaving a row out lowers the share of its own class, so that leave-one-out would rank
            # all rows the wrong way round; a constant ranks none.
            level = positive_probability(posterior.latent(problem.X[:1]))[0]
            return np.full(len(problem.y), level)
        F, Q = posterior.conditioned.basis()
        wins = pair_wins(posterior.mean, F @ Q @ F.T, posterior.sites)
        return in_order_of(wins, positive_probability(posterior.leave_one_out()))

    def finding(self, roc: Roc | None = None) -> ModelFinding:
        """Return the kernel as a finding."""
        return model_of(self.judged, self.names, roc)


class Description(NamedTuple):
    """What a search can say about variables alone, about parts of its model, and products.

    left_out: What there was no time for.
    """

    variables: tuple[VariableFinding, ...] = ()
    components: tuple[ComponentFinding, ...] = ()
    interactions: tuple[InteractionFinding, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelResult:
    """A search over kernels that answered a question, and its options."""

    question: Question
    search: KernelSearch

    @cached_property
    def candidates(self) -> tuple[KernelCandidate, ...]:
        """The kernels that went through the folds, the constant first."""
        return tuple(map(self.offered, self.search.history_.cross_validated))

    @property
    def chosen(self) -> KernelCandidate:
        """The best kernel, or the constant."""
        return self.offered(self.search.best_candidate_)

    @property
    def structure_found(self) -> bool:
        """Whether a kernel beats the constant."""
        return bool(self.search.structure_found_)

    @property
    def model(self) -> Any:
        """The best kernel, fitted to the rows of the search."""
        return self.search.best_estimator_

    def begun_again(self, starts: Sequence[tuple[tuple[str, ...], Candidate]]) -> "KernelResult":
        """Return the search with greater evidence, where a fold's hyperparameters lead to it."""
        search = copy.copy(self.search)
        alike = [candidate for names, candidate in starts if names == self.question.names]
        return replace(self, search=search) if search.begin_again(alike) else self

    def offered(self, judged: Candidate) -> KernelCandidate:
        """Return a kernel of the search as a candidate."""
        return KernelCandidate(self.search, judged, self.question.names)

    def search_findings(self) -> SearchFindings:
        """Return how the search went."""
        search = self.search
        history = search.history_
        inference = "exact regression"
        if search.task_ == "classification":
            inference = "expectation propagation"
        return KernelSearchFindings(
            n_candidates=len(history),
            n_cross_validated=sum(not math.isnan(candidate.error) for candidate in history),
            depth=search.depth or 0,
            beam=search.beam,
            base=tuple(search.base),
            guide=search.guide,
            n_folds=len(history.baseline.fold_errors),
            stopped_by=history.stopped_by,
            inference=inference,
            n_rows=len(search.problem_.y),
            n_pairs=search.structures_.n_pairs,
            n_pairs_seen=search.structures_.n_pairs_seen,
            choose=search.choose,
        )

    def own_predictions(self) -> OwnPredictions:
        """Predict the rows of the question, each left out where the model was fitted to all."""
        return own_predictions(self.model, self.question.X, self.question.y, self.question.task)

    def influence(self) -> Array | None:
        """Return how much the latent mean changes at all rows if a row is taken out."""
        return influence(self.model)

    def describe(
        self, variables: Sequence[Variable], *, fast: bool = False, time_limit: float | None = None
    ) -> Description:
        """Return what each variable says alone, the parts of the kernel, and its products."""
        from parsimon.statistician.families.gp._parts import (
            component_findings,
            interaction_findings,
            variable_findings,
        )

        steps = TimedSteps(time_limit)
        said, left_out = variable_findings(self, variables, steps), []
        fitted = not fast and self.question.n_questions == 1
        try:
            parts = component_findings(self, fitted=fitted, steps=steps)
        except OutOfTimeError:
            left_out.append("sums of parts")
            parts = component_findings(self, fitted=False)
        try:
            products = () if fast else interaction_findings(self, steps=steps)
        except OutOfTimeError:
            left_out.append("interactions beside sums")
            products = ()
        return Description(said, parts, products, tuple(left_out))

    def draw(self, study: Study, gallery: "Gallery") -> Study:
        """Hang the figures of variables, parts, products and the search."""
        from parsimon.statistician.families.gp._parts import draw_kernels

        return draw_kernels(self, study, gallery)


def own_predictions(model: Any, X: "pd.DataFrame", y: Array, task: Task) -> OwnPredictions:
    """Predict rows by a model that was fitted to them, without each row where that is possible."""
    # A model of some of the rows can leave out only those.
    if hasattr(model, "leave_one_out"):
        without = model.leave_one_out()
        if task == "classification" and len(without.probability) == len(y):
            own = _classes(without.probability[:, 1], "leave-one-out")
            return replace(own, ranking=_ranking(model, own.value))
        if task == "regression" and len(without.mean) == len(y):
            return OwnPredictions(value=without.mean, deviation=without.sd, source="leave-one-out")
    if task == "classification":
        return _classes(model.predict_proba(X)[:, 1], "training rows")
    mean, deviation = model.predict(X, return_std=True, include_noise=True)
    return OwnPredictions(value=mean, deviation=deviation, source="training rows")


def _ranking(model: Any, probability: Array) -> Array | None:
    """Return leave-one-out probabilities in the order that leaving out pairs gives the rows."""
    fitted = training_posterior(model)
    if fitted is None or (fitted.rows.which < 0).any():
        return None
    if isinstance(fitted.posterior.kernel, Constant):
        return np.full(len(probability), probability.mean())
    place, share = fitted.rows.which, fitted.rows.share
    posterior = fitted.posterior
    F, Q = posterior.conditioned.basis()
    sites = Sites(share * posterior.sites.precision[place], share * posterior.sites.shift[place])
    wins = pair_wins(posterior.mean[place], F[place] @ Q @ F[place].T, sites)
    return in_order_of(wins, probability)


def _classes(probability: Array, source: Any) -> OwnPredictions:
    value = np.asarray(probability, dtype=np.float64)
    return OwnPredictions(value=value, deviation=np.zeros(len(value)), source=source)


def model_of(candidate: Candidate, names: Sequence[str], roc: Roc | None = None) -> ModelFinding:
    """Return a judged kernel as a finding.

    A constant beside other terms only moves the level, so that words and kind leave it out.
    """
    kernel, evidences = candidate.kernel, candidate.fold_log_evidences
    varying = _without_constants(kernel)
    return ModelFinding(
        expression=plain(kernel, names),
        symbols=plain(kernel),
        words=spoken(varying, names),
        kind=kind(varying),
        variables=tuple(str(names[column]) for column in candidate.columns),
        size=candidate.n_base,
        error=candidate.error,
        standard_error=candidate.standard_error,
        log_loss=candidate.log_loss,
        negative_log_evidence=-candidate.log_evidence,
        fold_negative_log_evidence=-float(np.mean(evidences)) if evidences else float("nan"),
        roc=roc,
    )


def posterior_of(search: KernelSearch, candidate: Candidate) -> LatentPosterior:
    """Return the posterior of a candidate on the rows of its search.

    For a number the function is that of the standardised target.
    """
    problem, kernel = search.problem_, candidate.kernel
    if problem.task == "regression":
        return fit_regressor(
            kernel,
            problem.X,
            problem.y,
            noise_variance=candidate.noise_variance,
            optimise=False,
        ).posterior
    return fit_classifier(kernel, problem.X, problem.y, optimise=False).posterior


def _without_constants(kernel: Kernel) -> Kernel:
    """Return a sum without its constants; what is nothing else stays as it is."""
    if not isinstance(kernel, Sum):
        return kernel
    terms = [term for term in kernel.terms if not isinstance(term, Constant)]
    if len(terms) < 2:
        return terms[0] if terms else kernel
    return Sum(tuple(terms))
