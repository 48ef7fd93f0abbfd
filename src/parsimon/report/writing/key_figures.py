"""The few numbers of a question that a reader should remember."""

import math

from parsimon.report.document import KeyFigure, KeyFigures
from parsimon.report.writing.phrases import (
    number,
    number_range,
    percent,
    percent_range,
    share_range,
)
from parsimon.report.writing.scope import Scope


def key_figures(scope: Scope) -> KeyFigures:
    """Return the error, the baseline, the AUC or the typical miss, and the variables used."""
    return KeyFigures((*_error(scope), *_baseline(scope), *_more(scope), _variables(scope)))


def _error(scope: Scope) -> tuple[KeyFigure, ...]:
    """Return the honest error; what the search believed if there is none, and said so."""
    honest, believed = scope.study.honest, scope.study.model.error
    if honest is not None:
        label = "of the variance left unexplained" if scope.numeric else "honest error"
        ends = percent_range(honest.error) if scope.numeric else share_range(honest.error)
        value = percent(honest.error.estimate)
        return (KeyFigure(value, label, f"{ends}, on rows never seen"),)
    if math.isnan(believed) or not scope.study.structure_found:
        return ()
    label = "of the variance unexplained (optimistic)" if scope.numeric else "optimistic error"
    return (KeyFigure(percent(believed), label, "no honest error was measured"),)


def _baseline(scope: Scope) -> tuple[KeyFigure, ...]:
    honest = scope.study.honest
    error = scope.study.baseline.error if honest is None else honest.baseline_error.estimate
    if math.isnan(error):
        return ()
    return (KeyFigure(percent(error), "baseline", "a constant, on the same rows"),)


def _more(scope: Scope) -> tuple[KeyFigure, ...]:
    honest, roc = scope.study.honest, scope.study.checks.roc
    if scope.numeric:
        if honest is None or math.isnan(honest.root_mean_square):
            return ()
        size = number(honest.root_mean_square)
        return (KeyFigure(size, "typical miss", f"root mean square, unit of {scope.target}"),)
    if honest is not None and honest.auc is not None:
        auc, where = honest.auc, "on rows never seen"
    elif roc is not None:
        auc, where = roc.auc, scope.study.checks.source
    else:
        return ()
    return (KeyFigure(f"{auc.estimate:.3f}", "AUC", f"{number_range(auc)}, {where}"),)


def _variables(scope: Scope) -> KeyFigure:
    used, n = len(scope.study.model.variables), len(scope.findings.table.variables)
    detail = "by the best structure" if scope.study.structure_found else "no structure was found"
    return KeyFigure(f"{used} of {n}", "variables used", detail)
