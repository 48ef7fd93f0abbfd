"""A question from a table and a target with a search that answers it, for tests of all of that."""

from dataclasses import replace

import numpy as np
import pandas as pd

from parsimon.gp import KernelSearch
from parsimon.statistician.families.family import Question
from parsimon.statistician.families.gp._kernel_result import KernelResult
from parsimon.statistician.prepare.recipes import VariableSource, describe_variables


def table(columns):
    return pd.DataFrame(columns, dtype=float)


def result_of(X, y, *, seed=0, rows=None, **options):
    """Return what a search found; it sees `rows` alone if they are given."""
    y = np.asarray(y, dtype=float)
    rows = np.arange(len(y)) if rows is None else rows
    options = {"random_state": 0, "cv": 3} | options
    search = KernelSearch(**options).fit(X.iloc[rows], y[rows])
    question = Question(
        table=X,
        X=X,
        y=y,
        values=y,
        task=search.task_,
        target="outcome",
        positive="yes",
        negative="no",
        rows=np.arange(1, len(y) + 1),
        key="outcome",
        seed=np.random.SeedSequence(seed),
    )
    return KernelResult(question=question, search=search)


def variables_of(result):
    """Return the columns of a question as the variables that they are."""
    X = result.question.X
    kinds = {name: "indicator" if X[name].nunique() == 2 else "number" for name in X}
    sources = [VariableSource(name=name, column=name, kind=kinds[name]) for name in X]
    return describe_variables(X, sources)


def asked(result, **changes):
    """Return the same result of another question."""
    return replace(result, question=replace(result.question, **changes))
