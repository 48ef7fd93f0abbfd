"""The root of the archaeal tree: amino acids by Brownian motion, then the growth temperature.

The source reconstructs sequences with mixtures of substitution matrices, which needs an alignment;
here fractions evolve by Brownian motion along the branches, and the regressions of the other
tables predict from them. The root is where the taxonomy database puts it.
"""

from typing import Any

import numpy as np

from benchmarks.reproduce._fearn_archaea import (
    GAUSSIAN_RVM,
    IVYWREL,
    OLS,
    PGLS_NAME,
    PHYRVM,
    RVM,
    TEMPURA,
    archaea,
    models,
)
from benchmarks.reproduce._fearn_tables import LAST_ARCHAEAL_ANCESTOR
from benchmarks.rows import Row
from parsimon.phylo import ancestral_predictions, ancestral_states

# Fractions are given to six digits.
ROUNDING = 1e-5


def rows() -> list[Row]:
    """Return the root's composition, and its temperature by each regression."""
    X, y, tree = archaea(TEMPURA)
    made = composition_rows()
    made.append(_row("temperature itself by Brownian motion", ancestral_states(tree, _named(X, y))))
    every = models(tree)
    for name in (GAUSSIAN_RVM, RVM, OLS, PGLS_NAME, PHYRVM):
        model = every[name].fit(X, y)
        # At the root a residual is zero, so that relatives say nothing: one kind is enough.
        made.append(_row(name, ancestral_predictions(tree, model, X)))
    return made


def composition_rows() -> list[Row]:
    """Return that the root's fractions sum to one, and how they differ from those of today."""
    X, _, tree = archaea(TEMPURA)
    states = ancestral_states(tree, X)
    root, sd = states.mean[0], states.sd[0]
    shift = (root - X.mean().to_numpy()) / X.std().to_numpy()
    order = np.argsort(-np.abs(shift))[:5]
    most = ", ".join(f"{X.columns[j]} {root[j]:.4f} ({shift[j]:+.1f} sd)" for j in order)
    chosen = np.flatnonzero(X.columns.isin(IVYWREL))
    return [
        Row(
            "Root, 20 fractions",
            "distance of their sum from 1; peer: allowed",
            abs(float(root.sum()) - 1.0),
            ROUNDING,
            note=f"least {root.min():.4f}, standard errors up to {sd.max():.4f}; furthest from the "
            f"mean of the tips: {most}",
        ),
        Row(
            "Root, 20 fractions",
            "IVYWREL sum of the root; mean of the tips",
            float(root[chosen].sum()),
            float(X.to_numpy()[:, chosen].sum(axis=1).mean()),
            higher_is_better=True,
        ),
    ]


def _named(X: Any, y: Any) -> dict[str, float]:
    return dict(zip(X.index, y.tolist(), strict=True))


def _row(name: str, states: Any) -> Row:
    low, high = float(states.lower[0, 0]), float(states.upper[0, 0])
    holds = "holds" if low < LAST_ARCHAEAL_ANCESTOR < high else "does not hold"
    return Row(
        f"Root's growth temperature, {name}",
        "degrees; printed for the last archaeal ancestor (4 mixtures or more)",
        float(states.mean[0, 0]),
        LAST_ARCHAEAL_ANCESTOR,
        note=f"95 % interval {low:.1f} to {high:.1f}, which {holds} {LAST_ARCHAEAL_ANCESTOR:.0f}",
    )
