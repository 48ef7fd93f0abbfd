"""The unbounded elite archive: everything non-dominated that a search has ever seen.

Bounded archives shrink and oscillate (Fieldsend, Everson and Singh 2003, IEEE Trans. Evol.
Comput. 7:305-323), so this one keeps all. With the extra `fast` (numba) the members live in a
compiled index (`parsimon.pareto._boxes`), otherwise they are filtered again with moocore's C code;
the result is the same.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parsimon import _compiled
from parsimon._typing import AnyArray, Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import _boxes as boxes
from parsimon.pareto._directions import Directions
from parsimon.pareto.dominance import check_ties, nondominated_rows
from parsimon.pareto.front import Front


class Insertion(NamedTuple):
    """What one batch changed: who entered, and the running numbers of the members who left."""

    entered: Mask
    left: AnyArray


class Archive:
    """Keep every non-dominated solution, however many there are.

    The set of objective vectors does not depend on the order of insertion. Candidates are
    numbered from 0 in the order in which they are offered; members are listed in that order.

    Parameters
    ----------
    names : sequence of str, or int
        The objectives, or how many there are (then they are called f1, f2, ...).
    maximise : sequence of str, or bool
        Which objectives are to be maximised.
    ties : {"first", "keep"}
        What happens to a candidate whose objectives equal a member's: with "first" it is
        refused, so that a search that stalls can notice it; with "keep" it enters.

    Examples
    --------
    >>> archive = Archive(["error", "size"])
    >>> archive.insert([[0.3, 1], [0.2, 5], [0.4, 2]], solutions=["stump", "tree", "worse"])
    Insertion(entered=array([ True,  True, False]), left=array([], dtype=int64))
    >>> archive.insert([[0.1, 5]], solutions=["better tree"])
    Insertion(entered=array([ True]), left=array([1]))
    >>> archive.solutions
    ['stump', 'better tree']
    """

    def __init__(
        self,
        names: Sequence[str] | int,
        *,
        maximise: Sequence[str] | bool = (),
        ties: str = "first",
    ) -> None:
        self.directions = Directions.of(names, maximise)
        self._n_objectives = len(self.directions)
        index = _BoxIndex if _compiled.numba_is_installed() else _PlainIndex
        self._index = index(len(self.directions), keep_ties=check_ties(ties))
        self._solutions: dict[int, Any] = {}
        self._sign = self.directions.sign if any(self.directions.maximise) else None

    def insert(self, values: Any, solutions: Sequence[Any] | None = None) -> Insertion:
        """Offer a batch of candidates.

        Parameters
        ----------
        values : array-like of shape (n, m)
            Their objectives, in the archive's directions.
        solutions : sequence of length n, optional
            What is remembered for those that enter; their running number if left out.

        Returns
        -------
        Insertion
            `entered`, shape (n,), and the running numbers of the members that `left`.
        """
        batch = np.ascontiguousarray(values, _NUMBER)
        if batch.ndim != 2 or batch.shape[1] != self._n_objectives:
            raise InvalidInputError(
                f"The archive has {self._n_objectives} objectives "
                f"({', '.join(self.directions.names)}), got values of shape {batch.shape}."
            )
        if self._sign is not None:
            batch = batch * self._sign
        if solutions is None and not self._solutions:
            return self._index.insert(batch)
        return self._insert_with_solutions(batch, solutions)

    def _insert_with_solutions(self, batch: Array, solutions: Sequence[Any] | None) -> Insertion:
        if solutions is not None and len(solutions) != len(batch):
            raise InvalidInputError(
                f"{len(batch)} rows of values came with {len(solutions)} solutions; "
                "give one solution for each row."
            )
        first = self.n_offered
        change = self._index.insert(batch)
        if solutions is not None:
            for row in change.entered.nonzero()[0].tolist():
                self._solutions[first + row] = solutions[row]
        for number in change.left.tolist():
            self._solutions.pop(number, None)
        return change

    def __len__(self) -> int:
        return self._index.size

    @property
    def n_offered(self) -> int:
        """How many candidates there have been."""
        return self._index.n_offered

    @property
    def values(self) -> Array:
        """Objectives of the members, shape (n, m), in the archive's directions."""
        return self._index.members()[0] * self.directions.sign

    @property
    def numbers(self) -> AnyArray:
        """Running numbers of the members, shape (n,)."""
        return self._index.members()[1]

    @property
    def solutions(self) -> list[Any]:
        """What was remembered for each member."""
        return [self._solutions.get(number, number) for number in self.numbers.tolist()]

    def front(self) -> Front:
        """Return the members as an immutable `Front`."""
        return Front(
            self.values,
            self.directions.names,
            maximise=self.directions.maximised,
            solutions=self.solutions,
        )

    def __repr__(self) -> str:
        return f"Archive: {len(self)} of {self.n_offered} candidates, {self.directions}"


