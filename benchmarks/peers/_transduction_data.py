"""Tables for the comparison of transductive classifiers: toy sets of the source, and real ones."""

import numpy as np

from parsimon._typing import Array, Indices

REAL_SETS = ("crabs", "sonar", "ionosphere", "pima_ripley", "wisconsin")
N_MOONS, N_LABELLED = 400, 7


def moons(seed: int) -> tuple[Array, Indices, Indices]:
    """Return 400 rows of two moons, labels of 7 of them (both classes are there), and all labels.

    The noise is drawn between 0.05 and 0.1 as well.
    """
    from sklearn.datasets import make_moons

    rng = np.random.default_rng(seed)
    X, truth = make_moons(N_MOONS, noise=0.05 + 0.05 * rng.random(), random_state=seed)
    labelled = rng.choice(N_MOONS, N_LABELLED, replace=False)
    while len(set(truth[labelled])) < 2:
        labelled = rng.choice(N_MOONS, N_LABELLED, replace=False)
    return X, hidden(truth, labelled), truth


def four_clusters() -> tuple[Array, Indices, Indices]:
    """Return the source's four points: far apart in y, close in x; two opposite ones have labels.

    The third array is the horizontal split that the source shows.
    """
    X = np.array([[-0.5, -4.0], [0.5, 4.0], [0.5, -4.0], [-0.5, 4.0]])
    return X, np.array([0, 1, -1, -1]), np.array([0, 1, 0, 1])


def three_clusters(seed: int) -> tuple[Array, Indices, Indices]:
    """Return three heaps of 50, the middle one slightly closer to the top; four labels.

    Labels are in the bottom and in the top heap alone. The third array puts the boundary between
    the bottom and the middle heap, where the gap is widest.
    """
    rng = np.random.default_rng(seed)
    heaps = np.repeat([0, 1, 2], 50)
    X = rng.normal(scale=0.5, size=(150, 2)) + np.array([[0, -4.0], [0, 0.5], [0, 4.0]])[heaps]
    split = (heaps > 0).astype(np.intp)
    return X, hidden(split, np.array([0, 1, 100, 101])), split


def real_set(name: str, *, standardised: bool = True) -> tuple[Array, Indices]:
    """Return a bundled table and the codes of its classes.

    Columns of texts become 0 and 1; rows with missing values are left out.
    """
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

    from parsimon.datasets import load

    data = load(name)
    X = pd.get_dummies(pd.DataFrame(data.data), drop_first=True).to_numpy(dtype=np.float64)
    codes = np.unique(np.asarray(data.target), return_inverse=True)[1]
    complete = np.isfinite(X).all(axis=1)
    X, codes = X[complete], codes[complete]
    return (StandardScaler().fit_transform(X) if standardised else X), codes


def drawn_labels(codes: Indices, n_each: int, seed: int) -> Indices:
    """Return the labels with all but `n_each` of each class hidden."""
    rng = np.random.default_rng(seed)
    rows = [
        rng.choice(np.flatnonzero(codes == code), n_each, replace=False)
        for code in np.unique(codes)
    ]
    return hidden(codes, np.concatenate(rows))


def drawn_rows(codes: Indices, n_labels: int, seed: int) -> Indices:
    """Return the labels of rows drawn from all, hidden elsewhere; every class is there."""
    rng = np.random.default_rng(seed)
    classes = set(codes)
    rows = rng.choice(len(codes), n_labels, replace=False)
    while set(codes[rows]) != classes:
        rows = rng.choice(len(codes), n_labels, replace=False)
    return hidden(codes, rows)


def digits() -> tuple[Array, Indices]:
    """Return the first 400 of scikit-learn's handwritten digits from 0 to 3."""
    from sklearn.datasets import load_digits

    X, codes = load_digits(return_X_y=True)
    few = np.flatnonzero(codes < 4)[:400]
    return X[few], codes[few]


def hidden(truth: Indices, labelled: Indices) -> Indices:
    """Return the labels of some rows, and -1 for the others."""
    y = np.full(len(truth), -1)
    y[labelled] = truth[labelled]
    return y
