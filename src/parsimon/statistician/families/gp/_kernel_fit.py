"""Kernel searches of a whole question: one for a number or two classes, else one for each class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._deadline import end_after, time_left
from parsimon._typing import Array, Indices
from parsimon.evaluation.importance import shuffled_rises
from parsimon.statistician.families._size import ModelSize, model_size, total_size
from parsimon.statistician.families.family import Fitted, Question, QuestionFit, predicted, sampled
from parsimon.statistician.families.gp._kernel_result import KernelResult
from parsimon.statistician.looking import look_closely
from parsimon.statistician.seen_tables import PreparedTable

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.families.kernel_search import KernelSearchFamily

# A fit to this many rows still takes less than a second, and a search needs hundreds of them.
SEARCHED_ROWS = 1500
SEARCHED_VARIABLES = 20
# Rows outside a fold in which columns are shuffled; each column is predicted several times.
_SHUFFLED_ROWS = 2000
# Of a time limit: for a look at the rows where none was taken, and of more rows than are searched
# for the search.
_LOOKING, _SEARCHING = 0.25, 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelAnswer:
    """What came of one question.

    question: All rows, as numbers.
    result: What was found on the rows that were searched.
    searched: Places of these rows.
    model: What was chosen, fitted to all rows.
    """

    question: Question
    result: KernelResult
    searched: Indices
    model: Any

    def fit(self, candidate: Any, seed: np.random.SeedSequence) -> Any:
        """Return a candidate fitted to all rows."""
        return candidate.fit(self.question.X, self.question.y, seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelFit(Fitted):
    """Answers of a search over kernels to all questions."""

    seen: PreparedTable
    answers: tuple[KernelAnswer, ...]

    @classmethod
    def of(cls, seen: PreparedTable, answers: Sequence[KernelAnswer]) -> "KernelFit":
        """Put the answers of several questions together."""
        models = tuple(answer.model for answer in answers)
        return cls(seen=seen, models=models, answers=tuple(answers))

    @cached_property
    def size(self) -> ModelSize:
        """Bits that it takes to write down the kernels and what they are fitted to."""
        return total_size(map(self._size_of, self.answers))

    def _size_of(self, answer: KernelAnswer) -> ModelSize:
        variables, used = self.seen.preparer.variables_, answer.result.chosen.variables
        places = [place for place, variable in enumerate(variables) if variable.name in used]
        n_rows = len(answer.question.y)
        return model_size(answer.model, n_rows=n_rows, n_columns=len(variables), used=places)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it uses."""
        variables = self.seen.preparer.variables_
        return tuple(dict.fromkeys(variables[place].column for place in self.size.used))

    @property
    def knows_deviation(self) -> bool:
        """Whether predictions of a number come with a standard deviation: they do."""
        return True

    def refit(self, seed: np.random.SeedSequence) -> "KernelFit":
        """Return the same kernels with hyperparameters from other starts."""
        return KernelFit.of(
            self.seen,
            [
                replace(
                    answer,
                    model=answer.result.chosen.refit(answer.question.X, answer.question.y, seed),
                )
                for answer in self.answers
            ],
        )

    def begun_again(self, starts: Sequence[Sequence[QuestionFit]]) -> "KernelFit":
        """Return the kernels with greater evidence, where a fold's hyperparameters lead to it."""
        found = []
        for place, answer in enumerate(self.answers):
            result = answer.result.begun_again([each[place].start for each in starts])
            if result is not answer.result:
                answer = replace(answer, result=result)
                answer = replace(answer, model=answer.fit(result.chosen, np.random.SeedSequence(0)))
            found.append(answer)
        return KernelFit.of(self.seen, found)

    def tell(self, X: "pd.DataFrame", outside: Sequence[Question]) -> tuple[QuestionFit, ...]:
        """Return which kernel was chosen for each question, and what columns are worth to it."""
        found = []
        for answer, question in zip(self.answers, outside, strict=True):
            chosen = answer.result.chosen
            rises = self._rises(answer, X, question)
            told = QuestionFit(chosen.variables, chosen.words, chosen.error, chosen.start, rises)
            found.append(told)
        return tuple(found)

    def _rises(
        self, answer: KernelAnswer, X: "pd.DataFrame", question: Question
    ) -> Mapping[str, Array]:
        """Return by how much losses of rows outside rise without each column that a model uses.

        Some of many rows say it as well; the others are NaN.
        """
        y = np.asarray(question.y, dtype=np.float64)
        rows = slice(None, None, ceil(len(y) / _SHUFFLED_ROWS))
        n_rows, X, y = len(y), X.iloc[rows], y[rows]
        column_of = {variable.name: variable.column for variable in self.seen.preparer.variables_}
        used = {column_of[name] for name in answer.result.chosen.variables}
        groups: dict[str, list[int]] = {}
        for place, name in enumerate(X.columns):
            if column_of[str(name)] in used:
                groups.setdefault(column_of[str(name)], []).append(place)

        def losses(rows: "pd.DataFrame") -> Array:
            value = predicted(answer.model, rows)
            lost = (value - y) ** 2 if question.is_number else (value >= 0.5) != (y == 1)
            return np.asarray(lost, dtype=np.float64)

        # A seed of its own: what is measured here changes nothing else.
        found = shuffled_rises(losses, X, groups, np.random.default_rng(0))
        rises = {name: np.full(n_rows, np.nan) for name in found}
        for name, rise in found.items():
            rises[name][rows] = rise
        return rises


def fit_kernels(
    family: "KernelSearchFamily",
    seen: PreparedTable,
    seed: np.random.SeedSequence,
    time_limit: float | None = None,
) -> KernelFit:
    """Search for the kernels of all questions, and fit what is chosen to all rows."""
    deadline, n = end_after(time_limit), len(seen.questions)
    looking = time_left(deadline, _LOOKING / n)
    seeds = [child.spawn(3) for child in seed.spawn(n)]
    looked = [
        look_closely(question, seen.preparer, seen.every, sampling, looking)
        if question.structures is None
        else question.structures
        for question, (sampling, *_) in zip(seen.questions, seeds, strict=True)
    ]
    always = {column for structures in looked for column in structures.supported_columns}
    seen = seen.narrowed(SEARCHED_VARIABLES, sorted(always))
    first = seen.questions[0]
    rows = sampled(seen.values, first.task, SEARCHED_ROWS, seeds[0][0])
    share = 1.0 if len(rows) == len(seen.values) else _SEARCHING
    answers = []
    for place, (_, searching, fitting) in enumerate(seeds):
        question = replace(
            seen.questions[place],
            X=seen.X,
            structures=looked[place].at_columns(seen.screener.kept_),
        )
        limit = time_left(deadline, share / (n - place))
        searched = question.at(rows)
        search = family.search(searched, seed=searching, time_limit=limit)
        result = KernelResult(question=searched, search=search)
        model = result.chosen.fit(question.X, question.y, fitting)
        answers.append(KernelAnswer(question=question, result=result, searched=rows, model=model))
    return KernelFit.of(seen, answers)
