"""Draw the pictures of the documentation and of the README.

    python docs/make_figures.py

The pictures are committed, so that the documentation builds without drawing. They are the same,
byte for byte, each time they are drawn with the same versions of the packages.
"""

from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from parsimon._style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    figure_style,
    new_axes,
)
from parsimon.pareto import Front

STATIC = Path(__file__).parent / "_static"


def main():
    mpl.use("Agg")
    with figure_style():
        save(front_of_models(), "front")
        save(front_of_models(), "front", dpi=200)
        save(dominance(), "dominance")
        save(knees(), "knees")
        save(dominated_volume(), "hypervolume")
        save(operating_point(), "operating-point")
        save(two_areas(), "areas")
        save(belief_and_truth(), "belief")


def save(ax, name, *, dpi=None):
    """Write an SVG, or with `dpi` a PNG, without a date in it."""
    path = STATIC / f"{name}.{'svg' if dpi is None else 'png'}"
    if dpi is None:
        ax.figure.savefig(path, metadata={"Date": None})
    else:
        ax.figure.savefig(path, dpi=dpi, metadata={"Software": None})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    mpl.pyplot.close(ax.figure)


def front_of_models():
    """The table behind `parsimon front --demo`: all candidates, the front, a knee."""
    models = pd.read_csv(files("parsimon.cli") / "demo_models.csv")
    front = Front(models[["auc", "features"]], ["auc", "features"], maximise=["auc"])
    # The model that ignores the table stretches the scale; the knee is that of the others.
    usable = front.where(features__ge=1)
    knee = int(np.flatnonzero(front.rows == usable.rows[usable.knee()])[0])
    ax = new_axes(figsize=(7.2, 4.4))
    ax.scatter(models["features"], models["auc"], s=16, color=GREY, alpha=0.45, linewidths=0)
    front.plot(ax=ax, chosen=knee)
    ax.set_title("A front instead of a winner: models for pima")
    ax.set_xlabel("columns used (fewer is better)")
    ax.set_ylabel("cross-validated AUC (higher is better)")
    return ax


def dominance():
    """What one point dominates, and which points are left."""
    points = np.array([[1, 8.2], [2, 5], [3.4, 3.6], [6, 2.2], [8.6, 1.2], [4.6, 6.2], [7.2, 4.4]])
    front = Front(points, ["error", "size"])
    ax = new_axes(figsize=(6.4, 4.2))
    corner = front.values[2]
    ax.fill_between([corner[0], 10], corner[1], 10, color=BLUE, alpha=0.14, linewidth=0)
    ax.text(3.7, 9.2, "dominated by the ringed point", color=GREY, ha="left")
    front.plot(ax=ax, chosen=None)
    beaten = points[np.setdiff1d(np.arange(len(points)), front.rows)]
    ax.scatter(*beaten.T, s=30, marker="x", color=GREY, zorder=3)
    ax.scatter(*corner, s=150, facecolor="none", edgecolor=VERMILION, linewidth=2.4, zorder=5)
    ax.set(xlim=(0, 10), ylim=(0, 10), title="Five points are left of seven")
    return ax


def knees():
    """One front on which two methods choose two points."""
    front = knee_example()
    ax = front.plot(chosen=None)
    looks = {"chord": (VERMILION, "o"), "gain": (GREEN, "s")}
    for method, (colour, marker) in looks.items():
        x, y = front.values[front.knee(method)]
        ax.scatter(
            x,
            y,
            s=150,
            marker=marker,
            facecolor="none",
            edgecolor=colour,
            linewidth=2.4,
            zorder=5,
            label=f'knee("{method}")',
        )
    ends = front.values[[0, -1]]
    ax.plot(*ends.T, color=GREY, linestyle=":", linewidth=1.2, label="chord between the ends")
    ax.legend(loc="upper right")
    ax.set_title("Two meanings of a knee")
    return ax


def knee_example():
    """Return a front with two steep steps, a slope and a flat end."""
    size = np.array([1, 2, 3, 4, 5, 6, 8, 11, 15, 20.0])
    error = np.array([42, 32, 23, 20, 17, 15, 13, 12, 11, 10.0])
    return Front(np.column_stack([error, size]), ["error", "size"])


