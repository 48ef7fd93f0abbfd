r"""Rules for choosing from a front written as short texts, for commands and for `select`.

===================================================  ==========================================
``knee``, ``knee:gain``, ``knee:tradeoff``           the knee, by method; ``one_se`` if the knee's
                                                     error is known to be larger than that allows
``best:NAME``, or ``NAME`` alone                     the best value of one column
``one_se``, ``one_se:2``                             the smallest within one (two) standard errors
                                                     of the least error
``nearest:NAME=VALUE,...``                           nearest to a wished point
``cheapest:cost_fp=1,cost_fn=5,prevalence=0.1``      least expected cost (needs tpr and fpr)
``desirable:NAME=WORST..BEST,...``                   most desirable, ramps from worst to best
``3``                                                the row with this index
``... where fpr<=0.05 and size<9``                   any of them, among rows that meet conditions
===================================================  ==========================================

A column is an objective of the front, or one that came with it in `Figures`: the error on rows
held out, say. Where the figures tell which solutions beat a constant prediction, a rule that would
end at one that does not chooses among those alone, and says so if there are none; an index takes
any.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parsimon._checks import check_choice, check_positive
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto._directions import Directions
from parsimon.pareto.criteria import KNEES, condition_mask, written_conditions
from parsimon.pareto.dominance import nondominated_rows
from parsimon.pareto.front import Front

Rule = int | str | Callable[[Front], int]

# Errors that are sums in another order are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Figures:
    """What is known of each solution of a front besides its objectives, in its order.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n,)
        By name; what an objective is called may not occur again.
    maximise : tuple of str
        Names of the columns of which more is better.
    error : str, optional
        The column by which solutions are compared, for "one_se" and "knee".
    size : tuple of str
        Columns that break ties, the smallest first; "one_se" takes the smallest of the first.
    knee : tuple of str
        Columns between which "knee" looks, if not all objectives. It then ends at "one_se" where
        its error is above the least by more than one standard error.
    n_rows : float
        How many rows the error was measured on.
    standard_error : str, optional
        The column with the error's standard error, if it is no share of `n_rows`.
    beats_constant : ndarray of bool, shape (n,), optional
        Which solutions are better than predicting one class, or one number, for every row.
    constant : str
        What a prediction that needs no model is called in an error message.
    judged : mapping of str to ndarray of shape (n,)
        Columns as rules see them where tables do not show them so: further ones, or a more
        cautious form of a column.
    """

    columns: Mapping[str, AnyArray] = field(default_factory=dict)
    maximise: tuple[str, ...] = ()
    error: str | None = None
    size: tuple[str, ...] = ()
    knee: tuple[str, ...] = ()
    n_rows: float = 0.0
    standard_error: str | None = None
    beats_constant: Mask | None = None
    constant: str = "a constant prediction"
    judged: Mapping[str, AnyArray] = field(default_factory=dict)


def choose(front: Front, rule: Rule = "knee", figures: Figures | None = None) -> int:
    """Return the index that a rule chooses.

    Parameters
    ----------
    front : Front
    rule : int, str or callable
        An index, one of the texts above, or a function of the front.
    figures : Figures, optional
        Further columns to which rules and conditions may refer.

    Examples
    --------
    >>> front = Front([[0.80, 2], [0.90, 5], [0.91, 40]], ["auc", "features"], maximise=["auc"])
    >>> choose(front), choose(front, "best:auc"), choose(front, "nearest:features=3")
    (1, 0, 2)
    >>> choose(front, "best:auc where features<=10")
    1
    """
    if callable(rule):
        return front[int(rule(front))].index
    text = str(rule).strip()
    if text.lstrip("-").isdigit():
        if not -len(front) <= int(text) < len(front):
            raise InvalidInputError(
                f"There is no solution {text}; the front has {len(front)}, counted from 0."
            )
        return front[int(text)].index
    return _Choice.of(front, figures or Figures()).chosen(text)


def check_rule(rule: Rule, names: Sequence[str], own: Sequence[str] = ()) -> None:
    """Refuse a rule that no front with these columns knows, before one is searched for.

    Parameters
    ----------
    rule : int, str or callable
        As in `choose`. Of an index and of a function only the front can tell.
    names : sequence of str
        All columns that the front will have, its objectives among them.
    own : sequence of str
        Further rules that the search knows.

    Examples
    --------
    >>> check_rule("best:auc where features<=10", ["auc", "features"])
    >>> check_rule("kneee", ["auc", "features"])
    Traceback (most recent call last):
    ...
    parsimon.exceptions.InvalidInputError: There is no rule 'kneee'; the rules are knee, ...
    """
    text = "" if callable(rule) else str(rule).strip()
    if not text or text.lstrip("-").isdigit():
        return
    plain, where, conditions = text.partition(" where ")
    if plain.strip().partition(":")[0] in own:
        text = f"{names[0]}{where}{conditions}"
    up = [name for name in names if name == "tpr"]
    # Two objectives, which every knee can take; what else a rule may name is a column.
    stand_in = Front(
        np.zeros((1, 2)), names[:2], maximise=[name for name in up if name in names[:2]]
    )
    columns = {name: np.zeros(1) for name in names[2:]}
    figures = Figures(columns, error=names[0], size=(names[0],), n_rows=1.0)
    with suppress(EmptyFrontError):
        choose(stand_in, text, figures)


@dataclass(frozen=True, eq=False)
class _Choice:
    """A front with its figures: all columns as one table of minimised values.

    rows (k,): Which rows of the whole front these are.
    """

    front: Front
    figures: Figures
    columns: Mapping[str, Array]
    rows: Indices

    @classmethod
    def of(cls, front: Front, figures: Figures) -> "_Choice":
        signs = dict.fromkeys(figures.maximise, -1.0)
        further = {**figures.columns, **figures.judged}
        columns = dict(zip(front.names, front.minimised.T, strict=True)) | {
            name: column * signs.get(name, 1.0) for name, column in further.items()
        }
        return cls(front, figures, columns, np.arange(len(front)))

    def chosen(self, text: str) -> int:
        """Return the index in the whole front."""
        rule, _, conditions = text.partition(" where ")
        kept = self.met(conditions) if conditions else self.among(np.ones(len(self.rows), np.bool_))
        if not len(kept.rows):
            raise EmptyFrontError("No solution is left to choose from; loosen the conditions.")
        better, rule = kept.better_than_constant(), rule.strip()
        # All of them first: constant predictions are the end from which a knee is measured.
        index = kept.rows[kept.place(rule)]
        if index in better.rows:
            return int(index)
        if rule.startswith("cheapest:"):
            raise EmptyFrontError(
                f"At these costs {self.figures.constant} is cheaper than every solution."
            )
        return int(better.rows[better.place(rule)])

    def among(self, mask: Mask) -> "_Choice":
        """Return the choice among some of the rows."""
        columns = {name: column[mask] for name, column in self.columns.items()}
        return _Choice(self.front[mask], self.figures, columns, self.rows[mask])

    def met(self, text: str) -> "_Choice":
        """Return the choice among the rows that meet written conditions."""
        mask = np.ones(len(self.rows), dtype=np.bool_)
        example = f"{self.front.names[-1]}<=0.05"
        for condition, bound in written_conditions(text, example).items():
            name = condition.rpartition("__")[0]
            values = (self.column(name) * self.sign(name))[:, None]
            mask &= condition_mask(values, Directions.of([name]), {condition: bound})
        return self.among(mask)

    def better_than_constant(self) -> "_Choice":
        if self.figures.beats_constant is None:
            return self
        better: Mask = self.figures.beats_constant[self.rows]
        if not better.any():
            conditional = len(better) < len(self.figures.beats_constant)
            which = "that meets the conditions " if conditional else ""
            advice = "loosen them, or " if conditional else ""
            raise EmptyFrontError(
                f"No solution {which}beats {self.figures.constant}; {advice}take one by its index."
            )
        return self.among(better)

    def place(self, text: str) -> int:
        """Return the place among these rows that a rule without conditions chooses."""
        name, _, rest = text.partition(":")
        if text in self.columns and name not in _RULES:
            return self.best(text)
        if name not in _RULES:
            own = ", ".join(name for name in self.figures.columns)
            raise InvalidInputError(
                f"There is no rule {name!r}; the rules are {', '.join(_RULES)}, an index, or a "
                f"column ({', '.join(self.front.names)}{', ' + own if own else ''})."
            )
        return _RULES[name](self, rest)

    def column(self, name: str) -> Array:
        """Return minimised values of a column, shape (k,)."""
        if name not in self.columns:
            raise InvalidInputError(
                f"There is no column {name!r}; the columns are {', '.join(self.columns)}."
            )
        return self.columns[name]

    def sign(self, name: str) -> float:
        """Return -1 for a column of which more is better."""
        if name in self.front.names:
            return float(self.front.directions.sign[self.front.directions.position(name)])
        return -1.0 if name in self.figures.maximise else 1.0

    def best(self, name: str) -> int:
        """Return the best of a column; ties go to the smallest, or as on the front."""
        if name in self.front.names and not self.figures.size:
            return self.front.best(name)
        ties = [self.column(size) for size in self.figures.size]
        return int(np.lexsort((*ties[::-1], self.column(name).round(_DIGITS)))[0])

    def error(self, rule: str) -> Array:
        """Return the column by which solutions are compared."""
        if self.figures.error is None:
            raise InvalidInputError(
                f"{rule} needs to know the error of each solution; this front has none."
            )
        return self.column(self.figures.error)


def _knee(choice: _Choice, rest: str) -> int:
    """Return the knee of the whole front, or of the columns that the figures name.

    A bend of error against size says nothing of how large the error is there: where the first
    column takes off most errors and the second most of the rest, the front bends at the first. So
    where the figures tell how sure the error is, a knee that the rows can tell from the best is
    none, and the smallest solution that they cannot tell from it is taken.
    """
    method = rest or "chord"
    check_choice("method", method, tuple(KNEES))
    figures = choice.figures
    if not figures.knee:
        return choice.front.knee(method)  # type: ignore[arg-type]
    points = np.column_stack([choice.column(name) for name in figures.knee]).round(_DIGITS)
    front = np.flatnonzero(nondominated_rows(points, keep_ties=False))
    knee = int(front[KNEES[method](points[front])])
    if figures.error is None or not figures.size:
        return knee
    error = choice.error("knee")
    spread = _standard_error(choice, error)
    useful = not np.isfinite(spread) or knee in _near_least(error, spread)
    return knee if useful else _one_se(choice, "")


def _best(choice: _Choice, rest: str) -> int:
    if not rest:
        raise InvalidInputError(
            f"best needs a column, as in best:{choice.front.names[0]}; "
            f"the columns are {', '.join(choice.columns)}."
        )
    return choice.best(rest)


def _one_se(choice: _Choice, rest: str) -> int:
    """Return the smallest solution whose error is near the least, in its standard errors.

    Of the smallest the one with the least error is taken (Breiman, Friedman, Olshen and Stone
    1984, section 3.4.3).
    """
    n_errors = check_positive("one_se", _number(rest, "one_se") if rest else 1.0, or_zero=True)
    error = choice.error("one_se")
    spread = _standard_error(choice, error)
    if not np.isfinite(spread) or not choice.figures.size:
        raise InvalidInputError(
            "one_se needs the standard error of the least error, and a size to compare; this front "
            "lacks one of them."
        )
    near = _near_least(error, n_errors * spread)
    first, *others = [choice.column(name)[near] for name in choice.figures.size]
    return int(near[np.lexsort((*others[::-1], error[near].round(_DIGITS), first))[0]])


def _near_least(error: Array, allowed: float) -> Indices:
    """Return the places whose error is above the least by no more than is allowed."""
    most = round(float(error.min()) + allowed, _DIGITS)
    return np.flatnonzero(error.round(_DIGITS) <= most)


def _standard_error(choice: _Choice, error: Array) -> float:
    r"""Return the standard error of the least error.

    Unless the figures tell, it is binomial: :math:`\sqrt{p (1 - p) / n}` with
    :math:`p = (n e + 1) / (n + 2)`, so that a faultless solution has one too.
    """
    if choice.figures.standard_error is not None:
        return float(choice.column(choice.figures.standard_error)[error.argmin()])
    n = choice.figures.n_rows
    if not n > 0:
        return float("nan")
    share = (n * float(error.min()) + 1.0) / (n + 2.0)
    return float(np.sqrt(share * (1.0 - share) / n))


def _nearest(choice: _Choice, rest: str) -> int:
    return choice.front.nearest(_numbers("nearest", rest))


def _cheapest(choice: _Choice, rest: str) -> int:
    given = _numbers("cheapest", rest)
    if not {"cost_fp", "cost_fn"} <= set(given) <= {"cost_fp", "cost_fn", "prevalence"}:
        raise InvalidInputError(
            "cheapest needs cost_fp and cost_fn, and may have prevalence, "
            f"as in cheapest:cost_fp=1,cost_fn=5,prevalence=0.1; got {rest!r}."
        )
    return choice.front.cheapest(given["cost_fp"], given["cost_fn"], given.get("prevalence"))


def _desirable(choice: _Choice, rest: str) -> int:
    wishes = {}
    for name, wish in _pairs("desirable", rest).items():
        worst, _, best = wish.partition("..")
        wishes[name] = (_number(worst, "desirable"), _number(best, "desirable"))
    return choice.front.desirable(wishes)


_RULES: Mapping[str, Callable[[_Choice, str], int]] = {
    "knee": _knee,
    "best": _best,
    "one_se": _one_se,
    "nearest": _nearest,
    "cheapest": _cheapest,
    "desirable": _desirable,
}


def _pairs(rule: str, text: str) -> dict[str, str]:
    pairs = [part.rpartition("=") for part in text.split(",") if part.strip()]
    if not pairs or any(not name.strip() or not equals for name, equals, _ in pairs):
        raise InvalidInputError(f"{rule} needs NAME=VALUE pairs, got {text!r}.")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _numbers(rule: str, text: str) -> dict[str, float]:
    return {name: _number(value, rule) for name, value in _pairs(rule, text).items()}


def _number(text: Any, rule: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(f"{rule} needs numbers, got {text!r}.") from error
