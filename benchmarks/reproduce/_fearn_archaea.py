"""Growth temperatures of archaea from amino-acid fractions: data, models, folds, one job a fold.

The source has 209 species, its temperatures from a list that may not be passed on, and a tree of
its own. Here are 306 with the temperatures of TEMPURA, and those 205 of them that Engqvist (2018)
lists too, with his temperatures; the tree is that of the genome taxonomy database. Columns are
standardised by the training rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data_folder import point_to_data
from benchmarks.reproduce._fearn_analytic import AnalyticPhyRVM
from benchmarks.reproduce._fearn_tables import MINUS, PLUS
from parsimon._typing import Array, Indices
from parsimon.datasets import load
from parsimon.phylo import PGLS, CladeKFold, PhyRVM, Tree, read_tree
from parsimon.rvm import RVR

if TYPE_CHECKING:
    import pandas as pd

TEMPURA, ENGQVIST = "306 archaea", "205 archaea"
RANDOM, CLADES, CLASSES = "random folds", "clades left out", "clades left out, cut at 0.3"
N_FOLDS, N_PARTITIONS, QUICK_FOLDS = 10, 5, 2
DEPTH = 0.3
# The sum of these is what simple models of thermophily use (Zeldovich et al. 2007).
IVYWREL = ("Ile", "Val", "Tyr", "Trp", "Arg", "Glu", "Leu")
MEAN, DRAWN, LINE, OLS = "mean", "a temperature by lot", "IVYWREL line", "OLS"
RVM, GAUSSIAN_RVM = "RVM", "Gaussian RVM"
PGLS_NAME, PHYRVM, GAUSSIAN = "PGLS", "PhyRVM", "Gaussian PhyRVM"
# With nothing set, where the others have the published prior.
DEFAULTS = "PhyRVM with defaults"
FORMS: dict[str, dict[str, Any]] = {
    f"{name} ({form})": {"sign": sign, "form": form}
    for form in ("5.49", "5.48")
    for name, sign in ((MINUS, "minus"), (PLUS, "plus"))
}
KINDS = ("marginal", "conditional")


@dataclass(frozen=True)
class FoldJob:
    """One fold of one way of dividing one set of species, with or without slow models."""

    data: str
    scheme: str
    fold: int
    gaussian: bool = True

    def __str__(self) -> str:
        return f"{self.data}, {self.scheme}, fold {self.fold + 1}"


@cache
def archaea(name: str) -> "tuple[pd.DataFrame, Array, Tree]":
    """Return fractions with tips as index, temperatures, and the tree of these species."""
    point_to_data()
    table = load("archaea_ogt_aa")
    acids = [column for column in table.data if len(column) == 3 and column.istitle()]
    X, y = table.data[acids].set_index(table.tips.astype(str)), table.target
    if name == ENGQVIST:
        y = table.left_out["ogt_engqvist"]
    known = y.notna().to_numpy()
    X, y = X[known], y[known].to_numpy(dtype=np.float64)
    tree = read_tree(table.tree_path)
    return X, y, tree if known.all() else tree.keep(list(X.index))


def models(tree: Tree, *, gaussian: bool = True) -> dict[str, Any]:
    """Return all regressions by name, not fitted; `gaussian` are the slow ones of kernels."""
    from sklearn.compose import make_column_transformer
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    found = {
        OLS: LinearRegression(),
        RVM: RVR("features"),
        PGLS_NAME: PGLS(tree),
        PHYRVM: PhyRVM(tree, prior="ard"),
        DEFAULTS: PhyRVM(tree),
        **{name: AnalyticPhyRVM(tree, **form) for name, form in FORMS.items()},
    }
    if gaussian:
        found[GAUSSIAN_RVM] = RVR("rbf", gamma="scale")
        found[GAUSSIAN] = PhyRVM(tree, kernel="rbf", prior="ard")
    standardise = StandardScaler().set_output(transform="pandas")
    summed = make_column_transformer((FunctionTransformer(_row_sums), list(IVYWREL)))
    return {
        MEAN: DummyRegressor(),
        LINE: make_pipeline(summed, LinearRegression()),
        **{name: make_pipeline(standardise, model) for name, model in found.items()},
    }


def _row_sums(columns: Any) -> Array:
    sums: Array = np.asarray(columns, dtype=np.float64).sum(axis=1, keepdims=True)
    return sums


def folds(name: str, scheme: str) -> list[tuple[Indices, Indices]]:
    """Return training and test rows: ten folds, the random ones five times."""
    from sklearn.model_selection import RepeatedKFold

    X, _, tree = archaea(name)
    if scheme == RANDOM:
        splitter: Any = RepeatedKFold(n_splits=N_FOLDS, n_repeats=N_PARTITIONS, random_state=0)
    else:
        splitter = CladeKFold(tree, N_FOLDS, depth=DEPTH if scheme == CLASSES else None)
    return list(splitter.split(X))


def jobs(*, quick: bool) -> list[FoldJob]:
    """Return the folds to run; `quick` two of a random partition and of the clades."""
    if quick:
        schemes = (RANDOM, CLADES)
        return [FoldJob(TEMPURA, s, f, gaussian=False) for s in schemes for f in range(QUICK_FOLDS)]
    wanted = [(TEMPURA, RANDOM), (TEMPURA, CLADES), (TEMPURA, CLASSES), (ENGQVIST, RANDOM)]
    wanted.append((ENGQVIST, CLADES))
    counts = {RANDOM: N_FOLDS * N_PARTITIONS, CLADES: N_FOLDS, CLASSES: N_FOLDS}
    return [FoldJob(name, s, fold) for name, s in wanted for fold in range(counts[s])]


def work(job: FoldJob) -> dict[str, Any]:
    """Fit all models to the other folds; return errors and which tests their intervals hold.

    The printed forms of lambda are compared with the source, which has random folds alone.
    """
    X, y, tree = archaea(job.data)
    train, test = folds(job.data, job.scheme)[job.fold]
    drawn = np.random.default_rng(job.fold).choice(y[train], len(test))
    by_lot = {"squares": ((y[test] - drawn) ** 2).tolist(), "inside": None}
    found: dict[str, Any] = {"n_train": len(train), "n_test": len(test), DRAWN: by_lot}
    for name, model in models(tree, gaussian=job.gaussian).items():
        if name in FORMS and job.scheme != RANDOM:
            continue
        model.fit(X.iloc[train], y[train])
        for variant, (mean, sd) in predictions(name, model, X.iloc[test]).items():
            missed = y[test] - mean
            found[variant] = {
                "squares": (missed**2).tolist(),
                "inside": None if sd is None else (np.abs(missed) < 1.96 * sd).tolist(),
            }
    return found


def predictions(name: str, model: Any, X: Any) -> Mapping[str, tuple[Array, Array | None]]:
    """Return means and standard deviations, of both kinds for models with a tree."""
    final = model[-1] if name != MEAN else model
    if isinstance(final, PGLS | PhyRVM):
        return {
            f"{name}, {kind}": model.predict(X, return_std=True, prediction=kind) for kind in KINDS
        }
    if isinstance(final, RVR):
        return {name: model.predict(X, return_std=True)}
    return {name: (model.predict(X), None)}
