"""The musical tasks of Mierswa (2009), section 7.4, on synthetic pieces, and one search on each.

The recordings are not public: `make_genres` and `make_listener` stand in for
them, with the source's numbers of pieces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.reproduce._mierswa_7_stages import TwoStages, search_in_two_stages
from benchmarks.reproduce._mierswa_7_synthesiser import make_genres, make_listener
from parsimon.features.series import MethodTree, parse_tree, tree_values

# Pieces of each task: those of the source, and for listeners the middle of its 100 to 160.
GENRES = {"classic": 200, "techno": 160, "hiphop": 240}
LISTENERS = {"listener 1": 120, "listener 2": 120, "listener 3": 120, "listener 4": 120}
# As many features as the source selected, about.
MOST_FEATURES = 20
# Pieces of the collection that a listener has never heard, and those recommended first.
UNSEEN, FIRST = 100, 20
ALL_ROWS = -1
LEARNERS: Mapping[str, Any] = {
    "linear SVM": SVC(kernel="linear"),
    "RBF SVM": SVC(),
    "tree": DecisionTreeClassifier(min_samples_leaf=2, random_state=0),
    "k-NN": KNeighborsClassifier(5),
    "naive Bayes": GaussianNB(),
}


@dataclass(frozen=True)
class MusicJob:
    """A search on one task: with the training rows of a fold, or with all rows."""

    task: str
    n: int
    fold: int
    n_folds: int = 10
    seconds: float = 2.0
    rate: int = 2000
    max_iter: int | None = None


def jobs_of(tasks: Mapping[str, int], *, quick: bool) -> list[MusicJob]:
    """Return the searches on tasks, those with all rows first."""
    job = MusicJob("", 0, ALL_ROWS)
    if quick:
        job = replace(job, n_folds=2, seconds=0.5, max_iter=1)
    return [
        replace(job, task=task, n=36 if quick else n, fold=fold)
        for task, n in tasks.items()
        for fold in range(ALL_ROWS, job.n_folds)
    ]


@lru_cache(maxsize=2)
def pieces(task: str, n: int, seconds: float, rate: int, seed: int = 0) -> tuple[Any, Any]:
    """Return the pieces of a task, and 1 for the first genre or for liked ones, else 0."""
    options: dict[str, Any] = {"seconds": seconds, "rate": rate, "random_state": seed}
    if task in GENRES:
        X, y = make_genres(n, genres=[task, "pop"], **options)
        return X, 1 - y
    return make_listener(n, int(task.split()[1]), **options)


def folds_of(job: MusicJob, y: Any) -> list[tuple[Any, Any]]:
    """Return the folds of a task, the same for every search on it."""
    splitter = StratifiedKFold(job.n_folds, shuffle=True, random_state=0)
    return list(splitter.split(y, y))


def search_and_test(job: MusicJob) -> dict[str, Any]:
    """Return the features of a search and what learners make of them.

    With a fold the search sees its training rows only, and rows are those of its test. With all
    rows, the source's way, learners are cross-validated on features that have seen every row.
    """
    X, y = pieces(job.task, job.n, job.seconds, job.rate)
    folds = folds_of(job, y)
    tested = folds if job.fold == ALL_ROWS else folds[job.fold : job.fold + 1]
    rows = np.arange(len(y)) if job.fold == ALL_ROWS else tested[0][0]
    search = search_in_two_stages(X[rows], y[rows], MOST_FEATURES, job.max_iter)
    V = search.transform(X)
    found: dict[str, Any] = {
        "trees": [str(tree) for tree in search.trees_],
        "rows": [int(row) for _, test in tested for row in test],
        "told": {name: told_by(learner, V, y, tested) for name, learner in LEARNERS.items()},
        "seconds": search.seconds_,
    }
    if job.fold == ALL_ROWS and job.task in LISTENERS:
        found |= recommended(search, job)
    return found


def told_by(learner: Any, V: Any, y: Any, folds: Sequence[tuple[Any, Any]]) -> list[int]:
    """Return what a learner tells the test rows of folds, one after the other."""
    model = make_pipeline(StandardScaler(), learner)
    return [
        int(code)
        for train, test in folds
        for code in model.fit(V[train], y[train]).predict(V[test])
    ]


def recommended(search: TwoStages, job: MusicJob) -> dict[str, float]:
    """Return how many of the first of an unseen collection are liked, and the area under ROC."""
    X, y = pieces(job.task, UNSEEN, job.seconds, job.rate, 1)
    probability = search.predict_proba(X)[:, 1]
    first = np.argsort(-probability, kind="stable")[:FIRST]
    return {
        "liked_first": float(y[first].mean()),
        "area": float(roc_auc_score(y, probability)),
    }


def with_features(job: MusicJob, trees: Sequence[MethodTree], folds: Any) -> list[int]:
    """Return what the linear machine tells the test rows of folds, from given features."""
    X, y = pieces(job.task, job.n, job.seconds, job.rate)
    return told_by(LEARNERS["linear SVM"], tree_values(trees, X), y, folds)


def trees_of(found: Mapping[str, Any]) -> list[MethodTree]:
    """Return the features of a finished search."""
    return [parse_tree(text) for text in found["trees"]]
