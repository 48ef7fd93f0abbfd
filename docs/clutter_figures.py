"""The picture of the clutter problem; `make_figures.py` saves it."""

import matplotlib.pyplot as plt
import numpy as np

from parsimon._style import BLUE, GREY, ORANGE, VERMILION, figure_style
from parsimon.bpm import ClutterMean, exact_clutter
from parsimon.datasets import make_clutter

# Samples with one mode and with two: rows, share of clutter, seed.
SAMPLES = ((20, 0.5, 2), (20, 0.7, 30))
ORDERS = 5


def clutter_posteriors():
    """Exact posteriors of two samples, and the Gaussians of one pass, of EP and restricted."""
    with figure_style():
        _, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for ax, (n, weight, seed) in zip(axes, SAMPLES, strict=True):
        X, is_clutter = make_clutter(n, weight=weight, random_state=seed)
        draw(ax, X, is_clutter == 1, weight)
    axes[0].set_title("One mode: one Gaussian is enough")
    axes[1].set_title("Two modes: one Gaussian is not")
    axes[0].set_ylabel("posterior density")
    axes[0].legend(loc="upper left")
    return axes


def draw(ax, X, is_clutter, weight):
    """Draw the exact posterior, three approximations, and the rows as ticks below."""
    theta = np.linspace(-5.0, 6.0, 700)
    exact = np.exp(exact_clutter(X, weight).log_density(theta[:, None]))
    ax.fill_between(theta, exact, color=GREY, alpha=0.35, linewidth=0, label="exact")
    for seed in range(ORDERS):
        model = ClutterMean(weight, inference="adf", order="random", random_state=seed).fit(X)
        label = f"one pass, {ORDERS} orders" if seed == 0 else None
        ax.plot(theta, gaussian(theta, model), color=ORANGE, linewidth=1.0, label=label)
    restricted = ClutterMean(weight, restrict="negative").fit(X)
    ax.plot(theta, gaussian(theta, restricted), color=BLUE, linestyle="--", label="restricted")
    model = ClutterMean(weight).fit(X)
    ax.plot(theta, gaussian(theta, model), color=VERMILION, linewidth=2.4, label="EP")
    top = 1.35 * exact.max()
    for rows, colour in ((X[~is_clutter], BLUE), (X[is_clutter], GREY)):
        ax.plot(rows[:, 0], np.full(len(rows), -0.03 * top), "|", color=colour, markersize=9)
    ax.axvline(2.0, color=GREY, linewidth=1.0, linestyle=":")
    ax.set(xlim=(theta[0], theta[-1]), ylim=(-0.06 * top, top), xlabel="mean of the signal, θ")


def gaussian(theta, model):
    """Return the density of the approximation."""
    scaled = (theta - model.mean_[0]) ** 2 / model.variance_
    return np.exp(-0.5 * scaled) / np.sqrt(2 * np.pi * model.variance_)
