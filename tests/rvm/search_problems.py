"""Small problems and plain loops that the tests of the search compare with."""

import numpy as np

from parsimon.rvm._problem import RelevanceProblem


def small_problem(n=8, seed=0, **options):
    """Return a problem with a bias and three bumps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    labels = np.tile([0.0, 1.0], n)[:n]
    rng.shuffle(labels)
    design = np.hstack([np.ones((n, 1)), np.exp(-((x - x[:3].T) ** 2))])
    return RelevanceProblem(design, labels, has_bias=True, inputs=x, **options)


def bumps(X, y, *widths):
    """Return the problem of bumps of several widths at every row, and a bias."""
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    columns = [np.exp(-squares / width**2) for width in widths]
    design = np.hstack([np.ones((len(X), 1)), *columns])
    return RelevanceProblem(design, y.astype(float), has_bias=True, inputs=X)


def banana(n, seed=0):
    """Return two classes, one bent round the other."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    X = np.where(
        y[:, None] > 0,
        np.column_stack([np.cos(angle), np.sin(angle)]),
        np.column_stack([1 - np.cos(angle), 0.4 - np.sin(angle)]),
    )
    return X + rng.normal(scale=0.35, size=X.shape), y


def rates(positive, labels):
    """Return true and false positive rate of a prediction."""
    return positive[labels > 0].mean(), positive[labels == 0].mean()


def digits(values):
    """Return rows of (tpr, fpr, complexity) as tuples of numbers with ten digits."""
    return [tuple(float(f"{value:.10g}") for value in row) for row in np.asarray(values)]


def best_of(values):
    """Return the distinct non-dominated rows of (tpr, fpr, complexity), sorted, by a plain loop."""
    rows = set(digits(values))

    def beats(a, b):
        return a != b and a[0] >= b[0] and a[1] <= b[1] and a[2] <= b[2]

    return sorted(row for row in rows if not any(beats(other, row) for other in rows))
