"""Anderson's acceleration of a fixed-point iteration."""

import numpy as np

from parsimon._typing import Array


class Anderson:
    """Proposes the next point of a fixed-point iteration from the last few.

    The proposal is the combination of the last points whose residual, target minus point, is
    smallest in the given scale [1]. The first step is a plain one.

    memory: How many differences are kept.

    [1] Walker and Ni (2011), SIAM J. Numer. Anal. 49:1715-1735.
    """

    def __init__(self, memory: int = 5) -> None:
        self.memory = memory
        self._points: list[Array] = []
        self._residuals: list[Array] = []

    def step(self, point: Array, target: Array, scale: Array) -> Array:
        """Return the next point; `target` is where a plain step from `point` would go."""
        residual = target - point
        self._points = [*self._points[-self.memory :], point]
        self._residuals = [*self._residuals[-self.memory :], residual]
        if len(self._points) == 1:
            return target
        moves = np.diff(np.stack(self._points, axis=1), axis=1)
        changes = np.diff(np.stack(self._residuals, axis=1), axis=1)
        scaled = changes * scale[:, None]
        mixing = np.linalg.lstsq(scaled, residual * scale, rcond=1e-10)[0]
        accelerated: Array = target - (moves + changes) @ mixing
        return accelerated
