"""Pictures of series: method trees on a recording, and two features of two kinds of them."""

import matplotlib.pyplot as plt
import numpy as np

from parsimon._style import BLUE, VERMILION, figure_style
from parsimon.datasets import load
from parsimon.features.series import SeriesExtractor, parse_tree, plot_tree

SECONDS = np.arange(1000) / 1000


def recordings():
    """Return eighty recordings of a motor, of which every second has a worn bearing."""
    rng = np.random.default_rng(0)
    return np.array([recording(number % 2, rng) for number in range(80)])


def recording(is_worn, rng):
    """Return a second of a motor, as in the tutorial."""
    speed, phase = rng.uniform(20, 30), rng.random()
    turns = speed * SECONDS + phase
    hum = np.sin(2 * np.pi * turns) + 0.5 * np.sin(4 * np.pi * turns)
    clicks = np.sin(2 * np.pi * 180 * SECONDS) * np.exp(-12 * (turns % 1))
    return hum + is_worn * clicks + 0.5 * rng.normal(size=1000)


def tree_of_windows():
    """The example of the source, on a worn bearing."""
    text = "exponential_smoothing > windows(0.1, 2){spectrum > place_of_maximum} > mean"
    return plot_tree(parse_tree(text), recordings()[1])


def tree_of_steps():
    """A chain without windows, on 80 days of the S&P 500."""
    days = load("sp500_windows").data.to_numpy(dtype=float)[30]
    return plot_tree(parse_tree("difference(0.0625) > interval(0.5, 1) > gradient"), days)


def two_kinds():
    """A recording of each kind, and all of them by the first two features."""
    X, y, kinds = recordings(), np.arange(80) % 2, ("sound", "worn")
    search = SeriesExtractor(max_features=2, random_state=0).fit(X[:40], y[:40])
    values = search.transform(X)
    with figure_style():
        figure = plt.figure(figsize=(10.5, 4.2), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1, 1))
        for kind, name in enumerate(kinds):
            ax = figure.add_subplot(grid[kind, 0])
            ax.plot(SECONDS, X[kind], linewidth=0.7, color=(BLUE, VERMILION)[kind])
            ax.set_title(name)
        ax.set_xlabel("seconds")
        ax = figure.add_subplot(grid[:, 1])
        for kind, name in enumerate(kinds):
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
