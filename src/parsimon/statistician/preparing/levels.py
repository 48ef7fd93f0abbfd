"""Levels of a category or classes of a target: their order, and which of two is the "yes"."""

from collections.abc import Sequence

import numpy as np

from parsimon.statistician.preparing.written_numbers import parse_number

_YES = frozenset({"yes", "y", "true", "t", "ja", "oui", "si", "sí", "да", "是"})
_NO = frozenset({"no", "n", "false", "f", "nein", "non", "нет", "否"})
_POSITIVE = _YES | {
    *("positive", "pos", "+", "present", "malignant", "cancer", "case", "disease", "diseased"),
    *("sick", "ill", "abnormal", "event", "dead", "died", "death", "failure", "failed", "default"),
    *("churn", "churned", "fraud", "spam", "success", "responder", "relapse", "recurrence"),
}
_NEGATIVE = _NO | {
    *("negative", "neg", "absent", "benign", "control", "healthy", "normal", "none", "alive"),
    *("survived", "legitimate", "ham", "genuine"),
}


def in_order(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels sorted: numbers by size before words, words whatever their case."""

    def key(text: str) -> tuple[float, str, str]:
        value = parse_number(text)
        return (np.inf if np.isnan(value) else value, text.casefold(), text)

    return tuple(sorted(labels, key=key))


def affirmative(labels: Sequence[str]) -> str | None:
    """Return the one of two labels that says that something is so; None if neither does.

    It is the one that is a word such as "yes", "positive" or "malignant", the other one of a word
    such as "no" or "benign", and the greater of two numbers.
    """
    first, second = labels
    values = parse_number(first), parse_number(second)
    if not np.isnan(values).any() and values[0] != values[1]:
        return first if values[0] > values[1] else second
    for words, other in ((_POSITIVE, False), (_NEGATIVE, True)):
        spoken = [text.casefold() in words for text in labels]
        if sum(spoken) == 1:
            return labels[spoken.index(not other)]
    return None


def is_yes_or_no(labels: Sequence[str]) -> bool:
    """Return whether two labels are a plain yes and no, so that the column's name says it all."""
    words = {text.casefold() for text in labels}
    return len(words & _YES) == 1 and len(words & _NO) == 1


def short(level: str, most: int = 60) -> str:
    """Return a level that is not too long for a name."""
    return level if len(level) <= most else f"{level[: most - 1]}…"
