"""A subject from a table and a target, for tests of everything that is made from one."""

import numpy as np
import pandas as pd

from parsimon.gp import KernelSearch
from parsimon.statistician.subject import Subject


def table(columns):
    return pd.DataFrame(columns, dtype=float)


def subject_of(X, y, *, seed=0, rows=None, **options):
    """Return the subject; the search sees `rows` alone if they are given."""
    y = np.asarray(y, dtype=float)
    rows = np.arange(len(y)) if rows is None else rows
    options = {"random_state": 0, "cv": 3} | options
    search = KernelSearch(**options).fit(X.iloc[rows], y[rows])
    return Subject(
        X=X,
        y=y,
        task=search.task_,
        target="outcome",
        positive="yes",
        negative="no",
        search=search,
        model=search.best_estimator_,
        table=X,
        rows=np.arange(1, len(y) + 1),
        key="outcome",
        seed=np.random.SeedSequence(seed),
    )
