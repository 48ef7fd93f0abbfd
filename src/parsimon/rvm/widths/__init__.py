"""Kernel widths by maximum evidence: one for all inputs, or one for each.

`best_gamma` chooses ``gamma`` of a named kernel, every free hyperparameter of a `Kernel`, or the
width of a `MultiResolution` dictionary. `input_widths` gives every input column a width of its
own, so that a column that does not matter gets one so large that it plays no part. Both maximise
the evidence of the whole sparse model; the centres stay where they are, on training rows.
"""

from parsimon.rvm.widths.choice import WidthFit, best_gamma, input_widths
from parsimon.rvm.widths.inputs import input_relevance

__all__ = ["WidthFit", "best_gamma", "input_relevance", "input_widths"]
