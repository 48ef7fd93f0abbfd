"""`FeatureAggregator`: fewer columns by joining some, so that the groups of rows stay clear.

Columns are joined by their greatest value. By its neutral element 0 and monotony a t-conorm is
nowhere below it, and above it would lie further from both columns: it loses least (Mierswa 2009,
section 9.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import stirling2
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_count
from parsimon._data import validate_data
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features._clustering_search import ClusteringSearch
from parsimon.features._clusterings import Clusterer
from parsimon.pareto import Integers
from parsimon.pareto.choose import Rule
from parsimon.pareto.space import Space
from parsimon.pareto.variation import IntegerReset


class ColumnMaxima(TransformerMixin, BaseEstimator):
    """Pass on columns of a table, and the greatest of several as one: a step of a model.

    Parameters
    ----------
    groups : sequence of sequences of int
        The places of the columns that become one; a single place passes that column on.
    scale : bool
        Whether columns are first brought to the range from 0 to 1 in the table of the fit.

    Examples
    --------
    >>> ColumnMaxima([[0, 1], [2]], scale=False).fit_transform([[1, 5, 2], [4, 3, 6]])
    array([[5., 2.],
           [4., 6.]])
    """

    def __init__(self, groups: Sequence[Sequence[int]], *, scale: bool = True) -> None:
        self.groups = groups
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Remember the ranges of the columns of X, shape (n, d)."""
        X = validate_data(self, X, dtype=np.float64)
        self.lower_, width = X.min(axis=0), np.ptp(X, axis=0)
        self.width_ = np.where(width > 0, width, 1.0)
        return self

    def transform(self, X: Any) -> Array:
        """Return the columns as they are joined, shape (n, n_groups)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.scale:
            X = (X - self.lower_) / self.width_
        return np.column_stack([X[:, list(group)].max(axis=1) for group in self.groups])

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return names such as ``max(a, b)``, with those of the columns in them."""
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", input_features)
        names = [f"x{place}" for place in range(self.n_features_in_)] if given is None else given
        if len(names) != self.n_features_in_:
            raise InvalidInputError(
                f"input_features should have length equal to {self.n_features_in_}, got "
                f"{len(names)}."
            )
        texts = (", ".join(str(names[place]) for place in group) for group in self.groups)
        pairs = zip(texts, self.groups, strict=True)
        return np.array([f"max({text})" if len(g) > 1 else text for text, g in pairs], object)


