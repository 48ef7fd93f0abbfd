"""What the script needs to know about a study, packed so that many curves fit into a page."""

import json
import math
from collections.abc import Sequence
from typing import Any

from parsimon.report.findings import Model, Roc, Study

# The slider has a position for each hundredth; thresholds are kept in ten-thousandths, rounded
# down, so that comparing the two is exact.
_POSITIONS = 100
_UNITS = 10_000
_MOST_POINTS = 120


def explorer_data(study: Study) -> dict[str, Any]:
    """Return the models of a study's fronts as numbers, texts and lists."""
    shown = list(dict.fromkeys((*study.front, *study.front_variables)))
    return {
        "task": study.task,
        "models": [_model(model) for model in shown],
        "kernels": [shown.index(model) for model in study.front],
        "variables": [shown.index(model) for model in study.front_variables],
        "knee": shown.index(study.front[study.knee]) if study.front else -1,
        "chosen": shown.index(study.front[study.chosen]) if study.front else -1,
        "baseline": _number(study.baseline.error),
    }


def embedded(value: Any) -> str:
    r"""Return JSON that can stand inside a script element, whatever the texts in it hold."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _model(model: Model) -> dict[str, Any]:
    return {
        "words": model.words,
        "expression": model.expression,
        "n_kernels": model.n_kernels,
        "variables": list(model.variables),
        "error": _number(model.error),
        "standard_error": _number(model.standard_error),
        "log_loss": _number(model.log_loss),
        "log_evidence": _number(-model.negative_log_evidence),
        "roc": None if model.roc is None else _curve(model.roc),
    }


def _curve(roc: Roc) -> dict[str, Any]:
    """Pack a curve: counts instead of rates, thresholds in whole ten-thousandths."""
    steps = [_in_units(threshold) for threshold in roc.thresholds]
    kept = _kept(steps)
    return {
        "thresholds": [steps[k] for k in kept],
        "true": [round(roc.tpr[k] * roc.n_positive) for k in kept],
        "false": [round(roc.fpr[k] * roc.n_negative) for k in kept],
        "n_positive": roc.n_positive,
        "n_negative": roc.n_negative,
        "auc": [_number(roc.auc.estimate), _number(roc.auc.low), _number(roc.auc.high)],
        "confidence": roc.auc.confidence,
    }


def _in_units(threshold: float) -> int:
    """Round down, but forgive 0.1 its being 0.09999999999999998."""
    if threshold > 1 + 1e-9:
        return _UNITS + 1
    return max(0, math.floor(threshold * _UNITS + 1e-6))


def _kept(steps: Sequence[int]) -> list[int]:
    """Return the places of the points to keep: all, or those that can be seen or chosen."""
    n_points = len(steps)
    if n_points <= _MOST_POINTS:
        return list(range(n_points))
    spread = {round(k * (n_points - 1) / (_MOST_POINTS - 1)) for k in range(_MOST_POINTS)}
    position = _UNITS // _POSITIONS
    chosen = {sum(step >= k * position for step in steps) - 1 for k in range(_POSITIONS + 1)}
    return sorted((spread | chosen) - {-1})


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
