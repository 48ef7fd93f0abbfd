"""The kernel algebra: immutable similarities that add, multiply, describe and draw themselves.

Read `Kernel` first. The leaves (`SquaredExponential` to `Multiquadric`) each act on chosen columns
and combine with ``+`` and ``*``. `canonical`, `simplify`, `sum_of_products` and `structure` bring
expressions to a common form, `expand` lists the neighbours of one in a search; `plain`, `latex`,
`spoken` and `kind` put it into words; `sample_prior` and `plot` show which functions it believes
in; `as_kernel`, `to_sklearn` and `from_sklearn` meet scikit-learn, `FunctionKernel` is one of your
own, and `Spectrum` compares strings.
"""

from parsimon.kernels.adapters import FunctionKernel, as_kernel, from_sklearn, to_sklearn
from parsimon.kernels.base import Kernel
from parsimon.kernels.combination import Product, Sum
from parsimon.kernels.dictionaries import MultiResolution
from parsimon.kernels.form import canonical, expand, structure
from parsimon.kernels.indefinite_kernels import Epanechnikov, GaussianCombination, Multiquadric
from parsimon.kernels.inner import Constant, Linear, Polynomial, Sigmoid
from parsimon.kernels.plot import plot, sample_prior
from parsimon.kernels.radial import (
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
)
from parsimon.kernels.strings import Spectrum
from parsimon.kernels.words import kind, plain, spoken

__all__ = [
    "Constant",
    "Epanechnikov",
    "FunctionKernel",
    "GaussianCombination",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MultiResolution",
    "Multiquadric",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Sigmoid",
    "Spectrum",
    "SquaredExponential",
    "Sum",
    "as_kernel",
    "canonical",
    "expand",
    "from_sklearn",
    "kind",
    "plain",
    "plot",
    "sample_prior",
    "spoken",
    "structure",
    "to_sklearn",
]
