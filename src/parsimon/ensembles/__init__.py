"""Label-only classifiers: averages of rules that say yes or no, and ensembles of few members.

Read `ABCClassifier` first: it averages a rule (`HardNetwork`, `HardTree`, `RuleList`, or your own
in `YesNoRule`) over all parameters that err little. `r_hat` and `effective_sample_size` say
whether its chains agree. `SparseEnsemble` keeps few members of many, whatever they are.
"""

from parsimon.ensembles._votes import ErrorOf
from parsimon.ensembles.abc import ABCClassifier
from parsimon.ensembles.chain_options import ChainOptions
from parsimon.ensembles.chains import ABCSamples, abc_sample
from parsimon.ensembles.convergence import effective_sample_size, r_hat
from parsimon.ensembles.pruning import pair_areas
from parsimon.ensembles.rules import BoundRule, HardNetwork, HardTree, RuleList, YesNoRule
from parsimon.ensembles.sparse import SparseEnsemble

__all__ = [
    "ABCClassifier",
    "ABCSamples",
    "BoundRule",
    "ChainOptions",
    "ErrorOf",
    "HardNetwork",
    "HardTree",
    "RuleList",
    "SparseEnsemble",
    "YesNoRule",
    "abc_sample",
    "effective_sample_size",
    "pair_areas",
    "r_hat",
]
