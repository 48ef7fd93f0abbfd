"""Rules for choosing from a front written as short texts, for commands and for `select`.

===================================================  ==========================================
``knee``, ``knee:gain``, ``knee:tradeoff``           the knee, by method
``best:NAME``                                        the best value of one objective
``nearest:NAME=VALUE,...``                           nearest to a wished point
``cheapest:cost_fp=1,cost_fn=5,prevalence=0.1``      least expected cost (needs tpr and fpr)
``desirable:NAME=WORST..BEST,...``                   most desirable, ramps from worst to best
``3``                                                the row with this index
===================================================  ==========================================
"""

from collections.abc import Callable, Mapping
from typing import Any

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.front import Front

Rule = int | str | Callable[[Front], int]


def choose(front: Front, rule: Rule = "knee") -> int:
    """Return the index that a rule chooses.

    Parameters
    ----------
    front : Front
    rule : int, str or callable
        An index, one of the texts above, or a function of the front.

    Examples
    --------
    >>> front = Front([[0.80, 2], [0.90, 5], [0.91, 40]], ["auc", "features"], maximise=["auc"])
    >>> choose(front), choose(front, "best:auc"), choose(front, "nearest:features=3")
    (1, 0, 2)
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
    name, _, rest = text.partition(":")
    if name not in _RULES:
        raise InvalidInputError(
            f"There is no rule {name!r}; the rules are {', '.join(_RULES)}, or an index."
        )
    return _RULES[name](front, rest)


def _knee(front: Front, rest: str) -> int:
    return front.knee(rest or "chord")  # type: ignore[arg-type]


def _best(front: Front, rest: str) -> int:
    if not rest:
        raise InvalidInputError(
            f"best needs an objective, as in best:{front.names[0]}; "
            f"the objectives are {', '.join(front.names)}."
        )
    return front.best(rest)


def _nearest(front: Front, rest: str) -> int:
    return front.nearest(_numbers("nearest", rest))


def _cheapest(front: Front, rest: str) -> int:
    given = _numbers("cheapest", rest)
    if not {"cost_fp", "cost_fn"} <= set(given) <= {"cost_fp", "cost_fn", "prevalence"}:
        raise InvalidInputError(
            "cheapest needs cost_fp and cost_fn, and may have prevalence, "
            f"as in cheapest:cost_fp=1,cost_fn=5,prevalence=0.1; got {rest!r}."
        )
    return front.cheapest(given["cost_fp"], given["cost_fn"], given.get("prevalence"))


def _desirable(front: Front, rest: str) -> int:
    wishes = {}
    for name, wish in _pairs("desirable", rest).items():
        worst, _, best = wish.partition("..")
        wishes[name] = (_number(worst, "desirable"), _number(best, "desirable"))
    return front.desirable(wishes)


_RULES: Mapping[str, Callable[[Front, str], int]] = {
    "knee": _knee,
    "best": _best,
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
