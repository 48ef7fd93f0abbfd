"""The five tables of Fearn (2021), chapter 4, and their random splits into 60, 10 and 30 %.

Columns are standardised by the training rows. Pima has 767 rows, since the source read the first
as a header; Heart is without the six rows with an empty cell, Ionosphere without its constant
column.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.data_folder import point_to_data
from benchmarks.reproduce._fearn_tables import Figure
from benchmarks.rivals import classify_plainly, turned
from benchmarks.rows import Row
from parsimon._typing import Array, Indices
from parsimon.datasets import load

N_SPLITS, QUICK_SPLITS = 50, 2
# Standard errors of the difference of two means that are allowed, and what rounding leaves; fewer
# splits than the last have no deviation of their own.
STANDARD_ERRORS, ROUNDED, FEWEST = 3.0, 5e-4, 10
TABLES = ("Sonar", "Breast", "Heart", "Ionosphere", "Pima")
_FILES = {
    "Sonar": "sonar",
    "Heart": "heart_cleveland",
    "Ionosphere": "ionosphere",
    "Pima": "pima_uci",
}


class Split(NamedTuple):
    """Standard columns and labels -1 and 1 of the rows to train, to choose and to test on."""

    train: tuple[Array, Array]
    choose: tuple[Array, Array]
    test: tuple[Array, Array]


@cache
def table(name: str) -> tuple[Array, Array]:
    """Return raw columns, shape (n, d), and labels -1 and 1."""
    if name == "Breast":
        bunch = load_breast_cancer()
        return bunch.data, np.where(bunch.target == 1, 1.0, -1.0)
    point_to_data()
    found = load(_FILES[name])
    frame = found.data.drop(columns="num", errors="ignore")
    whole = frame.notna().all(axis=1).to_numpy()
    X, y = frame.to_numpy(dtype=np.float64)[whole], np.asarray(found.target)[whole]
    if name == "Pima":
        X, y = X[1:], y[1:]
    return X[:, np.ptp(X, axis=0) > 0], np.where(y == np.unique(y)[1], 1.0, -1.0)


def split(name: str, seed: int) -> Split:
    """Return one random split of a table."""
    X, y = table(name)
    order = np.random.default_rng([seed, len(X)]).permutation(len(X))
    first, second = round(0.6 * len(X)), round(0.7 * len(X))
    train, choose, test = np.split(order, [first, second])
    centre, unit = X[train].mean(axis=0), X[train].std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)

    def part(rows: Indices) -> tuple[Array, Array]:
        return (X[rows] - centre) / unit, y[rows]

    return Split(part(train), part(choose), part(test))


@cache
def plain_errors(name: str, n_splits: int) -> dict[str, float]:
    """Return shares wrong of a constant, a guess and logistic regression, on the same splits."""
    parts = [split(name, seed) for seed in range(n_splits)]
    return classify_plainly(((*part.train, *part.test) for part in parts), per_cent=False)


def error_row(name: str, case: str, ours: Array, printed: Figure, *, is_described: bool) -> Row:
    """Return the mean of an error over splits; models that the source fully describes have a bar.

    Few splits, of a quick look, have none. `name` is the table.

    Shapes: ours (n_splits,).
    """
    rivals = plain_errors(name, len(ours))
    deviation = float(ours.std(ddof=1)) if len(ours) >= FEWEST else printed.deviation
    standard_error = np.hypot(deviation / len(ours) ** 0.5, printed.deviation / N_SPLITS**0.5)

    def apart(error: float) -> float:
        return max(0.0, abs(error - printed.mean) - ROUNDED) / float(standard_error)

    off = apart(float(ours.mean()))
    if not is_described or len(ours) < FEWEST:
        note = f"sd {deviation:.3f}, printed {printed.deviation}; {off:.1f} standard errors apart"
        figures = float(ours.mean()), printed.mean
        return Row(case, "test error; printed", *figures, note=note, rivals=rivals)
    return Row(
        case,
        "test error, standard errors from the printed; peer: allowed",
        off,
        STANDARD_ERRORS,
        bar=1.0,
        note=f"error {ours.mean():.3f}, sd {deviation:.3f}; printed {printed.mean}, "
        f"sd {printed.deviation}",
        rivals=turned(rivals, apart),
    ).without_empty_bar()
