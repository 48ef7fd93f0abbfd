"""From a table to findings: prepares, asks families of models, measures, and collects what to say.

`analyse` does all of it; the `Analysis` that it returns writes reports and gives models, which
`save_model` and `load_model` keep without running code. `analyse_traits` does the same for a trait
of related species and their tree, `analyse_series` for series, `select_features` for a table with
more columns than rows; what they need is loaded when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from parsimon.statistician.analyse import analyse
from parsimon.statistician.analysis import Analysis
from parsimon.statistician.fitting import FittedModel, compare_models, fit_model
from parsimon.statistician.table_model import TableModel

if TYPE_CHECKING:
    from parsimon.statistician.fitted_series import SeriesTableModel
    from parsimon.statistician.saving import load_model, save_model
    from parsimon.statistician.selection import SelectionAnalysis, select_columns
    from parsimon.statistician.series_analysis import SeriesAnalysis, analyse_series
    from parsimon.statistician.trait_model import TraitModel
    from parsimon.statistician.traits import TraitAnalysis, analyse_traits
    from parsimon.statistician.wide import WideAnalysis, is_wide, select_features

__all__ = [
    "Analysis",
    "FittedModel",
    "SelectionAnalysis",
    "SeriesAnalysis",
    "SeriesTableModel",
    "TableModel",
    "TraitAnalysis",
    "TraitModel",
    "WideAnalysis",
    "analyse",
    "analyse_series",
    "analyse_traits",
    "compare_models",
    "fit_model",
    "is_wide",
    "load_model",
    "save_model",
    "select_columns",
    "select_features",
]


# What is loaded when it is first asked for, and where it is.
_LATER = {
    "SelectionAnalysis": "selection",
    "SeriesAnalysis": "series_analysis",
    "SeriesTableModel": "fitted_series",
    "TraitAnalysis": "traits",
    "TraitModel": "trait_model",
    "WideAnalysis": "wide",
    "analyse_series": "series_analysis",
    "analyse_traits": "traits",
    "is_wide": "wide",
    "load_model": "saving",
    "save_model": "saving",
    "select_columns": "selection",
    "select_features": "wide",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
