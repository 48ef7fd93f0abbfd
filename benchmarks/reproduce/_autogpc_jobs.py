"""The jobs of the reproduction of He (2016): kernels judged, searches, and peers on equal terms.

`JudgedKernel` fits one kernel to all rows and cross-validates it over shuffled partitions,
`Search` runs the source's search on all rows. `Trained` is a method on one training part:
whatever it chooses, it chooses there, the search its kernel, by folds of that part, and a peer its
settings, by a grid over five folds of that part. The published kernel stands apart: its
hyperparameters are fitted to the training part, but its structure was found with all rows in sight.
"""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.reproduce._autogpc_data import data_set
from benchmarks.reproduce._autogpc_tables import TABLE_5_1, TABLE_5_3, TABLE_6_2
from parsimon._typing import Array, Indices
from parsimon.gp import GPClassifier
from parsimon.gp._kernel_evaluation import FitStart, KernelProblem, cross_validate, fit_whole
from parsimon.gp.search import KernelSearch
from parsimon.kernels import Kernel, SquaredExponential, plain

# What the source's search has: the error of folds guides it and decides.
AS_PRINTED: dict[str, Any] = {
    "guide": "cv_error",
    "choose": "least_error",
    "grow": "new_columns",
    "depth": 4,
}
SOURCE, DEFAULTS, PUBLISHED = "search, source's settings", "search, defaults", "published kernel"
PEERS = (
    "tuned logistic regression",
    "tuned RBF-SVM",
    "tuned random forest",
    "tuned boosting",
    "scikit-learn GPC",
)
N_FOLDS = 5


@dataclass(frozen=True)
class JudgedKernel:
    """A kernel, as `plain` writes it, on the shuffled partitions 0, 1, ... of a data set."""

    data_set: str
    kernel: str
    n_partitions: int

    def __str__(self) -> str:
        return f"{self.data_set}, {self.kernel}"


@dataclass(frozen=True)
class Search:
    """The search with the source's settings on all rows."""

    data_set: str
    seed: int

    def __str__(self) -> str:
        return f"{self.data_set}, {SOURCE}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """A method trained on all but one fold of a partition."""

    data_set: str
    method: str
    partition: int
    fold: int

    def __str__(self) -> str:
        return f"{self.data_set}, {self.method}, fold {self.fold + 1} of {self.partition + 1}"


Job = JudgedKernel | Search | Trained


def kernels_of(name: str, n_columns: int) -> dict[str, Kernel]:
    """Return the kernels that the tables need, by their text: each column's and the published."""
    printed = [line[0] for line in (*TABLE_5_1, *TABLE_5_3)] if name == "Pima" else []
    singles = [SquaredExponential(column) for column in range(n_columns)]
    return {plain(kernel): kernel for kernel in (*singles, TABLE_6_2[name].kernel, *printed)}


def work(job: Job) -> dict[str, Any]:
    """Run a job and return plain numbers."""
    begin = time.process_time()
    X, y = data_set(job.data_set)
    with warnings.catch_warnings():
        # Corners of a grid, and lengthscales at a bound that switches a column off.
        warnings.simplefilter("ignore")
        if isinstance(job, JudgedKernel):
            found = _judged(job, X, y)
        elif isinstance(job, Search):
            search = KernelSearch(**AS_PRINTED, random_state=job.seed).fit(X, y)
            error = 100.0 * search.best_candidate_.error
            found = {"error": error, "chosen": plain(search.best_kernel_)}
        else:
            found = _trained(job, X, y)
    return {**found, "seconds": time.process_time() - begin}


def partition(X: Array, seed: int) -> tuple[tuple[Indices, Indices], ...]:
    """Return the training and test rows of each fold."""
    return tuple(KFold(N_FOLDS, shuffle=True, random_state=seed).split(X))


def _judged(job: JudgedKernel, X: Array, y: Array) -> dict[str, Any]:
    """Fit to all rows, from three starts, then to the training parts."""
    kernel = kernels_of(job.data_set, X.shape[1])[job.kernel]
    problems = [
        KernelProblem(X, y, "classification", partition(X, seed), n_restarts=2)
        for seed in range(job.n_partitions)
    ]
    whole = fit_whole(problems[0], kernel.start(X), FitStart(), np.random.SeedSequence(0))
    folded = [cross_validate(one, whole) for one in problems]
    return {
        "nlml": -whole.log_evidence,
        "fold_nlml": -float(np.mean([one.log_evidences for one in folded])),
        "error": 100.0 * float(np.mean([one.errors for one in folded])),
    }


def _trained(job: Trained, X: Array, y: Array) -> dict[str, Any]:
    """Train on a training part, and return the share of errors on the rows left out."""
    train, test = partition(X, job.partition)[job.fold]
    model = _model(job, X.shape[1]).fit(X[train], y[train])
    wrong = float(np.mean(model.predict(X[test]) != y[test]))
    chosen = plain(model.best_kernel_) if isinstance(model, KernelSearch) else ""
    return {"error": 100.0 * wrong, "chosen": chosen}


def _model(job: Trained, n_columns: int) -> Any:
    seed = N_FOLDS * job.partition + job.fold
    if job.method == SOURCE:
        return KernelSearch(**AS_PRINTED, random_state=seed)
    if job.method == DEFAULTS:
        return KernelSearch(random_state=seed)
    if job.method == PUBLISHED:
        return GPClassifier(TABLE_6_2[job.data_set].kernel, n_restarts=2, random_state=seed)
    return _peer(job.method, seed, n_columns)


def _peer(name: str, seed: int, n_columns: int) -> Any:
    """Return a peer that tunes itself on what it is fitted to."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if name == "scikit-learn GPC":
        # Its lengthscales, one a column, are tuned by the evidence.
        shape = ConstantKernel(1.0) * RBF(np.ones(n_columns), (0.1, 100.0))
        return make_pipeline(StandardScaler(), GaussianProcessClassifier(shape, random_state=seed))
    prices = np.logspace(-2, 3, 6)
    grids: dict[str, tuple[Any, dict[str, Any]]] = {
        "tuned logistic regression": (LogisticRegression(max_iter=1000), {"C": prices}),
        "tuned RBF-SVM": (SVC(), {"C": prices, "gamma": np.logspace(-3, 1, 5)}),
        "tuned random forest": (
            RandomForestClassifier(200, random_state=seed),
            {"min_samples_leaf": [1, 5], "max_features": ["sqrt", None]},
        ),
        "tuned boosting": (
            HistGradientBoostingClassifier(random_state=seed),
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 15]},
        ),
    }
    model, grid = grids[name]
    pipeline = make_pipeline(StandardScaler(), model)
    step = pipeline.steps[-1][0]
    inner = KFold(N_FOLDS, shuffle=True, random_state=seed)
    return GridSearchCV(pipeline, {f"{step}__{key}": own for key, own in grid.items()}, cv=inner)
