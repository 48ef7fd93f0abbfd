"""`CaseBase`: what was learnt in earlier tasks, in a folder that many may write to.

A folder holds JSON files, each written beside its place and moved there whole: writers never touch
each other's files, and a reader sees a case or does not. Cases are found by the weights of their
columns through a metric tree, and by what their formulas compute.
"""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive, shorten
from parsimon._received import read_json
from parsimon._typing import Array
from parsimon._writing import write_file
from parsimon.exceptions import InvalidInputError, SkippedCaseWarning
from parsimon.features.learning_tasks import Case, feature_set_distance, match_columns, rename_case
from parsimon.features.operations import OwnFunction

Method = Literal["manhattan", "euclidean", "sampled", "two_phase"]
Matching = Literal["names", "assignment"]
# Columns, and pairs of columns for their products, that have a weight in a case.
_Terms: TypeAlias = tuple[tuple[str, ...], ...]

_FORMAT = "parsimon cases 1"
# Cases that are compared one by one before the tree is built anew.
_UNSORTED = 1000
# Seconds for which the time stamp of a folder may hide a change.
_COARSE = 2.0
# Candidates by sorted weights for each case wanted, where columns have to be matched.
_MATCHED = 5


class Neighbour(NamedTuple):
    """A case that was found; its columns are called as in the task."""

    case: Case
    distance: float


