"""Figures for reports and talks: functions of arrays and small callables, all in one style.

Put the rows into `ClassRows`, then call a figure. Those of a model take a posterior, a callable
that maps rows to the mean and variance of the latent function. Each returns matplotlib axes;
`caption` gives the sentences that belong below, `svg` the text for a page.
"""

from parsimon.report.figures.calibration import (
    CalibrationBins,
    calibration_bins,
    calibration_curve,
    draw_calibration,
)
from parsimon.report.figures.levels import posterior_by_level, posterior_levels
from parsimon.report.figures.numeric import (
    NumberRows,
    predicted_observed,
    regression_1d,
    regression_2d,
    regression_slices,
)
from parsimon.report.figures.one_column import (
    MonotoneShare,
    monotone_share,
    monotonicity,
    posterior_1d,
    slices,
)
from parsimon.report.figures.parts import DrawnPart, component_panels, component_reach
from parsimon.report.figures.points import ClassRows, label
from parsimon.report.figures.search_figures import SearchNode, Step, error_steps, search_tree
from parsimon.report.figures.sketches import folds_sketch, schematic
from parsimon.report.figures.svg_text import caption, svg
from parsimon.report.figures.table_figure import axis_order, data_figure, parallel_coordinates
from parsimon.report.figures.three_columns import isosurface, isosurface_3d, rotate
from parsimon.report.figures.two_columns import posterior_2d

__all__ = [
    "CalibrationBins",
    "ClassRows",
    "DrawnPart",
    "MonotoneShare",
    "NumberRows",
    "SearchNode",
    "Step",
    "axis_order",
    "calibration_bins",
    "calibration_curve",
    "caption",
    "component_panels",
    "component_reach",
    "data_figure",
    "draw_calibration",
    "error_steps",
    "folds_sketch",
    "isosurface",
    "isosurface_3d",
    "label",
    "monotone_share",
    "monotonicity",
    "parallel_coordinates",
    "posterior_1d",
    "posterior_2d",
    "posterior_by_level",
    "posterior_levels",
    "predicted_observed",
    "regression_1d",
    "regression_2d",
    "regression_slices",
    "rotate",
    "schematic",
    "search_tree",
    "slices",
    "svg",
]
