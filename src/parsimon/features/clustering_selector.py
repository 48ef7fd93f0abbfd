"""`ClusteringSelector`: which columns make clear groups of rows, and how many columns can stay."""

from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_count
from parsimon._random import Seed
from parsimon._typing import AnyArray, Indices, Mask
from parsimon.features._clustering_search import ClusteringSearch, Objectives
from parsimon.features._clusterings import Clusterer
from parsimon.features.pareto_selector import ColumnSubset
from parsimon.pareto import Bits
from parsimon.pareto.choose import Rule
from parsimon.pareto.space import Space


class ClusteringSelector(SelectorMixin, ClusteringSearch):
    """Subsets of columns of which none has both clearer groups and more columns.

    Without a target, fewer columns are no aim: a single column with few values makes the clearest
    groups there are and says nothing of the others. So the number of columns is to be large, and
    the front tells for each number which columns keep the groups clearest [1]_. Where it bends, the
    columns that form groups end and noise begins: `segments` finds these places.

    With at most `max_subsets` subsets all are clustered and the front is exact; otherwise NSGA-II
    searches. It predicts the group of a row, and it transforms: in a `sklearn.pipeline.Pipeline` it
    passes the chosen columns on. Distances depend on units: put a
    `sklearn.preprocessing.StandardScaler` before it unless columns share one.

    Parameters
    ----------
    n_clusters : int, or range or list of int
        Groups. Of several numbers all are tried, and fewer groups are a third objective.
    clusterer : {"k-means", "gaussian mixture", "single link"}
        How rows are grouped. The first two are judged by the index of Davies and Bouldin, the last
        by the longest link that must be crossed inside a group.
    objectives : {"information", "kim", "morita"}
        "information" as above. The others are of the literature, to compare: "kim" makes the
        squared distances within groups per column small and columns few [2]_, which always ends at
        a single column; "morita" makes the index per column small and columns few [3]_, which ends
        at any column of few values and bends every other front to the form of 1 / n_features.
    max_subsets : int
        Up to so many subsets, for all numbers of groups together, all are clustered; the default
        is enough for 15 columns.
    n_init : int
        Starts of k-means for each subset. Those on the front are clustered again from ten times as
        many.
    population_size : int, optional
        Of NSGA-II; if left out twice the number of columns, from 40 to 200.
    max_iter : int
        Generations of NSGA-II.
    stall : int, optional
        End when the front has not improved for so many generations.
    choose : str, int or callable
        The rule by which columns are chosen, as in `select`: "knee"; "davies_bouldin where
        n_features>=5" for the clearest groups of at least five columns.
    checkpoint : str or Path, optional
        A file for the values found, also by a fit that is interrupted; with the same table, options
        and seed, the next fit goes on from there to the same front.
    n_jobs : int or None
        Workers. The result is the same for every number.
    random_state : int, Generator, SeedSequence, RandomState or None

    Attributes
    ----------
    front_ : Front
        Columns ``davies_bouldin`` or ``longest_link`` to be small and ``n_features`` to be large
        and, with several `n_clusters`, these to be small; a solution is the list of its columns'
        places. `to_frame` adds ``within``, the squared distances within groups.
    best_estimator_ : Pipeline
        The chosen columns and a fitted clusterer of scikit-learn; for single link the nearest row
        tells the group of a new one.
    best_index_ : int
        Its place on the front.
    labels_ : ndarray of shape (n,)
        The group of each row.
    exact_ : bool
        Whether all subsets were clustered.
    n_evaluations_ : int
        Subsets clustered.
    n_iter_ : int
        Generations of NSGA-II; 1 if all subsets were clustered.
    stopped_by_ : {"exhausted", "max_iter", "stall", "interrupt"}
        Why the search ended; "exhausted" if all were tried.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Where X has names.

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, chapter 8.
    .. [2] Kim, Street and Menczer (2002), Intelligent Data Analysis 6:531-556.
    .. [3] Morita, Sabourin, Bortolozzi and Suen (2003), ICDAR, 666-670.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True).data
    >>> search = ClusteringSelector(random_state=0).fit(iris)
    >>> search.front_.values.round(3)
    array([[0.393, 1.   ],
           [0.485, 2.   ],
           [0.587, 3.   ],
           [0.662, 4.   ]])
    >>> [list(iris.columns[search.front_.solution(place)]) for place in range(2)]
    [['petal width (cm)'], ['petal length (cm)', 'petal width (cm)']]
    >>> search.transform(iris).shape[0], search.predict(iris).max()
    (150, np.int32(2))
    """

    labels_: Indices

    def __init__(
        self,
        n_clusters: Any = 3,
        *,
        clusterer: Clusterer = "k-means",
        objectives: Objectives = "information",
        max_subsets: int = 2**15 - 1,
        n_init: int = 30,
        population_size: int | None = None,
        max_iter: int = 100,
        stall: int | None = 20,
        choose: Rule = "knee",
        checkpoint: str | Path | None = None,
        n_jobs: int | None = 1,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.objectives = objectives
        self.max_subsets = max_subsets
        self.n_init = n_init
        self.population_size = population_size
        self.max_iter = max_iter
        self.stall = stall
        self.choose = choose
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _most_candidates(self) -> int:
        return check_count("max_subsets", self.max_subsets)

    def _n_candidates(self, m: int) -> int:
        return int(2**m) - 1

    def _every_candidate(self, m: int) -> Indices:
        codes = np.full((2**m - 1, m), -1, dtype=np.intp)
        listed = chain.from_iterable(combinations(range(m), size) for size in range(1, m + 1))
        for row, chosen in enumerate(listed):
            codes[row, list(chosen)] = 0
        return codes

    def _space(self, m: int, n_choices: int) -> tuple[Space, Any]:
        return Bits(m + _n_bits(n_choices)), "auto"

    def _decode(self, rows: AnyArray, m: int, n_choices: int) -> tuple[Indices, Indices]:
        number = rows[:, m:].astype(np.intp) @ (1 << np.arange(rows.shape[1] - m))
        return np.where(rows[:, :m], 0, -1).astype(np.intp), number % n_choices

    def _encode(self, codes: Indices, place: int, n_choices: int) -> AnyArray:
        bits = place >> np.arange(_n_bits(n_choices)) & 1
        return np.column_stack((codes == 0, np.tile(bits.astype(np.bool_), (len(codes), 1))))

    def _first_step(self, codes: Indices) -> ColumnSubset:
        return ColumnSubset(self._describe_candidate(codes))

    def _describe_candidate(self, codes: Indices) -> list[int]:
        return [int(place) for place in np.flatnonzero(codes == 0)]

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return self.best_estimator_[0].get_support()


def _n_bits(n_choices: int) -> int:
    """Return how many bits tell choices apart."""
    return (n_choices - 1).bit_length()
