"""From a table and a tree to what the models take: features and targets by tip name.

`read_traits` is the whole: `match_rows` finds the column of tip names and which row is which tip;
`_features` chooses the columns that may explain the target.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._checks import shorten
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import Tree
from parsimon.report.figures.points import number_label
from parsimon.report.findings.trait_findings import Feature, LeftOut, TraitTable
from parsimon.statistician.families.phylo._features import (
    FEWEST_SPECIES,
    FeatureColumns,
    FeatureSource,
    choose_features,
    completed,
    drop_gaps,
    read_column,
    redundant_columns,
)
from parsimon.statistician.prepare.cells import read_cells
from parsimon.statistician.prepare.frames import as_frame, clean_text, find_column, named_frame

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
    spelled = [None if label is None else _spell(label, tree) for label in labels]
    rows = [place for place, name in enumerate(spelled) if name is not None]
    if not rows:
        # The library's own sentence says which names there are on both sides.
        tree.match([label for label in labels if label is not None])
    tips = tuple(str(spelled[row]) for row in rows)
    known = Counter(tips)
    if twice := [name for name in tree.tip_names if known[name] > 1]:
        raise InvalidInputError(
            f"These tips have more than one row: {shorten(twice)}. Average the rows of each tip."
        )
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
        name: sum(label is not None and _spell(label, tree) is not None for label in set(labels))
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


def _spell(label: str, tree: Tree) -> str | None:
    """Return the tip of this name, spaces and underscores taken for the same if need be."""
    for name in (label, label.replace(" ", "_"), label.replace("_", " "), clean_text(label)):
        if name in tree.position:
            return name
    return None


# A correlation beyond which a feature may be the target in another form.
_THE_SAME = 0.995


@dataclass(frozen=True, eq=False, kw_only=True)
class Traits:
    """What the models take; every index holds tip names.

    tree: Of the species below alone; its root is their last common ancestor.
    measured (n_measured,): The target of all species that have one.
    X, y (n, d): Species with a target; features that a species lacks are what the others let
        expect.
    new (m, d): Species without a target.
    sources: Columns of the table that the features come from.
    clade: All species of the given tree that descend from the root of `tree`.
    """

    tree: Tree
    measured: "pd.Series[float]"
    X: "pd.DataFrame"
    y: "pd.Series[float]"
    new: "pd.DataFrame"
    table: TraitTable
    sources: tuple[FeatureSource, ...]
    clade: Tree

    @property
    def columns(self) -> list[str]:
        """The column of the table that each feature comes from."""
        known = {name: source.column for source in self.sources for name in source.features}
        return [known[str(name)] for name in self.X.columns]


def read_traits(
    table: Any,
    tree: Tree,
    target: str,
    *,
    name: str = "table",
    tip: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Traits:
    """Match a table with a tree, and choose columns and rows."""
    frame = named_frame(as_frame(table))
    cells, target = find_column(frame, target)
    matched = match_rows(frame, tree, tip, target)
    dropped = tuple(dict.fromkeys(find_column(frame, column)[1] for column in drop))
    gone = {target, matched.column, *dropped}
    if features is not None and (
        both := gone & {find_column(frame, feature)[1] for feature in features}
    ):
        raise InvalidInputError(
            f"{sorted(both)[0]!r} is the target, names the tips or is dropped, so that it cannot "
            "be a feature."
        )
    inside = frame.iloc[matched.rows]
    values = _target(cells.iloc[matched.rows], target)
    others = inside[[column for column in frame.columns if column not in gone]]
    columns = choose_features(others, ~np.isnan(values), features)
    found = _traits(tree, target, matched, values, columns, chosen=features is not None)
    n_rows, n_columns = frame.shape
    table = replace(found.table, name=name, n_rows=n_rows, n_columns=n_columns, dropped=dropped)
    return replace(found, table=table)


def _target(cells: "pd.Series[Any]", name: str) -> Array:
    """Return the target as numbers, NaN where there is none."""
    values, text = read_column(cells)
    advice = "parsimon report finds what predicts classes."
    if values is None:
        seen = f"text such as {text!r}" if text else "dates"
        raise InvalidInputError(
            f"The target {name!r} holds {seen}, but a trait must be a number; {advice}"
        )
    present = np.unique(values[~np.isnan(values)])
    n = int((~np.isnan(values)).sum())
    if n < FEWEST_SPECIES:
        raise InvalidInputError(
            f"{_only(n)} of the tree {'has' if n == 1 else 'have'} a value of {name!r}; at least "
            f"{FEWEST_SPECIES} are needed."
        )
    if len(present) == 1:
        raise InvalidInputError(
            f"The target {name!r} is {present[0]:g} in all {n} species that have one; there is "
            "nothing to explain."
        )
    if len(present) == 2:
        raise InvalidInputError(
            f"The target {name!r} has only the values {present[0]:g} and {present[1]:g}: these are "
            f"classes, not a measured trait; {advice}"
        )
    return values


def _only(n: int) -> str:
    return {0: "No species", 1: "Only 1 species"}.get(n, f"Only {n} species")


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of the table that are tips; features with gaps, the target NaN where there is none."""

    tips: list[str]
    numbers: "pd.DataFrame"
    values: Array

    @property
    def known(self) -> Mask:
        """Which have a target."""
        return ~np.isnan(self.values)

    @property
    def complete(self) -> Mask:
        """Which have all features."""
        return np.asarray(~self.numbers.isna().any(axis=1), dtype=np.bool_)

    def named(self, which: Mask) -> list[str]:
        """Return the tips of some rows."""
        return [tip for tip, chosen in zip(self.tips, which, strict=True) if chosen]


