"""The picture of columns without a target: a front that bends where noise begins."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from parsimon._style import VERMILION, figure_style
from parsimon.features import ClusteringSelector


def fronts_without_a_target():
    """Iris with columns of noise, by information and by Morita's objectives."""
    noise = np.random.default_rng(0).normal(0, 0.8, (150, 6))
    table = np.column_stack((load_iris().data, noise))
    with figure_style():
        _, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    titles = {
        "information": "many columns, clear groups",
        "morita": "few columns, index per column",
    }
    for ax, (objectives, title) in zip(axes, titles.items(), strict=True):
        search = ClusteringSelector(objectives=objectives, random_state=0).fit(table)
        search.front_.plot(chosen=None, ax=ax)
        ax.set_title(title)
        if objectives == "information":
            knee = search.front_.values[search.best_index_]
            ax.plot(*knee, "o", markersize=13, fillstyle="none", color=VERMILION)
            ax.annotate(
                "all of Iris; from here on noise",
                knee,
                textcoords="offset points",
                xytext=(10, -16),
                color=VERMILION,
            )
    return axes
