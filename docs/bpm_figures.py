"""The pictures of Bayes point machines; `make_figures.py` saves them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MultipleLocator, PercentFormatter
from sklearn.datasets import load_breast_cancer

from parsimon._style import BLUE, GREEN, GREY, VERMILION, figure_style, new_axes
from parsimon.bpm import AlphaRows, BayesPointClassifier, SupportRows, sparsity_front

# Copies of one row, as in Fearn (2021), figure 4.3.
N_COPIES = 100


def repeated_row():
    """Forty rows in two columns, one of them a hundred times: three fits, three borders."""
    rng = np.random.default_rng(5)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) * [0.9, 1.3] + np.where(y[:, None], [0.9, 0.0], [-0.9, 0.0])
    far = int(np.argmax(np.where(y == 1, X[:, 1] - X[:, 0], -np.inf)))
    rows = np.append(np.arange(40), np.full(N_COPIES - 1, far))
    options = {"noise_sd": 2.0, "standardise": False}
    models = {
        "each row once": BayesPointClassifier(**options).fit(X, y),
        f"one row {N_COPIES} times": BayesPointClassifier(**options).fit(X[rows], y[rows]),
        f"{N_COPIES} times, each to the power 1/{N_COPIES}": BayesPointClassifier(
            weights_for_repeats=True, **options
        ).fit(X[rows], y[rows]),
    }
    with figure_style():
        figure, axes = plt.subplots(1, 3, figsize=(12, 4.8), sharey=True, layout="constrained")
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        draw_chances(ax, model, X, y)
        ax.scatter(*X[far], s=170, facecolors="none", edgecolors=GREEN, linewidths=2.2)
        ax.set_title(title)
    axes[0].set_ylabel("x2")
    axes[0].scatter(
        [], [], s=110, facecolors="none", edgecolors=GREEN, linewidths=2.2, label="repeated row"
    )
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return axes


def draw_chances(ax, model, X, y):
    """Draw rows, the border between the classes, and where a class has 9 chances in 10."""
    low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
    across, up = (np.linspace(low[i], high[i], 200) for i in range(2))
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    chances = model.predict_proba(grid)[:, 1].reshape(200, 200)
    ax.contourf(across, up, chances, levels=[0.5, 1.0], colors=[VERMILION], alpha=0.13)
    ax.contour(across, up, chances, levels=[0.5], colors=[GREY], linewidths=1.8)
    ax.contour(
        across, up, chances, levels=[0.1, 0.9], colors=[GREY], linewidths=1.0, linestyles="dashed"
    )
    for code, (colour, marker) in enumerate([(BLUE, "o"), (VERMILION, "^")]):
        own = X[y == code]
        ax.scatter(*own.T, s=26, color=colour, marker=marker, linewidths=0, label=f"class {code}")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x1", aspect="equal")
    ax.grid(False)


def few_rows():
    """Breast cancer: the error on rows left out against how many of the 569 rows a fit keeps."""
    X, y = load_breast_cancer(return_X_y=True)
    families = {
        "rows that push in gamma-EP": [AlphaRows(t) for t in (1e-4, 1e-3, 1e-2, 3e-2, 0.1)],
        "support vectors": [SupportRows(C) for C in (0.01, 0.1, 1.0, 10.0, 100.0)],
        "all rows": [None],
    }
    looks = [(BLUE, "o"), (VERMILION, "^"), (GREEN, "s")]
    ax = new_axes()
    joined = None
    for (name, rules), (colour, marker) in zip(families.items(), looks, strict=True):
        # A front alone would leave out the rules that another one beats.
        own = [sparsity_front(BayesPointClassifier(), X, y, rules=[rule]) for rule in rules]
        points = np.vstack([one.values for one in own])
        ax.plot(points[:, 1], points[:, 0], marker, color=colour, markersize=8, label=name)
        for one in own:
            joined = one if joined is None else joined.union(one)
    best = joined.values[np.argsort(joined.values[:, 1])]
    ax.step(best[:, 1], best[:, 0], where="post", color=GREY, zorder=0, label="front")
    ax.set(xscale="log", xlabel="rows kept", ylabel="error on rows left out", ylim=(0, None))
    ax.set_xticks([20, 50, 100, 200, 569], [20, 50, 100, 200, 569])
    ax.minorticks_off()
    ax.yaxis.set_major_locator(MultipleLocator(0.05))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.legend()
    return ax
