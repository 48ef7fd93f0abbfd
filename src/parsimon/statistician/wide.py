"""From a table with more columns than rows to a page: which columns are stable, and how good."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import shorten
from parsimon._data import holds_classes
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features import LabelNoise, StableSelector, label_noise, regression_screen
from parsimon.report import Readable
from parsimon.report.findings import Picture, Treatment
from parsimon.report.findings.column_findings import (
    SizeFinding,
    StableColumn,
    SuspectRow,
    WideFindings,
    WideTableFindings,
)
from parsimon.statistician._walk import Kind, Work, analyse_kind
from parsimon.statistician.prepare.cells import LARGEST

if TYPE_CHECKING:
    import pandas as pd

# So many times more columns than rows is a question for selection, not for a search of kernels.
WIDE = 10
_SHOWN = 20
# Splits of the columns, those of the study of flipped labels, and the fewest that say something.
_USUAL, _STUDIED, _FEWEST_STUDIED = 100, 20, 5
# Seconds that the splits have in any case.
_LEAST_SECONDS = 0.1
# False discovery rate up to which the regression screen names a column.
_SCREEN = 0.05
_CAPTIONS = {
    "totals": ("total", "Fits that select each column, of both halves of all splits."),
    "coincidences": ("coincident", "Splits in which both halves select a column."),
    "areas": ("models", "{} of each fit on its own and on the other half, and of guessing."),
    "null": ("null", "{} on the other half, beside that of random classifiers."),
}


@dataclass(frozen=True)
class WideAnalysis(Readable):
    """A fitted selector and the page about it.

    selector: Fitted to the columns in `columns`.
    columns: Names of the columns that were used.
    """

    findings: WideFindings
    selector: StableSelector
    columns: tuple[str, ...]


def is_wide(frame: "pd.DataFrame") -> bool:
    """Return whether a table has many more columns than rows."""
    return frame.shape[1] >= WIDE * len(frame)


def select_features(
    frame: "pd.DataFrame",
    target: str,
    *,
    fixed: Sequence[str] = (),
    n_splits: int | None = None,
    name: str = "table",
    seed: int = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    command: str = "",
    fast: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> WideAnalysis:
    """Find the columns of a wide table that come back from other rows, and write about them.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        One row for each case. Columns that hold no numbers are left out, empty cells get the
        median of their column.
    target : str
        The column to predict: classes or a number.
    fixed : sequence of str
        Columns, such as age, that belong to every model; text becomes one column of 0 and 1 for
        two values.
    n_splits : int, optional
        Splits into halves; 100 if not given, 20 if `fast`.
    name : str
        What the table is called.
    seed : int
        For the splits.
    n_jobs : int, optional
        Workers; the result is the same.
    time_limit : float, optional
        Seconds for everything; if they are few, fewer splits are made.
    command : str
        Said on the page.
    fast : bool
        Fewer splits.
    checkpoint : str or Path, optional
        A folder of your own that keeps what is finished, as in `analyse`.

    Returns
    -------
    WideAnalysis

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.normal(size=(40, 500)), columns=[f"g{k}" for k in range(500)])
    >>> frame["ill"] = np.repeat(["no", "yes"], 20)
    >>> frame["g7"] += 3 * (frame["ill"] == "yes")
    >>> found = select_features(frame, "ill", n_splits=10)
    >>> [one.name for one in found.findings.columns if one.kept]
    ['g7']
    """
    kind = WideKind(
        target=target,
        fixed=tuple(map(str, fixed)),
        n_splits=n_splits,
        name=name,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        command=command,
        fast=fast,
        checkpoint=checkpoint,
    )
    return analyse_kind(kind, frame)


@dataclass(frozen=True, kw_only=True)
class WideKind(Kind):
    """A table with more columns than rows, whose columns are selected in half after half."""

    fixed: tuple[str, ...] = ()
    n_splits: int | None = None

    last_steps = (2.0, 0.25)

    @property
    def n_outer(self) -> int:
        """No folds: halves stand for them."""
        return 0

    def read(self, frame: "pd.DataFrame") -> "_NumberTable":
        return _read_numbers(frame, self.target, self.fixed)

    def search(self, work: Work) -> tuple[StableSelector, LabelNoise | None]:
        """Select columns in all halves, and study flipped labels."""
        left, asked = work.budget.left(), work.asked
        n_splits = (_STUDIED if self.fast else _USUAL) if self.n_splits is None else self.n_splits
        selector = StableSelector(
            fixed=list(self.fixed) or None,
            time_limit=None if left is None else max(left, _LEAST_SECONDS),
            n_splits=n_splits,
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        fitted = work.kept.once("selector", lambda: selector.fit(asked.X, asked.y))
        limit = work.budget.left_to_describe()
        return fitted, work.kept.once("labels", lambda: _study_labels(asked, self.seed, limit))

    def describe(
        self, work: Work, found: tuple[StableSelector, LabelNoise | None], compared: None
    ) -> WideAnalysis:
        del compared
        (selector, noise), asked = found, work.asked
        columns, rates = tuple(map(str, asked.X.columns)), _screen_rates(selector, asked)
        stability, chance = selector.stability_, selector.chance_
        options = {"splits": selector.n_splits_, "fixed": ", ".join(self.fixed) or "none"}
        findings = WideFindings(
            table=_table_findings(asked, self, selector),
            n_splits=selector.n_splits_,
            threshold=selector.threshold,
            columns=_columns(selector, columns, rates),
            screened=_screened(selector, columns, rates),
            n_kept=int(np.sum(selector.frequencies_ >= selector.threshold)),
            sizes=_sizes(selector),
            area=float(selector.test_auc_.mean()),
            area_sd=float(selector.test_auc_.std()),
            null_sd=selector.null_sd_,
            stability=(float(stability.value), float(stability.lower), float(stability.upper)),
            expected_false=tuple(selector.expected_false_.items()),
            observed_coincidences=chance.observed_coincidences,
            expected_coincidences=chance.expected_coincidences,
            permuted_coincidences=chance.permuted_coincidences,
            suspects=_suspects(noise, asked),
            hit_rate=float("nan") if noise is None else float(noise.hit_rate[-1]),
            n_flipped=0 if noise is None else int(noise.flips[-1]),
            run=work.run(options, (), reading=asked.treatments),
            pictures=_pictures(selector),
        )
        return WideAnalysis(findings, selector, columns)


@dataclass(frozen=True)
class _NumberTable:
    """What is left of a table: numbers, target, rows as they were counted, what was done."""

    X: "pd.DataFrame"
    y: Any
    rows: Indices
    left_out: tuple[str, ...]
    n_filled: int
    n_without_target: int
    treatments: tuple[Treatment, ...] = ()

    @property
    def is_classes(self) -> bool:
        return holds_classes(self.y)


def _read_numbers(frame: "pd.DataFrame", target: str, fixed: Sequence[str]) -> _NumberTable:
    frame = frame.rename(columns=str)
    for column in (target, *fixed):
        if column not in frame.columns:
            raise InvalidInputError(
                f"The table has no column {column!r}; its columns are {shorten(list(frame), 12)}."
            )
    known = frame[target].notna().to_numpy()
    features = frame.loc[known].drop(columns=target)
    for column in fixed:
        features[column] = _as_numbers(features[column])
    numbers = features.select_dtypes(["number", "bool"]).astype(float)
    beyond = np.abs(numbers) > LARGEST
    numbers = numbers.mask(beyond)
    varied = numbers.columns[numbers.nunique().to_numpy() > 1]
    kept = numbers[varied]
    n_filled = int(kept.isna().to_numpy().sum())
    if n_filled:
        kept = kept.fillna(kept.median())
    left_out = tuple(map(str, features.columns.difference(varied, sort=False)))
    for column in fixed:
        if column in left_out:
            raise InvalidInputError(
                f"The fixed column {column!r} has one value only; leave it out."
            )
    if not len(varied):
        raise InvalidInputError("No column but the target holds different numbers.")
    y = _target(frame.loc[known, target].to_numpy())
    said = tuple(
        Treatment(kind="infinite_cells", column=str(name), count=int(count))
        for name, count in beyond.sum()[lambda counts: counts > 0].items()
    )
    rows = np.flatnonzero(known) + 1
    return _NumberTable(kept, y, rows, left_out, n_filled, int(np.sum(~known)), said)


def _as_numbers(values: "pd.Series") -> "pd.Series":
    """Return a column of numbers as it is, and one of two words as 0 and 1."""
    if values.dtype.kind in "iufb":
        return values
    levels = sorted(map(str, values.dropna().unique()))
    if len(levels) != 2:
        raise InvalidInputError(
            f"The fixed column {str(values.name)!r} holds {len(levels)} different words; give "
            "numbers, or two words."
        )
    return values.map(str).eq(levels[1]).astype(float)


def _target(y: Any) -> Any:
    """Return words and few whole numbers as classes, other numbers as numbers."""
    if y.dtype.kind not in "iufb":
        return y.astype(str)
    if not holds_classes(y):
        return y.astype(float)
    is_whole = y.dtype.kind == "f" and (y == np.floor(y)).all()
    return y.astype(np.intp if is_whole else str) if y.dtype.kind == "f" else y


def _table_findings(
    asked: _NumberTable, kind: WideKind, selector: StableSelector
) -> WideTableFindings:
    classes: tuple[tuple[str, int], ...] = ()
    if asked.is_classes:
        names, sizes = np.unique(asked.y, return_counts=True)
        classes = tuple((str(label), int(size)) for label, size in zip(names, sizes, strict=True))
    return WideTableFindings(
        name=kind.name,
        target=kind.target,
        n_rows=len(asked.y),
        n_columns=asked.X.shape[1] - len(kind.fixed),
        classes=classes,
        fixed=kind.fixed,
        left_out=asked.left_out,
        n_filled=asked.n_filled,
        n_without_target=asked.n_without_target,
        shared_unit=selector.shared_unit_,
    )


def _screen_rates(selector: StableSelector, asked: _NumberTable) -> Array:
    """Return the false discovery rate of a regression on each column; NaN for several classes."""
    if asked.is_classes and len(np.unique(asked.y)) > 2:
        return np.full(asked.X.shape[1], np.nan)
    given = asked.X[[*map(str, selector.fixed or ())]].to_numpy()
    found = regression_screen(asked.X, asked.y, cofactors=given if given.shape[1] else None)
    return found.benjamini_hochberg


def _screened(selector: StableSelector, names: Sequence[str], rates: Array) -> tuple[str, ...]:
    """Return what the screen names and the selector does not keep, the strongest first."""
    kept = selector.get_support()
    order = np.argsort(rates, kind="stable")
    return tuple(names[k] for k in order if rates[k] <= _SCREEN and not kept[k])


def _sizes(selector: StableSelector) -> tuple[SizeFinding, ...]:
    rows = sorted(selector.front_.values.tolist(), key=lambda row: row[1])
    return tuple(
        SizeFinding(n_columns=int(size), area=float(area), stability=float(stability))
        for area, size, stability in rows
    )


def _columns(
    selector: StableSelector, names: Sequence[str], rates: Array
) -> tuple[StableColumn, ...]:
    kept = np.flatnonzero(selector.frequencies_ >= selector.threshold)
    shown = selector.ranking_[: max(_SHOWN, len(kept))]
    shown = shown[selector.totals_[shown] > 0]
    permuted = selector.chance_.permuted_p_value
    alike = {group.representative: group.members[1:] for group in selector.groups_}
    return tuple(
        StableColumn(
            name=names[k],
            total=int(selector.totals_[k]),
            coincident=int(selector.coincidences_[k]),
            frequency=float(selector.frequencies_[k]),
            chance=float(selector.chance_.total_p_value[k]),
            permuted=float("nan") if permuted is None else float(permuted[k]),
            adjusted_p=float(rates[k]),
            kept=bool(k in kept),
            alike=tuple(names[one] for one in alike.get(int(k), ())),
        )
        for k in shown
    )


def _study_labels(asked: _NumberTable, seed: int, time_limit: float | None) -> LabelNoise | None:
    """Return the study of flipped labels, where there are two classes that are large enough.

    If time is short it has fewer splits, or is left out.
    """
    if not asked.is_classes:
        return None
    sizes = np.unique(asked.y, return_counts=True)[1]
    if len(sizes) != 2 or sizes.min() < 8:
        return None
    study = partial(
        label_noise, asked.X, asked.y, flips=(min(3, int(sizes.min()) // 4),), random_state=seed
    )
    if time_limit is None:
        return study(n_splits=_STUDIED)
    began = time.monotonic()
    study(n_splits=1)
    n_splits = min(_STUDIED, int(time_limit / (time.monotonic() - began)) - 1)
    return study(n_splits=n_splits) if n_splits >= _FEWEST_STUDIED else None


def _suspects(noise: LabelNoise | None, asked: _NumberTable) -> tuple[SuspectRow, ...]:
    if noise is None:
        return ()
    return tuple(
        SuspectRow(
            row=int(asked.rows[k]), label=str(asked.y[k]), suspicion=float(noise.suspicion[k])
        )
        for k in noise.suspects(5)
    )


def _pictures(selector: StableSelector) -> tuple[Picture, ...]:
    import matplotlib.pyplot as plt

    from parsimon.report.figures import svg

    made = []
    for name, (kind, caption) in _CAPTIONS.items():
        if name == "null" and np.isnan(selector.null_sd_):
            continue
        caption = caption.format(selector.measure_[0].upper() + selector.measure_[1:])
        axes = selector.plot(kind)  # type: ignore[arg-type]
        figure: Any = axes.figure
        text = svg(figure, salt=name, title=caption)
        made.append(Picture(name=name, svg=text, caption=caption, title=caption))
        plt.close(figure)
    return tuple(made)
