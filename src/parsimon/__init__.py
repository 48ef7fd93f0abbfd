"""Parsimon: an automatic statistician that keeps every useful trade-off.

Start with `parsimon.pareto` (the `Front` that every search returns) and `parsimon.gp` (Gaussian
processes on the kernels of `parsimon.kernels`), then `parsimon.roc`, `parsimon.evaluation` and
`parsimon.datasets`. Nothing heavy is imported here.
"""

__version__ = "0.1.0"
