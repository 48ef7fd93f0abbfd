"""`StableSelector`: which columns come back from other rows, and how often chance would do that.

`fit` deals the rows into halves again and again and selects in each half alone (Clark 2011, section
4.4). What is counted there is compared with chance in `chance`; the fits themselves are in
`_halves`.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_count, check_seconds
from parsimon._data import holds_classes, validate_data
from parsimon._interrupts import as_one_piece, stoppable
from parsimon._parallel import Workers
from parsimon._partition import class_rows
from parsimon._random import Seed, generator, seed_sequence
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features._halves import HalfFit, Splits, WideTable, fit_permuted
from parsimon.features._subsets import column_places
from parsimon.features.chance import (
    chance_levels,
    false_selection_bound,
    measured_bound,
    stability_index,
)
from parsimon.features.plot import plot_counts, plot_models, plot_sizes
from parsimon.features.screen import (
    FewColumnsClassifier,
    best_first,
    moderated_scores,
    row_levels,
    shares_unit,
    target_columns,
)
from parsimon.pareto import Front
from parsimon.roc import AucNull

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# False selections that the number of columns of a fit is chosen for.
_ALLOWED = 0.5
# Columns whose levels correlate so much can stand for each other.
_ALIKE = 0.7


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that stand for each other.

    representative: The member that is selected most often.
    members: All of them, most often selected first.
    frequency: Share of the fits that select any of them.
    """

    representative: int
    members: tuple[int, ...]
    frequency: float