class FeatureAggregator(TransformerMixin, ClusteringSearch):
    """Columns joined by their greatest values so that none has clearer groups and more columns.

    Where several columns carry one thing in parts, such as words of one meaning or instruments of
    which one at a time reads, leaving one out loses something; the greatest of them does not. As
    in `ClusteringSelector`, groups are to be clear and columns many, and each column of the table
    is left out, taken as it is, or joined with others, at most once [1]_.

    With at most `max_candidates` ways to do so all are tried, which is up to 8 columns; otherwise
    NSGA-II searches over vectors of integers. It predicts the group of a row, and it transforms: in
    a `sklearn.pipeline.Pipeline` it passes the joined columns on.

    Parameters
    ----------
    n_clusters : int, or range or list of int
        Groups. Of several numbers all are tried, and fewer groups are a third objective.
    clusterer : {"k-means", "gaussian mixture", "single link"}
        How rows are grouped, as in `ClusteringSelector`.
    scale : bool
        Bring each column to the range from 0 to 1 first: columns in different units have no
        greatest value. Without, no cell may be below 0.
    max_candidates : int
        Up to so many, all are tried.
    n_init : int
        Starts of k-means for each candidate. Those on the front are clustered again from ten times
        as many.
    population_size : int, optional
        Of NSGA-II; if left out twice the number of columns, from 40 to 200.
    max_iter : int
        Generations of NSGA-II.
    stall : int, optional
        End when the front has not improved for so many generations.
    choose : str, int or callable
        The rule by which the columns are chosen, as in `select`.
    checkpoint : str or Path, optional
        A file for the values found, also by a fit that is interrupted; with the same table, options
        and seed, the next fit goes on from there to the same front.
    n_jobs : int or None
        Workers. The result is the same for every number.
    random_state : int, Generator, SeedSequence, RandomState or None

    Attributes
    ----------
    front_ : Front
        ``davies_bouldin`` or ``longest_link`` to be small and ``n_features`` to be large and, with
        several `n_clusters`, these to be small; a solution is a list of lists of places, each a
        column of the result.
    best_estimator_ : Pipeline
        `ColumnMaxima` and a fitted clusterer of scikit-learn.
    best_index_ : int
        Its place on the front.
    labels_ : ndarray of shape (n,)
        The group of each row.
    exact_ : bool
        Whether all candidates were tried.
    n_evaluations_, n_iter_ : int
        Candidates clustered, and generations; 1 if all were tried.
    stopped_by_ : {"exhausted", "max_iter", "stall", "interrupt"}
        Why the search ended; "exhausted" if all were tried.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Where X has names.

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, chapter 9.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> petals, rng = load_iris().data[:, 2:], np.random.default_rng(0)
    >>> parts = np.stack((petals, petals * rng.random(petals.shape)), axis=2)
    >>> halves = rng.permuted(parts, axis=2).reshape(150, 4)  # each value in one of two columns
    >>> search = FeatureAggregator(scale=False, random_state=0).fit(halves)
    >>> [search.front_.solution(place) for place in range(2)]
    [[[2, 3]], [[0, 1], [2, 3]]]
    >>> search.select("n_features")[0].get_feature_names_out()
    array(['x0', 'x1', 'x2', 'x3'], dtype=object)
    """

    labels_: Indices

    def __init__(
        self,
        n_clusters: Any = 3,
        *,
        clusterer: Clusterer = "k-means",
        scale: bool = True,
        max_candidates: int = 2**15 - 1,
        n_init: int = 30,
        population_size: int | None = None,
        max_iter: int = 1000,
        stall: int | None = 100,
        choose: Rule = "knee",
        checkpoint: str | Path | None = None,
        n_jobs: int | None = 1,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.scale = scale
        self.max_candidates = max_candidates
        self.n_init = n_init
        self.population_size = population_size
        self.max_iter = max_iter
        self.stall = stall
        self.choose = choose
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    def transform(self, X: Any) -> Array:
        """Return the chosen columns, some of them joined, shape (n, n_columns)."""
        check_is_fitted(self)
        return self.best_estimator_[0].transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns of `transform`, such as ``max(a, b)``."""
        check_is_fitted(self)
        return self.best_estimator_[0].get_feature_names_out(input_features)

    @property
    def _most_candidates(self) -> int:
        return check_count("max_candidates", self.max_candidates)

    def _prepare(self, X: Array) -> Array:
        if self.scale:
            return (X - X.min(axis=0)) / np.ptp(X, axis=0)
        if X.min() < 0:
            raise InvalidInputError(
                f"X has cells below 0 (down to {X.min():.3g}), where a greatest value hides the "
                "others; give scale=True."
            )
        return X

    def _n_candidates(self, m: int) -> int:
        # Partitions of the columns and one thing more, less the one that leaves all out.
        return int(stirling2(m + 1, np.arange(m + 2), exact=True).sum()) - 1

    def _every_candidate(self, m: int) -> Indices:
        return partial_partitions(m)

    def _space(self, m: int, n_choices: int) -> tuple[Space, Any]:
        number = [] if n_choices == 1 else [n_choices - 1]
        upper = [max(1, m // 2)] * m + number
        return Integers([-1] * m + [0] * len(number), upper), _GroupReset(m)

    def _decode(self, rows: AnyArray, m: int, n_choices: int) -> tuple[Indices, Indices]:
        place = np.zeros(len(rows), dtype=np.intp) if n_choices == 1 else rows[:, m]
        return number_groups(rows[:, :m]), place

    def _encode(self, codes: Indices, place: int, n_choices: int) -> AnyArray:
        return codes if n_choices == 1 else np.insert(codes, codes.shape[1], place, axis=1)

    def _further_starts(self, X: Array) -> Indices:
        """Return columns joined step by step, those first that go together, and each join alone."""
        m = X.shape[1]
        tree = linkage(((X - X.mean(axis=0)) / X.std(axis=0)).T, "average")
        n_groups = np.unique(np.linspace(1, m - 1, min(m - 1, 20)).round().astype(np.intp))
        steps = [fcluster(tree, k, "maxclust") for k in n_groups]
        members = [[place] for place in range(m)]
        for first, second in tree[:, :2].astype(np.intp):
            members.append(members[first] + members[second])
        alone = [np.isin(np.arange(m), joined) * 2 - 1 for joined in members[m:]]
        return number_groups(np.array([*steps, *alone]))

    def _first_step(self, codes: Indices) -> ColumnMaxima:
        return ColumnMaxima(self._describe_candidate(codes), scale=self.scale)

    def _describe_candidate(self, codes: Indices) -> list[list[int]]:
        alone = [[int(place)] for place in np.flatnonzero(codes == 0)]
        joined = range(1, int(codes.max(initial=0)) + 1)
        return alone + [np.flatnonzero(codes == group).tolist() for group in joined]


@dataclass(frozen=True)
class _GroupReset:
    """Replace codes at random, as in Mierswa (2009, section 9.3), or join two columns anew.

    The latter no sequence of better and better single replacements may reach. Each candidate is
    written one way; otherwise a population fills up with copies under other numbers.

    m: Columns of the table; what follows their codes is the number of groups.
    joining: Probability of two columns becoming a group, in place of the replacement.
    """

    m: int
    joining: float = 0.25

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        codes = parents[:, : self.m]
        inside = Integers(space.lower[: self.m], space.upper[: self.m])
        replaced = IntegerReset(within="used")(codes, inside, rng)
        pairs = np.argsort(rng.random(codes.shape), axis=1)[:, :2]
        joined = codes.copy()
        np.put_along_axis(joined, pairs, codes.max(axis=1, keepdims=True) + 1, axis=1)
        joins = rng.random((len(codes), 1)) < self.joining
        children = number_groups(np.where(joins, joined, replaced))
        if parents.shape[1] == self.m:
            return children
        numbers = IntegerReset(1 / self.m)(parents, space, rng)[:, self.m :]
        return np.column_stack((children, numbers))


def number_groups(codes: AnyArray) -> Indices:
    """Return the codes of the same candidates, each in one way: (B, m).

    A group of one is the column itself; groups are numbered from 1 by their first columns.
    """
    made = np.array(codes, dtype=np.intp)
    for row in made:
        groups = [row == group for group in dict.fromkeys(row[row > 0].tolist())]
        number = 0
        for members in groups:
            number += int(members.sum() > 1)
            row[members] = number if members.sum() > 1 else 0
    return made


def partial_partitions(m: int) -> Indices:
    """Return the codes of all ways to leave out, take and join m columns, but for none."""
    # Partitions of the columns and one thing more, whose block is left out.
    blocks = np.zeros((1, 1), dtype=np.intp)
    for _ in range(m):
        room = blocks.max(axis=1) + 2
        last = np.concatenate([np.arange(count) for count in room])
        blocks = np.column_stack((np.repeat(blocks, room, axis=0), last))
    blocks = blocks[blocks[:, 1:].any(axis=1), 1:]
    return number_groups(np.where(blocks == 0, -1, blocks))
