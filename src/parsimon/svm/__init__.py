"""Support vector machines where quadratic programming stops.

`ParetoSVC` traces margin against error in one run; `EvolutionarySVC` and `EvolutionarySVR` take
kernels that are not positive semi-definite, of which `kernel_spectrum` shows how far they are from
it; `TransductiveSVC` also uses rows without a label, and `ParetoTransductiveSVC` leads from
classification to clustering, whose corners `edge` picks out.
"""

from parsimon.svm.classifier import EvolutionarySVC
from parsimon.svm.indefinite import kernel_spectrum
from parsimon.svm.pareto import ParetoSVC
from parsimon.svm.pareto_transductive import ParetoTransductiveSVC, edge
from parsimon.svm.regressor import EvolutionarySVR
from parsimon.svm.transductive import TransductiveSVC

__all__ = [
    "EvolutionarySVC",
    "EvolutionarySVR",
    "ParetoSVC",
    "ParetoTransductiveSVC",
    "TransductiveSVC",
    "edge",
    "kernel_spectrum",
]
