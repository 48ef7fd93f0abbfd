"""The Front: an immutable table of mutually non-dominated solutions.

Every search of the package returns one. Choosing, drawing, saving as plain JSON (so that reading
one never runs code) and describing in words are written here once; the rules behind `knee` and
`segments` are functions in `criteria`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from parsimon._checks import check_choice, finite_matrix
from parsimon._received import read_json
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto import criteria as choice
from parsimon.pareto._directions import Directions
from parsimon.pareto.criteria import condition_mask
from parsimon.pareto.desirability import as_desirability, desirability_index
from parsimon.pareto.dominance import check_ties, hypervolume, nondominated_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def describe_front(values: Array, directions: Directions, knee: int | None) -> str:
    """Return a few sentences about a front; `knee` is None for an empty one."""
    if knee is None:
        return f"The front is empty: no solution is left ({directions})."
    if len(values) == 1:
        return f"One solution is the best in every objective: {_point(values[0], directions)}."
    sentences = [
        f"{len(values)} solutions trade {_ranges(values, directions)}.",
        f"The knee is solution {knee}, with {_point(values[knee], directions)}.",
    ]
    if len(directions) == 2:
        prices = [_price(values, directions, knee, column) for column in range(2)]
        prices = [price for price in prices if price]
        if prices:
            sentences.append(f"From there, {', and '.join(prices)}.")
    return " ".join(sentences)


def write_number(value: float) -> str:
    """Return a number as a person would write it: four significant digits."""
    if abs(value) >= 1e4 and abs(value) < 1e15 and float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _ranges(values: Array, directions: Directions) -> str:
    parts = [
        f"{name} ({'higher' if up else 'lower'} is better, "
        f"{write_number(column.min())} to {write_number(column.max())})"
        for name, up, column in zip(directions.names, directions.maximise, values.T, strict=True)
    ]
    return parts[0] if len(parts) == 1 else f"{parts[0]} against {_listed(parts[1:])}"


def _point(row: Array, directions: Directions) -> str:
    return _listed(
        [f"{name} {write_number(value)}" for name, value in zip(directions.names, row, strict=True)]
    )


def _price(values: Array, directions: Directions, knee: int, column: int) -> str:
    """Say what the best value of one of two objectives costs in the other."""
    other = 1 - column
    minimised = values * directions.sign
    best = int(np.lexsort((minimised[:, other], minimised[:, column]))[0])
    if values[best, column] == values[knee, column]:
        return ""
    word = "highest" if directions.maximise[column] else "lowest"
    cost = abs(values[best, other] - values[knee, other])
    return (
        f"the {word} {directions.names[column]} ({write_number(values[best, column])}) "
        f"costs {write_number(cost)} in {directions.names[other]}"
    )


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


# Of the JSON that a front is written as.
_VERSION = 1
Solutions = Sequence[Any] | Callable[[int], Any]


@dataclass(frozen=True)
class Member:
    """One row of a front: its place there, its original row, its objectives by name."""

    index: int
    row: int
    objectives: Mapping[str, float]

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:.4g}" for name, value in self.objectives.items())


class Front:
    """Solutions of which none is better than another in everything.

    Rows that another row dominates are left out. Rows with equal objectives do not dominate each
    other: they all stay (or only the first, with ``ties="first"``). The rows are sorted from the
    best first objective to the worst; ties there are ordered by the next objectives, then by
    their original order.

    Parameters
    ----------
    values : array-like of shape (n, m)
        The objectives of the candidates, as a person reads them.
    names : sequence of str, or int
        Names of the m objectives, or their number (then f1, f2, ...).
    maximise : sequence of str, or bool
        The objectives to be maximised; the others are minimised.
    solutions : sequence of length n, or callable, optional
        What each row stands for; a callable gets the original row and returns, for example, a
        fitted estimator.
    ties : {"keep", "first"}
        What to do with rows of equal objectives.

    Attributes
    ----------
    values : ndarray of shape (n_kept, m), read-only
    names : tuple of str
    rows : ndarray of shape (n_kept,), read-only
        Where each kept row stood in the table that was given.

    Examples
    --------
    >>> front = Front(
    ...     [[0.80, 2], [0.90, 5], [0.85, 9], [0.91, 40]],
    ...     ["accuracy", "features"],
    ...     maximise=["accuracy"],
    ... )
    >>> front
    Front: 3 solutions, accuracy up, features down
    >>> print(front[front.knee()])
    accuracy 0.9, features 5
    >>> affordable = front.where(features__le=4)
    >>> print(affordable[affordable.best("accuracy")])
    accuracy 0.8, features 2
    """

    __slots__ = ("_solutions", "directions", "rows", "values")
    directions: Directions
    values: Array
    rows: Indices
    _solutions: Solutions | None

    def __init__(
        self,
        values: Any,
        names: Sequence[str] | int,
        *,
        maximise: Sequence[str] | bool = (),
        solutions: Solutions | None = None,
        ties: str = "keep",
    ) -> None:
        directions = Directions.of(names, maximise)
        table = objective_table(values, len(directions))
        if solutions is not None and not callable(solutions) and len(solutions) != len(table):
            raise InvalidInputError(
                f"{len(table)} rows of values came with {len(solutions)} solutions; "
                "give one solution for each row."
            )
        minimised = table * directions.sign
        kept = np.flatnonzero(
            nondominated_rows(minimised, keep_ties=check_ties(ties)) if len(table) else []
        )
        kept = kept[np.lexsort((kept, *minimised[kept].T[::-1]))]
        self._store(directions, table[kept], kept.astype(np.intp), solutions)

    def _store(
        self, directions: Directions, values: Array, rows: Indices, solutions: Solutions | None
    ) -> None:
        values, rows = np.array(values), np.array(rows)
        values.flags.writeable = rows.flags.writeable = False
        for name, value in zip(
            ("directions", "values", "rows", "_solutions"),
            (directions, values, rows, solutions),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A Front never changes; build a new one instead of setting {name}.")

    # As a dictionary, which skops can store as well as pickle.
    def __getstate__(self) -> dict[str, Any]:
        parts = ("directions", "values", "rows")
        return {**{name: getattr(self, name) for name in parts}, "solutions": self._solutions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store(**state)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the objectives."""
        return self.directions.names

    @property
    def minimised(self) -> Array:
        """The objectives with a minus where larger is better, shape (n, m)."""
        return self.values * self.directions.sign

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Member]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> Member: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | AnyArray) -> "Front": ...
    def __getitem__(self, key: Any) -> "Member | Front":
        """Return one member, or the sub-front of a slice, a mask or a list of indices."""
        if isinstance(key, (int, np.integer)):
            index = range(len(self))[int(key)]
            objectives = dict(zip(self.names, self.values[index].tolist(), strict=True))
            return Member(index, int(self.rows[index]), objectives)
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key.astype(np.intp) if key.size == 0 else key
        # Some rows of a front are a front: nothing has to be filtered again.
        return restore(self.directions, self.values[key], self.rows[key], self._solutions)

    def solution(self, index: int) -> Any:
        """Return what the row at `index` stands for: an element, or a freshly made estimator."""
        row = self[index].row
        if self._solutions is None:
            raise InvalidInputError("This front was built without solutions; it has only values.")
        return self._solutions(row) if callable(self._solutions) else self._solutions[row]

    @property
    def has_solutions(self) -> bool:
        """Whether the rows stand for something that `solution` returns."""
        return self._solutions is not None

    def __repr__(self) -> str:
        noun = "solution" if len(self) == 1 else "solutions"
        return f"Front: {len(self)} {noun}, {self.directions}"

    def _repr_html_(self) -> str:
        from parsimon.pareto.plot import front_block

        knee = self.knee() if len(self) else None
        return front_block(repr(self), self.values, self.rows, self.directions, knee)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Front):
            return NotImplemented
        return self.directions == other.directions and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.directions, self.values.tobytes()))

    def where(self, **conditions: float) -> "Front":
        """Return the sub-front that meets conditions such as ``fpr__le=0.05``.

        The endings are ``__le``, ``__ge``, ``__lt`` and ``__gt``. Nothing may be left: then the
        front is empty, and choosing from it says so. Indices chosen from the sub-front count in
        the sub-front; its ``rows`` lead back to the table.
        """
        return self[condition_mask(self.values, self.directions, conditions)]

    def best(self, name: str) -> int:
        """Return the index of the best value of one objective; the others break ties in order."""
        self._refuse_empty()
        first = self.directions.position(name)
        keys = [first, *(j for j in range(len(self.names)) if j != first)]
        return int(np.lexsort(self.minimised[:, keys[::-1]].T)[0])

    def knee(self, method: Literal["chord", "gain", "tradeoff"] = "chord") -> int:
        """Return the index of the knee, beyond which a little more costs a lot.

        "chord": furthest from the line (plane) between the extremes. "gain": the normalised
        performance gain of Jin et al. (2006), for two objectives, the second being the price.
        "tradeoff": the point from which moving to any neighbour loses most for what it gains.
        None depends on units.
        """
        self._refuse_empty()
        check_choice("method", method, tuple(choice.KNEES))
        return choice.KNEES[method](self.minimised)

    def nearest(self, reference: Any, weights: Any = None) -> int:
        """Return the index nearest to a wished point, which need not be attainable.

        Parameters
        ----------
        reference : mapping by name, or sequence of length m
            Objectives left out of a mapping do not count.
        weights : mapping or sequence, optional
            How much each objective counts; equal if left out.
        """
        self._refuse_empty()
        columns, wished = self.directions.point(reference, "reference")
        share = np.ones(len(self.names))
        if weights is not None:
            weighted, given = self.directions.point(weights, "weights")
            share[weighted] = given
        if (share[columns] < 0).any() or not share[columns].any():
            raise InvalidInputError("weights must not be negative, and not all zero.")
        return choice.nearest_point(self.values[:, columns], wished, share[columns])

    def desirable(
        self, wishes: Mapping[str, Any], weights: Mapping[str, float] | None = None
    ) -> int:
        """Return the index with the highest desirability.

        Parameters
        ----------
        wishes : mapping from objective to wish
            (worst, best) for a one-sided ramp, (low, target, high) for a two-sided one, or any
            function of `parsimon.pareto.desirability`, Harrington's among them.
        weights : mapping from objective to number, optional

        Notes
        -----
        If every solution is useless (index 0 everywhere) there is nothing to choose, which is an
        error: the wishes ask too much.
        """
        self._refuse_empty()
        columns = [self.directions.position(name) for name in wishes]
        if not columns:
            raise InvalidInputError("Give a wish for at least one objective.")
        functions = [as_desirability(wish, name) for name, wish in wishes.items()]
        share = None if weights is None else [float(weights.get(name, 1.0)) for name in wishes]
        index = desirability_index(self.values[:, columns], functions, share)
        if not index.any():
            raise EmptyFrontError("Every solution has desirability 0; ask for less.")
        return int(np.argmax(index))

    def cheapest(self, cost_fp: float, cost_fn: float, prevalence: float | None = None) -> int:
        """Return the index with the least expected cost, for objectives ``tpr`` and ``fpr``.

        Parameters
        ----------
        cost_fp, cost_fn : float
            Cost of a false positive and of a false negative.
        prevalence : float, optional
            Share of positives where the model will be used; without it the rates alone count.
        """
        from parsimon.roc import expected_cost

        self._refuse_empty()
        tpr, fpr = (self.values[:, self.directions.position(name)] for name in ("tpr", "fpr"))
        cost = expected_cost(tpr, fpr, cost_fp=cost_fp, cost_fn=cost_fn, prevalence=prevalence)
        return int(np.argmin(cost))

    def segments(self, k: int = 5, *, literal: bool = False) -> Indices:
        """Return the indices of the `k` borders where a two-objective front bends most."""
        self._refuse_empty()
        return choice.segment_borders(self.minimised, k, literal=literal)

    def _refuse_empty(self) -> None:
        if not len(self):
            raise EmptyFrontError("No solution is left to choose from; loosen the conditions.")

    def union(self, other: "Front") -> "Front":
        """Return the front of both fronts together; its rows count through self, then other."""
        if self.directions != other.directions:
            raise InvalidInputError(
                f"Only fronts of the same objectives can be joined, got {self.directions} "
                f"and {other.directions}."
            )
        return Front(
            np.concatenate([self.values, other.values]),
            self.names,
            maximise=self.directions.maximised,
            solutions=_Joined(self, other) if self.has_solutions and other.has_solutions else None,
        )

    def project(self, names: Sequence[str]) -> "Front":
        """Return the front in fewer objectives; what these alone dominate is left out."""
        columns, directions = self.directions.subset(names)
        made = Front(self.values[:, columns], directions.names, maximise=directions.maximised)
        return restore(directions, made.values, self.rows[made.rows], self._solutions)

    def hypervolume(self, reference: Any) -> float:
        """Return the volume dominated up to `reference`, given by name or in order."""
        columns, corner = self.directions.point(reference, "reference")
        if len(columns) != len(self.names):
            raise InvalidInputError("The reference point needs a value for every objective.")
        return hypervolume(self.minimised[:, columns], corner * self.directions.sign[columns])

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a data frame, one row per solution; ``row`` tells the original row.

        It is the index of a pandas frame and the first column of a polars one.
        """
        columns = dict(zip(self.names, self.values.T, strict=True))
        if backend == "polars":
            import polars

            return polars.DataFrame({"row": self.rows, **columns})
        if backend != "pandas":
            raise InvalidInputError(f'backend must be "pandas" or "polars", got {backend!r}.')
        import pandas as pd

        return pd.DataFrame(columns, index=pd.Index(self.rows, name="row"))

    def to_json(self, *, solutions: bool | None = None) -> str:
        """Return the front as JSON text; numbers survive bit for bit.

        Parameters
        ----------
        solutions : bool, optional
            Whether to write the solutions. By default they are written if all of them are plain
            data (numbers, text, lists, dictionaries, arrays); fitted models are left out. Save
            those with skops.
        """
        content: dict[str, Any] = {
            "parsimon": "front",
            "version": _VERSION,
            "objectives": [
                {"name": name, "direction": "maximise" if up else "minimise"}
                for name, up in zip(self.names, self.directions.maximise, strict=True)
            ],
            "rows": self.rows.tolist(),
            "values": self.values.tolist(),
        }
        if self.has_solutions and solutions is not False:
            try:
                content["solutions"] = [_plain(self.solution(i)) for i in range(len(self))]
            except (TypeError, ValueError) as error:
                if solutions:
                    raise InvalidInputError(
                        f"The solutions are not plain data ({error}); write without them "
                        "(solutions=False) and save the models with skops."
                    ) from error
        return json.dumps(content, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Front":
        """Return the front that `to_json` wrote."""
        try:
            content = read_json(text)
            if content["parsimon"] != "front" or content["version"] != _VERSION:
                raise InvalidInputError("another kind or version of file")
            names = [objective["name"] for objective in content["objectives"]]
            up = [o["name"] for o in content["objectives"] if o["direction"] == "maximise"]
            rows = np.array(content["rows"], dtype=np.intp)
            values = objective_table(content["values"], len(names))
            solutions = content.get("solutions")
            kept = None if solutions is None else dict(zip(rows.tolist(), solutions, strict=True))
            if len(rows) != len(values):
                raise InvalidInputError("rows and values differ in length")
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"This is not a front written by Front.to_json ({error})."
            ) from error
        by_row = None if kept is None else kept.__getitem__
        return restore(Directions.of(names, up), values, rows, by_row)

    def describe(self) -> str:
        """Return a sentence or two about the front, in words."""
        return describe_front(self.values, self.directions, self.knee() if len(self) else None)

    def plot(
        self,
        *,
        chosen: int | str | None = "knee",
        kind: Literal["pair", "3d", "parallel"] | None = None,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw the front and mark a chosen point.

        Parameters
        ----------
        chosen : int, "knee" or None
            The index to mark.
        kind : {"pair", "3d", "parallel"}, optional
            "pair" for two objectives, or three with the third as colour (the default for these);
            "3d" for three; "parallel" coordinates for any number (the default for more).
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        """
        from parsimon.pareto.plot import plot_front

        self._refuse_empty()
        index = self.knee() if chosen == "knee" else chosen
        if index is not None:
            index = self[int(index)].index
        return plot_front(self.values, self.directions, chosen=index, kind=kind, ax=ax)


