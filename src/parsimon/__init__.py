"""Parsimon: an automatic statistician that keeps every useful trade-off.

From a table to a page:

- `parsimon.cli`: the command `parsimon`, one module for each subcommand.
- `parsimon.statistician`: `analyse`, from a table to findings and a model; `families` is where a
  new kind of model joins in.
- `parsimon.report`: findings, the sentences about them, pages and figures.

Models, each a scikit-learn estimator; none imports another:

- `parsimon.gp`: Gaussian processes, and the search for a kernel.
- `parsimon.rvm`: relevance vector machines, and fronts of cases caught, false alarms and size.
- `parsimon.svm`: support vector machines: margin against error, indefinite kernels, missing labels.
- `parsimon.bpm`: Bayes point machines, for a batch or a stream, and the clutter problem.
- `parsimon.phylo`: regression, components and ancestors along a tree of species.

What they stand on:

- `parsimon.pareto`: `Front`, which every search returns; archives, searches, the loop they run in.
- `parsimon.inference`: posteriors and evidence as functions of arrays.
- `parsimon.kernels`: similarities that add, multiply and describe themselves.
- `parsimon.evaluation`: honest scores, folds and tests.
- `parsimon.roc`: curves, areas, intervals and costs.
- `parsimon.datasets`: tables and generators.
- `parsimon.linalg` and `parsimon.optimise`: matrix factors, and a minimiser within bounds.

Start with `parsimon.statistician.analyse`, or with `parsimon.pareto.Front`. `parsimon.save_model`
and `parsimon.load_model` keep any fitted estimator in a file. Imports point down, as
`pyproject.toml` lists them. Nothing heavy is imported here.
"""

import importlib
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("load_model", "save_model"):
        return getattr(importlib.import_module("parsimon.statistician.saving"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
