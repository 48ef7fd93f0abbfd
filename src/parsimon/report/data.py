"""Findings as data: JSON for other programs."""

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any

from parsimon.report.findings import ReportFindings


def to_json(findings: ReportFindings, *, pictures: bool = False) -> str:
    """Return findings as JSON text.

    The text is one object::

        {
          "format": "parsimon-findings",
          "format_version": 3,
          "table": {"name": "pima", "n_rows": 768, "target": "diabetes", "task": ..., ...},
          "studies": [{"positive": "yes", "model": {...}, "front": [...], "honest": {...}, ...}],
          "run": {"version": "0.1.0", "seed": 0, "date": "2026-01-31", "command": ..., ...},
          "joint": null,
          "claims": [{"kind": "variable", "variables": ["glucose"], "probability": 0.999,
                      "certain": true, "words": "glucose matters", "shape": ""}, ...],
          "comparison": {"models": [{"name": "GP", "error": {...}, ...}], "metric": "error"},
          "pictures": [{"name": ..., "caption": ..., "title": ...}]
        }

    Each object has the fields of the class of the same role in `parsimon.report.findings`, in
    their order, except the seconds that something took, so that the same table and options give
    the same text: ``table`` those of `TableFindings`, a study those of `Study`, ``model`` those of
    `ModelFinding`, an interval those of `Interval`, and so on. A tuple is a list, so that a pair
    such as a class and its count is a list of two. Shares and probabilities are between 0 and 1,
    rows are counted from 1. A number that does not exist (NaN, infinity) and a part that is
    missing are null. Findings about a trait and its tree are one object in the same way, with the
    fields of `TraitFindings`. A version of a format only ever gains fields; `format_version`
    changes if one goes or changes its meaning.
    """
    about = {"format": findings.format, "format_version": findings.format_version}
    data = {**about, **as_data(findings)}
    if not pictures:
        data["pictures"] = [
            {name: value for name, value in picture.items() if name != "svg"}
            for picture in data["pictures"]
        ]
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_data(value: Any) -> Any:
    """Return a finding as dictionaries, lists, texts and numbers."""
    if is_dataclass(value):
        # What is no part of equality (the time it took) would tell equal findings apart.
        kept = (field.name for field in fields(value) if field.compare)
        return {name: as_data(getattr(value, name)) for name in kept}
    if isinstance(value, tuple | list):
        return [as_data(part) for part in value]
    if value is None or isinstance(value, bool | str):
        return value
    if hasattr(value, "item"):
        # A NumPy number is no number of JSON.
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int | float):
        return value
    raise TypeError(f"A {type(value).__name__} has no form in JSON.")
