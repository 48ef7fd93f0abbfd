"""A model that answers the whole question of a table: its name, and how it is made for a table."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array
from parsimon.report.findings import Task

if TYPE_CHECKING:
    import pandas as pd

INNER_FOLDS = 5


class Setting(NamedTuple):
    """What an estimator is made for.

    rarest: Rows of the rarest class; all rows for a number.
    names: Of the columns.
    """

    task: Task
    n_rows: int
    n_columns: int
    n_classes: int
    rarest: int
    seed: int
    names: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether a number is asked for."""
        return self.task == "regression"

    @property
    def n_folds(self) -> int:
        """Folds for choosing an option; 0 if there are too few rows."""
        folds = min(INNER_FOLDS, self.rarest, self.n_rows // 2)
        return folds if folds >= 2 else 0

    @classmethod
    def of(cls, X: Any, values: AnyArray, task: Task, seed: np.random.SeedSequence) -> "Setting":
        """Return the setting of a table; X (n, d), values (n,)."""
        counts = [len(values)]
        if task == "classification":
            counts = np.unique(values, return_counts=True)[1].tolist()
        whole = int(seed.generate_state(1)[0])
        n_classes = len(counts) if task == "classification" else 0
        names = tuple(map(str, getattr(X, "columns", ())))
        return cls(task, len(values), X.shape[1], n_classes, min(counts), whole, names)


def _suits(setting: Setting) -> str:
    del setting
    return ""


def _alone(model: Any) -> Mapping[str, Any]:
    del model
    return {}


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A model that answers the whole question of a table.

    name: As a reader has it.
    key: As options have it.
    family: "gp", "rvm", "bpm", "svm"; "rival" for scikit-learn's, "own" for a user's; "guessing".
    words: What it is.
    make: Returns an estimator for a setting.
    most_rows: Beyond that many rows it is fitted to a sample.
    refuses: Says why it cannot answer, in a sentence; empty if it can.
    others: Returns further models of one that is fitted, by name: those of other sizes of a front.
    """

    name: str
    key: str
    family: str
    words: str
    make: Callable[[Setting], Any]
    most_rows: int | None = None
    refuses: Callable[[Setting], str] = _suits
    others: Callable[[Any], Mapping[str, Any]] = _alone

    def fit(
        self, X: "pd.DataFrame", values: AnyArray, task: Task, seed: np.random.SeedSequence
    ) -> Any:
        """Return an estimator fitted to numbers; class codes are whole numbers.

        Shapes: X (n, d), values (n,).
        """
        sampling, making = seed.spawn(2)
        if self.most_rows is not None and len(values) > self.most_rows:
            rows = sampled(values, task, self.most_rows, sampling)
            X, values = X.iloc[rows], values[rows]
        setting = Setting.of(X, values, task, making)
        targets = values.astype(np.intp) if task == "classification" else values
        with warnings.catch_warnings():
            # Of a fit that stopped early the errors tell.
            warnings.simplefilter("ignore")
            return self.make(setting).fit(X, targets)


def sampled(values: AnyArray, task: Task, most: int, seed: np.random.SeedSequence) -> AnyArray:
    """Return places of about `most` rows, in order; classes keep their shares."""
    rng = np.random.default_rng(seed)
    if task == "regression":
        return np.sort(rng.choice(len(values), most, replace=False))
    chosen = []
    for label in np.unique(values):
        places = np.flatnonzero(values == label)
        share = min(len(places), max(2, round(most * len(places) / len(values))))
        chosen.append(rng.choice(places, share, replace=False))
    return np.sort(np.concatenate(chosen))


def class_shares(model: Any, X: "pd.DataFrame", n_classes: int) -> tuple[Array, bool]:
    """Return the probability of each class code, and whether the model gives probabilities.

    What only calls a class is sure of it. Shapes: X (m, d) -> (m, n_classes).
    """
    shares = np.zeros((len(X), n_classes))
    if hasattr(model, "predict_proba"):
        shares[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
        return shares, True
    called = np.asarray(model.predict(X), dtype=np.intp)
    shares[np.arange(len(X)), called] = 1.0
    return shares, False
