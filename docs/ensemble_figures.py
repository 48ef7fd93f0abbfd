"""The pictures of averages of yes/no rules; `make_figures.py` saves them."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp

from parsimon._style import BLUE, GREEN, GREY, ORANGE, VERMILION
from parsimon.datasets import load
from parsimon.ensembles import ABCClassifier, HardNetwork, SparseEnsemble
from parsimon.roc import auc, roc_points

CENTRES = {0: [[-0.7, 0.3], [0.3, 0.3]], 1: [[-0.3, 0.7], [0.4, 0.7]]}


def ripley():
    """Return Ripley's training and test rows."""
    data = load("ripley")
    X, target = data.data.to_numpy(), data.target.to_numpy()
    y = (target == np.unique(target)[1]).astype(int)
    train = (data.split == "train").to_numpy()
    return X[train], y[train], X[~train], y[~train]


def log_ratio(X):
    """Return the log density ratio of Ripley's classes."""
    logs = [
        logsumexp(-((X[:, None] - np.array(CENTRES[k])) ** 2).sum(axis=2) / 0.06, axis=1)
        for k in (1, 0)
    ]
    return logs[0] - logs[1]


def fitted_average():
    """Return the average of hard networks that the pictures share."""
    X, y, _, _ = ripley()
    return ABCClassifier(HardNetwork(7), calibration=None, random_state=0).fit(X, y)


def walk_of_errors(model):
    """Contours of the hard classifier's area, and how the chains' errors wander."""
    _, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    rates = np.linspace(0, 1, 101)
    area = rates[:, None] * (1 - rates)
    lines = axes[0].contour(rates, rates, area, levels=np.arange(0.1, 1.0, 0.1), colors=GREY)
    axes[0].clabel(lines, fmt="%.1f")
    X, y, _, _ = ripley()
    labels = model.member_labels(X)[::10]
    axes[0].plot(
        labels[:, y == 0].mean(axis=1), labels[:, y == 1].mean(axis=1), ".", color=BLUE, ms=3
    )
    axes[0].set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    for chain, colour in zip(model.errors_[:4], (BLUE, ORANGE, GREEN, VERMILION), strict=True):
        axes[1].plot(1 - chain[:500], color=colour, lw=0.8)
    axes[1].axhline(1 - model.tolerance_, color=GREY, ls="--")
    axes[1].set(xlabel="recorded step", ylabel="training area T (1 - F)")
    return axes


def average_of_rules(model):
    """The average vote over the plane with the best border, and ROC curves on test rows."""
    X, y, new, truth = ripley()
    _, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    grid = np.meshgrid(np.linspace(-1.3, 1.0, 120), np.linspace(-0.3, 1.2, 120))
    points = np.column_stack([part.ravel() for part in grid])
    votes = model.average_vote(points).reshape(120, 120)
    filled = axes[0].contourf(*grid, votes, levels=np.linspace(0, 1, 11), cmap="cividis")
    axes[0].figure.colorbar(filled, ax=axes[0], label="share of rules that say yes")
    best = log_ratio(points).reshape(120, 120)
    axes[0].contour(*grid, best, levels=[0], colors=VERMILION, linewidths=2)
    for code, mark in ((0, "o"), (1, "^")):
        axes[0].plot(*X[y == code].T, mark, ms=3, mfc="white", mec="black", mew=0.5)
    curves = {
        f"one rule of {len(model.samples_)} x {model.samples_.shape[1]}": model.member_labels(new)[
            0
        ],
        "average of all": model.average_vote(new),
        "best possible": log_ratio(new),
    }
    for (name, score), colour in zip(curves.items(), (GREY, BLUE, VERMILION), strict=True):
        fpr, tpr, _ = roc_points(truth, np.asarray(score, dtype=float))
        area = auc(truth, np.asarray(score, dtype=float))
        axes[1].plot(fpr, tpr, color=colour, label=f"{name}, area {area:.3f}")
    axes[1].set(xlabel="false positive rate", ylabel="true positive rate")
    axes[1].legend(loc="lower right")
    return axes


def worth_of_members(model):
    """Test area of pruned ensembles by size, beside random subsets."""
    X, y, new, truth = ripley()
    _, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    said = model.member_labels(new)
    for method, colour in (("consensus", BLUE), ("nonnegative", GREEN), ("performance", ORANGE)):
        found = SparseEnsemble(model, method=method, n_random=0, random_state=0).fit(X, y)
        sizes = found.front_.values[:, 1]
        areas = [auc(truth, found.front_.solution(k).votes(new)) for k in range(len(sizes))]
        axes.plot(sizes, areas, "o-", color=colour, ms=4, label=method)
    rng = np.random.default_rng(0)
    sizes = np.arange(1, 21)
    drawn = np.array([
        [auc(truth, said[rng.choice(len(said), n, replace=False)].mean(axis=0)) for n in sizes]
        for _ in range(50)
    ])  # fmt: skip
    axes.fill_between(sizes, *np.quantile(drawn, [0.1, 0.9], axis=0), color=GREY, alpha=0.3,
                      label="random subsets, 80 %")  # fmt: skip
    axes.axhline(auc(truth, said.mean(axis=0)), color=GREY, ls="--", label="all members")
    axes.set(xlabel="members", ylabel="test area")
    axes.legend()
    return axes
