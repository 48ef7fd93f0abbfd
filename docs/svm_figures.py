"""The pictures of support vector machines; `make_figures.py` saves them."""

import matplotlib.pyplot as plt
import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style
from parsimon.datasets import load, make_banana, make_global_and_local
from parsimon.kernels import Epanechnikov, GaussianCombination, Sigmoid
from parsimon.svm import ParetoSVC, TransductiveSVC, kernel_spectrum

# Points along each side of a picture of borders.
SHARP = 300


def overfitting():
    """The front of Ripley's data, and both errors along it."""
    ripley = load("ripley")
    train = (ripley.split == "train").to_numpy()
    X, y = ripley.data[train].to_numpy(), ripley.target[train].to_numpy()
    search = ParetoSVC(gamma=40.0, validation_fraction=0.4, random_state=0).fit(X, y)
    return search.plot_overfitting()


def walk():
    """Five machines along a front: a constant, the diagonal, discs, islands."""
    X, y = make_global_and_local(500, random_state=3)
    search = ParetoSVC(gamma=0.1, random_state=0).fit(X, y)
    return np.array(search.plot_walk(5).axes)


def spectra():
    """Leading and last eigenvalues of three kernels on the same rows."""
    X, _ = make_banana(100, random_state=0)
    kernels = {
        "Epanechnikov": Epanechnikov(width=4.0),
        "Gaussian combination": GaussianCombination(widths=(0.5, 0.5, 4.0)),
        "Sigmoid": Sigmoid(scale=0.5, offset=0.5),
    }
    with figure_style():
        _, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
    for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
        spectrum = kernel_spectrum(kernel.gram(X))
        spectrum.plot(ax, n_shown=20)
        ax.set_title(f"{name}\n{spectrum.negative_mass:.0%} of the mass negative")
    for ax in axes[1:]:
        ax.set_ylabel("")
        ax.get_legend().remove()
    return axes


def moons():
    """The border that seven labels give, and the one that the other rows make possible."""
    from sklearn.datasets import make_moons
    from sklearn.svm import SVC

    X, truth = make_moons(400, noise=0.08, random_state=0)
    known = np.arange(400) < 7
    models = {
        "Seven labels alone": SVC(gamma=5.0).fit(X[known], truth[known]),
        "Seven labels and 393 rows without": TransductiveSVC(gamma=5.0, random_state=0).fit(
            X, np.where(known, truth, -1)
        ),
    }
    with figure_style():
        _, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        draw_border(ax, model, X)
        ax.scatter(*X[~known].T, s=9, color=GREY, linewidths=0, alpha=0.7, label="no label")
        for code, (colour, marker) in enumerate([(BLUE, "o"), (VERMILION, "^")]):
            own = X[known & (truth == code)]
            style = {"color": colour, "marker": marker, "edgecolor": "white", "zorder": 4}
            ax.scatter(*own.T, s=90, label=f"class {code}", **style)
        wrong = float((model.predict(X[~known]) != truth[~known]).mean())
        ax.set_title(f"{title}: {wrong:.1%} wrong")
        ax.set_xlabel("x1")
    axes[0].set_ylabel("x2")
    axes[0].legend(loc="lower left")
    return axes


def draw_border(ax, model, X):
    """Draw where a machine changes its mind, and the street along it."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = (np.linspace(low[i], high[i], SHARP) for i in range(2))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    score = model.decision_function(grid.reshape(-1, 2)).reshape(SHARP, SHARP)
    sides = {"levels": [-np.inf, 0, np.inf], "colors": [BLUE, VERMILION]}
    ax.contourf(across, up, score, **sides, alpha=0.13)
    ax.contour(across, up, score, levels=[0], colors=[GREY], linewidths=2)
    ax.grid(False)