class StableSelector(SelectorMixin, BaseEstimator):
    """Select the columns that fits to many random halves of the rows agree on.

    The rows are dealt into two halves, of each class alike, `n_splits` times, and columns are
    selected in each half alone [1]_. A column is kept if at least `threshold` of all fits select
    it. How often chance alone would select it is measured with permuted targets, and how many kept
    columns are wrong is bounded [2]_ [3]_.

    Parameters
    ----------
    estimator : estimator, optional
        Any selector, sparse model (``coef_``), pipeline that ends in one, or search for a front
        (a column counts once if any member uses it). Without one columns are ranked by moderated
        scores, as in `FewColumnsClassifier`, and so many are taken in each half that the bound on
        false selections is at most 0.5.
    n_splits : int
        Splits into halves.
    max_features : int, optional
        Keep at most so many, the most frequent ones.
    random_state : int, Generator, RandomState or None
        For the splits, the permuted targets, and the estimator if it takes one.
    n_jobs : int, optional
        Splits are shared out to so many workers; the result is the same.
    threshold : float
        Share of fits, above 0.5.
    fixed : sequence of int or str, optional
        Places or names of columns, such as age, that belong to every model: columns are judged by
        what they add to them, and they are never counted. They are kept in `transform`.
    n_permutations : int
        Runs with a permuted target, in which every selection is false: 19 are the fewest that tell
        what chance reaches in 5 of 100 tables. There is one more, with a new permutation for every
        split, which measures how often chance selects each column. With an estimator that is slow,
        0 leaves them out.
    shared_unit : {"auto", True, False}
        As in `FewColumnsClassifier`.
    time_limit : float, optional
        Seconds for `fit`. In a short time fewer splits are made, and fewer runs with a permuted
        target; what is found depends on how fast the machine is.

    Attributes
    ----------
    n_splits_, n_permutations_ : int
        Splits and runs with a permuted target that were made.
    stopped_by_ : {"splits", "time_limit", "interrupt"}
        Why there are no more: "splits" if all are made.
    frequencies_ : ndarray of shape (d,)
        Share of the fits that select each column.
    totals_, coincidences_ : ndarray of shape (d,)
        Number of fits that select each column, and of splits in which both halves do.
    chance_ : ChanceLevels
        What the same fits select with permuted targets.
    expected_false_ : dict
        Expected number of wrong columns among those kept: the bounds "meinshausen_buhlmann" and
        "shah_samworth" (sharper, for counts of noise columns with one peak), and the mean with
        "permuted" targets. With permutations the bounds rest on how often chance selects each
        column, measured; without, on equal chances of all columns, which fits break that prefer
        columns of large scatter.
    false_discovery_rate_ : float
        Selections with a permuted target over those with the true one; NaN without permutations.
        To permute the target is to permute the rows of all columns together: the columns keep
        what they say of each other and say nothing of the target.
    stability_ : Stability
        Nogueira's index of the fits, with an interval of 95 percent.
    ranking_ : ndarray of shape (d,)
        All columns, the most frequent first; columns that no fit tells apart in the order of
        their scores on all rows.
    groups_ : list of ColumnGroup
        Kept columns and what can stand for each.
    n_selected_ : ndarray of shape (2 n_splits,)
        Columns that each fit selected.
    train_auc_, test_auc_ : ndarray of shape (2 n_splits,)
        How well the model of each half orders its own rows, and those of the other half, which it
        never saw: the AUC, its mean over more than two classes, or the concordance with a number.
    measure_ : {"AUC", "concordance"}
        Which of them it is.
    null_sd_ : float
        Standard deviation of the AUC of a random classifier on a half, around 0.5; NaN unless
        there are two classes.
    front_ : Front
        AUC on other rows, number of columns and stability of models of different size.
    shared_unit_ : bool
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Where X has names.

    References
    ----------
    .. [1] Clark (2011), Multi-objective ROC learning for classification, chapter 4.
    .. [2] Meinshausen and Buhlmann (2010), J. R. Stat. Soc. B 72:417-473.
    .. [3] Shah and Samworth (2013), J. R. Stat. Soc. B 75:55-80.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["ill", "well"], 30)
    >>> X = rng.normal(size=(60, 400))
    >>> X[:, [5, 17]] += 2 * (y == "ill")[:, None]
    >>> selector = StableSelector(n_splits=20, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [5, 17]
    >>> selector.transform(X).shape
    (60, 2)
    >>> selector.expected_false_["meinshausen_buhlmann"] <= 0.5
    True
    """

    frequencies_: Array
    ranking_: Indices
    test_auc_: Array
    train_auc_: Array
    n_selected_: Indices

    def __init__(
        self,
        estimator: Any = None,
        n_splits: int = 50,
        max_features: int | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        *,
        threshold: float = 0.6,
        fixed: Sequence[int | str] | None = None,
        n_permutations: int = 19,
        shared_unit: Literal["auto"] | bool = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_splits = n_splits
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.threshold = threshold
        self.fixed = fixed
        self.n_permutations = n_permutations
        self.shared_unit = shared_unit
        self.time_limit = time_limit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @stoppable
    def fit(self, X: Any, y: Any) -> Self:
        """Select in both halves of every split, and count.

        Shapes: X (n, d), y (n,) classes or a number. After ten splits Ctrl-C ends it with what is
        counted by then, and with fewer runs with a permuted target; before, there is nothing.
        """
        self._check_options()
        started = time.monotonic()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4)
        table = self._table(X, y)
        seeds = seed_sequence(self.random_state).spawn(2 + self.n_permutations)
        ahead = 1 if self.time_limit else 2
        with as_one_piece() as interrupt, Workers(self.n_jobs, ahead=ahead) as workers:
            splits = Splits(workers, self.n_splits, len(seeds), started, self.time_limit, interrupt)
            chance: list[HalfFit] = []
            if self.n_permutations:
                chance = splits.fits(replace(table, judged=False), seeds[-1], fit_permuted)
            if chance and self.estimator is None:
                table = replace(table, n_selected=self._size_by_chance(table, chance))
                chance = [replace(fit, columns=fit.columns[: table.n_selected]) for fit in chance]
            fits = splits.fits(table, seeds[0], so_far=True)
            permuted = list(splits.whole_runs(_shuffle(table, seed) for seed in seeds[1:-1]))
        self.n_splits_, self.n_permutations_ = len(fits) // 2, len(permuted)
        is_whole = (self.n_splits_, self.n_permutations_) == (self.n_splits, self.n_permutations)
        self.stopped_by_ = "splits" if is_whole else "time_limit"
        if interrupt.came:
            self.stopped_by_ = "interrupt"
        masks = [_mask(run, X.shape[1]) for run in (chance, *permuted)]
        self._count(table, fits, masks)
        self._bound(table, masks)
        self._judge(table, fits)
        return self

    def _check_options(self) -> None:
        check_count("n_splits", self.n_splits)
        check_count("n_permutations", self.n_permutations, least=0)
        check_seconds("time_limit", self.time_limit)
        if self.max_features is not None:
            check_count("max_features", self.max_features)
        if not 0.5 < self.threshold <= 1:
            raise InvalidInputError(
                f"threshold must be above 0.5 and at most 1, got {self.threshold!r}."
            )

    def _table(self, X: Array, y: AnyArray) -> WideTable:
        classes = None
        if holds_classes(y):
            check_classification_targets(y)
            class_rows(y, n_rows=len(y), at_least=2)
            classes = np.unique(y)
            if len(classes) < 2:
                raise InvalidInputError(
                    f"Two classes or more are needed, got 1 class: {classes[0]}."
                )
        self._fixed = fixed = self._fixed_places(X.shape[1])
        self.shared_unit_ = shares_unit(self.shared_unit, X.shape)
        free = X.shape[1] - len(fixed)
        medians, sizes = row_levels(X)
        wanted = int(np.sqrt(_ALLOWED * (2 * self.threshold - 1) * free))
        return WideTable(
            X=X,
            y=y,
            medians=medians,
            row_sizes=sizes,
            classes=classes,
            fixed=fixed,
            shared=self.shared_unit_,
            estimator=self.estimator,
            n_selected=min(free, max(1, wanted)),
        )

    def _fixed_places(self, d: int) -> Indices:
        names = getattr(self, "feature_names_in_", None)
        places = column_places(self.fixed, "fixed", names, d)
        if len(set(places)) >= d:
            raise InvalidInputError("fixed leaves no column to select; name fewer.")
        return np.unique(np.array(places, dtype=np.intp))

    def _size_by_chance(self, table: WideTable, chance: list[HalfFit]) -> int:
        """Return the most columns a fit that keep the bound on false selections as allowed."""
        ranked = np.array([fit.columns for fit in chance])
        size = table.n_selected
        while size > 1:
            counts = np.bincount(ranked[:, :size].ravel(), minlength=table.X.shape[1])
            bound = measured_bound(
                counts, len(chance), self.threshold, len(chance) // 2, unimodal=False
            )
            if bound <= _ALLOWED:
                break
            size -= 1
        return size

    def _count(self, table: WideTable, fits: list[HalfFit], masks: list[Mask]) -> None:
        selected = _mask(fits, table.X.shape[1])
        self.totals_ = selected.sum(axis=0)
        self.coincidences_ = (selected[0::2] & selected[1::2]).sum(axis=0)
        self.frequencies_ = self.totals_ / len(fits)
        self.n_selected_ = selected.sum(axis=1)
        counted, chance, *runs = (np.delete(m, table.fixed, axis=1) for m in (selected, *masks))
        levels = chance_levels(counted, runs, chance)
        places = np.setdiff1d(np.arange(table.X.shape[1]), table.fixed)
        p_values: dict[str, Any] = {}
        for name in ("total_p_value", "coincident_p_value", "permuted_p_value"):
            if (of_free := getattr(levels, name)) is not None:
                p_values[name] = np.ones(table.X.shape[1])
                p_values[name][places] = of_free
        self.chance_ = replace(levels, **p_values)
        self.stability_ = stability_index(counted)
        self.ranking_ = np.lexsort((-self._scores(table), -self.totals_))
        self.groups_ = self._groups(table, selected)

    def _scores(self, table: WideTable) -> Array:
        target = target_columns(table.y, table.classes)
        return moderated_scores(table.levels()[1], target, table.X[:, table.fixed])

    def _judge(self, table: WideTable, fits: list[HalfFit]) -> None:
        self.measure_ = "concordance" if table.classes is None else "AUC"
        self.train_auc_ = np.array([fit.train[-1] for fit in fits])
        self.test_auc_ = np.array([fit.test[-1] for fit in fits])
        self.null_sd_ = float("nan")
        if table.classes is not None and len(table.classes) == 2:
            sizes = [max(1, int(np.sum(table.y == label)) // 2) for label in table.classes]
            self.null_sd_ = AucNull(sizes[1], sizes[0]).sd
        self.front_ = (
            _sizes_front(table, fits) if self.estimator is None else _fits_front(table, fits)
        )

    def _bound(self, table: WideTable, masks: list[Mask]) -> None:
        """Bound the false selections, by equal chances or, with permutations, measured ones."""
        d, mean_size = table.X.shape[1] - len(table.fixed), float(self.n_selected_.mean())
        chance, runs = masks[0], masks[1:]
        by_chance = chance.sum() / max(1, len(chance))
        self.expected_false_ = {}
        for name, unimodal in (("meinshausen_buhlmann", False), ("shah_samworth", True)):
            options = (self.threshold, self.n_splits_)
            bound = false_selection_bound(d, mean_size, *options, unimodal=unimodal)
            if by_chance > 0:
                found = measured_bound(chance.sum(axis=0), len(chance), *options, unimodal=unimodal)
                # A fit that selects more with the true target takes more noise along.
                bound = max(bound, found * max(1.0, mean_size / by_chance) ** 2)
            self.expected_false_[name] = min(bound, float(d))
        wrong = [float(np.sum(run.mean(axis=0) >= self.threshold)) for run in runs]
        self.expected_false_["permuted"] = float(np.mean(wrong)) if wrong else float("nan")
        kept = int(np.sum(self.frequencies_ >= self.threshold))
        self.false_discovery_rate_ = min(1.0, self.expected_false_["permuted"] / max(1, kept))

    def _groups(self, table: WideTable, selected: Mask) -> list[ColumnGroup]:
        """Return the kept columns with what correlates with them and is selected now and then."""
        kept = self._kept()
        often = np.flatnonzero(self.totals_ > 0)
        often = often[np.argsort(-self.totals_[often], kind="stable")][:2000]
        levels = table.levels(columns=often)[1]
        levels = levels - levels.mean(axis=0)
        size = np.sqrt(np.einsum("ij,ij->j", levels, levels))
        levels /= np.where(size > 0, size, 1.0)
        place = {int(column): k for k, column in enumerate(often)}
        found: list[ColumnGroup] = []
        taken: set[int] = set()
        for column in kept:
            if int(column) in taken or int(column) not in place:
                continue
            alike = often[np.abs(levels.T @ levels[:, place[int(column)]]) >= _ALIKE]
            members = [
                int(column),
                *(other for other in alike.tolist() if other not in taken | {int(column)}),
            ]
            taken |= set(members)
            share = float(selected[:, members].any(axis=1).mean())
            found.append(ColumnGroup(int(column), tuple(members), share))
        return found

    def _kept(self) -> Indices:
        often = self.ranking_[self.frequencies_[self.ranking_] >= self.threshold]
        return often[: self.max_features]

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[self._kept()] = True
        mask[self._fixed] = True
        return mask

    def without_top(self, X: Any, y: Any, n: int | None = None) -> Self:
        """Return a selector fitted without the most frequent columns, to see what they masked.

        Shapes: X (n, d), y (n,). The columns left out, by default all that are kept, are constant
        in the table of the new selector, so that places keep their meaning.
        """
        check_is_fitted(self)
        kept = self._kept()[:n]
        if not len(kept):
            raise InvalidInputError("No column was kept, so none can be left out.")
        values: Any = np.array(X, dtype=np.float64)
        values[:, kept] = np.median(values[:, kept], axis=0)
        if hasattr(X, "columns"):
            import pandas as pd

            values = pd.DataFrame(values, columns=X.columns)
        return clone(self).fit(values, y)

    def classifier(self, X: Any, y: Any) -> FewColumnsClassifier:
        """Return a classifier of the kept columns, fitted to all rows.

        Shapes: X (n, d), y (n,). Its AUC on other rows is about that of the size on `front_`; on
        these rows it would be too good.
        """
        columns = self.get_support(indices=True)
        if not len(columns):
            raise InvalidInputError("No column was kept, so there is nothing to classify by.")
        return FewColumnsClassifier(columns=columns, shared_unit=self.shared_unit_).fit(X, y)

    def plot(
        self,
        kind: Literal["total", "coincident", "sizes", "models", "null"] = "total",
        *,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw the counts of the columns, the sizes of the fits, or training against test AUC.

        "total" and "coincident" are stem plots with the level that no column passes in 95 of 100
        tables of noise (fewer if `n_permutations` is below 19), "sizes"
        a histogram of columns selected by a fit, "models" the AUC on own and on other rows with the
        circle of a random classifier, "null" the distribution of its AUC beside ours.
        """
        check_is_fitted(self)
        if kind in {"total", "coincident"}:
            return plot_counts(self, kind, ax)
        if kind == "sizes":
            return plot_sizes(self, ax)
        return plot_models(self, kind, ax)


def _shuffle(table: WideTable, seed: Any) -> tuple[WideTable, Any]:
    """Return the table with a permuted target, and the seed of its splits."""
    order, halves = seed.spawn(2)
    y = generator(order).permutation(table.y)
    return replace(table, y=y, judged=False), halves


def _mask(fits: Sequence[HalfFit], d: int) -> Mask:
    mask = np.zeros((len(fits), d), dtype=np.bool_)
    for row, fit in zip(mask, fits, strict=True):
        row[fit.columns] = True
    return mask


def _sizes_front(table: WideTable, fits: list[HalfFit]) -> Front:
    """Return honest AUC, number of columns and stability of the best columns, for each size."""
    d = table.X.shape[1]
    tests = np.array([fit.test for fit in fits]).mean(axis=0)
    rows, chosen = [], []
    for size, area in zip(table.sizes, tests, strict=True):
        top = _mask([replace(fit, columns=fit.columns[:size]) for fit in fits], d)
        rows.append((area, size, stability_index(np.delete(top, table.fixed, axis=1)).value))
        chosen.append(best_first(top.sum(axis=0).astype(float))[:size].tolist())
    return _front(rows, chosen)


def _fits_front(table: WideTable, fits: list[HalfFit]) -> Front:
    """Return honest AUC, number of columns and their mean frequency, for each fit."""
    shares = _mask(fits, table.X.shape[1]).mean(axis=0)
    rows, chosen = [], []
    for fit in fits:
        if len(fit.columns):
            rows.append((fit.test[-1], len(fit.columns), float(shares[fit.columns].mean())))
            chosen.append(fit.columns.tolist())
    if not rows:
        warnings.warn("No fit selected any column, so the front is empty.", stacklevel=4)
    return _front(rows, chosen)


def _front(rows: Sequence[tuple[float, float, float]], chosen: list[list[int]]) -> Front:
    return Front(
        np.reshape(rows, (len(rows), 3)),
        ["AUC", "columns", "stability"],
        maximise=["AUC", "stability"],
        solutions=chosen,
        ties="first",
    )
