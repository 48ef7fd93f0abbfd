"""From a table and a tree to what the models take: features and targets by tip name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import Tree
from parsimon.report.trait_findings import Feature, LeftOut, TraitTable
from parsimon.statistician.phylogeny.columns import (
    Columns,
    choose_columns,
    read_column,
    redundant_columns,
)
from parsimon.statistician.phylogeny.matching import Matched, match_rows
from parsimon.statistician.prepare.tables import as_frame, find_column, named_frame

if TYPE_CHECKING:
    import pandas as pd

FEWEST_SPECIES = 4
# A correlation beyond which a feature may be the target in another form.
_THE_SAME = 0.995


@dataclass(frozen=True, eq=False, kw_only=True)
class Traits:
    """What the models take; every index holds tip names.

    tree: Of the species below alone; its root is their last common ancestor.
    measured (n_measured,): The target of all species that have one.
    X, y (n, d): Species with a target and all features.
    new (m, d): Species with all features but no target.
    """

    tree: Tree
    measured: "pd.Series[float]"
    X: "pd.DataFrame"
    y: "pd.Series[float]"
    new: "pd.DataFrame"
    table: TraitTable


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
    dropped = tuple(dict.fromkeys(find_column(frame, one)[1] for one in drop))
    gone = {target, matched.column, *dropped}
    if features is not None and (both := gone & {find_column(frame, one)[1] for one in features}):
        raise InvalidInputError(
            f"{sorted(both)[0]!r} is the target, names the tips or is dropped, so that it cannot "
            "be a feature."
        )
    inside = frame.iloc[matched.rows]
    values = _target(cells.iloc[matched.rows], target)
    others = inside[[one for one in frame.columns if one not in gone]]
    columns = choose_columns(others, ~np.isnan(values), features)
    found = _traits(tree, target, matched, values, columns)
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


def _traits(tree: Tree, target: str, matched: Matched, values: Array, columns: Columns) -> Traits:
    import pandas as pd

    tips = list(matched.tips)
    rows = _Rows(tips, columns.numbers.set_axis(tips, axis=0), values)
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
        features=tuple(_feature(X, one) for one in X.columns),
        left_out=(*columns.left_out, *flat),
        redundant=redundant_columns(X),
        alike=tuple(str(one) for one in X.columns if abs(X[one].corr(y)) > _THE_SAME),
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
    )


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
    from parsimon.report.figures.points import number

    here = numbers[fitted]
    flat = [one for one in numbers.columns if len(here) and here[one].nunique() < 2]
    reasons = [
        LeftOut(column=str(one), reason="constant", value=number(float(here[one].iloc[0])))
        for one in flat
    ]
    return numbers.drop(columns=flat), reasons


def _gaps(rows: _Rows) -> dict[str, Any]:
    """Return which rows with a target lack features, and which columns are the reason."""
    lacking = rows.known & ~rows.complete
    counts = rows.numbers[lacking].isna().sum(axis=0)
    causes = [(str(one), int(n)) for one, n in counts.items() if n]
    return {
        "n_incomplete": int(lacking.sum()),
        "incomplete": tuple(rows.named(lacking)),
        "gaps": tuple(sorted(causes, key=lambda pair: -pair[1])),
        "n_unpredictable": int((~rows.known & ~rows.complete).sum()),
    }


def _feature(X: "pd.DataFrame", name: Any) -> Feature:
    values = X[name].to_numpy(dtype=np.float64)
    return Feature(
        name=str(name),
        mean=float(values.mean()),
        deviation=float(values.std()),
        minimum=float(values.min()),
        maximum=float(values.max()),
    )
