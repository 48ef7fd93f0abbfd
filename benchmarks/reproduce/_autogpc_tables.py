"""Tables 5.1, 5.3 and 6.2 of He (2016), as printed."""

from dataclasses import dataclass

from parsimon.kernels import Constant, Kernel, SquaredExponential

SE = SquaredExponential


@dataclass(frozen=True)
class Published:
    """A row of table 6.2: the best one-variable model and the best of all.

    `full_error` is the least of a search, on the very folds that guided it.
    """

    variable: int
    nlml: float
    error: float
    kernel: Kernel
    full_nlml: float
    full_error: float


TABLE_6_2 = {
    "Iris": Published(4, 21.31, 6.00, SE(3), 21.31, 6.00),
    "Pima": Published(1, 308.93, 24.45, SE(0) + SE(2) * SE(3), 280.45, 21.83),
    "BUPA": Published(3, 150.17, 21.74, SE(0) * SE(2) + SE(1) * SE(4), 138.13, 18.84),
    "Wisconsin": Published(2, 96.80, 7.61, (SE(1) + SE(2)) * (SE(3) + SE(4)), 62.52, 2.63),
    "Cleveland": Published(6, 139.92, 25.57, SE(3) * SE(5) + SE(4), 120.95, 22.88),
}
# Kernel, NLML, error, whether the published NLML belongs to all rows.
TABLE_5_1: tuple[tuple[Kernel, float, float, bool], ...] = (
    (SE(0), 381.22, 25.00, True),
    (SE(1), 347.18, 33.71, False),
    (SE(2), 366.12, 33.71, False),
    (Constant(), 373.79, 34.39, False),
    (SE(3), 344.69, 34.54, False),
)
TABLE_5_3: tuple[tuple[Kernel, float, float, bool], ...] = (
    (SE(0) + SE(2) * SE(3), 280.45, 21.83, False),
    (SE(2) * SE(3), 422.79, 30.80, True),
)
