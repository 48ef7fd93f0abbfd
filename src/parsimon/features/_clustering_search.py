"""What selection and aggregation without a target share: values, search and front.

A candidate is a row of codes, one for each column of the table: -1 leaves it out, 0 takes it as it
is, and columns with the same code above 0 become one, the greatest of them. `ClusteringValues`
clusters candidates, each once; `ClusteringSearch` is the estimator without its candidates.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, shorten, warn_of_units
from parsimon._data import validate_data
from parsimon._interrupts import as_one_piece, stoppable
from parsimon._parallel import Workers
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features._clusterings import (
    CLUSTERERS,
    Clusterer,
    Groups,
    cluster_tables,
    judge_groups,
)
from parsimon.features._subsets import SavedValues
from parsimon.pareto import Figures, Front, nsga2
from parsimon.pareto.choose import check_rule
from parsimon.pareto.estimator import FrontEstimator
from parsimon.pareto.space import Space

if TYPE_CHECKING:
    from parsimon.features.pareto_selector import ColumnSubset

Objectives = Literal["information", "kim", "morita"]

# Values that are sums in another order are equal.
_DIGITS = 12
# Candidates in one call of a worker.
_IN_A_CALL = 64
# How many times more starts the clusterings on the front get.
_MORE_STARTS = 10
# Solutions of NSGA-II: two for each column, within these.
_POPULATION = 40, 200


def tables_of(X: Array, codes: Indices) -> Array:
    """Return the columns of candidates that have equally many: (n, m), (B, m) -> (B, s, n)."""
    made: dict[bytes, Array] = {}
    tables = []
    for row in codes:
        columns = [X[:, place] for place in np.flatnonzero(row == 0)]
        for group in range(1, int(row.max(initial=0)) + 1):
            members = row == group
            key = members.tobytes()
            if key not in made:
                made[key] = X[:, members].max(axis=1)
            columns.append(made[key])
        tables.append(np.stack(columns))
    return np.stack(tables)


def n_columns(codes: Indices) -> Indices:
    """Return how many columns candidates have; codes above 0 without gaps."""
    return (codes == 0).sum(axis=1) + np.maximum(codes.max(axis=1, initial=0), 0)


def groups_of(X: Array, codes: Indices, clusterer: Clusterer, starts: Array, unit: float) -> Groups:
    """Return the groups of candidates with equally many columns, distances in units of X."""
    tables = tables_of(X, codes)
    tables = (tables - tables.mean(axis=2, keepdims=True)) / unit
    found = cluster_tables(tables, clusterer, starts)
    return found._replace(
        davies_bouldin=found.davies_bouldin.round(_DIGITS),
        within=found.within.round(_DIGITS) * unit**2,
        longest_link=found.longest_link.round(_DIGITS) * unit,
    )


def values_of(groups: Groups) -> Array:
    """Return the criterion and the sum of squares within groups, (B, 2)."""
    linked = np.isfinite(groups.longest_link)
    criterion = np.where(linked, groups.longest_link, groups.davies_bouldin)
    return np.column_stack((criterion, groups.within))


def _values(*call: Any) -> Array:
    return values_of(groups_of(*call))


def draw_starts(ks: Sequence[int], n_init: int, seed: np.random.SeedSequence) -> dict[int, Array]:
    """Return uniform random numbers, (n_init, k), of its own seed for each number of groups."""
    drawn = {}
    for k in ks:
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, k))
        drawn[k] = np.random.default_rng(own).random((n_init, k))
    return drawn


class ClusteringValues:
    """Criterion and sum of squares within groups of candidates, each clustered once.

    Called with rows of codes, (B, m), and numbers of groups, (B,), it returns (B, 2). With a
    checkpoint, values are read from the file and written to it. X (n, m); starts are as of
    `draw_starts`.
    """

    def __init__(
        self,
        X: Array,
        clusterer: Clusterer,
        starts: Mapping[int, Array],
        n_jobs: int | None = 1,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.X, self.clusterer, self.starts, self.n_jobs = X, clusterer, starts, n_jobs
        # The largest standard deviation of a column.
        self.unit = float(X.std(axis=0).max())
        made_of = "table, clusterer, n_clusters, n_init"
        self.known = SavedValues(checkpoint, self._digest, "clusterings", made_of)

    def _digest(self) -> str:
        made = sha256(self.clusterer.encode())
        for array in (self.X, *self.starts.values()):
            made.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        return made.hexdigest()

    def __call__(self, codes: Indices, ks: Indices) -> Array:
        rows = np.column_stack((codes, ks)).astype(np.int32)
        keys = [row.tobytes() for row in rows]
        new = {key: place for place, key in enumerate(keys) if key not in self.known}
        batches = list(_batches(rows[list(new.values())]))
        calls = ((each[:, :-1], int(each[0, -1])) for each in batches)
        with Workers(self.n_jobs) as workers:
            found = workers.map(
                _values,
                ((self.X, each, self.clusterer, self.starts[k], self.unit) for each, k in calls),
            )
            for batch, values in zip(batches, found, strict=True):
                self.known.update(zip((row.tobytes() for row in batch), values, strict=True))
                self.known.save_if_due()
        return np.array([self.known[key] for key in keys]).reshape(-1, 2)

    def all_evaluated(self) -> tuple[Indices, Indices, Array]:
        """Return codes (N, m), numbers of groups (N,) and values (N, 2), in a fixed order."""
        rows = np.frombuffer(b"".join(self.known), np.int32).reshape(-1, self.X.shape[1] + 1)
        values = np.array(list(self.known.values())).reshape(-1, 2)
        # Fewer groups first, then columns on the left, taken as they are.
        taken = np.where(rows[:, :-1] == -1, np.iinfo(np.int32).max, rows[:, :-1])
        order = np.lexsort((*taken.T[::-1], rows[:, -1]))
        return rows[order, :-1].astype(np.intp), rows[order, -1].astype(np.intp), values[order]


def _batches(rows: AnyArray) -> Iterator[AnyArray]:
    """Yield candidates that are clustered together: equally many columns and groups."""
    sizes = n_columns(rows[:, :-1])
    for k, size in sorted({*zip(rows[:, -1].tolist(), sizes.tolist(), strict=True)}):
        alike = rows[(rows[:, -1] == k) & (sizes == size)]
        for begin in range(0, len(alike), _IN_A_CALL):
            yield alike[begin : begin + _IN_A_CALL]


class ClusteringSearch(ClusterMixin, FrontEstimator):
    """An estimator whose `fit` clusters candidates and keeps the front of their values.

    A subclass says what the candidates are: `_n_candidates`, `_every_candidate`, `_space`,
    `_decode`, `_encode`, `_first_step` and `_describe_candidate`.
    """

    n_clusters: Any
    clusterer: Clusterer
    n_init: int
    population_size: int | None
    max_iter: int
    stall: int | None
    checkpoint: str | Path | None
    n_jobs: int | None
    random_state: Seed
    objectives: Objectives = "information"

    @stoppable
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Search for the front, and cluster the rows by the columns that `choose` picks.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        """
        ks = self._check_options()
        X = self._check_table(X, ks)
        drawing, searching = seed_sequence(self.random_state).spawn(2)
        starts = draw_starts(ks, self.n_init, drawing)
        values = ClusteringValues(
            self._prepare(X), self.clusterer, starts, self.n_jobs, self.checkpoint
        )
        with as_one_piece() as interrupt:
            try:
                self._search(values, ks, searching)
            except KeyboardInterrupt as error:
                if not values.known:
                    raise
                interrupt.answer(error)
                self.exact_, self.n_iter_, self.stopped_by_ = False, 0, "interrupt"
            finally:
                values.known.save()
        return self._read(X, values, draw_starts(ks, self.n_init * _MORE_STARTS, drawing))

    def predict(self, X: Any) -> AnyArray:
        """Return the group of each row, shape (m,)."""
        check_is_fitted(self)
        return self.best_estimator_[-1].predict(self._columns(X))

    def _columns(self, X: Any) -> Array:
        """Return the chosen columns of a table, in the precision of the fit."""
        return np.asarray(self.best_estimator_[0].transform(X), dtype=np.float64)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return minus the index of Davies and Bouldin of the groups of some rows.

        It is minus infinity if all of them fall into one of several groups.
        """
        check_is_fitted(self)
        labels = self.predict(X)
        table = self._columns(X)
        _, groups = np.unique(labels, return_inverse=True)
        k = int(groups.max()) + 1
        if k == 1 and len(np.unique(self.labels_)) > 1:
            return -np.inf
        index, _ = judge_groups(table.T[None], groups[None], k)
        return -float(index[0])

    def segments(
        self, n_borders: int = 5, *, n_clusters: int | None = None, literal: bool = False
    ) -> Indices:
        """Return the places on the front where it bends most.

        Between two of them the front is steep, where columns fit those that are there, or flat,
        where each further column blurs the groups. Mierswa (2009), section 8.4.1.

        Parameters
        ----------
        n_borders : int
            How many places.
        n_clusters : int, optional
            Needed where several were tried: the part of the front with so many groups.
        literal : bool
            Compare slopes as the dissertation prints it, on axes that are not scaled.
        """
        front = self.front_
        if "n_clusters" not in front.names:
            return front.segments(n_borders, literal=literal)
        tried = sorted({int(k) for k in front.values[:, -1]})
        if n_clusters not in tried:
            raise InvalidInputError(
                f"n_clusters must be one of {shorten(tried, 10)}, for which the front has "
                f"solutions; got {n_clusters!r}."
            )
        part = np.flatnonzero(front.values[:, -1] == n_clusters)
        plane = front[part].project(front.names[:2])
        return part[plane.segments(n_borders, literal=literal)]

    def describe(self) -> str:
        """Return in sentences what was found."""
        check_is_fitted(self)
        row = self.front_.values[self.best_index_]
        found = "All" if self.exact_ else "Some"
        names = shorten([str(name) for name in self.get_feature_names_out()], 10)
        sizes = self.front_.values[:, 1]
        several = "n_clusters" in self.front_.names
        borders = self.segments(3, n_clusters=int(row[-1]) if several else None)
        bends = sorted(set(sizes[borders].astype(int).tolist()))
        text = (
            f"{found} {self.n_evaluations_} candidates of {self.n_features_in_} columns were "
            f"clustered; the front has {len(self.front_)}, from {sizes.min():.0f} to "
            f"{sizes.max():.0f} columns. Chosen: {names}; {self.front_.names[0]} {row[0]:.3g}, "
            f"{len(np.unique(self.labels_))} groups."
        )
        return text + (f" The front bends most at {shorten(bends)} columns." if bends else "")

    @property
    @abstractmethod
    def _most_candidates(self) -> int:
        """How many candidates are tried all."""

    @abstractmethod
    def _n_candidates(self, m: int) -> int:
        """Return how many candidates there are."""

    @abstractmethod
    def _every_candidate(self, m: int) -> Indices:
        """Return the codes of all, (N, m)."""

    @abstractmethod
    def _space(self, m: int, n_choices: int) -> tuple[Space, Any]:
        """Return where NSGA-II looks, for so many numbers of groups, and its mutation."""

    @abstractmethod
    def _decode(self, rows: AnyArray, m: int, n_choices: int) -> tuple[Indices, Indices]:
        """Return codes, (B, m), and places among the numbers of groups, (B,), of solutions."""

    @abstractmethod
    def _encode(self, codes: Indices, place: int, n_choices: int) -> AnyArray:
        """Return solutions that `_decode` makes codes of."""

    @abstractmethod
    def _first_step(self, codes: Indices) -> "ColumnSubset | TransformerMixin":
        """Return the step of a pipeline that makes the columns of a candidate, codes (m,)."""

    @abstractmethod
    def _describe_candidate(self, codes: Indices) -> Any:
        """Return a candidate as the front shows it."""

    def _prepare(self, X: Array) -> Array:
        """Return the table that candidates are made of."""
        return X

    def _check_options(self) -> list[int]:
        """Refuse options that make no sense, and return the numbers of groups."""
        check_choice("clusterer", self.clusterer, tuple(CLUSTERERS))
        check_choice("objectives", self.objectives, ("information", "kim", "morita"))
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter, least=0)
        if self.population_size is not None:
            check_count("population_size", self.population_size, least=4)
        ks = self._numbers_of_groups()
        check_rule(self.choose, [*self._objective_names(), "within"])
        return ks

    def _numbers_of_groups(self) -> list[int]:
        """Return the numbers of groups to try, in order."""
        given = self.n_clusters
        listed = list(given) if isinstance(given, (range, list, tuple, np.ndarray)) else [given]
        # One group is as clear as can be, so that with others beside it only it would be found.
        several = len(listed) > 1
        if not listed:
            raise InvalidInputError("n_clusters is empty; give a number or a range of numbers.")
        return sorted({check_count("n_clusters", k, least=1 + several) for k in listed})

    def _objective_names(self) -> list[str]:
        criterion = "longest_link" if self.clusterer == "single link" else "davies_bouldin"
        named = {
            "information": criterion,
            "kim": "within_per_feature",
            "morita": f"{criterion}_per_feature",
        }
        several = ["n_clusters"] if len(self._numbers_of_groups()) > 1 else []
        return [named[self.objectives], "n_features", *several]

    def _check_table(self, X: Any, ks: list[int]) -> Array:
        table: Array = validate_data(
            self, X, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=False
        )
        names = getattr(self, "feature_names_in_", range(table.shape[1]))
        holes = np.asarray(~np.isfinite(table).all(axis=0))
        alike = np.asarray(table.max(axis=0) == table.min(axis=0))
        _refuse(holes, names, "have cells that are NaN or infinite", "fill these or leave them out")
        _refuse(alike, names, "have only one value and tell no rows apart", "leave them out")
        if len(table) <= ks[-1]:
            raise InvalidInputError(
                f"{ks[-1]} groups need more rows than n_samples={len(table)}; give fewer "
                "n_clusters or more rows."
            )
        warn_of_units(self._prepare(table), stacklevel=5)
        return table

    def _search(self, values: ClusteringValues, ks: list[int], seed: Any) -> None:
        """Cluster all candidates, or those that NSGA-II passes."""
        m = values.X.shape[1]
        self.exact_ = self._n_candidates(m) * len(ks) <= self._most_candidates
        if not self.exact_:
            self.n_iter_, self.stopped_by_ = self._evolve(values, ks, seed)
            return
        self.n_iter_, self.stopped_by_ = 1, "exhausted"
        codes = self._every_candidate(m)
        values(np.tile(codes, (len(ks), 1)), np.repeat(ks, len(codes)))

    def _evolve(self, values: ClusteringValues, ks: list[int], seed: Any) -> tuple[int, str]:
        """Search with NSGA-II; return its generations, and why it ended."""
        m = values.X.shape[1]
        choices, (space, mutation) = np.array(ks), self._space(m, len(ks))
        size = self._n_solutions(m)

        def evaluate(rows: AnyArray) -> tuple[Array, Array]:
            codes, place = self._decode(rows, m, len(ks))
            empty: Mask = codes.max(axis=1) < 0
            found = np.zeros((len(rows), 2))
            found[~empty] = values(codes[~empty], choices[place[~empty]])
            return self._objectives(codes, choices[place], found), empty.astype(np.float64)

        result = nsga2(
            evaluate,
            space,
            start=self._rank_columns(values, ks)[:size],
            population_size=size,
            max_iter=self.max_iter,
            stall=self.stall,
            mutation=mutation,
            chunk_size=size,
            random_state=seed,
        )
        return result.n_iter, result.stopped_by

    def _n_solutions(self, m: int) -> int:
        """Return the size of the population."""
        return self.population_size or int(np.clip(2 * m, *_POPULATION))

    def _rank_columns(self, values: ClusteringValues, ks: list[int]) -> AnyArray:
        """Return solutions to begin with: the best columns by themselves, one more each time."""
        m, middle = values.X.shape[1], len(ks) // 2
        alone = np.where(np.eye(m, dtype=np.bool_), 0, -1)
        order = np.argsort(values(alone, np.full(m, ks[middle]))[:, 0], kind="stable")
        rank = np.empty(m, dtype=np.intp)
        rank[order] = np.arange(m)
        # Evenly over all sizes, all columns among them.
        half = self._n_solutions(m) // 2
        sizes = np.unique(np.linspace(1, m, min(m, half)).round().astype(np.intp))
        first = np.where(rank < sizes[::-1, None], 0, -1)
        together = np.concatenate((first, self._further_starts(values.X)))
        return self._encode(together, middle, len(ks))

    def _further_starts(self, X: Array) -> Indices:
        """Return codes of further candidates to begin with."""
        return np.empty((0, X.shape[1]), dtype=np.intp)

    def _objectives(self, codes: Indices, ks: Indices, values: Array) -> Array:
        """Return what is to be small or large, (B, 2 or 3), of criterion and sum of squares."""
        sizes = n_columns(codes)
        first = values[:, 1] if self.objectives == "kim" else values[:, 0]
        if self.objectives != "information":
            first = first / np.maximum(sizes, 1)
        # NSGA-II makes all small, so that `_read` turns sizes round.
        sign = -1.0 if self.objectives == "information" else 1.0
        further = [ks] if len(self._numbers_of_groups()) > 1 else []
        return np.column_stack((first, sign * sizes, *further)).astype(np.float64)

    def _read(self, X: Array, values: ClusteringValues, more: Mapping[int, Array]) -> Self:
        """Keep the front of all candidates, each on it clustered again from more starts."""
        codes, ks, found = values.all_evaluated()
        self.n_evaluations_ = len(codes)
        finite = np.isfinite(found).all(axis=1)
        codes, ks, found = codes[finite], ks[finite], found[finite]
        if not len(codes):
            raise InvalidInputError(
                f"No columns of X split the rows into {self.n_clusters} groups; give fewer "
                "n_clusters."
            )
        again: dict[int, AnyArray] = {}
        waiting = [-1]
        while waiting:
            made = self._objectives(codes, ks, found)
            rows = Front(made, made.shape[1], ties="first").rows
            waiting = [row for row in rows.tolist() if row not in again]
            for row in waiting:
                starts = more[int(ks[row])]
                groups = groups_of(values.X, codes[row][None], self.clusterer, starts, values.unit)
                again[row] = groups.labels[0]
                found[row] = values_of(groups)[0]
        made = np.abs(made[rows])
        self._table, self._codes = X, codes[rows]
        self._groups = np.array([again[row] for row in rows.tolist()])
        front = Front(
            made,
            self._objective_names(),
            maximise=["n_features"] if self.objectives == "information" else [],
            solutions=[self._describe_candidate(each) for each in self._codes],
        )
        self._keep_front(front, Figures({"within": found[rows, 1]}))
        # Not by the pipeline, which may know names that an array has not.
        chosen = self._first_step(self._codes[self.best_index_]).fit(X)
        self.labels_ = self.best_estimator_[-1].predict(chosen.transform(X))
        return self

    def _solution(self, index: int) -> Pipeline:
        first = self._first_step(self._codes[index])
        labels = self._groups[index]
        table = first.fit(self._table).transform(self._table)
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_
        return Pipeline(
            [("columns", first), ("clusterer", _fit_clusterer(self.clusterer, table, labels))]
        )


def _refuse(bad: AnyArray, names: Any, what: str, advice: str) -> None:
    """Refuse columns, by name or place."""
    if bad.any():
        found = shorten([str(name) for name, is_bad in zip(names, bad, strict=True) if is_bad])
        raise InvalidInputError(f"Some columns of X {what} ({found}); {advice}.")


def _fit_clusterer(clusterer: Clusterer, table: Array, labels: AnyArray) -> Any:
    """Return an estimator of scikit-learn with these groups, which tells those of new rows."""
    if clusterer == "single link":
        return KNeighborsClassifier(1, algorithm="brute").fit(table, labels)
    _, labels = np.unique(labels, return_inverse=True)
    k = int(labels.max()) + 1
    parts = [table[labels == group] for group in range(k)]
    centres = np.array([part.mean(axis=0) for part in parts])
    if clusterer == "k-means":
        return KMeans(k, init=centres, n_init=1).fit(table)
    variances = table.var(axis=0)
    ridge = np.diag(1e-6 * variances)
    spread = [np.atleast_2d(np.cov(part.T, bias=True)) + ridge for part in parts]
    return GaussianMixture(
        k,
        weights_init=np.array([len(part) / len(table) for part in parts]),
        means_init=centres,
        precisions_init=np.linalg.inv(spread),
        reg_covar=1e-6 * float(variances.min()),
    ).fit(table)