def objective_table(values: Any, n_objectives: int) -> Array:
    """Return the objectives as a checked matrix of shape (n, n_objectives); n may be 0."""
    if np.size(values) == 0:
        return np.empty((0, n_objectives))
    table = finite_matrix(values, "Objective values")
    if table.shape[1] != n_objectives:
        raise InvalidInputError(
            f"{n_objectives} objectives are named, but the values have {table.shape[1]} columns."
        )
    return table


def restore(
    directions: Directions, values: Array, rows: Indices, solutions: Solutions | None
) -> Front:
    """Return a front from parts that another front had; nothing is filtered or sorted."""
    made = object.__new__(Front)
    made._store(directions, values, rows, solutions)
    return made


@dataclass(frozen=True, eq=False)
class _Joined:
    """Finds a solution of two fronts together; a value, so that their union can be pickled."""

    first: Front
    second: Front

    def __call__(self, row: int) -> Any:
        before = len(self.first)
        return self.first.solution(row) if row < before else self.second.solution(row - before)


def _plain(solution: Any) -> Any:
    """Return a solution as JSON data; raise TypeError or ValueError if it is something else."""
    if isinstance(solution, (np.ndarray, np.generic)):
        solution = solution.tolist()
    json.dumps(solution, allow_nan=False)
    return solution
