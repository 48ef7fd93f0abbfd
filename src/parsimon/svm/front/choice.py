r"""Which machine of the front? The rules of selection, as texts.

=========================================  =======================================================
``holdout_error``                          fewest errors on the rows held out; ties: the simplest
``one_se``, ``one_se:2``                   simplest within one (two) standard errors of that
``training_error``                         fewest errors on the training rows; ties: the simplest
``dual``                                   greatest undivided dual objective
``knee``, ``knee:gain``, ``knee:tradeoff`` knee of the two objectives of the search, by method
``auto``                                   ``holdout_error`` if rows were held out, else ``knee``
``best:n_support``, ``nearest:...``, ``7`` the other rules of `parsimon.pareto.choose`
``... where n_support<=20``                any of them, among the machines that meet conditions
=========================================  =======================================================

The simplest machine is the one with the widest margin. The undivided dual objective
(:math:`\sum \alpha_i - \frac12 \alpha^T Q \alpha` without a box) asks for the hard margin; it is
the first rule of the source (Mierswa 2009, section 3.2.5).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from parsimon._options import check_positive
from parsimon._typing import Array, Mask
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto import Front
from parsimon.pareto import choose as choose_from_front
from parsimon.pareto.conditions import condition_mask, written_conditions
from parsimon.pareto.directions import Directions
from parsimon.pareto.rules import Rule

# Errors that are sums in another order are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Figures:
    """What is known of each machine of a front, in its order.

    columns (k,): All columns of the table: ``margin_term``, ``training_error``,
        ``dual_objective``, ``holdout_error`` if rows were held out, and others.
    n_holdout: Weight of the rows held out.
    """

    columns: Mapping[str, Array]
    n_holdout: float = 0.0

    def where(self, mask: Mask) -> "Figures":
        """Return the figures of some machines."""
        kept = {name: column[mask] for name, column in self.columns.items()}
        return Figures(kept, self.n_holdout)


def choose(front: Front, figures: Figures, rule: Rule) -> int:
    """Return the index that a rule chooses."""
    if not isinstance(rule, str):
        return choose_from_front(front, rule)
    text, _, conditions = rule.partition(" where ")
    kept = _met(figures, conditions) if conditions else np.ones(len(front), dtype=np.bool_)
    if not kept.any():
        raise EmptyFrontError("No machine is left to choose from; loosen the conditions.")
    index = _chosen(front[kept], figures.where(kept), text.strip())
    return int(np.flatnonzero(kept)[index])


def _chosen(front: Front, figures: Figures, text: str) -> int:
    name, _, rest = text.partition(":")
    if text == "auto":
        text = name = "holdout_error" if "holdout_error" in figures.columns else "knee"
    if text in ("holdout_error", "training_error"):
        return _fewest(_column(figures, text), figures)
    if name == "one_se":
        return _within_standard_error(figures, _number(rest) if rest else 1.0)
    if text == "dual":
        return int(np.argmax(_column(figures, "dual_objective")))
    if name == "knee":
        return _knee(front, text)
    try:
        return choose_from_front(front, text)
    except InvalidInputError as error:
        if not str(error).startswith("There is no rule"):
            raise
        raise InvalidInputError(
            f"There is no rule {name!r}; the rules are holdout_error, one_se, training_error, "
            "dual, knee, auto, best, nearest, desirable, or an index."
        ) from error


def _fewest(errors: Array, figures: Figures) -> int:
    return int(np.lexsort((figures.columns["margin_term"], errors.round(_DIGITS)))[0])


def _within_standard_error(figures: Figures, n_errors: float) -> int:
    """Return the simplest machine whose hold-out error is near the least.

    The standard error is binomial, with one error and one success added, so that a faultless
    machine has one too (Breiman et al. 1984, section 3.4.3).
    """
    check_positive("n_errors", n_errors, or_zero=True)
    errors, n = _column(figures, "holdout_error"), figures.n_holdout
    share = (n * float(errors.min()) + 1.0) / (n + 2.0)
    most = float(errors.min()) + n_errors * np.sqrt(share * (1.0 - share) / n)
    eligible = np.flatnonzero(errors.round(_DIGITS) <= round(most, _DIGITS))
    return int(eligible[np.argmin(figures.columns["margin_term"][eligible])])


def _knee(front: Front, text: str) -> int:
    """Return the knee of the objectives of the search, which are the first two."""
    pair = Front(
        front.values[:, :2],
        front.names[:2],
        maximise=[name for name in front.directions.maximised if name in front.names[:2]],
    )
    return int(pair.rows[choose_from_front(pair, text)])


def _met(figures: Figures, text: str) -> Mask:
    mask = np.ones(len(figures.columns["margin_term"]), dtype=np.bool_)
    for condition, bound in written_conditions(text, "n_support<=20").items():
        name = condition.rpartition("__")[0]
        column = _column(figures, name)[:, None]
        mask &= condition_mask(column, Directions.of([name]), {condition: bound})
    return mask


def _column(figures: Figures, name: str) -> Array:
    if name in figures.columns:
        return figures.columns[name]
    if name == "holdout_error":
        raise InvalidInputError(
            "No rows were held out; give validation_fraction, or X_val and y_val to fit, or choose "
            "by another rule such as knee."
        )
    raise InvalidInputError(
        f"There is no column {name!r}; the columns are {', '.join(figures.columns)}."
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(f"A rule needs a number here, got {text!r}.") from error
