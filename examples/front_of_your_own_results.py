"""A front of your own results: from a table of candidates, or from a search of your own.

Look at how few candidates are left, and at what the search over sets of columns adds to
them. The areas guided that search, so compare them only with each other: docs/how-
to/search.md measures such a search honestly.
"""

import numpy as np
import pandas as pd
from sklearn.feature_selection import f_classif
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from parsimon.datasets import load
from parsimon.pareto import Bits, Front, choose, nsga2
from parsimon.roc import auc


def main() -> None:
    sonar = load("sonar")
    X, y = sonar.data.to_numpy(), sonar.target.to_numpy()
    names = ["auc", "columns"]

    def measure(columns: np.ndarray) -> tuple[float, int]:
        if not columns.any():
            return 0.5, 0
        score = cross_val_predict(GaussianNB(), X[:, columns], y, cv=5, method="predict_proba")
        return auc(y, score[:, 1]), int(columns.sum())

    # Results that you have already: the 1 to 30 columns that are best alone.
    place = np.argsort(np.argsort(-f_classif(X, y)[0]))
    results = pd.DataFrame([measure(place < k) for k in range(1, 31)], columns=names)
    front = Front(results, names, maximise=["auc"])
    print(f"{len(results)} candidates, of which these are left:\n{front.to_frame().round(3)}")

    # Let a search choose the columns: one bit for each column.
    def measure_all(chosen: np.ndarray) -> list[tuple[float, int]]:
        return [measure(columns) for columns in chosen]

    options = {"population_size": 16, "max_iter": 12, "random_state": 0}
    found = nsga2(measure_all, Bits(60, share=0.1), names=names, maximise=["auc"], **options)
    both = front.union(found.front)
    print(f"\nWith {found.n_evaluations} candidates of the search:\n{both.to_frame().round(3)}")
    for rule in ("knee", "best:auc"):
        print(f"{rule}: {both[choose(both, rule)]}")
    both.plot(chosen=both.knee()).figure.savefig("sonar-front.svg")


if __name__ == "__main__":
    main()