# Made once: looking a type up costs as much as screening twenty candidates.
_NUMBER, _FLAG = np.dtype(np.float64), np.dtype(np.bool_)

# What Insertion(...) does after sorting out its keywords, in a third of the time.
_insertion = partial(tuple.__new__, Insertion)

_NOT_FINITE = "Objective values must be finite; leave out the rows of failed candidates."


_NOBODY = np.empty(0, dtype=np.int64)
_NOBODY.flags.writeable = False


class _PlainIndex:
    """Members by value and number, minimised: filtered again with each batch."""

    def __init__(self, n_objectives: int, *, keep_ties: bool) -> None:
        self._values, self._numbers = np.empty((0, n_objectives)), np.empty(0, dtype=np.int64)
        self._keep_ties = keep_ties
        self.n_offered = 0

    @property
    def size(self) -> int:
        return len(self._numbers)

    def insert(self, batch: Array) -> Insertion:
        if not np.isfinite(batch).all():
            raise InvalidInputError(_NOT_FINITE)
        if not len(batch):
            return Insertion(np.zeros(0, dtype=np.bool_), _NOBODY)
        after = self.n_offered + len(batch)
        values = np.concatenate([self._values, batch])
        numbers = np.concatenate([self._numbers, np.arange(self.n_offered, after)])
        mask = nondominated_rows(values, keep_ties=self._keep_ties)
        change = Insertion(mask[self.size :], self._numbers[~mask[: self.size]])
        self._values, self._numbers, self.n_offered = values[mask], numbers[mask], after
        return change

    def members(self) -> tuple[Array, AnyArray]:
        return self._values, self._numbers


class _BoxIndex:
    """The compiled index; its arrays grow by doubling."""

    def __init__(self, n_objectives: int, *, keep_ties: bool) -> None:
        # Called without detour: a rejection costs less than that.
        self._insert: Callable[..., int] = boxes.insert_batch.machine_code
        self._points = np.empty((128, boxes.BOX_SIZE + 2, n_objectives))
        self._points[0] = np.inf
        self._numbers = np.empty((128, boxes.BOX_SIZE + 1), dtype=np.int64)
        self._numbers[0, :5] = 1, 0, 0, keep_ties, 0
        self._left = np.empty(128, dtype=np.int64)

    @property
    def size(self) -> int:
        return int(self._numbers[0, boxes.SIZE])

    @property
    def n_offered(self) -> int:
        return int(self._numbers[0, boxes.N_OFFERED])

    def insert(self, batch: Array) -> Insertion:
        entered = np.empty(len(batch), _FLAG)
        n_left = self._insert(self._points, self._numbers, batch, entered, self._left)
        if n_left == 0:
            return _insertion((entered, _NOBODY))
        if n_left > 0:
            return Insertion(entered, self._left[:n_left].copy())
        if n_left == boxes.NOT_FINITE:
            raise InvalidInputError(_NOT_FINITE)
        self._grow(len(batch))
        return self.insert(batch)

    def _grow(self, n_rows: int) -> None:
        n_boxes = int(self._numbers[0, boxes.N_BOXES])
        extra = max(0, 2 * (n_boxes + n_rows) - len(self._points))
        self._points = np.concatenate([self._points, np.empty((extra, *self._points.shape[1:]))])
        grown = np.empty((extra, self._numbers.shape[1]), dtype=np.int64)
        self._numbers = np.concatenate([self._numbers, grown])
        self._left = np.empty(max(2 * self.size, len(self._left)), dtype=np.int64)

    def members(self) -> tuple[Array, AnyArray]:
        n_boxes = self._numbers[0, boxes.N_BOXES]
        numbers = self._numbers[1:n_boxes]
        filled = np.arange(numbers.shape[1] - 1) < numbers[:, :1]
        values, order = self._points[1:n_boxes, 2:][filled], numbers[:, 1:][filled]
        by_number = np.argsort(order)
        return values[by_number], order[by_number]
