"""Pictures of series: method trees on a piece of music, and two features of two kinds of it."""

import matplotlib.pyplot as plt
import numpy as np

from parsimon._style import BLUE, VERMILION, figure_style
from parsimon.datasets import load, make_genres
from parsimon.features.series import SeriesExtractor, parse_tree, plot_tree

GENRES = ("classic", "pop")


def tree_of_windows():
    """The example of the source, on a piece of synthetic music."""
    X, _ = make_genres(1, genres=["techno"], seconds=0.4, rate=1000, random_state=3)
    text = "exponential_smoothing > windows(0.1, 2){spectrum > place_of_maximum} > mean"
    return plot_tree(parse_tree(text), X[0])


def tree_of_steps():
    """A chain without windows, on 80 days of the S&P 500."""
    days = load("sp500_windows").data.to_numpy(dtype=float)[30]
    return plot_tree(parse_tree("difference(0.0625) > interval(0.5, 1) > gradient"), days)


def two_kinds():
    """A piece of each kind, and all pieces by the first two features."""
    X, y = make_genres(80, genres=GENRES, seconds=1.0, rate=1000, random_state=0)
    search = SeriesExtractor(max_features=2, random_state=0).fit(X[:40], y[:40])
    values = search.transform(X)
    with figure_style():
        figure = plt.figure(figsize=(10.5, 4.2), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1, 1))
        for kind, name in enumerate(GENRES):
            ax = figure.add_subplot(grid[kind, 0])
            ax.plot(np.arange(1000) / 1000, X[kind], linewidth=0.7, color=(BLUE, VERMILION)[kind])
            ax.set_title(name)
        ax.set_xlabel("seconds")
        ax = figure.add_subplot(grid[:, 1])
        for kind, name in enumerate(GENRES):
            for part, fill in ((slice(0, 40), "full"), (slice(40, 80), "none")):
                own = values[part][y[part] == kind]
                label = f"{name}, {'searched with' if fill == 'full' else 'new'}"
                ax.plot(
                    *own.T, "o", color=(BLUE, VERMILION)[kind], fillstyle=fill, ms=6, label=label
                )
        names = [words.replace(" of the series", "") for words in search.get_feature_names_out()]
        ax.set_xlabel(wrapped(names[0]))
        ax.set_ylabel(wrapped(names[1]))
        ax.legend(fontsize=9)
    return ax


def wrapped(text):
    """Return a text in lines of at most 45 letters."""
    from textwrap import fill

    return fill(text, 45)