class CaseBase:
    """Cases of earlier tasks, found by how much columns count and by what formulas compute.

    A case holds weights, centres and spreads of columns and formulas, never rows, targets or
    models. In a folder each addition is one JSON file that is written beside its place and then
    moved there, so that several processes may add and read at the same time; what others add is
    seen at the next look. A case that is added twice is one case.

    Parameters
    ----------
    path : str or Path, optional
        A folder, made with the first case; without one, cases are only in memory.
    functions : sequence of OwnFunction
        Functions of your own that occur in formulas.

    Examples
    --------
    >>> base = CaseBase()
    >>> def task(weight, *formulas):
    ...     return Case({"x": weight}, {"x": 0.0}, {"x": 1.0}, formulas)
    >>> base.extend([task(0.9, "exp(x)"), task(0.1, "sin(x)*x")])
    >>> [(found.case.formulas, round(found.distance, 2)) for found in base.retrieve(task(1.0), 1)]
    [(('exp(x)',), 0.1)]
    """

    def __init__(
        self, path: str | Path | None = None, *, functions: Sequence[OwnFunction] = ()
    ) -> None:
        self.path = None if path is None else Path(path)
        self.functions = tuple(functions)
        self._cases: list[Case] = []
        self._known: set[Case] = set()
        self._read: set[str] = set()
        self._faulty: set[str] = set()
        self._read_at = -1
        self._by_terms: dict[_Terms, _Points] = {}
        self._by_rank = _Points(ranked=True)
        if self.path is not None and self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"{self.path} is a file; name a folder for the cases.")

    def __repr__(self) -> str:
        return f"CaseBase({'' if self.path is None else str(self.path)!r})"

    def __getstate__(self) -> dict[str, Any]:
        cases = [case.to_dict() for case in self._cases] if self.path is None else []
        path = None if self.path is None else str(self.path)
        return {"path": path, "functions": list(self.functions), "cases": cases}

    def __setstate__(self, state: dict[str, Any]) -> None:
        CaseBase.__init__(self, state["path"], functions=state["functions"])
        self._take(Case(**fields) for fields in state["cases"])

    def __deepcopy__(self, memo: Any) -> Self:
        # It is a place and not a value: copies of an estimator share what they learn.
        return self

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases, with those that others have added in the meantime."""
        self._refresh()
        return tuple(self._cases)

    def add(self, case: Case) -> None:
        """Add a case."""
        self.extend([case])

    def extend(self, cases: Iterable[Case]) -> None:
        """Add some cases, in one file."""
        self._refresh()
        new = [case for case in dict.fromkeys(cases) if case not in self._known]
        if not new:
            return
        if self.path is not None:
            self._read.add(write_cases(self.path, new))
        self._take(new)

    def compact(self) -> None:
        """Put all cases of the folder into one file, which is quicker to read than many.

        Others may add and read meanwhile: the files that are replaced go last.
        """
        if self.path is None or len(self) == 0:
            return
        # What could not be read here may be read by others.
        replaced = self._read - self._faulty
        kept = write_cases(self.path, self._cases)
        for name in replaced - {kept}:
            (self.path / name).unlink(missing_ok=True)
        self._read.add(kept)

    def retrieve(
        self,
        task: Case,
        n_cases: int = 10,
        *,
        method: Method = "manhattan",
        n_candidates: int = 20,
        sampling_weight: float = 50.0,
        mapping: Matching = "names",
        signed: bool = False,
    ) -> list[Neighbour]:
        """Return the cases nearest to a task, the nearest first.

        The features that predict a target also predict minus the target, and which of two classes
        comes first is a matter of their names. So the distance of two tasks is the lesser of those
        to the weights of a case and to minus these, which is a metric too.

        Parameters
        ----------
        task : Case
            As `describe_task` makes it; "sampled" and "two_phase" compare its formulas.
        n_cases : int
        method : {"manhattan", "euclidean", "sampled", "two_phase"}
            "manhattan" and "euclidean" compare weights of columns and of their products, through a
            metric tree. "sampled" compares formulas of every case on artificial rows. "two_phase"
            does so with the nearest by weights only, and adds both distances; without formulas it
            is "manhattan".
        n_candidates : int
            Cases of the first phase.
        sampling_weight : float
            Of the mean distance of formulas in the second phase.
        mapping : {"names", "assignment"}
            Whether columns of one name are the same, or are matched by what is known of them.
            With names a column or product that one of both lacks has weight 0 there, and cases
            without any common column are left out. What matches is the weights of columns alone.
        signed : bool
            Whether a task and that of minus its target are as far apart as their weights, as in
            the source; it needs more cases for the same error.

        Returns
        -------
        list of Neighbour
        """
        check_count("n_cases", n_cases)
        check_count("n_candidates", n_candidates)
        check_positive("sampling_weight", sampling_weight, or_zero=True)
        check_choice("method", method, ("manhattan", "euclidean", "sampled", "two_phase"))
        check_choice("mapping", mapping, ("names", "assignment"))
        self._refresh()
        find = self._find_matched if mapping == "assignment" else self._find_named
        if method in ("manhattan", "euclidean"):
            return find(task, n_cases, method, signed)
        everything = method == "sampled"
        near = find(task, len(self._cases) if everything else n_candidates, "manhattan", signed)
        n_own = max(len(task.formulas), 1)
        ranked = []
        for case, distance in near:
            apart = feature_set_distance(task, case, functions=self.functions)
            total = apart if everything else distance + sampling_weight * apart / n_own
            ranked.append(Neighbour(case, total))
        return _sort(ranked)[:n_cases]

    def _find_named(self, task: Case, n_cases: int, metric: str, signed: bool) -> list[Neighbour]:
        """Return the nearest by weights of columns of one name."""
        found: list[Neighbour] = []
        terms = task.terms
        for listed, points in self._by_terms.items():
            known = set(listed)
            if not any((name,) in known for name in task.weights):
                continue
            point = np.array([terms.get(term, 0.0) for term in listed])
            missing = np.array([weight for term, weight in terms.items() if term not in known])
            near = points.nearest_of(_signs(point, signed), n_cases, metric)
            distances = np.array(list(near.values()))
            if metric == "manhattan":
                distances = distances + np.abs(missing).sum()
            else:
                distances = np.sqrt(distances**2 + (missing**2).sum())
            found += map(Neighbour, (self._cases[place] for place in near), distances.tolist())
        return _sort(found)[:n_cases]

    def _find_matched(self, task: Case, n_cases: int, metric: str, signed: bool) -> list[Neighbour]:
        """Return the nearest after columns have been matched.

        The least sum of differences of weights over all ways to match is that of the sorted
        weights, so that a tree of these finds the candidates.
        """
        if metric != "manhattan":
            raise InvalidInputError("Columns are matched for Manhattan distances only.")
        weights = _signs(np.array(list(task.weights.values())), signed)
        tasks = [
            replace(task, weights=dict(zip(task.names, each.tolist(), strict=True)))
            for each in weights
        ]
        n_wanted = max(_MATCHED * n_cases, 20)
        found = []
        for place in self._by_rank.nearest_of(weights, n_wanted, "manhattan"):
            case = self._cases[place]
            renamed, cost = min((match_columns(case, each) for each in tasks), key=itemgetter(1))
            found.append(Neighbour(rename_case(case, renamed, self.functions), cost))
        return _sort(found)[:n_cases]

    def _take(self, cases: Iterable[Case]) -> None:
        """Take up cases that are not known yet."""
        grown: dict[_Terms, tuple[list[Array], list[int]]] = {}
        for case in cases:
            if case in self._known:
                continue
            terms = case.terms
            known = tuple(sorted(terms, key=lambda term: (len(term), term)))
            rows, places = grown.setdefault(known, ([], []))
            rows.append(np.array([terms[term] for term in known]))
            places.append(len(self._cases))
            self._known.add(case)
            self._cases.append(case)
        for known, (rows, places) in grown.items():
            vectors = np.array(rows)
            n_columns = sum(len(term) == 1 for term in known)
            self._by_terms.setdefault(known, _Points()).extend(vectors, places)
            self._by_rank.extend(vectors[:, :n_columns], places)

    def _refresh(self) -> None:
        """Read the files that others have written since the last look."""
        if self.path is None or not self.path.is_dir():
            return
        changed = self.path.stat().st_mtime_ns
        if changed == self._read_at:
            return
        names = {entry.name for entry in os.scandir(self.path) if entry.name.endswith(".json")}
        for name in sorted(names - self._read):
            try:
                cases, skipped = read_cases(self.path / name, self.functions)
            except FileNotFoundError:
                # Replaced by a file of all cases, which the next look sees.
                continue
            self._take(cases)
            self._read.add(name)
            if skipped:
                self._faulty.add(name)
                warnings.warn(
                    f"{self.path / name}: {shorten(skipped, 3)}. The others are used.",
                    SkippedCaseWarning,
                    stacklevel=3,
                )
        settled = time.time_ns() - changed > _COARSE * 1e9 and names <= self._read
        self._read_at = changed if settled else -1


def as_case_base(given: "CaseBase | str | Path | None") -> "CaseBase":
    """Return a case base, that of a folder, or a new one in memory."""
    if isinstance(given, CaseBase):
        return given
    if given is None or isinstance(given, str | Path):
        return CaseBase(given)
    raise InvalidInputError(f"case_base must be a CaseBase or a folder, got {given!r}.")


def _sort(found: Iterable[Neighbour]) -> list[Neighbour]:
    """Return the nearest first; what is equally near in an order that no disk decides."""
    return sorted(found, key=lambda each: (each.distance, each.case.formulas, each.case.title))


def write_cases(folder: Path, cases: Sequence[Case]) -> str:
    """Write cases to a file that is there whole or not at all, and return its name."""
    text = json.dumps({"format": _FORMAT, "cases": [case.to_dict() for case in cases]})
    name = f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / name, text)
    return name


def read_cases(path: Path, functions: Sequence[OwnFunction] = ()) -> tuple[list[Case], list[str]]:
    """Return the cases of a file, and what is wrong with those that are skipped."""
    text = path.read_text("utf-8", errors="replace")
    try:
        content = read_json(text)
        listed = list(content["cases"]) if content["format"] == _FORMAT else []
    except (KeyError, TypeError, ValueError):
        listed = []
    if not listed:
        return [], ["it does not hold cases of Parsimon and is skipped"]
    cases, skipped = [], []
    for place, fields in enumerate(listed):
        try:
            case = Case(**fields)
            case.expressions(functions)
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            title = fields.get("title") if isinstance(fields, dict) else None
            called = f"case {place}" + (f" ({title!s:.40})" if title else "")
            skipped.append(f"{called} is skipped: {str(error)[:200].rstrip('.')}")
        else:
            cases.append(case)
    return cases, skipped


class _Points:
    """Vectors of weights: most in a metric tree, the latest beside it.

    ranked: Whether only the order of a vector's weights counts, and zeros may be added to it.
    """

    def __init__(self, *, ranked: bool = False) -> None:
        self._ranked = ranked
        self._rows = np.empty((0, 0))
        self._new: list[Array] = []
        self._places: list[int] = []
        self._trees: dict[str, tuple[int, Any]] = {}

    def extend(self, rows: Array, places: Iterable[int]) -> None:
        """Add vectors, shape (n, d), and the places of their cases."""
        self._new.append(rows)
        self._places += places

    def nearest_of(self, points: Sequence[Array], n: int, metric: str) -> dict[int, float]:
        """Return the places of those nearest to any of some points, and their distances."""
        least: dict[int, float] = {}
        for point in points:
            distances, places = self.nearest(point, n, metric)
            for place, distance in zip(places, distances.tolist(), strict=True):
                least[place] = min(distance, least.get(place, np.inf))
        return least

    def nearest(self, point: Array, n: int, metric: str) -> tuple[Array, list[int]]:
        """Return distances and places of the n nearest, and of all as near as the last."""
        self._settle(len(point))
        given = _rank_weights(point[None], self._rows.shape[1])[0] if self._ranked else point
        n_sorted, tree = self._tree(metric)
        rest = self._rows[n_sorted:] - given
        by_hand = np.abs(rest).sum(1) if metric == "manhattan" else np.sqrt((rest**2).sum(1))
        distances, places = by_hand, np.arange(n_sorted, len(self._rows))
        if tree is not None:
            reach = float(tree.query(given[None], k=min(n, n_sorted))[0][0, -1])
            inside, apart = tree.query_radius(
                given[None], reach * (1 + 1e-12), return_distance=True
            )
            distances = np.concatenate([distances, apart[0]])
            places = np.concatenate([places, inside[0]])
        n_kept = min(n, len(distances))
        limit = np.partition(distances, n_kept - 1)[n_kept - 1] if n_kept else 0.0
        kept = np.flatnonzero(distances <= limit)
        return distances[kept], [self._places[place] for place in places[kept]]

    def _settle(self, n_given: int) -> None:
        """Put new vectors beside the others, all as long as the longest."""
        width = max([n_given, self._rows.shape[1], *(new.shape[1] for new in self._new)])
        if self._rows.shape[1] < width:
            self._rows = _rank_weights(self._rows, width)
            self._trees.clear()
        new = [_rank_weights(rows, width) if self._ranked else rows for rows in self._new]
        if new:
            self._rows, self._new = np.concatenate([self._rows, *new]), []

    def _tree(self, metric: str) -> tuple[int, Any]:
        """Return how many vectors a tree holds, and the tree, if it is worth one."""
        from sklearn.neighbors import BallTree

        n_sorted, tree = self._trees.get(metric, (0, None))
        if len(self._rows) - n_sorted >= _UNSORTED:
            n_sorted, tree = len(self._rows), BallTree(self._rows, metric=metric)
            self._trees[metric] = n_sorted, tree
        return n_sorted, tree


def _signs(weights: Array, signed: bool) -> tuple[Array, ...]:
    """Return the weights of a task and, unless signs count, those of minus its target."""
    return (weights,) if signed else (weights, -weights)


def _rank_weights(rows: Array, width: int) -> Array:
    """Return each vector in ascending order with zeros added, shape (n, d) to (n, width)."""
    padded = np.zeros((len(rows), width))
    padded[:, : rows.shape[1]] = rows
    return np.sort(padded, axis=1)
