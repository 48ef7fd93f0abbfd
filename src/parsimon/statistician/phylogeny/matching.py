"""Which column names the tips, and which row is which tip."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._checks import shorten
from parsimon._typing import Indices
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import Tree
from parsimon.phylo._tips import check_one_row_a_tip
from parsimon.statistician.prepare.cells import read_cells
from parsimon.statistician.prepare.tables import clean_text, find_column

if TYPE_CHECKING:
    import pandas as pd

USUAL_NAME = "tip"


@dataclass(frozen=True, eq=False, kw_only=True)
class Matched:
    """The rows of a table that are tips of a tree.

    column: That holds the names; empty for the index.
    found: How it was found.
    rows (n,): Rows of the table that are tips.
    tips: As the tree spells them.
    """

    column: str
    found: Literal["given", "called", "matched"]
    rows: Indices
    tips: tuple[str, ...]
    not_in_tree: tuple[str, ...]
    without_row: tuple[str, ...]
    n_unnamed: int
    n_renamed: int


def match_rows(frame: "pd.DataFrame", tree: Tree, tip: str | None, target: str) -> Matched:
    """Return which rows are which tips.

    Shapes: frame (n_rows, d).
    """
    column, how, labels = _names(frame, tree, tip, target)
    spelled = [None if label is None else _spelled(label, tree) for label in labels]
    rows = [place for place, name in enumerate(spelled) if name is not None]
    if not rows:
        # The library's own sentence says which names there are on both sides.
        tree.match([label for label in labels if label is not None])
    tips = tuple(str(spelled[row]) for row in rows)
    check_one_row_a_tip(tree, tree.match(tips))
    known = set(tips)
    return Matched(
        column=column,
        found=how,
        rows=np.array(rows, dtype=np.intp),
        tips=tips,
        not_in_tree=tuple(
            label
            for label, name in zip(labels, spelled, strict=True)
            if label is not None and name is None
        ),
        without_row=tuple(name for name in tree.tip_names if name not in known),
        n_unnamed=sum(label is None for label in labels),
        n_renamed=sum(labels[row] != spelled[row] for row in rows),
    )


def _names(
    frame: "pd.DataFrame", tree: Tree, tip: str | None, target: str
) -> tuple[str, Literal["given", "called", "matched"], list[str | None]]:
    """Return the column of tip names, how it was found, and its cells; None where one is empty."""
    if tip is not None:
        cells, name = find_column(frame, tip)
        if name == target:
            raise InvalidInputError(f"{name!r} cannot name the tips and be the target as well.")
        return name, "given", _labels(cells)
    for name in frame.columns:
        if str(name).casefold() == USUAL_NAME and name != target:
            return str(name), "called", _labels(frame[name])
    candidates = {str(name): _labels(frame[name]) for name in frame.columns if name != target}
    candidates[""] = _labels(frame.index.to_series())
    score = {
        name: sum(label is not None and _spelled(label, tree) is not None for label in set(labels))
        for name, labels in candidates.items()
    }
    best = max(score, key=lambda name: score[name])
    if not score[best]:
        raise InvalidInputError(
            "No column of the table holds names of tips; the tree has "
            f"{shorten(tree.tip_names, 3)}. Correct the names."
        )
    return best, "matched", candidates[best]


def _labels(column: "pd.Series[Any]") -> list[str | None]:
    cells = read_cells(column)
    return [None if code < 0 else cells.labels[code] for code in cells.codes.tolist()]


def _spelled(label: str, tree: Tree) -> str | None:
    """Return the tip of this name, spaces and underscores taken for the same if need be."""
    for name in (label, label.replace(" ", "_"), label.replace("_", " "), clean_text(label)):
        if name in tree.position:
            return name
    return None
