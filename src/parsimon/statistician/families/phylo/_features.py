"""Columns of a table as features of species: numbers, words as 0/1, and gaps that are filled.

`choose_columns` says which columns may explain a target, words of which become 0/1 features, and
`completed` fills their gaps with what the other features and the relatives let expect.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import P3CA, PhyloPCA, Tree
from parsimon.report.figures.points import number_label
from parsimon.report.findings.trait_findings import LeftOut
from parsimon.statistician.prepare.cells import is_date, read_cells, read_numbers
from parsimon.statistician.prepare.frames import find_column
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


@dataclass(frozen=True, kw_only=True)
class FeatureSource:
    """A column of the table, the features that come from it, and how words become 0/1."""

    column: str
    features: tuple[str, ...]
    recipe: LevelsColumn | None = None

    def encode(self, cells: "pd.Series[Any]") -> dict[str, Array]:
        """Return the features of these cells, NaN where a cell is empty."""
        if self.recipe is not None:
            levels = _level_columns(self.recipe, cells)
            return {name: levels[name] for name in self.features}
        values, text = read_column(cells)
        if values is None:
            seen = f"text such as {text!r}" if text else "dates"
            raise InvalidInputError(f"The feature {self.column!r} holds {seen}, not numbers.")
        return {self.column: values}


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureColumns:
    """Features of the rows, with gaps; the columns they come from; columns that are none."""

    numbers: "pd.DataFrame"
    sources: tuple[FeatureSource, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def coded(self) -> tuple[str, ...]:
        """Columns of words that became 0/1."""
        return tuple(source.column for source in self.sources if source.recipe is not None)


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
    return None, numbers.unread


def choose_features(
    frame: "pd.DataFrame", measured: Mask, features: Sequence[str] | None
) -> FeatureColumns:
    """Return the features.

    Shapes: frame (n, d), measured (n,).
    """
    import pandas as pd

    numbers: dict[str, Array] = {}
    sources: list[FeatureSource] = []
    left_out: list[LeftOut] = []
    for name in _named(frame, features):
        values, text = read_column(frame[name])
        source = FeatureSource(column=name, features=(name,))
        levels = None if values is not None else _level_source(frame[name], name, measured)
        if values is None and levels is None and features is not None:
            raise InvalidInputError(
                f"The feature {name!r} holds {f'text such as {text!r}' if text else 'dates'}, "
                "not numbers or a few levels; leave it out, or write it as numbers."
            )
        reason = None
        if levels is None:
            here = None if values is None else values[measured]
            reason = _reason(frame[name].loc[measured], name, here)
        if reason is not None and not (features is not None and reason.reason == "identifier"):
            left_out.append(reason)
        elif features is None and frame[name].loc[measured].isna().mean() > _HALF:
            left_out.append(LeftOut(column=name, reason="mostly_empty"))
        else:
            sources.append(source if levels is None else levels)
            numbers |= sources[-1].encode(frame[name])
    kept = pd.DataFrame(numbers, index=frame.index)
    return FeatureColumns(numbers=kept, sources=tuple(sources), left_out=tuple(left_out))


def _level_source(cells: "pd.Series[Any]", name: str, measured: Mask) -> FeatureSource | None:
    """Return the 0/1 features of a column of words; None for others.

    A level needs support, as in a report on any table: what repeats too little is no feature.
    """
    if is_date(cells):
        return None
    recipe = recognise(cells.loc[measured], name).recipe
    if not isinstance(recipe, LevelsColumn):
        return None
    found = _level_columns(recipe, cells)
    kept = tuple(
        feature
        for feature, values in found.items()
        if feature != f"{name} is missing" and np.nanstd(values) > 0
    )
    return FeatureSource(column=name, features=kept, recipe=recipe) if kept else None


def _level_columns(recipe: LevelsColumn, cells: "pd.Series[Any]") -> dict[str, Array]:
    values = recipe.encode(cells).values
    values[read_cells(cells).codes < 0] = np.nan
    return dict(zip((variable.name for variable in recipe.variables), values.T, strict=True))


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
    filled = _expect(numbers.drop(columns=determined), tree)
    return None if filled is None else _with_determined(numbers, filled, determined)


def _expect(numbers: "pd.DataFrame", tree: Tree) -> "pd.DataFrame | None":
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
        return LeftOut(column=name, reason="constant", value=number_label(float(present[0])))
    if any(
        treatment.kind == "column_identifier" for treatment in recognise(cells, name).treatments
    ):
        return LeftOut(column=name, reason="identifier")
    return None


def drop_gaps(numbers: "pd.DataFrame", measured: Mask) -> tuple["pd.DataFrame", list[LeftOut]]:
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
