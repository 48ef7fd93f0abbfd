"""Fronts of features as families: a formula of a few columns, and a linear model of a few.

`FORMULA` answers beside the other families of a report and `few_columns` makes what a selection
compares; both are searches for a front, of which one solution answers.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from parsimon.statistician.families.family import Family, Setting

if TYPE_CHECKING:
    from parsimon.features import Expression

# Columns that a search for formulas sees: those that say most; fewer, and a sample of the rows, in
# a report, so that it takes a second or two.
_COLUMNS, _FEW_COLUMNS, _FEW_ROWS = 12, 6, 600
_MOST_COLUMNS, _MOST_CLASSES = 60, 6
# A search of a report: short features, and after those of least squares a few generations.
_BRIEFLY = {"max_size": 5, "population_size": 20, "max_iter": 3}
_DIGITS = 4
_NUMBER = re.compile(r"`(?:[^`]|``)*`|(?<![\w.])\d+(?:\.\d*)?(?:e[+-]?\d+)?(?!\w)")


def _formula(setting: Setting, **options: Any) -> Any:
    """Return a search for formulas of the columns that say most, each alone; brief by default."""
    from sklearn.pipeline import make_pipeline

    from parsimon.features import ParetoConstructor
    from parsimon.statistician.prepare import Screener

    search = ParetoConstructor(setting.task, setting.seed, **(options or _BRIEFLY))
    most = _COLUMNS if options else _FEW_COLUMNS
    return make_pipeline(Screener(most, task=setting.task), search)


def _no_formula(setting: Setting) -> str:
    if setting.n_columns > _MOST_COLUMNS:
        return f"it takes too long with more than {_MOST_COLUMNS} columns"
    if setting.n_classes > _MOST_CLASSES:
        return f"it takes too long with more than {_MOST_CLASSES} classes"
    return ""


def _few_columns(setting: Setting, **options: Any) -> Any:
    """Return a search for the columns of a linear model; `fixed` are those that are there."""
    from parsimon.features import ParetoSelector

    names = options.pop("fixed", ())
    fixed = [name for name in setting.names if name in names] or None
    if setting.n_folds:
        options["cv"] = setting.n_folds
    return ParetoSelector(task=setting.task, random_state=setting.seed, fixed=fixed, **options)


FORMULA = Family(
    name="short formula",
    key="formula",
    kind="features",
    words="a formula of a few columns, from a Pareto front",
    make=_formula,
    most_rows=_FEW_ROWS,
    refuses=_no_formula,
)


def formulas(**options: Any) -> Family:
    """Return a thorough search for formulas, with options of `ParetoConstructor`."""
    thorough = partial(_formula, **options)
    return replace(FORMULA, make=thorough, most_rows=None, refuses=Family.refuses)


def few_columns(**options: Any) -> Family:
    """Return a search for columns, with options of `ParetoSelector`."""
    return Family(
        name="few columns",
        key="columns",
        kind="features",
        words="a weighted sum of a few variables, from a Pareto front",
        make=partial(_few_columns, **options),
    )


def short_numbers(formula: str, digits: int = _DIGITS) -> str:
    """Return a printed formula with numbers of few digits; names in backquotes stay.

    >>> short_numbers("0.00012345678*x1^2 + `12.34567 mm`")
    '0.0001235*x1^2 + `12.34567 mm`'
    """

    def shortened(found: re.Match[str]) -> str:
        text = found[0]
        return text if text.startswith("`") or text.isdigit() else f"{float(text):.{digits}g}"

    return _NUMBER.sub(shortened, formula)


def formula_text(model: Any) -> str:
    """Return a fitted formula with numbers of few digits; of several classes what is weighted."""
    if len(getattr(model, "classes", ())) > 2:
        features = ", ".join(map(str, model.features))
        return short_numbers(f"weighted sum of {features}")
    return short_numbers(str(model))


def formula_bits(features: Sequence["Expression"]) -> float:
    """Return the bits of the operations in formulas: one of all that there are at each node."""
    from parsimon.features.operations import OPERATIONS

    # A node may also be a column or a number.
    each = math.log2(len(OPERATIONS) + 2)
    return each * sum(feature.size for feature in features)
