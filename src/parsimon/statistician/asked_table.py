"""A table as it was read, its target, and what is asked of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import TableFindings, Treatment
from parsimon.statistician.families.family import Question
from parsimon.statistician.prepare import Preparer, TargetColumn, read_outcome
from parsimon.statistician.prepare.cells import count_missing, target_copies
from parsimon.statistician.prepare.frames import as_frame, find_column, named_frame
from parsimon.statistician.seen_tables import PreparedTable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class ReadTable:
    """A table as it was read, its target, and what is asked of it.

    `frame` has all columns, `columns` all but the target and copies of it, with cleaned names.
    """

    frame: "pd.DataFrame"
    columns: "pd.DataFrame"
    target: str
    outcome: TargetColumn
    copies: tuple[str, ...] = ()

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """What was done to rows, the target and copies of it."""
        copies = (
            Treatment(kind="column_target", column=one, value=self.target) for one in self.copies
        )
        return (*copies, *self.outcome.treatments)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes in the order of a model's probabilities; none for a number."""
        if self.outcome.task == "regression":
            return ()
        if len(self.outcome.questions) == 1:
            positive, negative = self.names(0)
            return (negative, positive)
        return self.outcome.classes

    def names(self, place: int) -> tuple[str, str]:
        """Return the class that a question asks for, and what stands against it."""
        if self.outcome.task == "regression":
            return "", ""
        code, classes = self.outcome.questions[place], self.outcome.classes
        against = classes[1 - code] if len(classes) == 2 else f"not {classes[code]}"
        return classes[code], against

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """One question for a number or two classes, else one for each class."""
        outcome = self.outcome
        targets = [outcome.values]
        if outcome.task == "classification":
            targets = [(outcome.values == code).astype(float) for code in outcome.questions]
        kept = self.columns.loc[outcome.kept].reset_index(drop=True)
        return tuple(
            Question(
                table=kept,
                X=kept,
                y=y,
                values=outcome.values if len(targets) > 1 else targets[0],
                task=outcome.task,
                target=self.target,
                positive=self.names(place)[0],
                negative=self.names(place)[1],
                rows=np.flatnonzero(outcome.kept) + 1,
                key=f"study-{place + 1}",
                n_questions=len(targets),
                seed=np.random.SeedSequence(0),
            )
            for place, y in enumerate(targets)
        )

    def table_findings(
        self,
        name: str,
        seen: PreparedTable,
        *,
        n_searched: int | None = None,
        picture: str = "",
    ) -> TableFindings:
        """Return what a page says of the table, of which so many rows were searched."""
        sampled: tuple[Treatment, ...] = ()
        if n_searched is not None and n_searched < len(seen.values):
            sampled = (Treatment(kind="rows_sampled", count=n_searched),)
        outcome = self.outcome
        classes: tuple[tuple[str, int], ...] = ()
        if outcome.task == "classification":
            counts = np.bincount(outcome.values.astype(int), minlength=len(outcome.classes))
            classes = tuple(zip(outcome.classes, counts.tolist(), strict=True))
        return TableFindings(
            name=name,
            n_rows=len(self.columns),
            n_rows_used=int(outcome.kept.sum()),
            n_columns=self.columns.shape[1] + len(self.copies) + 1,
            n_missing=count_missing(self.columns),
            target=self.target,
            task=outcome.task,
            classes=classes,
            variables=seen.variables,
            treatments=(*self.treatments, *seen.treatments, *sampled),
            picture=picture,
        )


def read_question(table: Any, target: str, *, positive: str | None, task: Any) -> ReadTable:
    """Read a table and its target."""
    outcome = read_outcome(table, target, positive=positive, task=task)
    frame = as_frame(table).reset_index(drop=True)
    column, target = find_column(frame, target)
    columns = named_frame(frame.drop(columns=column.name))
    copies = target_copies(columns, column, target)
    columns = columns.drop(columns=copies)
    if not columns.shape[1]:
        why = f" beside what repeats it, {shorten(copies)}" if copies else ""
        raise InvalidInputError(
            f"The table has one column{why}, {target!r}: there is nothing to predict it from. Give "
            "a table with more columns, cut at commas, semicolons, tabs or bars."
        )
    return ReadTable(
        frame=frame, columns=columns, target=target, outcome=outcome, copies=tuple(copies)
    )


def table_treatments(
    table: Any, target: str, *, positive: str | None = None, task: Any = "auto"
) -> tuple[Treatment, ...]:
    """Return what is done to a table before any model sees it, as a page says it."""
    asked = read_question(table, target, positive=positive, task=task)
    preparer = Preparer().fit(asked.questions[0].table)
    return (*asked.treatments, *preparer.treatments_)
