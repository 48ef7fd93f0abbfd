"""What a log Bayes factor says, in words."""

import math

from parsimon.report.writing.phrases import decimal

_MILLION = math.log(1e6)


def times(log_bayes_factor: float) -> str:
    """Return how many times more probable the data are, whichever side is favoured."""
    size = abs(log_bayes_factor)
    if size > _MILLION:
        return "more than a million times"
    factor = math.exp(size)
    if factor < 10:
        return f"about {factor:.1f} times"
    # Two digits: nobody believes the third.
    digits = int(math.log10(factor)) - 1
    return f"about {round(factor / 10**digits) * 10**digits:,} times"


def weight(log_bayes_factor: float) -> str:
    """Return how strong evidence is, on the scale of Kass and Raftery (1995)."""
    size = abs(log_bayes_factor)
    if size < 1:
        return "too little to decide"
    if size < 3:
        return "moderate"
    return "strong" if size < 5 else "very strong"


def verdict(log_bayes_factor: float, ours: str, other: str) -> str:
    """Return a sentence that says which of two models the data favour."""
    said = f"log Bayes factor {decimal(log_bayes_factor, 1)}"
    if abs(log_bayes_factor) < 1:
        return f"The evidence does not decide between {ours} and {other} ({said})."
    better, worse = (ours, other) if log_bayes_factor > 0 else (other, ours)
    return (
        f"The data are {times(log_bayes_factor)} more probable under {better} than under {worse} "
        f"({said}), which is {weight(log_bayes_factor)} evidence."
    )
