"""Genes of both halves of a split, by three methods: the jobs of Clark (2011), chapter 4."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.gene_tables import gene_table, halves
from benchmarks.reproduce._clark_front import logistic_weights, search_front
from parsimon._typing import Array, Indices


@dataclass(frozen=True)
class Job:
    """One method on both halves of one split."""

    data: str
    method: str
    split: int


def counted(job: Job) -> dict[str, Any]:
    """Return the genes of both halves, how many each model has, and its AUCs."""
    X, y = gene_table(job.data)
    one, other = halves(y, job.split)
    return {
        "halves": [
            half(job.method, X, y, own, held, job.split)
            for own, held in ((one, other), (other, one))
        ]
    }


def half(
    method: str, X: Array, y: Indices, own: Indices, held: Indices, seed: int
) -> dict[str, Any]:
    """Return the genes of one half, with the AUC of each model there and on the other half."""
    from parsimon.features import FewColumnsClassifier
    from parsimon.roc import auc
    from parsimon.rvm import RVC

    if method == "front":
        return front_half(X, y, own, held, seed)
    if method == "stable":
        model: Any = FewColumnsClassifier().fit(X[own], y[own])
        genes, scores = model.columns_, model.decision_function(X)
    else:
        values = standardised(X, own)
        model = RVC("features").fit(values[own], y[own])
        genes, scores = np.flatnonzero(model.coef_), model.decision_function(values)
    return {
        "genes": [int(gene) for gene in genes],
        "sizes": [len(genes)],
        "train": [auc(y[own], scores[own])],
        "test": [auc(y[held], scores[held])],
    }


def front_half(X: Array, y: Indices, own: Indices, held: Indices, seed: int) -> dict[str, Any]:
    """Return those of the front of algorithm 5; its members are fitted again for the other half."""
    from parsimon.roc import auc

    values = standardised(X, own)
    found = search_front(values[own], y[own].astype(float), np.random.default_rng(seed))
    genes: set[int] = set()
    sizes, train, test = [], [], []
    for columns in (model.columns for model in found):
        genes |= set(columns)
        if not columns:
            continue
        design = np.column_stack([np.ones(len(y)), values[:, columns]])
        weights = logistic_weights(
            design[own], y[own].astype(float), np.full(design.shape[1], 1e-3)
        )
        sizes.append(len(columns))
        train.append(auc(y[own], design[own] @ weights))
        test.append(auc(y[held], design[held] @ weights))
    return {"genes": sorted(genes), "sizes": sizes, "train": train, "test": test}


def standardised(X: Array, own: Indices) -> Array:
    """Return columns scaled by some rows."""
    spread = X[own].std(axis=0)
    found: Array = (X - X[own].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return found
