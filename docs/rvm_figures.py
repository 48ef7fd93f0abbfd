"""The pictures of relevance vector machines; `make_figures.py` saves them."""

import matplotlib.pyplot as plt
import numpy as np

from parsimon._style import BLUE, GREEN, GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon.datasets import load, make_banana
from parsimon.kernels import MultiResolution
from parsimon.rvm import RVC, ParetoRVC

# Points along each side of a picture of borders, which change sign within a hair's breadth.
SHARP = 420


def banana_boundaries():
    """The machine of maximum evidence and a choice from the front, on the same 100 rows."""
    X, y = make_banana(100, random_state=4)
    new = make_banana(5000, random_state=1000)
    dictionary = MultiResolution(0.25)
    search = ParetoRVC(dictionary, max_iter=10_000, stall=None, random_state=0).fit(X, y)
    models = {
        "Maximum evidence": RVC(dictionary).fit(X, y),
        "Chosen from the front": search.best_estimator_,
    }
    with figure_style():
        _, axes = plt.subplots(1, 2, figsize=(10, 5.2), sharey=True, layout="constrained")
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        draw_machine(ax, model, X, y)
        n_vectors = len(model.relevance_)
        ax.set_title(
            f"{title}: {n_vectors} vectors\n"
            f"right in {model.score(X, y):.0%} of these rows, {model.score(*new):.0%} of new ones"
        )
    axes[0].set_ylabel("x2")
    axes[1].legend(loc="lower right")
    return axes


def draw_machine(ax, model, X, y):
    """Draw rows, the border between the classes, and a ring for each function in the model."""
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = (np.linspace(low[i], high[i], SHARP) for i in range(2))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    margin = model.decision_function(grid.reshape(-1, 2)).reshape(SHARP, SHARP) - model.cutoff
    ax.contourf(across, up, margin, levels=[0, np.inf], colors=[VERMILION], alpha=0.13)
    ax.contour(across, up, margin, levels=[0], colors=[GREY], linewidths=1.8)
    for code, (colour, marker) in enumerate([(BLUE, "o"), (VERMILION, "^")]):
        own = X[y == code]
        ax.scatter(*own.T, s=20, color=colour, marker=marker, linewidths=0, label=f"class {code}")
    bumps = model.basis_.functions
    for centre, width in zip(bumps.centres, bumps.widths, strict=True):
        ax.add_patch(plt.Circle(centre, width, fill=False, color=GREEN, linewidth=2.2))
    ax.plot([], [], "o", markerfacecolor="none", color=GREEN, markersize=11, label="vector")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x1", aspect="equal")
    ax.grid(False)


def front_in_three():
    """The front of a search on Pima, in its three objectives: a ROC curve for each size."""
    search = pima_search()
    seen = search.front_.project(["fpr", "complexity", "tpr"])
    chosen = int(np.flatnonzero(seen.rows == search.best_index_)[0])
    ax = seen.plot(kind="3d", chosen=chosen)
    ax.set_title("Pima: every useful trade-off")
    ax.set(xlabel="false positive rate", ylabel="vectors", zlabel="true positive rate")
    ax.set(yticks=[0, 5, 10, 15], zticks=[0, 0.5, 1])
    ax.view_init(elev=20, azim=-62)
    ax.set_box_aspect((1, 1, 0.8), zoom=1.0)
    return ax


def pima_search():
    """Return a search on the first 400 rows of the bundled Pima data."""
    X, y, _, _ = pima_rows()
    return ParetoRVC(gamma="scale", max_iter=5000, random_state=0).fit(X, y)


def pima_rows():
    """Return scaled rows and classes to search on, and others to judge with."""
    data = load("pima_cleaned")
    X, y = data.data.to_numpy(), (data.target == "yes").to_numpy().astype(int)
    X = (X - X[:400].mean(axis=0)) / X[:400].std(axis=0)
    return X[:400], y[:400], X[400:], y[400:]


def bands_by_size():
    """ROC curves on new rows, with bands, of machines of rising size."""
    from parsimon.roc import auc, roc_band, roc_points

    data = load("ripley")
    X, y = data.data.to_numpy(), (data.target == "1").to_numpy().astype(int)
    search = ParetoRVC(gamma=4.0, max_iter=5000, stall=None, random_state=0).fit(X[:250], y[:250])
    new_X, new_y = X[250:], y[250:]
    sizes = (1, 2, 4, 8)
    ax = new_axes(figsize=(5.8, 5.4))
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.2)
    colours = sequential_colours()(np.linspace(0, 1, len(sizes)))
    for size, colour in zip(sizes, colours, strict=True):
        model = search.select(f"accuracy where complexity<={size}")
        score = model.decision_function(new_X)
        band, curve = roc_band(new_y, score), roc_points(new_y, score)
        ax.fill_between(band.fpr, band.lower, band.upper, color=colour, alpha=0.28, linewidth=0)
        n_vectors = len(model.relevance_)
        words = f"{n_vectors} vector{'s' if n_vectors > 1 else ''}, AUC {auc(new_y, score):.2f}"
        ax.plot(curve.fpr, curve.tpr, color=colour, linewidth=2, label=words)
    ax.set(
        xlim=(-0.01, 1),
        ylim=(0, 1.01),
        xlabel="False positive rate",
        ylabel="True positive rate",
        title="What each further vector buys",
        aspect="equal",
    )
    ax.legend(loc="lower right")
    return ax
