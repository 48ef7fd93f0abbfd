"""Small transductive problems and the toy sets of the source."""

from itertools import product

import numpy as np
from sklearn.svm import SVC

from parsimon.svm._transductive_problem import TransductiveProblem


def random_problem(seed, *, n_unlabelled, kernel="rbf", gamma=1.0, C=1.0, C_unlabelled=1.0):
    """Return a problem with a few labelled rows, and any class ratio that a seed gives."""
    rng = np.random.default_rng(seed)
    n_labelled = int(rng.integers(2, 6))
    n = n_labelled + n_unlabelled
    X = rng.normal(size=(n, 2))
    known = np.zeros(n)
    known[:n_labelled] = rng.choice([-1.0, 1.0], n_labelled)
    known[:2] = -1.0, 1.0
    order = rng.permutation(n)
    X, known = X[order], known[order]
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    matrix = np.exp(-gamma * distances) if kernel == "rbf" else X @ X.T
    fewest, most = sorted(int(count) for count in rng.integers(0, n_unlabelled + 1, 2))
    return TransductiveProblem(matrix, known, np.where(known == 0, C_unlabelled, C), fewest, most)


def inner_maximum(problem, labels):
    """Return the optimum of one labelling by scikit-learn alone."""
    signs = problem.known.copy()
    signs[problem.known == 0] = labels
    if len(set(signs)) == 1:
        return 0.0
    # Millions of steps where the kernel has few dimensions, and half of them without shrinking.
    machine = SVC(kernel="precomputed", tol=1e-8, shrinking=False)
    machine.fit(problem.kernel, signs, sample_weight=problem.upper)
    signed = machine.dual_coef_[0]
    part = problem.kernel[np.ix_(machine.support_, machine.support_)]
    return float(np.abs(signed).sum() - 0.5 * signed @ part @ signed)


def all_labellings(problem):
    """Return every labelling that keeps the class ratio."""
    every = (np.array(labels) for labels in product((-1.0, 1.0), repeat=problem.n_unlabelled))
    return [labels for labels in every if problem.fewest <= (labels > 0).sum() <= problem.most]


def four_clusters():
    """Return the source's four points, its labels, and the split that it shows."""
    X = np.array([[-0.5, -4.0], [0.5, 4.0], [0.5, -4.0], [-0.5, 4.0]])
    return X, np.array([0, 1, -1, -1]), np.array([0, 1, 0, 1])


def three_clusters(seed=0):
    """Return 150 points in three heaps, labels in the top and the bottom one, and the heaps."""
    rng = np.random.default_rng(seed)
    heaps = np.repeat([0, 1, 2], 50)
    # Bottom, middle (slightly closer to the top), top.
    X = rng.normal(scale=0.5, size=(150, 2)) + np.array([[0, -4.0], [0, 0.5], [0, 4.0]])[heaps]
    y = np.full(150, -1)
    y[[0, 1]], y[[100, 101]] = 0, 1
    return X, y, heaps
