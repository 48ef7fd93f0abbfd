"""Figures for reports and talks: functions of arrays and small callables, all in one style.

Put the rows into `ClassRows`, then call a figure. Those of a model take a posterior, a callable
that maps rows to the mean and variance of the latent function. Each returns matplotlib axes;
`caption` gives the sentences that belong below, `svg` the text for a page.
"""

from parsimon.report.figures.calibration import calibration_curve
from parsimon.report.figures.numeric import NumberRows, regression_1d, regression_2d
from parsimon.report.figures.one_column import monotonicity, posterior_1d, slices
from parsimon.report.figures.parts import (
    DrawnPart,
    RowBar,
    component_panels,
    component_reach,
    row_bars,
)
from parsimon.report.figures.points import ClassRows, label
from parsimon.report.figures.search_figures import (
    error_against_size,
    error_steps,
    feature_front,
    feature_response,
    search_tree,
)
from parsimon.report.figures.series_figures import (
    SeriesExample,
    error_of_methods,
    feature_of_series,
)
from parsimon.report.figures.svg_text import caption, svg
from parsimon.report.figures.three_columns import data_figure
from parsimon.report.figures.two_columns import posterior_2d

__all__ = [
    "ClassRows",
    "DrawnPart",
    "NumberRows",
    "RowBar",
    "SeriesExample",
    "calibration_curve",
    "caption",
    "component_panels",
    "component_reach",
    "data_figure",
    "error_against_size",
    "error_of_methods",
    "error_steps",
    "feature_front",
    "feature_of_series",
    "feature_response",
    "label",
    "monotonicity",
    "posterior_1d",
    "posterior_2d",
    "regression_1d",
    "regression_2d",
    "row_bars",
    "search_tree",
    "slices",
    "svg",
]
