"""A first fit to some of the rows, for tables whose kernel matrix is too large to fit often."""

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference import Latent, LatentPosterior, Sites
from parsimon.inference.tilted import probit_tilted


def stratified_rows(y_signs: Array, n_rows: int) -> Indices:
    """Return about `n_rows` rows with the classes in their proportions, always the same ones."""
    order = np.random.default_rng(0).permutation(len(y_signs))
    chosen = []
    for sign in (-1.0, 1.0):
        own = order[y_signs[order] == sign]
        share = max(1, round(n_rows * len(own) / len(y_signs)))
        chosen.append(own[:share])
    return np.sort(np.concatenate(chosen))


def predicted_sites(
    posterior: LatentPosterior, X: Array, y_signs: Array, weights: Array | None
) -> Sites:
    """Return sites for many rows, from a posterior that has seen some of them.

    The prediction at a row stands for its cavity, and its site follows by matching moments.

    Shapes: X (n, d), y_signs (n,), weights (n,).
    """
    cavity: Latent = posterior.latent(X)
    slope, curvature = probit_tilted(cavity, y_signs)
    scale = (1.0 if weights is None else weights) / (1.0 - cavity.variance * curvature)
    return Sites(scale * curvature, scale * (slope + cavity.mean * curvature))
