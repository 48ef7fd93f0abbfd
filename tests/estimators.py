"""Every public estimator with a table for it, small enough to be fitted many times."""

import numpy as np
import pandas as pd

from parsimon.bpm import BayesPointClassifier, ClutterMean, DivergenceMKL
from parsimon.ensembles import ABCClassifier, ChainOptions, HardTree, SparseEnsemble
from parsimon.features import (
    CaseBase,
    ClusteringSelector,
    ColumnMaxima,
    ColumnSubset,
    FeatureAggregator,
    FeatureTransfer,
    FewColumnsClassifier,
    ParetoConstructor,
    ParetoSelector,
    StableSelector,
    describe_task,
)
from parsimon.features.series import SeriesExtractor
from parsimon.gp import GPClassifier, GPRegressor, KernelSearch, SparseGPClassifier
from parsimon.kernels import SquaredExponential as SE
from parsimon.phylo import P3CA, PGLS, PhyloPCA, PhyRVM, yule_tree
from parsimon.rvm import RVC, RVR, ParetoRVC
from parsimon.svm import (
    EvolutionarySVC,
    EvolutionarySVR,
    ParetoSVC,
    ParetoTransductiveSVC,
    TransductiveSVC,
)

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(40, 3)), RNG.normal(size=(15, 3))
NUMBER = X[:, 0] ** 2 + 0.1 * RNG.normal(size=40)
TWO = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 0, "high", "low")
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=40), [-0.5, 0.5])
SOME = np.where(np.arange(40) % 3, -1, TWO == "high")
TREE = yule_tree(40, random_state=0)

EARLIER = CaseBase()
EARLIER.add(describe_task(X, NUMBER, formulas=["x0^2"]))

CASES = {
    "FewColumnsClassifier": (FewColumnsClassifier(2), TWO),
    "FewColumnsClassifier of three classes": (FewColumnsClassifier(2), THREE),
    "ClusteringSelector": (ClusteringSelector(2, n_init=8, random_state=0), None),
    "ClusteringSelector by mixtures": (
        ClusteringSelector([2, 3], clusterer="gaussian mixture", n_init=8, random_state=0),
        None,
    ),
    "ClusteringSelector by links": (
        ClusteringSelector(2, clusterer="single link", random_state=0),
        None,
    ),
    "ColumnMaxima": (ColumnMaxima([[0, 2], [1]]), None),
    "ColumnSubset": (ColumnSubset([0, 2]), None),
    "FeatureAggregator": (FeatureAggregator(2, n_init=8, random_state=0), None),
    "ParetoConstructor": (ParetoConstructor(max_iter=2, random_state=0), TWO),
    "ParetoConstructor of a number": (
        ParetoConstructor(max_iter=2, random_state=0),
        NUMBER,
    ),
    "FeatureTransfer": (FeatureTransfer(constructor=False), TWO),
    "FeatureTransfer of a number": (FeatureTransfer(EARLIER, constructor=False), NUMBER),
    "ParetoSelector": (ParetoSelector(cv=3, random_state=0), TWO),
    "ParetoSelector of three classes": (ParetoSelector(cv=3, random_state=0), THREE),
    "ParetoSelector of a number": (ParetoSelector(cv=3, random_state=0), NUMBER),
    "SeriesExtractor": (SeriesExtractor(max_iter=1, random_state=0), TWO),
    "SeriesExtractor of a number": (SeriesExtractor(max_iter=1, random_state=0), NUMBER),
    "StableSelector": (StableSelector(n_splits=5, n_permutations=1, random_state=0), TWO),
    "StableSelector of a number": (StableSelector(n_splits=5, random_state=0), NUMBER),
    "GPClassifier": (GPClassifier(SE(0), n_restarts=0), TWO),
    "GPClassifier of three classes": (GPClassifier(SE(0), n_restarts=0), THREE),
    "softmax": (GPClassifier(SE(0), multi_class="softmax", n_restarts=0, max_iter=5), THREE),
    "GPRegressor": (GPRegressor(SE(0), n_restarts=0), NUMBER),
    "SparseGPClassifier": (
        SparseGPClassifier(SE(0), n_inducing=6, max_iter=3, random_state=0),
        TWO,
    ),
    "KernelSearch": (KernelSearch(depth=1, cv=2, random_state=0), TWO),
    "KernelSearch of a number": (KernelSearch(depth=1, cv=2, random_state=0), NUMBER),
    "BayesPointClassifier": (BayesPointClassifier(), TWO),
    "BayesPointClassifier of a kernel": (BayesPointClassifier("rbf"), THREE),
    "BayesPointClassifier of a stream": (BayesPointClassifier(inference="adf"), THREE),
    "RVC": (RVC(), TWO),
    "RVC of three classes": (RVC(gamma=0.3), THREE),
    "multinomial RVC": (RVC(multi_class="multinomial", gamma=0.3), THREE),
    "RVR": (RVR(), NUMBER),
    "ParetoRVC": (ParetoRVC(cv=2, max_iter=3, random_state=0), TWO),
    "EvolutionarySVC": (EvolutionarySVC(probability=True, random_state=0), TWO),
    "EvolutionarySVR": (EvolutionarySVR(random_state=0), NUMBER),
    "ParetoSVC": (ParetoSVC(n_points=8, max_iter=1, random_state=0), TWO),
    "TransductiveSVC": (TransductiveSVC(max_iter=2, random_state=0), SOME),
    "ParetoTransductiveSVC": (
        ParetoTransductiveSVC(population_size=8, max_iter=2, random_state=0),
        SOME,
    ),
    "ABCClassifier": (
        ABCClassifier(
            chains=ChainOptions(n_chains=4, n_samples=40, patience=200),
            calibration=2,
            random_state=0,
        ),
        TWO,
    ),
    "ABCClassifier of a tree": (
        ABCClassifier(
            HardTree(2),
            chains=ChainOptions(n_chains=4, n_samples=40),
            calibration=None,
            random_state=0,
        ),
        TWO,
    ),
    "SparseEnsemble": (SparseEnsemble(random_state=0), TWO),
    "DivergenceMKL": (DivergenceMKL(), TWO),
    "ClutterMean": (ClutterMean(), None),
    "PGLS": (PGLS(TREE), NUMBER),
    "PhyRVM": (PhyRVM(TREE), NUMBER),
    "P3CA": (P3CA(TREE, n_components=2), None),
    "PhyloPCA": (PhyloPCA(TREE, n_components=2), None),
}
OF_A_TREE = (PGLS, PhyRVM, P3CA, PhyloPCA)


def rows_for(model, rows):
    """Return rows as they are, or with the tips that a model of a tree needs."""
    is_of_tree = isinstance(model, OF_A_TREE)
    return pd.DataFrame(rows, index=TREE.tip_names[: len(rows)]) if is_of_tree else rows
