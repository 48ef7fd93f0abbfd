"""Pictures of wide tables: counts against chance, models beside guessing, wrong labels."""

import matplotlib.pyplot as plt
import numpy as np

from parsimon._style import figure_style
from parsimon.features import StableSelector, label_noise


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
