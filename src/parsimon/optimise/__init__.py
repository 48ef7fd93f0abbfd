"""One bounded minimiser with restarts, for every model that fits hyperparameters.

`minimise` runs L-BFGS-B from a given start and from random ones inside the bounds, or Newton-like
steps where the curvature is known. A single evaluation that fails (a matrix that cannot be
factorised, a NaN) is a step too far, not the end.
"""

from parsimon.optimise.descent import Minimum, Objective, minimise, random_starts

__all__ = ["Minimum", "Objective", "minimise", "random_starts"]
