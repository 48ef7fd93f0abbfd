"""`SparseEnsemble`: few members of many, and the front of what each further one is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count
from parsimon._data import validate_data
from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array, Indices
from parsimon.ensembles._votes import (
    TwoClassVote,
    VoteCalibration,
    class_folds,
    fitted_vote_calibration,
)
from parsimon.ensembles.pruning import WAYS, Path, pair_areas, weighted_scores
from parsimon.ensembles.rules import BoundRule, member_labels
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Figures, Front, FrontEstimator


@dataclass(frozen=True, eq=False)
class GivenColumns:
    """Members whose predictions are columns of the table itself, brought between 0 and 1.

    zero, one (M,): The values that count as no and yes; the greatest value is no where a column
        falls with yes.
    """

    places: Indices
    zero: Array
    one: Array

    @classmethod
    def of(cls, X: Array, codes: Indices) -> "GivenColumns":
        """Return all columns of a table, turned round where their area is below one half."""
        low, high = X.min(axis=0), X.max(axis=0)
        turned = pair_areas(X, codes) < 0.5
        zero, one = np.where(turned, high, low), np.where(turned, low, high)
        return cls(np.arange(X.shape[1]), zero, np.where(one == zero, zero + 1.0, one))

    def __len__(self) -> int:
        return len(self.places)

    def columns(self, X: Any, _: AnyArray) -> Array:
        """Return what members say, shape (n, M)."""
        given = np.asarray(X, dtype=np.float64)[:, self.places]
        return np.clip((given - self.zero) / (self.one - self.zero), 0.0, 1.0)

    def subset(self, chosen: Indices) -> "GivenColumns":
        """Return some of the members."""
        return GivenColumns(self.places[chosen], self.zero[chosen], self.one[chosen])


@dataclass(frozen=True, eq=False)
class RuleMembers:
    """Members that are one rule with different parameters, shape (M, p)."""

    bound: BoundRule
    theta: Array

    def __len__(self) -> int:
        return len(self.theta)

    def columns(self, X: Any, _: AnyArray) -> Array:
        """Return what members say, shape (n, M)."""
        rows = np.asarray(X, dtype=np.float64)
        return member_labels(self.bound, self.theta, rows).T.astype(np.float64)

    def subset(self, chosen: Indices) -> "RuleMembers":
        """Return some of the members."""
        return RuleMembers(self.bound, self.theta[chosen])


@dataclass(frozen=True, eq=False)
class FittedMembers:
    """Members that are fitted classifiers; only their labels are used."""

    models: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.models)

    def columns(self, X: Any, classes: AnyArray) -> Array:
        """Return what members say, shape (n, M)."""
        labels = [np.asarray(model.predict(X)) == classes[1] for model in self.models]
        return np.column_stack(labels).astype(np.float64)

    def subset(self, chosen: Indices) -> "FittedMembers":
        """Return some of the members."""
        return FittedMembers(tuple(self.models[k] for k in chosen.tolist()))


Members = GivenColumns | RuleMembers | FittedMembers


class WeightedVote(TwoClassVote, BaseEstimator):
    """A weighted vote of label-only members, with a map from votes to probabilities.

    Parameters
    ----------
    members : sequence of label-only classifiers
        As `SparseEnsemble` keeps them.
    weights : array-like of shape (n_members,)
        How much each counts.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    calibration_ : VoteCalibration
    """

    calibration_: VoteCalibration

    def __init__(self, members: Any = None, weights: Any = None) -> None:
        self.members = members
        self.weights = weights

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map from votes to probabilities; members and weights stay."""
        codes = self._codes(y)
        self.calibration_ = fitted_vote_calibration(self.votes(X), codes)
        return self

    def votes(self, X: Any) -> Array:
        """Return the weighted vote for the greater class, between 0 and 1, shape (m,)."""
        check_is_fitted(self, "classes_")
        return weighted_scores(self.members.columns(X, self.classes_), np.asarray(self.weights))

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, 2)."""
        positive = self.calibration_.probability(self.votes(X))
        return np.column_stack([1.0 - positive, positive])


@dataclass(frozen=True, eq=False)
class _MemberColumns:
    """What members say of the training rows, and in which fold each row is left out.

    whole (n, M): For use. of_fold: (n, M) for each fold, learnt without its rows. folds (n,).
    """

    whole: Array
    of_fold: tuple[Array, ...]
    folds: Indices

    @classmethod
    def alike(cls, columns: Array, folds: Indices) -> "_MemberColumns":
        """Return columns that are the same in all folds."""
        return cls(columns, (columns,) * (int(folds.max()) + 1), folds)

    def outside(self, weights: Sequence[Array]) -> Array:
        """Return the vote of each row by the weights of the fold that leaves it out, shape (n,)."""
        votes = np.empty(len(self.folds))
        for k, (columns, own) in enumerate(zip(self.of_fold, weights, strict=True)):
            votes[self.folds == k] = weighted_scores(columns[self.folds == k], own)
        return votes

    def areas(self, votes: Array, codes: Indices) -> list[float]:
        """Return the area of votes in each fold."""
        held = (self.folds == k for k in range(len(self.of_fold)))
        return [_area(votes[rows], codes[rows]) for rows in held]

    def mean_area(self, weights: Array, codes: Indices) -> float:
        """Return the mean area of the same weights in all folds."""
        votes = self.outside([weights] * len(self.of_fold))
        return float(np.mean(self.areas(votes, codes)))


class SparseEnsemble(TwoClassVote, FrontEstimator):
    """Keep few members of many, and show what each further member is worth.

    Members only say labels. For each number of members a way of pruning finds weights; folds
    measure the area under the ROC curve of each size, and the front of area against size is what
    is found. `predict` uses the size that `choose` picks; `select` returns any other as a
    fitted classifier.

    Parameters
    ----------
    members : list of classifiers, ABCClassifier or None
        Fitted classifiers are used as they are: if they were fitted to the same rows, the folds
        flatter them all alike. Classifiers that are not fitted are fitted to the other folds where
        they are judged, and to all rows for use; that is the honest way. An `ABCClassifier`
        gives all its kept rules. None: the columns of X are themselves predictions, labels or
        scores; one that falls with yes is turned round.
    method : str
        "consensus": non-negative least squares of the mean of the truth and the average of all
        members, one more at a time, weights of sum one. "nonnegative": the same of the truth alone.
        "dirichlet": the mode of a mixture under Dirichlet priors. "evolution": NSGA-II over
        subsets of equal weight. "combination": Bayesian model combination, cut to the largest
        weights. "performance": the best members by their own area, equal weights (item 50 of
        the source). "regression": relevance vector regression of the average of all members.
        "classification": the same of the truth, for study: it overfits.
    max_size : int
        Most members; "regression" and "classification" also have their own full size.
    cv : int
        Folds, in turn through each class in the order of the rows.
    choose : str, int or callable
        As in `parsimon.pareto.choose`.
    n_random : int
        Random subsets of the chosen size and equal weights, as a baseline.
    random_state : int, Generator, SeedSequence, RandomState or None
        Seed of the subsets, and of "evolution" and "combination".

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    front_ : Front
        Area by folds (auc, up) against number of members (members, down).
    weights_ : ndarray of shape (n_members,)
        Of the chosen ensemble, zero for those that were pruned.
    support_ : ndarray of shape (n_kept,)
        The kept members.
    random_auc_ : ndarray of shape (n_random,)
        Areas of the random subsets, mean over the same folds.
    all_auc_ : float
        Area of the average of all members, mean over the same folds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    Clark (2011), section 5.5; Caruana et al. (2004), ICML; Monteith et al. (2011), IJCNN.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from parsimon.datasets import make_ripley
    >>> X, y = make_ripley(300, random_state=0)
    >>> trees = [DecisionTreeClassifier(max_depth=3, max_features=1, random_state=k)
    ...          for k in range(40)]
    >>> ensemble = SparseEnsemble(trees, max_size=10).fit(X, y)
    >>> ensemble.front_.names, len(ensemble.support_) <= 10
    (('auc', 'members'), True)
    >>> ensemble.select("best:auc where members<=3").predict(X).shape
    (300,)
    """

    def __init__(
        self,
        members: Any = None,
        *,
        method: str = "consensus",
        max_size: int = 20,
        cv: int = 5,
        choose: Any = "best:auc",
        n_random: int = 50,
        random_state: Seed = None,
    ) -> None:
        self.members = members
        self.method = method
        self.max_size = max_size
        self.cv = cv
        self.choose = choose
        self.n_random = n_random
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find weights for every number of members.

        Parameters
        ----------
        X : array-like of shape (n, d)
            What members predict from, or their predictions.
        y : array-like of shape (n,)
            Two classes; the greater label is what members say yes to.

        Returns
        -------
        SparseEnsemble
            Itself.
        """
        check_choice("method", self.method, tuple(WAYS))
        check_count("max_size", self.max_size)
        check_count("cv", self.cv, least=2)
        check_count("n_random", self.n_random, least=0)
        X, y = validate_data(self, X, y, dtype=np.float64)
        codes = self._codes(y)
        if np.bincount(codes).min() < 2:
            raise InvalidInputError("A class has one row; folds need two or more of each.")
        # At least two rows of each class in each fold, where there are so many.
        folds = class_folds(codes, max(2, min(self.cv, int(np.bincount(codes).min()) // 2)))
        pool, said = _gather_members(self.members, X, y, codes, folds)
        most = min(self.max_size, len(pool))
        rng = generator(self.random_state)
        equal = np.full(len(pool), 1.0 / len(pool))
        paths = [WAYS[self.method](own[folds != k], codes[folds != k], most, rng) or [equal]
                 for k, own in enumerate(said.of_fold)]  # fmt: skip
        path = WAYS[self.method](said.whole, codes, most, rng) or [equal]
        return self._keep_path(path, paths, pool, said, codes, rng)

    def _keep_path(
        self,
        path: Path,
        paths: list[Path],
        pool: Members,
        said: _MemberColumns,
        codes: Indices,
        rng: np.random.Generator,
    ) -> Self:
        """Store the front of the path, each size measured by the folds' own paths."""
        sizes = np.array([np.count_nonzero(weights) for weights in path])
        outside = [said.outside([_of_size(own, size) for own in paths]) for size in sizes]
        areas = np.array([said.areas(votes, codes) for votes in outside])
        mean, deviation = areas.mean(axis=1), areas.std(axis=1, ddof=1)
        votes = _Votes(tuple(path), pool, tuple(outside), codes, self.classes_)
        front = Front(
            np.column_stack([mean, sizes]), ["auc", "members"], maximise=["auc"], solutions=votes,
            ties="first",
        )  # fmt: skip
        training = np.array([_area(weighted_scores(said.whole, own), codes) for own in path])
        figures = Figures(
            columns={
                "error": (1.0 - mean)[front.rows],
                "standard_error": (deviation / np.sqrt(areas.shape[1]))[front.rows],
                "training_auc": training[front.rows],
            },
            error="error",
            standard_error="standard_error",
            size=("members",),
        )
        self._keep_front(front, figures)
        self.weights_ = path[int(front.rows[self.best_index_])]
        self.support_ = np.flatnonzero(self.weights_)
        self.all_auc_ = said.mean_area(np.full(len(pool), 1.0 / len(pool)), codes)
        self.random_auc_ = np.array([
            said.mean_area(_random_weights(len(pool), len(self.support_), rng), codes)
            for _ in range(self.n_random)
        ])  # fmt: skip
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, 2)."""
        rows = self._rows(X)
        return self.best_estimator_.predict_proba(rows)

    def summary(self) -> str:
        """Return in words how many members are kept, and what that costs."""
        check_is_fitted(self)
        chosen = self.front_[self.best_index_].objectives
        text = (
            f"{len(self.support_)} of {len(self.weights_)} members have an area of "
            f"{chosen['auc']:.3f} in folds; all of them with equal weights {self.all_auc_:.3f}"
        )
        if len(self.random_auc_):
            text += f", as many drawn at random {self.random_auc_.mean():.3f}"
        return f"{text}."


@dataclass(frozen=True, eq=False)
class _Votes:
    """Makes the fitted ensemble of a row of the path; outside (n,): votes of the folds' paths."""

    path: tuple[Array, ...]
    pool: Members
    outside: tuple[Array, ...]
    codes: Indices
    classes: AnyArray

    def __call__(self, row: int) -> WeightedVote:
        weights = self.path[row]
        chosen = np.flatnonzero(weights)
        vote = WeightedVote(self.pool.subset(chosen), weights[chosen])
        vote.classes_ = self.classes
        vote.calibration_ = fitted_vote_calibration(self.outside[row], self.codes)
        return vote


def _gather_members(
    given: Any, X: Array, y: AnyArray, codes: Indices, folds: Indices
) -> tuple[Members, _MemberColumns]:
    """Return the members, and what they say of the training rows."""
    classes = np.unique(y)
    if given is None:
        columns = GivenColumns.of(X, codes)
        # Which columns fall with yes is learnt too, in each fold from its own rows.
        own = [GivenColumns.of(X[folds != k], codes[folds != k]) for k in range(folds.max() + 1)]
        turned = tuple(part.columns(X, classes) for part in own)
        return columns, _MemberColumns(columns.columns(X, classes), turned, folds)
    if hasattr(given, "member_labels"):
        check_is_fitted(given)
        theta = given.samples_.reshape(-1, given.samples_.shape[2])
        rules = RuleMembers(given.rule_, theta)
        return rules, _MemberColumns.alike(rules.columns(X, classes), folds)
    models = list(given)
    if not models:
        raise InvalidInputError("members is empty; give classifiers, or None for columns of X.")
    said = np.empty((len(X), len(models)))
    fitted = []
    for place, model in enumerate(models):
        if _is_fitted(model):
            known = getattr(model, "classes_", classes)
            if not np.array_equal(known, classes):
                raise InvalidInputError(
                    f"Member {place} was fitted to the classes {list(known)}, but y has "
                    f"{list(classes)}; fit it to the same labels."
                )
            fitted.append(model)
            said[:, place] = np.asarray(model.predict(X)) == classes[1]
            continue
        for k in range(folds.max() + 1):
            held = folds == k
            own = clone(model).fit(X[~held], y[~held])
            said[held, place] = np.asarray(own.predict(X[held])) == classes[1]
        fitted.append(clone(model).fit(X, y))
    return FittedMembers(tuple(fitted)), _MemberColumns.alike(said, folds)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _area(votes: Array, codes: Indices) -> float:
    """Return the area under the ROC curve of votes; one half where a class is missing."""
    if len(np.unique(codes)) < 2:
        return 0.5
    return float(pair_areas(votes[:, None], codes)[0])


def _of_size(path: Path, size: int) -> Array:
    """Return the weights of the greatest size that is not above this one, or of the least."""
    sizes = np.array([np.count_nonzero(weights) for weights in path])
    below = np.flatnonzero(sizes <= size)
    return path[below[sizes[below].argmax()] if len(below) else sizes.argmin()]


def _random_weights(n: int, size: int, rng: np.random.Generator) -> Array:
    weights = np.zeros(n)
    weights[rng.choice(n, size=size, replace=False)] = 1.0 / size
    return weights