def _traits(
    tree: Tree,
    target: str,
    matched: Matched,
    values: Array,
    columns: FeatureColumns,
    *,
    chosen: bool,
) -> Traits:
    """Return what the models take; `chosen` says that the user named the features."""
    import pandas as pd

    tips = list(matched.tips)
    given = columns.numbers.set_axis(tips, axis=0)
    numbers, left_out = completed(given, tree), list(columns.left_out)
    filled = given.isna() if numbers is not None else given.isna() & False
    if numbers is None:
        numbers = given
        if not chosen:
            numbers, costly = drop_gaps(given, ~np.isnan(values))
            left_out += costly
    rows = _Rows(tips, numbers, values)
    known, complete = rows.known, rows.complete
    fitted = known & complete
    _check_fitted(int(fitted.sum()), rows, target)
    numbers, flat = _without_flat(rows.numbers, fitted)
    X = numbers[fitted]
    y = pd.Series(values[fitted], index=X.index, name=target)
    small = tree.keep(rows.named(known | complete), trim=True)
    table = TraitTable(
        name="",
        target=target,
        n_rows=0,
        n_columns=0,
        n_tips=tree.n_tips,
        n_fitted=int(fitted.sum()),
        features=tuple(_feature(X, column) for column in X.columns),
        coded=columns.coded,
        left_out=(*left_out, *flat),
        redundant=redundant_columns(X),
        alike=tuple(str(column) for column in X.columns if abs(X[column].corr(y)) > _THE_SAME),
        n_completed=int(filled.any(axis=1).sum()),
        completed=_count_cells(filled),
        **_matching(matched),
        **_spread(values[known]),
        **_gaps(rows),
    )
    return Traits(
        tree=small,
        measured=pd.Series(values[known], index=rows.named(known)),
        X=X,
        y=y,
        new=numbers[complete & ~known],
        table=table,
        sources=_kept_sources(columns.sources, [str(column) for column in X.columns]),
        clade=_descendants(tree, small.tip_names),
    )


def _kept_sources(
    sources: Sequence[FeatureSource], features: Sequence[str]
) -> tuple[FeatureSource, ...]:
    """Return the columns of which features are left, with these features alone."""
    left = (
        replace(source, features=tuple(name for name in source.features if name in features))
        for source in sources
    )
    return tuple(source for source in left if source.features)


def _descendants(tree: Tree, names: Sequence[str]) -> Tree:
    """Return the tree of all tips that descend from the last common ancestor of some."""
    below = np.zeros(len(tree.parent), dtype=np.intp)
    below[tree.tips[tree.match(list(names))]] = 1
    # Children come after their parents.
    for node in range(len(below) - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    ancestor = int(np.flatnonzero(below == len(names))[-1])
    inside = np.zeros(len(below), dtype=np.bool_)
    inside[ancestor] = True
    for node in range(ancestor + 1, len(below)):
        inside[node] = inside[tree.parent[node]]
    return tree.keep([tree.name[node] for node in np.flatnonzero(inside & tree.is_tip)], trim=True)


def _check_fitted(n: int, rows: _Rows, target: str) -> None:
    if rows.numbers.shape[1] and n < FEWEST_SPECIES:
        raise InvalidInputError(
            f"{_only(n)} of the tree {'has' if n == 1 else 'have'} {target!r} and all features; at "
            f"least {FEWEST_SPECIES} are needed. Name fewer features (--features)."
        )


def _matching(matched: Matched) -> dict[str, Any]:
    return {
        "tip": matched.column,
        "tip_found": matched.found,
        "n_in_tree": len(matched.tips),
        "not_in_tree": matched.not_in_tree,
        "without_row": matched.without_row,
        "n_unnamed": matched.n_unnamed,
        "n_renamed": matched.n_renamed,
    }


def _spread(values: Array) -> dict[str, Any]:
    return {
        "n_measured": len(values),
        "target_mean": float(np.mean(values)),
        "target_minimum": float(np.min(values)),
        "target_maximum": float(np.max(values)),
    }


def _without_flat(numbers: "pd.DataFrame", fitted: Mask) -> tuple["pd.DataFrame", list[LeftOut]]:
    """Leave out columns that are constant among the rows that are left."""
    here = numbers[fitted]
    flat = [column for column in numbers.columns if len(here) and here[column].nunique() < 2]
    reasons = [
        LeftOut(
            column=str(column), reason="constant", value=number_label(float(here[column].iloc[0]))
        )
        for column in flat
    ]
    return numbers.drop(columns=flat), reasons


def _gaps(rows: _Rows) -> dict[str, Any]:
    """Return which rows with a target lack features, and which columns are the reason."""
    lacking = rows.known & ~rows.complete
    return {
        "n_incomplete": int(lacking.sum()),
        "incomplete": tuple(rows.named(lacking)),
        "gaps": _count_cells(rows.numbers[lacking].isna()),
        "n_unpredictable": int((~rows.known & ~rows.complete).sum()),
    }


def _count_cells(cells: "pd.DataFrame") -> tuple[tuple[str, int], ...]:
    """Return columns in which a cell is marked, and how many are, the most first."""
    counts = [(str(column), int(n)) for column, n in cells.sum(axis=0).items() if n]
    return tuple(sorted(counts, key=lambda pair: -pair[1]))


def _feature(X: "pd.DataFrame", name: Any) -> Feature:
    values = X[name].to_numpy(dtype=np.float64)
    return Feature(
        name=str(name),
        mean=float(values.mean()),
        deviation=float(values.std()),
        minimum=float(values.min()),
        maximum=float(values.max()),
    )
