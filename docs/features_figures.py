"""Pictures of wide tables: counts against chance, models beside guessing, wrong labels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit

from parsimon._style import figure_style
from parsimon.features import (
    FewColumnsClassifier,
    ParetoConstructor,
    ParetoSelector,
    StableSelector,
    label_noise,
)
from parsimon.roc import auc, roc_points
from parsimon.rvm import RVC


def planted():
    """Return 60 rows of 1,000 columns, of which four tell the classes."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 1000))
    X[:, [120, 340, 610, 880]] += 1.3 * y[:, None]
    return X, y


def counts_of_columns():
    """Totals, coincidences, and the models of halves beside guessing."""
    X, y = planted()
    selector = StableSelector(n_splits=50, random_state=0).fit(X, y)
    with figure_style():
        _, axes = plt.subplots(1, 3, figsize=(13, 4.0), layout="constrained")
    for ax, kind in zip(axes, ("total", "coincident", "models"), strict=True):
        selector.plot(kind, ax=ax)
    return axes


def wrong_labels():
    """Models of halves after 0, 1, 3 and 5 flipped labels of each class."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], [97, 35])
    X = rng.normal(size=(132, 1)) + 4.0 * y[:, None]
    return label_noise(X, y, n_splits=50, random_state=0).plot()


def models_of_columns():
    """Sizes of fits, models beside guessing, the null, and the two most different splits."""
    X, y = planted()
    with figure_style():
        _, axes = plt.subplots(2, 2, figsize=(9, 8.0), layout="constrained")
    options = {"n_splits": 20, "n_permutations": 0, "random_state": 0}
    machines = StableSelector(RVC("features"), **options).fit(X, y)
    machines.plot("sizes", ax=axes[0, 0])
    machines.plot("models", ax=axes[0, 1])
    StableSelector(**options).fit(X, y).plot("null", ax=axes[1, 0])
    extreme_splits(X, y, axes[1, 1])
    return axes


def extreme_splits(X, y, ax):
    """ROC curves of the halves whose models do best and worst on the other half."""
    splits = StratifiedShuffleSplit(20, test_size=0.5, random_state=0).split(X, y)
    found = []
    for own, held in splits:
        said = FewColumnsClassifier().fit(X[own], y[own]).decision_function(X)
        found.append((auc(y[held], said[held]), own, held, said))
    found.sort(key=lambda one: one[0])
    for (area, own, held, said), word in ((found[-1], "best"), (found[0], "worst")):
        for rows, style in ((own, "--"), (held, "-")):
            points = roc_points(y[rows], said[rows])
            label = f"{word}, {area:.2f} on other rows" if style == "-" else None
            colour = "C0" if word == "best" else "C1"
            ax.step(points.fpr, points.tpr, style, where="post", color=colour, label=label)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.legend(loc="lower right", fontsize=8)


def errors_by_size():
    """Errors along the front of columns of the breast cancer table, and on rows set apart."""
    data = load_breast_cancer(as_frame=True)
    return ParetoSelector(random_state=0).fit(data.data, data.target).plot_optimism()


def features_of_a_formula():
    """Errors of formulas against their nodes, and the features of the one that is chosen."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.uniform(1, 5, 300) for name in ("mass", "speed", "height")})
    energy = 0.5 * table.mass * table.speed**2 + 9.81 * table.mass * table.height
    noisy = energy + 4.0 * rng.normal(size=300)
    search = ParetoConstructor(random_state=0).fit(table, noisy)
    features = search.best_estimator_.features
    with figure_style():
        _, axes = plt.subplots(1, 1 + len(features), figsize=(13, 3.8), layout="constrained")
    frame = search.to_frame().sort_values("complexity")
    axes[0].plot(frame["complexity"], frame["holdout_error"], "o", markersize=4)
    best = search.to_frame().iloc[search.best_index_]
    axes[0].plot(best["complexity"], best["holdout_error"], "o", markersize=12, fillstyle="none")
    axes[0].annotate(
        "chosen",
        (best["complexity"], best["holdout_error"]),
        textcoords="offset points",
        xytext=(8, 8),
    )
    axes[0].set_yscale("log")
    axes[0].set_xlabel("nodes of the formula")
    axes[0].set_ylabel("error on rows held out")
    search.plot_features(axes[1:])
    return axes
