"""`ABCClassifier`: the average of all yes/no rules that do about as well as can be done."""

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_count, check_seconds
from parsimon._data import validate_data
from parsimon._interrupts import stoppable
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array, Indices, Mask
from parsimon.ensembles._votes import (
    ErrorOf,
    TwoClassVote,
    VoteCalibration,
    class_folds,
    fitted_vote_calibration,
)
from parsimon.ensembles.chain_options import CHUNK, ChainOptions
from parsimon.ensembles.chains import ABCSamples, abc_sample
from parsimon.ensembles.convergence import agreement
from parsimon.ensembles.pruning import pair_areas
from parsimon.ensembles.rules import BoundRule, HardNetwork, average_vote, member_labels
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Checkpoint
from parsimon.pareto.run import SearchOptions

_FOLD_CHAINS = 8


class ABCClassifier(TwoClassVote, BaseEstimator):
    """Average a rule that only says yes or no over all its parameters that err little.

    A rule without probabilities has no likelihood. Approximate Bayesian computation needs none:
    parameters are drawn from their prior, and kept if their error on the training rows is within
    a tolerance. Chains do that step by step (Clark 2011, chapter 5 [1]_). The share of kept rules
    that say yes is a score with a full ROC curve; a line fitted to votes on rows held out makes a
    probability of it.

    Parameters
    ----------
    rule : HardNetwork, HardTree, RuleList, YesNoRule or None
        What to average; None is ``HardNetwork(7)``. Any value with a method ``bind(X)`` that
        returns a `BoundRule` will do.
    error : {"auc", "balanced", "misclassification"} or callable
        "auc" is the source's: one minus the conservative area T (1 - F) of a hard classifier.
        "balanced" is one minus the mid-rank area. A callable ``loss(y, labels)`` gets codes 0
        and 1 and returns a number; it needs a `tolerance`.
    chains : ChainOptions, optional
        How many chains walk, for how long, and how little the rules they keep must err.
    calibration : int, optional
        Folds whose votes by chains of the other rows teach the map to probabilities; None takes
        the average vote itself, as the source does.
    max_iter : int, optional
        Steps of each chain in all.
    time_limit : float, optional
        Seconds; half of them for the chains, half for the folds.
    checkpoint : Checkpoint, str or Path, optional
        File to resume from, to the same bits; folds have files of their own beside it.
    verbose : bool
        Whether to show progress.
    random_state : int, Generator, SeedSequence, RandomState or None
        Seed.
    n_jobs : int, optional
        Processes among which chains are shared; the result does not depend on it. Worth it for
        slow rules alone.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    rule_ : BoundRule
        The rule with what it took from the training rows.
    samples_ : ndarray of shape (n_chains, n_kept, p)
        Parameters of the kept rules.
    errors_ : ndarray of shape (n_chains, n_steps)
        Training error at every recorded step; n_samples of them, doubled `n_doubled_` times.
    tolerance_ : float
        The greatest tolerance of a chain at the end.
    acceptance_ : float
        Share of proposals that were taken while recording.
    r_hat_, effective_sample_size_ : dict
        Of "error", the trace of errors, and of "votes": the worst over training rows whose
        average vote is neither below 0.05 nor above 0.95.
    n_distinct_ : int
        Kept rules that label the training rows differently.
    n_doubled_ : int
        How many times the steps were doubled.
    best_parameters_ : ndarray of shape (p,)
        The single rule with the least training error that was met, `best_error_`.
    training_auc_ : float
        Area under the ROC curve of the average vote on the training rows.
    calibration_ : VoteCalibration or None
    n_iter_ : int
        Steps of each chain.
    stopped_by_ : str
        "samples" if all were recorded; otherwise "max_iter", "time_limit" or "interrupt".
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Clark (2011), "Multi-objective ROC learning for classification", chapter 5; Marjoram
       et al. (2003), PNAS 100:15324-15328.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> from parsimon.ensembles import ChainOptions, HardTree
    >>> data = load("ripley")
    >>> X, y = data.data[:250], data.target[:250]
    >>> chains = ChainOptions(n_samples=400)
    >>> model = ABCClassifier(HardTree(2), chains=chains, calibration=None, random_state=0)
    >>> model = model.fit(X, y)
    >>> model.samples_.shape, bool(model.errors_.max() <= model.tolerance_)
    ((32, 50, 10), True)
    >>> model.score(data.data[250:], data.target[250:]) > 0.87
    True
    """

    def __init__(
        self,
        rule: Any = None,
        *,
        error: str | Callable[[Any, Any], float] = "auc",
        chains: ChainOptions | None = None,
        calibration: int | None = 5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        verbose: bool = False,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.rule = rule
        self.error = error
        self.chains = chains
        self.calibration = calibration
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @stoppable
    def fit(self, X: Any, y: Any) -> Self:
        """Sample the parameters of the rule.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Two classes; the greater label is what the rule says yes to.

        Returns
        -------
        ABCClassifier
            Itself.
        """
        options = self._options()
        X, y = validate_data(self, X, y, dtype=np.float64)
        codes = self._codes(y)
        rule = HardNetwork() if self.rule is None else self.rule
        if not hasattr(rule, "bind"):
            raise InvalidInputError(
                f"rule must be HardNetwork, HardTree, RuleList or YesNoRule, got {rule!r}."
            )
        seeds = seed_sequence(self.random_state)
        main, *fold_seeds = [_child(seeds, k) for k in range(1 + (self.calibration or 0))]
        self.rule_: BoundRule = rule.bind(X)
        found = self._sample(self.rule_, X, codes, options, main, "")
        self._store(found, X, codes)
        self.calibration_ = self._calibrate(rule, X, codes, options, fold_seeds)
        self._warn(found, options)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, 2)."""
        votes = self.average_vote(X)
        calibration = self.calibration_
        positive = votes if calibration is None else calibration.probability(votes)
        return np.column_stack([1.0 - positive, positive])

    def average_vote(self, X: Any) -> Array:
        """Return the share of kept rules that say yes, shape (m,) (Clark 2011, equation 5.15)."""
        X = self._rows(X)
        return average_vote(self.rule_, self._members(), X)

    def vote_spread(self, X: Any) -> Array:
        """Return how far chains differ: the standard error of the average vote, shape (m,).

        It is the deviation of the chains' own averages over the root of their number.
        """
        X = self._rows(X)
        averages = np.array([average_vote(self.rule_, chain, X) for chain in self.samples_])
        if len(averages) < 2:
            raise InvalidInputError("One chain has no spread; give n_chains of 2 or more.")
        return averages.std(axis=0, ddof=1) / np.sqrt(len(averages))

    def member_labels(self, X: Any) -> Mask:
        """Return what every kept rule says, True for yes, shape (n_chains * n_kept, m)."""
        X = self._rows(X)
        return member_labels(self.rule_, self._members(), X)

    def summary(self) -> str:
        """Return in words what was sampled, and whether the chains agree."""
        check_is_fitted(self)
        worst = max(self.r_hat_.values())
        least = min(self.effective_sample_size_.values())
        advice = "do not agree yet: raise n_doublings, slack or tolerance"
        verdict = (
            f"R-hat is at most {worst:.2f}, at least {least:.0f} samples are effective: the chains "
            f"{'agree' if worst <= 1.1 else advice}"
        )
        if np.isnan(worst):
            verdict = "Too few steps were recorded to say whether the chains agree"
        return (
            f"{len(self._members())} rules of {self.samples_.shape[0]} chains, {self.n_distinct_} "
            f"of them different on the training rows. Their error is at most "
            f"{self.tolerance_:.3f}, the least met {self.best_error_:.3f}; "
            f"{self.acceptance_:.0%} of the proposals were taken. {verdict}."
        )

    def _options(self) -> ChainOptions:
        check_seconds("time_limit", self.time_limit)
        if self.calibration is not None:
            check_count("calibration", self.calibration, least=2)
        options = ChainOptions() if self.chains is None else self.chains
        if not isinstance(options, ChainOptions):
            raise InvalidInputError(f"chains must be ChainOptions, got {options!r}.")
        return options

    def _sample(
        self,
        bound: BoundRule,
        X: Array,
        codes: Indices,
        options: ChainOptions,
        seed: np.random.SeedSequence,
        place: str,
    ) -> ABCSamples:
        """Run the chains on some rows; `place` names the file of a fold."""
        share = 1.0 if self.calibration is None else 0.5 / (self.calibration if place else 1)
        limits = SearchOptions(
            max_iter=None if self.max_iter is None else -(-self.max_iter // CHUNK),
            time_limit=None if self.time_limit is None else share * self.time_limit,
            checkpoint=_beside(self.checkpoint, place),
            verbose=self.verbose,
            random_state=seed,
        )
        digest = hashlib.sha256(X.tobytes() + codes.tobytes()).hexdigest()[:16]
        error = ErrorOf(self.error, codes)
        return abc_sample(bound, X, error, options, limits, self.n_jobs or 1, digest)

    def _calibrate(
        self, rule: Any, X: Array, codes: Indices, options: ChainOptions, seeds: list[Any]
    ) -> VoteCalibration | None:
        """Return the map from votes to probabilities that folds teach."""
        if self.calibration is None:
            return None
        folds = class_folds(codes, self.calibration)
        n_chains = min(options.n_chains, _FOLD_CHAINS)
        smaller = replace(options.doubled(self.n_doubled_), n_chains=n_chains)
        votes = np.full(len(X), np.nan)
        for number, seed in enumerate(seeds):
            held, left = folds == number, folds != number
            if not held.any() or len(np.unique(codes[left])) < 2:
                continue
            bound = rule.bind(X[left])
            # Chains that were stopped before they doubled may do so when they go on.
            place = f"-fold-{number}-{self.n_doubled_}"
            found = self._sample(bound, X[left], codes[left], smaller, seed, place)
            if found.stopped_by == "interrupt":
                self.stopped_by_ = "interrupt"
            votes[held] = average_vote(
                bound, found.theta.reshape(-1, found.theta.shape[2]), X[held]
            )
        known = ~np.isnan(votes)
        return fitted_vote_calibration(votes[known], codes[known])

    def _store(self, found: ABCSamples, X: Array, codes: Indices) -> None:
        self.samples_, self.errors_ = found.theta, found.errors
        self.tolerance_ = float(found.tolerances.max())
        self.acceptance_, self.n_iter_ = found.acceptance, found.n_iter
        self.stopped_by_ = found.stopped_by
        self.best_parameters_, self.best_error_ = found.best, found.best_error
        labels = member_labels(self.rule_, self._members(), X)
        self.n_distinct_ = len(np.unique(np.packbits(labels, axis=1), axis=0))
        self.training_auc_ = float(pair_areas(labels.mean(axis=0)[:, None], codes)[0])
        votes = labels.reshape(*found.theta.shape[:2], -1)
        self.r_hat_, self.effective_sample_size_ = agreement(found.errors, votes)
        self.n_doubled_: int = found.n_doubled

    def _warn(self, found: ABCSamples, options: ChainOptions) -> None:
        """Warn of what keeps the average from being what was asked for, in one sentence."""
        wished = float(found.tolerances.min()) if options.tolerance is None else options.tolerance
        above = int((found.tolerances > wished + 1e-12).sum())
        worst = max(self.r_hat_.values())
        if found.best_error >= ErrorOf(self.error, np.arange(2)).of_a_coin:
            what = (
                f"no rule did better than a coin, the least error is {found.best_error:.3g}; check "
                "the rule and its prior"
            )
        elif found.stopped_by == "interrupt":
            return  # `stoppable` says so
        elif found.stopped_by != "samples":
            what = f"the chains were stopped by {found.stopped_by}; raise the limits"
        elif above:
            what = (
                f"{above} of {len(found.tolerances)} chains stayed above the tolerance "
                f"{wished:.3g}; raise tolerance, slack or patience"
            )
        elif options.max_r_hat is not None and worst > options.max_r_hat:
            what = (
                f"the chains do not agree after {found.errors.shape[1]} recorded steps, R-hat is "
                f"{worst:.2f}; raise n_doublings, slack or tolerance"
            )
        else:
            return
        warnings.warn(f"ABCClassifier: {what}.", ConvergenceWarning, stacklevel=4)

    def _members(self) -> Array:
        return self.samples_.reshape(-1, self.samples_.shape[2])


def _child(seed: np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number))


def _beside(checkpoint: Checkpoint | str | Path | None, place: str) -> Checkpoint | None:
    """Return the checkpoint with the name of a fold in its file's name."""
    if checkpoint is None:
        return None
    given = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    path = Path(given.path)
    return replace(given, path=path.with_name(f"{path.stem}{place}{path.suffix}"))
