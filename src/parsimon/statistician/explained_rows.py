"""A few rows taken apart: what speaks for and against in each.

`explained_rows` is about the model of a study, `taken_apart` about any model to use, and
`joint_rows` about one that tells more than two classes; `draw_rows` draws what they found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.report.figures import RowBar, row_bars
from parsimon.report.findings import Joint, Picture, Variable
from parsimon.report.findings.shared_findings import RARE, RowExplanation, RowPart, RowRole
from parsimon.statistician.families.family import OwnPredictions, Question, normalised, predicted
from parsimon.statistician.gallery import Gallery
from parsimon.statistician.measure import cell_text, row_label, surprise
from parsimon.statistician.outer_folds import FoldResult, outside_predictions
from parsimon.statistician.table_model import TableModel

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.families.gp._kernel_result import KernelResult

# Of the rows that would suit a role so many are looked at.
_MOST_LOOKED_AT = 20
# A model that has seen a row may say otherwise of it than one that has not by this much: a share,
# or a part of the width of a number's interval, four standard deviations.
_STEADY = 0.1
# Standard deviations beyond which a number is surprising.
_FAR = 2.0
# Two classes are near each other if their probabilities differ by no more.
_NEAR = 0.5
_MOST_BARS = 6


def explained_rows(
    found: "KernelResult", variables: Sequence[Variable]
) -> tuple[RowExplanation, ...]:
    """Return the chosen rows, explained; none where the model is no sum of parts."""
    model: Any = found.model
    if not found.structure_found or not hasattr(model, "contributions"):
        return ()
    own, question = found.own_predictions(), found.question
    sources = {variable.name: variable.column for variable in variables}
    places = dict(_choose_rows(question, own))
    rows = question.X.iloc[list(places)]
    shares, answers = model.contributions(rows), predicted(model, rows)
    return tuple(
        RowExplanation(
            row=int(question.rows[place]),
            role=role,
            label=row_label(question, place),
            probability=float(answer),
            level=float(shares.level),
            parts=tuple(_parts(question, sources, shares.columns, values, place)),
        )
        for (place, role), answer, values in zip(
            places.items(), answers, shares.values, strict=True
        )
    )


def _choose_rows(question: Question, own: OwnPredictions) -> Iterator[tuple[int, RowRole]]:
    """Yield places of rows with what they are; a later role of the same row wins."""
    for role, places in _candidates(question, own):
        if len(places):
            yield int(places[0]), role


def _candidates(question: Question, own: OwnPredictions) -> Iterator[tuple[RowRole, Indices]]:
    """Yield places of rows for each role, the most fitting first."""
    y, value, odd = question.y, own.value, surprise(question, own)
    if question.is_number:
        usual = np.flatnonzero(odd <= np.median(odd))
        yield "typical", _nearest(value, float(np.median(value)), usual)
        yield "highest", np.argsort(-value, kind="stable")
        missed = np.flatnonzero(odd > _FAR)
    else:
        border, called = _border(question), _is_called(question, value)
        right, missed = np.flatnonzero((y == 1) & called), np.flatnonzero((y == 1) != called)
        if len(right):
            yield "typical", _nearest(value, float(np.median(value[right])), right)
        yield "borderline", _nearest(value, border, np.arange(len(value)))
    yield "surprising", missed[np.argsort(-odd[missed], kind="stable")]


def _border(question: Question) -> float:
    """Return the probability from which on a row is suspected: of a rare class its share."""
    share = float(np.mean(question.y))
    return share if share < RARE else 0.5


def _is_called(question: Question, value: Array) -> AnyArray:
    return value >= _border(question)


def _nearest(values: Array, aim: float, among: Indices) -> Indices:
    """Return places among some by how near their value is to what is aimed at."""
    return among[np.argsort(np.abs(values[among] - aim), kind="stable")]


def _parts(
    question: Question,
    sources: dict[str, str],
    columns: Sequence[tuple[int, ...]],
    values: Array,
    place: int,
) -> Iterator[RowPart]:
    """Yield what the columns of the table contribute to a row, the most first."""
    sums: dict[tuple[str, ...], float] = {}
    for own, value in zip(columns, values.tolist(), strict=True):
        variables = [question.names[column] for column in own]
        key = tuple(dict.fromkeys(sources.get(name, name) for name in variables))
        sums[key] = sums.get(key, 0.0) + value
    for names, value in sorted(sums.items(), key=lambda one: -abs(one[1])):
        cells = tuple((name, cell_text(question, name, place)) for name in names)
        yield RowPart(values=cells, contribution=value)


def taken_apart(
    model: TableModel, question: Question, own: OwnPredictions
) -> tuple[RowExplanation, ...]:
    """Explain rows of which the model says the same whether it has seen them or not."""
    places: dict[int, RowRole] = {}
    for role, order in _candidates(question, own):
        looked = order[:_MOST_LOOKED_AT]
        if not len(looked):
            continue
        answers = _answers(model, question.table.iloc[looked])
        unit = 4 * own.deviation[looked] if question.is_number else 1.0
        reach = _STEADY * np.maximum(unit, np.finfo(np.float64).tiny)
        fits = np.abs(answers - own.value[looked]) <= reach
        if role == "borderline":
            fits &= np.abs(answers - _border(question)) <= 2 * _STEADY
        if role == "surprising" and not question.is_number:
            fits &= _is_called(question, answers) != (question.y[looked] == 1)
        places |= {int(place): role for place in looked[fits][:1]}
    if not places:
        return ()
    labels = [row_label(question, place) for place in places]
    answers = _answers(model, question.table.iloc[list(places)])
    return _against_typical(model, question, places, labels, answers)


def joint_rows(
    joint: Joint | None, model: TableModel, question: Question, measured: Sequence[FoldResult]
) -> tuple[Joint | None, tuple[Picture, ...]]:
    """Add a few rows, taken apart, to what is known of all classes together."""
    if joint is None:
        return None, ()
    columns = [
        outside_predictions(len(question.y), [fold for fold in measured if fold.question == place])
        for place in range(len(joint.classes))
    ]
    gallery = Gallery("joint")
    found = _classes_apart(model, question, normalised(np.column_stack(columns)))
    return replace(joint, explained=draw_rows(question, found, gallery)), tuple(gallery.pictures)


def _classes_apart(
    model: TableModel, question: Question, shares: Array
) -> tuple[RowExplanation, ...]:
    """Explain rows of more than two classes, each by what speaks for the class it is called.

    shares (n, c): Of all classes, by fits that did not see the row; NaN where there is none.
    """
    codes = np.asarray(question.values, dtype=np.intp)
    places: dict[int, RowRole] = {}
    for role, order in _class_candidates(codes, shares):
        looked = order[:_MOST_LOOKED_AT]
        if not len(looked):
            continue
        own, answers = shares[looked], model.predict_proba(question.table.iloc[looked])
        fits = np.argmax(answers, axis=1) == np.argmax(own, axis=1)
        fits &= np.abs(answers - own).max(axis=1, initial=0.0) <= _STEADY
        places |= {int(place): role for place in looked[fits][:1]}
    if not places:
        return ()
    labels = [str(model.classes[codes[place]]) for place in places]
    answers = model.predict_proba(question.table.iloc[list(places)]).max(axis=1)
    return _against_typical(model, question, places, labels, answers)


def _class_candidates(codes: Indices, shares: Array) -> Iterator[tuple[RowRole, Indices]]:
    """Yield places of rows for each role, the most fitting first."""
    known = np.flatnonzero(~np.isnan(shares).any(axis=1))
    called, ordered = np.argmax(shares, axis=1), np.sort(shares, axis=1)
    top, gap = ordered[:, -1], ordered[:, -1] - ordered[:, -2]
    right = known[called[known] == codes[known]]
    if len(right):
        yield "typical", _nearest(top, float(np.median(top[right])), right)
    near = known[gap[known] <= _NEAR]
    if len(near):
        yield "borderline", _nearest(gap, 0.0, near)
    wrong = known[called[known] != codes[known]]
    yield "surprising", _nearest(shares[np.arange(len(codes)), codes], 0.0, wrong)


def _against_typical(
    model: TableModel,
    question: Question,
    places: dict[int, RowRole],
    labels: Sequence[str],
    answers: Array,
) -> tuple[RowExplanation, ...]:
    """Return rows with what each of their columns adds to the typical row; answers (m,)."""
    shares = model.contributions(question.table.iloc[list(places)])
    called = shares.towards if len(model.classes) > 2 else None
    return tuple(
        RowExplanation(
            row=int(question.rows[place]),
            role=role,
            label=label,
            probability=float(answer),
            level=float(shares.base[at]),
            parts=tuple(
                RowPart(values=((name, cell_text(question, name, place)),), contribution=value)
                for name, value in sorted(
                    zip(shares.columns, shares.values[at].tolist(), strict=True),
                    key=lambda one: -abs(one[1]),
                )
            ),
            compared_with="typical",
            called="" if called is None else str(called[at]),
        )
        for at, ((place, role), label, answer) in enumerate(
            zip(places.items(), labels, answers, strict=True)
        )
    )


def _answers(model: TableModel, rows: "pd.DataFrame") -> Array:
    """Return the probability of the second class, or the number, shape (m,)."""
    if not len(model.classes):
        return np.asarray(model.predict(rows), dtype=np.float64)
    return model.predict_proba(rows)[:, 1]


def draw_rows(
    question: Question, found: Sequence[RowExplanation], gallery: Gallery
) -> tuple[RowExplanation, ...]:
    """Draw what speaks for and against in rows."""
    every = [_bars(question, row) for row in found]
    reach = max((abs(bar.value) for bars in every for bar in bars), default=1.0)
    ends = ("lowers", "raises") if question.is_number else ("against", "for")
    drawn = []
    for place, (row, bars) in enumerate(zip(found, every, strict=True)):
        axes = row_bars(bars, reach=reach, ends=ends)
        name = gallery.hang(f"row-{place + 1}", axes, f"What speaks in row {row.row}")
        drawn.append(replace(row, picture=name))
    return tuple(drawn)


def _bars(question: Question, found: RowExplanation) -> list[RowBar]:
    """Return the bars of a row: of a class, from where a row starts to what it has in all."""
    parts = found.parts if len(found.parts) <= _MOST_BARS else found.parts[: _MOST_BARS - 1]
    bars = [
        RowBar(", ".join(f"{name} = {cell}" for name, cell in part.values), part.contribution)
        for part in parts
    ]
    rest = found.parts[len(parts) :]
    if rest:
        bars.append(RowBar(f"{len(rest)} others", sum(part.contribution for part in rest)))
    if question.is_number:
        return bars
    total = found.level + sum(part.contribution for part in found.parts)
    start = RowBar(f"{found.compared_with} row", found.level, plain=True)
    return [start, *bars, RowBar("in all", total, plain=True)]
