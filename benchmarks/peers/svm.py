"""Support vector machines by evolution against libsvm, as scikit-learn has it.

Both fit tables of `make_classification` with the same RBF kernel (gamma="scale") and the same C.
Dual values are computed here from `dual_coef_`, by one function, beside libsvm's at a tolerance of
1e-6. Fronts of half the squared norm against hinge loss are measured by one function as well: of
every machine, ours and libsvm's, both figures are computed anew from its vectors and bias on the
same rows, scaled by the range of the exact path, and the hypervolume is taken from the path's worst
values. The path is 100 fits of libsvm with C from 0.01 to 1000, the range of `ParetoSVC`, which
holds no rows out here.
"""

import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.libsvm import begins_from_zero, dual_value, optimum, plain_values, signs_of
from benchmarks.rows import Row, median_seconds
from parsimon._typing import Array, Indices
from parsimon.pareto import hypervolume

SIZES, QUICK_SIZES = (100, 200, 500, 1000), (100, 200)
FRONT_SIZES, QUICK_FRONT_SIZES = (200, 500, 1000), (200,)
SLOWEST, SHARE_OF_OPTIMUM, SHARE_OF_VOLUME = 5.0, 0.999, 0.98
PATH = np.logspace(-2, 3, 100)


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the comparison; every library has one thread."""
    from threadpoolctl import threadpool_limits

    made: list[Row] = []
    with threadpool_limits(1):
        for n in QUICK_SIZES if quick else SIZES:
            for C in (1.0,) if quick else (0.1, 1.0, 10.0):
                made += fit_rows(n, C, repeats=3 if quick else 7)
        for n in QUICK_FRONT_SIZES if quick else FRONT_SIZES:
            made += front_rows(n, repeats=1 if quick else 3)
    return made


def table(n: int) -> tuple[Array, Indices]:
    """Return n rows of two classes, a tenth of the labels drawn anew."""
    from sklearn.datasets import make_classification

    X, y = make_classification(n, 10, n_informative=6, flip_y=0.1, random_state=0)
    return X, y


def fit_rows(n: int, C: float, *, repeats: int) -> list[Row]:
    """Return time and dual value of one table."""
    from sklearn.svm import SVC

    from parsimon.svm import EvolutionarySVC

    X, y = table(n)
    ours, peer = EvolutionarySVC(C=C, indefinite="native", random_state=0), SVC(C=C)
    seconds = median_seconds([partial(_fit, model, X, y) for model in (ours, peer)], repeats)
    print(f"n = {n}, C = {C:g}: {seconds[0]:.4f} s, libsvm {seconds[1]:.4f} s", file=sys.stderr)
    K = _gram(X)
    values = [dual_value(K, _signed(model, n)) for model in (ours, peer)]
    best = optimum(K, signs_of(y), C)
    case = f"make_classification {n} x 10, RBF, C = {C:g}"
    return [
        Row(
            case,
            f"seconds of the fit; libsvm, allowed {SLOWEST:g} times",
            seconds[0],
            seconds[1],
            bar=1.0 / SLOWEST,
        ),
        Row(
            case,
            "dual value; true optimum",
            values[0],
            best,
            higher_is_better=True,
            bar=SHARE_OF_OPTIMUM if begins_from_zero() else None,
            note=f"libsvm at its default tolerance {values[1] / best:.6f} of it",
            rivals=plain_values(K, signs_of(y), C),
        ),
    ]


def front_rows(n: int, *, repeats: int) -> list[Row]:
    """Return hypervolume and time of a front beside the exact path of C."""
    from sklearn.svm import SVC

    from parsimon.svm import ParetoSVC

    X, y = table(n)
    search = ParetoSVC("primal", validation_fraction=0.0, refit=False, random_state=0)
    jobs: list[Callable[[], Any]] = [
        partial(_fit, search, X, y),
        partial(path, X, y),
        partial(precomputed_path, X, y),
    ]
    ours, theirs, lean = median_seconds(jobs, repeats)
    print(f"n = {n}: front {ours:.2f} s, path {theirs:.2f} s", file=sys.stderr)
    front = [search.front_.solution(index) for index in range(len(search.front_))]
    machines = path(X, y)
    exact = points(machines, X, y)
    places = np.random.default_rng(0).choice(len(machines), 3, replace=False)
    drawn = [machines[place] for place in places]
    volume, best = volumes(points(front, X, y), exact)
    logarithmic, best_logarithmic = volumes(points(front, X, y), exact, logarithm=True)
    case = f"front of make_classification {n} x 10, RBF"
    return [
        Row(
            case,
            "hypervolume; exact path, 100 fits",
            volume,
            best,
            higher_is_better=True,
            bar=SHARE_OF_VOLUME,
            note=f"{len(front)} machines; with the norm on a log scale "
            f"{logarithmic / best_logarithmic:.4f} of it",
            rivals={
                "constant: one machine, C = 1": volumes(points([SVC().fit(X, y)], X, y), exact)[0],
                "guess: three of the path": volumes(points(drawn, X, y), exact)[0],
            },
        ),
        Row(
            case,
            "seconds of the search; 100 fits of libsvm",
            ours,
            theirs,
            bar=1.0,
            note=f"100 fits on one matrix computed beforehand: {lean:.2f} s",
        ),
    ]


def path(X: Array, y: Indices) -> list[Any]:
    """Return libsvm's machine for each C."""
    from sklearn.svm import SVC

    return [SVC(C=C).fit(X, y) for C in PATH]


def precomputed_path(X: Array, y: Indices) -> None:
    """Fit the path to one matrix, which libsvm need not compute again."""
    from sklearn.svm import SVC

    K = _gram(X)
    for C in PATH:
        SVC(kernel="precomputed", C=C).fit(K, y)


def points(machines: Iterable[Any], X: Array, y: Indices) -> Array:
    """Return half the squared norm and the sum of hinge losses of each machine, shape (m, 2)."""
    K, signs = _gram(X), signs_of(y)
    found = []
    for machine in machines:
        signed = _signed(machine, len(y))
        scores = K @ signed
        losses = np.maximum(0.0, 1.0 - signs * (scores + float(np.ravel(machine.intercept_)[0])))
        found.append((0.5 * float(signed @ scores), float(losses.sum())))
    return np.array(found)


def volumes(front: Array, exact: Array, *, logarithm: bool = False) -> tuple[float, float]:
    """Return the hypervolumes of a front and of the path, both in the path's scale."""
    if logarithm:
        # A machine of norm zero has no logarithm; below the path it gains nothing.
        least = exact[:, 0].min()
        front, exact = (
            np.column_stack([np.log(np.maximum(values[:, 0], least)), values[:, 1]])
            for values in (front, exact)
        )
    low, high = exact.min(axis=0), exact.max(axis=0)
    found = [
        float(hypervolume((values - low) / (high - low), reference=np.ones(2)))
        for values in (front, exact)
    ]
    return found[0], found[1]


def _fit(model: Any, X: Array, y: Indices) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)


def _gram(X: Array) -> Array:
    from sklearn.metrics.pairwise import rbf_kernel

    K: Array = rbf_kernel(X, gamma=1.0 / (X.shape[1] * X.var()))
    return K


def _signed(machine: Any, n: int) -> Array:
    signed = np.zeros(n)
    signed[machine.support_] = np.ravel(machine.dual_coef_)
    return signed
