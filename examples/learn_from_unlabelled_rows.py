"""Learn from rows without a label: seven labels, 193 rows without.

Look at the share that each machine gets wrong: on the two moons the rows without a
label draw the border. On the irises classes touch, and there is less to gain. So ask,
as here, on rows whose labels you know and hide, and over several draws: one draw of ten
labels says little.
"""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from parsimon.datasets import load
from parsimon.svm import TransductiveSVC


def main() -> None:
    X, truth = make_moons(200, noise=0.05, random_state=0)
    report("two moons, 7 labels", [errors(X, truth, np.arange(7), gamma=5.0)])

    iris = load("iris")
    touching = iris.target != "setosa"
    X, truth = iris.data[touching].to_numpy(), (iris.target[touching] == "virginica").to_numpy()
    draws = [np.random.default_rng(seed).permutation(len(X))[:10] for seed in range(10)]
    report("two irises, 10 labels, 10 draws", [errors(X, truth, known) for known in draws])


def errors(
    X: np.ndarray, truth: np.ndarray, known: np.ndarray, **options: float
) -> tuple[float, float]:
    """Return the errors on hidden labels, of a plain machine and of one that sees all."""
    hidden = np.setdiff1d(np.arange(len(X)), known)
    y = truth.astype(int)
    plain = SVC(**options).fit(X[known], y[known])
    y[hidden] = -1  # as in scikit-learn's semi_supervised
    model = TransductiveSVC(random_state=0, **options).fit(X, y)
    found = model.transduction_  # a label for every row; `predict` takes new ones
    return np.mean(plain.predict(X[hidden]) != truth[hidden]), np.mean(
        found[hidden] != truth[hidden]
    )


def report(name: str, pairs: list[tuple[float, float]]) -> None:
    plain, all_rows = np.mean(pairs, axis=0)
    print(f"{name}: wrong in {plain:.0%} by the labels alone, in {all_rows:.0%} by all rows")


if __name__ == "__main__":
    main()
