"""From a table and a tree to what the models take: features and targets by tip name.

`read_traits` is the whole: `match_rows` finds the column of tip names and which row is which tip,
`choose_columns` which columns may explain the target, words of which become 0/1 features, and
`completed` fills their gaps with what the other features and the relatives let expect.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from parsimon._checks import shorten
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import P3CA, PhyloPCA, Tree
from parsimon.report.figures.points import number
from parsimon.report.trait_findings import Feature, LeftOut, TraitTable
from parsimon.statistician.prepare.cells import is_date, read_cells, read_numbers
from parsimon.statistician.prepare.frames import as_frame, clean_text, find_column, named_frame
from parsimon.statistician.prepare.recipes import LevelsColumn
from parsimon.statistician.prepare.recognition import recognise

if TYPE_CHECKING:
    import pandas as pd

# A column with more than this share of empty cells is left out, and so are the emptiest ones while
# fewer than this share of the species would be complete.
_HALF = 0.5
# Of its standard deviation: a feature that others determine this closely says nothing of its own.
_OWN = 2e-3
FEWEST_SPECIES = 4
# Species for each column from which on all covariances of columns can be told; steps of EM, and the
# rise of the log likelihood at which it ends: cells hardly move after it.
_ROWS_A_COLUMN, _STEPS, _RISE = 3, 200, 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureColumns:
    """Features of the rows, with gaps; columns of words that became 0/1; columns that are none."""

    numbers: "pd.DataFrame"
    coded: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


def read_column(column: "pd.Series[Any]") -> tuple[Array | None, str]:
    """Return a column as numbers; None if it holds text, and then the first cell that is none."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        values: Array = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, ""
    if is_date(column):
        return None, ""
    numbers = read_numbers(column)
    if not numbers.n_unread:
        return numbers.values, ""
    labels = read_cells(column).labels
    return None, next(filter(_is_text, labels), labels[0])


def _is_text(label: str) -> bool:
    import pandas as pd

    return bool(read_numbers(pd.Series([label])).n_unread)


def choose_columns(
    frame: "pd.DataFrame", measured: Mask, features: Sequence[str] | None
) -> FeatureColumns:
    """Return the features.

    Shapes: frame (n, d), measured (n,).
    """
    import pandas as pd

    numbers: dict[str, Array] = {}
    coded: list[str] = []
    left_out: list[LeftOut] = []
    for name in _named(frame, features):
        values, text = read_column(frame[name])
        levels = _levels(frame[name], name, measured) if values is None else {}
        if values is None and not levels and features is not None:
            raise InvalidInputError(
                f"The feature {name!r} holds {f'text such as {text!r}' if text else 'dates'}, "
                "not numbers or a few levels; leave it out, or write it as numbers."
            )
        reason = None
        if not levels:
            here = None if values is None else values[measured]
            reason = _reason(frame[name].loc[measured], name, here)
        if reason is not None and not (features is not None and reason.reason == "identifier"):
            left_out.append(reason)
        elif features is None and frame[name].loc[measured].isna().mean() > _HALF:
            left_out.append(LeftOut(column=name, reason="mostly_empty"))
        elif values is not None:
            numbers[name] = values
        else:
            numbers |= levels
            coded.append(name)
    kept = pd.DataFrame(numbers, index=frame.index)
    return FeatureColumns(numbers=kept, coded=tuple(coded), left_out=tuple(left_out))


def _levels(cells: "pd.Series[Any]", name: str, measured: Mask) -> dict[str, Array]:
    """Return the 0/1 features of a column of words, NaN where a cell is empty; none for others.

    A level needs support, as in a report on any table: what repeats too little is no feature.
    """
    if is_date(cells):
        return {}
    recipe = recognise(cells.loc[measured], name).recipe
    if not isinstance(recipe, LevelsColumn):
        return {}
    values = recipe.encode(cells).values
    values[read_cells(cells).codes < 0] = np.nan
    named = zip((one.name for one in recipe.variables), values.T, strict=True)
    missing = f"{name} is missing"
    return {one: column for one, column in named if one != missing and np.nanstd(column) > 0}


def completed(numbers: "pd.DataFrame", tree: Tree) -> "pd.DataFrame | None":
    """Return the features with expectations in place of gaps; None if there is no telling.

    The rows, tips of the tree, evolve together along it; their covariance and lambda are the most
    likely ones by the exact EM algorithm of `PhyloPCA`, or of `P3CA` where species are too few for
    all columns. The target has no part in it, so that predictions stay honest.

    Shapes: numbers (n, d).
    """
    if not numbers.isna().to_numpy().any():
        return numbers
    if (numbers.notna().sum() < FEWEST_SPECIES).any():
        return None
    # The last of several levels is known from the others, and would have no variance of its own.
    determined = list(redundant_columns(numbers.dropna()))
    filled = _expected(numbers.drop(columns=determined), tree)
    return None if filled is None else _with_determined(numbers, filled, determined)


