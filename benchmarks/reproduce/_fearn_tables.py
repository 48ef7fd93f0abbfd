"""What Fearn (2021), chapter 5, prints.

A figure of tables 5.1 and 5.2 is a mean over ten trees with its standard deviation.
"""

from typing import NamedTuple


class Figure(NamedTuple):
    """A mean and its standard deviation."""

    mean: float
    deviation: float


class Simulated(NamedTuple):
    """One cell of tables 5.1 and 5.2; the printed PGLS has no evidence."""

    share: Figure
    evidence: Figure | None
    error: Figure


TRUE_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def _cells(
    shares: tuple[tuple[float, float], ...],
    evidences: tuple[tuple[float, float], ...] | None,
    errors: tuple[tuple[float, float], ...],
) -> tuple[Simulated, ...]:
    logs = (None,) * len(shares) if evidences is None else tuple(Figure(*one) for one in evidences)
    return tuple(
        Simulated(Figure(*share), log, Figure(*error))
        for share, log, error in zip(shares, logs, errors, strict=True)
    )


MINUS, PLUS, LEAST_SQUARES = "PhyRVM-", "PhyRVM+", "PGLS"
SIMULATION = {
    MINUS: _cells(
        (
            (0.598, 0.089),
            (0.362, 0.276),
            (0.425, 0.259),
            (0.679, 0.442),
            (0.537, 0.208),
            (0.663, 0.137),
            (0.560, 0.246),
            (0.715, 0.143),
            (0.665, 0.164),
            (0.859, 0.190),
        ),
        (
            (-428, 18.9),
            (-429, 19.3),
            (-424, 20.2),
            (-417, 20.2),
            (-411, 21.5),
            (-404, 16.6),
            (-396, 15.5),
            (-380, 14.1),
            (-359, 16.5),
            (-343, 14.0),
        ),
        (
            (2.14, 0.192),
            (2.13, 0.248),
            (2.12, 0.282),
            (2.11, 0.318),
            (2.09, 0.340),
            (2.08, 0.371),
            (2.04, 0.404),
            (2.03, 0.411),
            (1.98, 0.421),
            (1.95, 0.416),
        ),
    ),
    PLUS: _cells(
        (
            (0.057, 0.009),
            (0.033, 0.029),
            (0.048, 0.015),
            (0.047, 0.018),
            (0.051, 0.015),
            (0.051, 0.011),
            (0.051, 0.011),
            (0.046, 0.015),
            (0.052, 0.007),
            (0.049, 0.008),
        ),
        (
            (-428, 18.9),
            (-430, 21.0),
            (-428, 24.3),
            (-424, 24.9),
            (-418, 28.4),
            (-414, 25.8),
            (-408, 26.5),
            (-396, 26.7),
            (-388, 23.9),
            (-372, 23.8),
        ),
        (
            (2.14, 0.192),
            (2.13, 0.247),
            (2.11, 0.273),
            (2.09, 0.294),
            (2.06, 0.310),
            (2.03, 0.319),
            (1.97, 0.311),
            (1.92, 0.318),
            (1.85, 0.301),
            (1.76, 0.263),
        ),
    ),
    LEAST_SQUARES: _cells(
        (
            (0.500, 0.0),
            (0.501, 0.506),
            (0.706, 0.367),
            (0.762, 0.339),
            (0.821, 0.241),
            (0.867, 0.176),
            (0.902, 0.135),
            (0.930, 0.102),
            (0.955, 0.068),
            (0.977, 0.032),
        ),
        None,
        (
            (2.13, 0.192),
            (2.12, 0.252),
            (2.12, 0.286),
            (2.11, 0.317),
            (2.10, 0.348),
            (2.09, 0.378),
            (2.08, 0.407),
            (2.07, 0.436),
            (2.05, 0.464),
            (2.04, 0.488),
        ),
    ),
}


class Archaeal(NamedTuple):
    """One column of table 5.3; None where it has NA."""

    share: float
    evidence: float | None
    error: float
    test_error: Figure


N_SPECIES = 209
ARCHAEA = {
    MINUS: Archaeal(0.056, -671.4, 5.41, Figure(5.97, 1.03)),
    PLUS: Archaeal(-0.004, -685.3, 5.38, Figure(5.81, 1.11)),
    "RVM": Archaeal(0.0, -691.6, 5.25, Figure(5.77, 1.19)),
    LEAST_SQUARES: Archaeal(0.653, None, 6.73, Figure(6.84, 1.41)),
    "OLS": Archaeal(0.0, None, 5.21, Figure(5.68, 1.15)),
}
# Table 5.4, 213 archaea: the line on the IVYWREL sum.
IVYWREL_LINE = Figure(7.60, 1.33)
# Degrees, from 4 mixtures of substitution matrices on (section 5.4).
LAST_ARCHAEAL_ANCESTOR = 55.0
