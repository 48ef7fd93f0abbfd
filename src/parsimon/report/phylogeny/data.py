"""Findings about a trait as data: JSON for other programs."""

import json

from parsimon.report.data import as_data
from parsimon.report.phylogeny.findings import TraitFindings

FORMAT, FORMAT_VERSION = "parsimon-trait-findings", 1


def to_json(findings: TraitFindings, *, pictures: bool = False) -> str:
    """Return findings as JSON text.

    The text is one object with the fields of `TraitFindings`, in their order, after ``format`` and
    ``format_version``; all else is as in `parsimon.report.data.to_json`.

    Parameters
    ----------
    findings : TraitFindings
    pictures : bool
        Put the drawings themselves in as SVG text, in the field ``svg`` of each picture.

    Returns
    -------
    str
        The same findings give the same text.
    """
    data = {"format": FORMAT, "format_version": FORMAT_VERSION, **as_data(findings)}
    if not pictures:
        data["pictures"] = [
            {name: value for name, value in picture.items() if name != "svg"}
            for picture in data["pictures"]
        ]
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