def _expected(numbers: "pd.DataFrame", tree: Tree) -> "pd.DataFrame | None":
    """Return columns of which none determines another with their gaps filled, if that can be."""
    import pandas as pd

    centre, unit = numbers.mean(), numbers.std(ddof=0)
    scaled = (numbers - centre) / unit.where(unit > 0, 1.0)
    small = tree.keep(list(numbers.index), trim=True)
    n, d = numbers.shape
    limits: dict[str, Any] = {"max_iter": _STEPS, "tol": _RISE}
    ways: list[P3CA | PhyloPCA] = [P3CA(small, n_components=k, **limits) for k in (2, 1) if k < d]
    if n >= _ROWS_A_COLUMN * d:
        ways.insert(0, PhyloPCA(small, **limits))
    for way in ways:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                filled = way.fit(scaled).imputed_
        except (InvalidInputError, np.linalg.LinAlgError):
            continue
        if np.isfinite(filled).all():
            whole = pd.DataFrame(filled, index=numbers.index, columns=numbers.columns)
            return numbers.fillna(whole * unit + centre)
    return None


def _with_determined(
    numbers: "pd.DataFrame", filled: "pd.DataFrame", determined: list[str]
) -> "pd.DataFrame":
    """Return all columns: those that others determine are filled by the line that does so."""
    complete = numbers.notna().all(axis=1).to_numpy()
    design = np.column_stack([np.ones(len(filled)), filled.to_numpy(dtype=np.float64)])
    for name in determined:
        own = numbers[name].to_numpy(dtype=np.float64)
        line = np.linalg.lstsq(design[complete], own[complete], rcond=None)[0]
        filled = filled.assign(**{name: np.where(np.isnan(own), design @ line, own)})
    return filled[list(numbers.columns)]


def redundant_columns(numbers: "pd.DataFrame") -> tuple[str, ...]:
    """Return columns that others determine, such as one of several shares that add up to one.

    A column with a single value is one of them: a constant determines it.
    """
    from scipy.linalg import qr

    values = numbers.to_numpy(dtype=np.float64)
    if not numbers.shape[1] or len(values) <= numbers.shape[1]:
        # Fewer species than columns determine every column: that is no property of these.
        return ()
    flat = np.ptp(values, axis=0) == 0
    centred = np.where(flat, 0.0, values - values.mean(axis=0))
    # In units of the largest entry: the square of a tiny one would be zero.
    centred = centred / np.where(flat, 1.0, np.abs(centred).max(axis=0))
    norms = np.where(flat, 1.0, np.linalg.norm(centred, axis=0))
    upper, order = qr(centred / norms, mode="r", pivoting=True)
    gone = {int(place) for place in order[np.abs(np.diagonal(upper)) < _OWN]}
    return tuple(str(name) for place, name in enumerate(numbers.columns) if place in gone)


def _named(frame: "pd.DataFrame", features: Sequence[str] | None) -> list[str]:
    if features is None:
        return [str(name) for name in frame.columns]
    return list(dict.fromkeys(find_column(frame, name)[1] for name in features))


def _reason(cells: "pd.Series[Any]", name: str, values: Array | None) -> LeftOut | None:
    """Return why a column is no feature, as these cells show it; None if it is one."""
    if values is None:
        read = read_column(cells)
        if is_date(cells):
            return LeftOut(column=name, reason="date")
        return LeftOut(column=name, reason="text", value=read[1])
    present = values[~np.isnan(values)]
    if not len(present):
        return LeftOut(column=name, reason="empty")
    if np.ptp(present) == 0:
        return LeftOut(column=name, reason="constant", value=number(float(present[0])))
    if any(one.kind == "column_identifier" for one in recognise(cells, name).treatments):
        return LeftOut(column=name, reason="identifier")
    return None


def _without_gaps(numbers: "pd.DataFrame", measured: Mask) -> tuple["pd.DataFrame", list[LeftOut]]:
    """Leave out the emptiest columns while too few rows have all of them."""
    left_out: list[LeftOut] = []
    while numbers.shape[1]:
        empty = numbers[measured].isna()
        if (~empty.any(axis=1)).sum() >= max(_HALF * int(measured.sum()), FEWEST_SPECIES):
            break
        worst = str(empty.sum(axis=0).idxmax())
        left_out.append(LeftOut(column=worst, reason="costly"))
        numbers = numbers.drop(columns=worst)
    return numbers, left_out


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
            numbers, costly = _without_gaps(given, ~np.isnan(values))
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
        features=tuple(_feature(X, one) for one in X.columns),
        coded=columns.coded,
        left_out=(*left_out, *flat),
        redundant=redundant_columns(X),
        alike=tuple(str(one) for one in X.columns if abs(X[one].corr(y)) > _THE_SAME),
        n_completed=int(filled.any(axis=1).sum()),
        completed=_counted(filled),
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
    return {
        "n_incomplete": int(lacking.sum()),
        "incomplete": tuple(rows.named(lacking)),
        "gaps": _counted(rows.numbers[lacking].isna()),
        "n_unpredictable": int((~rows.known & ~rows.complete).sum()),
    }


def _counted(cells: "pd.DataFrame") -> tuple[tuple[str, int], ...]:
    """Return columns in which a cell is marked, and how many are, the most first."""
    counts = [(str(one), int(n)) for one, n in cells.sum(axis=0).items() if n]
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