def dominated_volume():
    """The hypervolume of a front of four points."""
    front = Front([[1, 7], [2, 4], [5, 3], [8, 1]], ["error", "size"])
    reference = (9, 8)
    ax = new_axes(figsize=(6.4, 4.2))
    x = [*np.repeat(front.values[:, 0], 2)[1:], reference[0]]
    y = np.repeat(front.values[:, 1], 2)
    ax.fill_between(x, y, reference[1], color=BLUE, alpha=0.18, linewidth=0)
    front.plot(ax=ax, chosen=None)
    ax.scatter(*reference, s=60, color=VERMILION, marker="s", zorder=4)
    ax.annotate("reference", reference, xytext=(-10, 8), textcoords="offset points", ha="right")
    volume = front.hypervolume(reference)
    ax.set(xlim=(0, 10), ylim=(0, 9), title=f"The hypervolume is the shaded area: {volume:g}")
    return ax


def operating_point():
    """The picture of the tutorial about ROC curves."""
    from parsimon.roc import RocDisplay

    y, score = pima_scores()
    display = RocDisplay.from_predictions(
        y, score, pos_label="yes", cost_fp=1, cost_fn=5, prevalence=0.1, name="logistic regression"
    )
    return display.ax_


def pima_scores():
    """Return classes and out-of-fold scores of the training part of pima, as in the tutorial."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from parsimon.datasets import load

    pima = load("pima")
    X, _, y, _ = train_test_split(
        pima.data, pima.target, test_size=0.4, stratify=pima.target, random_state=0
    )
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return y, cross_val_predict(model, X, y, cv=10, method="predict_proba")[:, 1]


def two_areas():
    """One hard classifier: the rectangle it dominates, and the triangle that mixing adds."""
    fpr, tpr = 0.3, 0.7
    ax = new_axes(figsize=(5.4, 5.4))
    ax.fill_between([fpr, 1], tpr, color=BLUE, alpha=0.2, linewidth=0)
    ax.fill_between(
        [0, fpr, fpr, 1], [0, tpr, tpr, 1], [0, 0, tpr, tpr], color=ORANGE, alpha=0.3, linewidth=0
    )
    ax.text(0.65, 0.35, "strict: T (1 - F) = 0.49", ha="center")
    ax.text(0.03, 0.93, "mid: 0.70, with both triangles")
    ax.plot([0, fpr, 1], [0, tpr, 1], color=ORANGE, linestyle="--")
    ax.scatter(fpr, tpr, s=60, color=VERMILION, zorder=4)
    ax.annotate("F 0.3, T 0.7", (fpr, tpr), xytext=(-6, 9), textcoords="offset points", ha="right")
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="False positive rate F",
        ylabel="True positive rate T",
        title="One hard classifier, two areas",
        aspect="equal",
    )
    return ax


def belief_and_truth():
    """What a search over pure noise believes, and what it is worth, for ever more candidates."""
    rng = np.random.default_rng(0)
    counts = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500])
    n_rows, n_repeats = 60, 400
    rates = rng.binomial(n_rows, 0.5, size=(n_repeats, counts.max())) / n_rows
    believed = np.array([rates[:, :count].max(axis=1) for count in counts])
    ax = new_axes(figsize=(6.4, 4.2))
    low, high = np.quantile(believed, [0.05, 0.95], axis=1)
    ax.fill_between(counts, low, high, color=VERMILION, alpha=0.18, linewidth=0)
    ax.plot(counts, believed.mean(axis=1), color=VERMILION, marker="o", label="what it believes")
    ax.axhline(0.5, color=BLUE, label="what it is worth")
    ax.set_xscale("log")
    ax.set_xticks([1, 10, 100, 500], ["1", "10", "100", "500"])
    ax.minorticks_off()
    ax.set(
        xlabel="candidates tried on the same 60 rows",
        ylabel="accuracy of the best one",
        title="The best of many coins",
        ylim=(0.35, 0.8),
    )
    ax.legend(loc="upper left")
    return ax


if __name__ == "__main__":
    main()
