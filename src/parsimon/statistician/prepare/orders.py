"""Orders of levels: one to list them in, and the one that their names mean (low, medium, high)."""

import re
from collections.abc import Sequence

import numpy as np

from parsimon.statistician.prepare.cells import parse_number

_SCALES = tuple(
    tuple(tuple(step.split("|")) for step in scale.split(", "))
    for scale in (
        "none|no, very low|lowest, low, low-medium|below average, medium|moderate|middle|mid|normal"
        "|average, medium-high|above average, high, very high|highest, extreme|extremely high",
        "l|lo, m|med, h|hi",
        "xxs, xs|extra small, s|very small|tiny, small, m|medium|middle, large, l|very large|big, "
        "xl|extra large|huge, xxl, xxxl",
        "never, almost never|very rarely|hardly ever, rarely|seldom, occasionally|sometimes, "
        "regularly|frequently|often, very often|usually|mostly, almost always, always",
        "none|no|absent|not at all, trace|minimal|slight|slightly|a little, mild|somewhat, "
        "moderate|moderately, marked|very|quite a bit|a lot, severe|severely, "
        "very severe|extremely|extreme",
        "strongly disagree|totally disagree|completely disagree, disagree|mostly disagree, "
        "somewhat disagree|slightly disagree, "
        "neutral|undecided|neither agree nor disagree|neither, "
        "somewhat agree|slightly agree, agree|mostly agree, "
        "strongly agree|totally agree|completely agree",
        "very dissatisfied, dissatisfied, somewhat dissatisfied, neutral|neither, "
        "somewhat satisfied, satisfied, very satisfied",
        "terrible|awful, very bad|very poor, bad|poor, fair|mediocre|average|ok|okay|acceptable, "
        "good, very good, excellent|great|premium, outstanding|ideal",
        "very unlikely, unlikely, neutral|neither, likely, very likely, certain",
        "cold|very cold, cool, mild|lukewarm, warm, hot, very hot",
        "baby|infant, child, teen|teenager|adolescent, young|young adult, adult|middle-aged, "
        "old|senior|elderly, very old",
        "first|1st, second|2nd, third|3rd, fourth|4th, fifth|5th, sixth|6th",
        "i, ii, iii, iv, v, vi, vii, viii, ix, x",
        "beginner|novice, intermediate|advanced beginner, advanced, expert",
        "primary|elementary, secondary|high school, college|some college, "
        "bachelor|bachelors|undergraduate, master|masters|graduate, doctorate|phd",
    )
)
_UNKNOWN = frozenset(
    {"unknown", "other", "missing", "not known", "n/a", "don't know", "not stated"}
)
# A word that says of the rest of a name that it counts.
_COUNTING = "stage|grade|class|level|group|category|quartile|quintile|decile|tertile|phase|tier|q"
_COUNTED = re.compile(rf"(?:{_COUNTING})[ _-]?(?=[0-9ivx]+$)")
_BELOW, _ABOVE = (
    r"<=?|≤|under|below|less than|up to|at most",
    r">=?|≥|over|above|more than|at least",
)
_NUMBER = r"\d+(?:[.,]\d+)?"
_RANGE = re.compile(
    rf"(?P<below>{_BELOW})?(?P<above>{_ABOVE})?\s*[$€£]?(?P<first>{_NUMBER})"
    rf"(?:\s*(?:-|–|to|and|,)\s*[$€£]?{_NUMBER})?(?P<more>\s*(?:\+|and over|or more|and above))?"
    r"(?P<unit>\s*(?:[a-z%]+\.?))?"
)


def sort_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels sorted: numbers by size before words, words whatever their case."""

    def key(text: str) -> tuple[float, str, str]:
        value = parse_number(text)
        return (np.inf if np.isnan(value) else value, text.casefold(), text)

    return tuple(sorted(labels, key=key))


def order_of(levels: Sequence[str]) -> tuple[str, ...]:
    """Return three levels or more in the order that their names give; empty if they give none.

    Levels such as "unknown" have no place in it.

    >>> order_of(["high", "low", "medium"])
    ('low', 'medium', 'high')
    >>> order_of(["over 50", "11-50", "1-10"])
    ('1-10', '11-50', 'over 50')
    >>> order_of(["red", "green", "low"])
    ()
    """
    levels = [level for level in levels if level.casefold().strip() not in _UNKNOWN]
    plain = [" ".join(level.casefold().replace("_", " ").split()) for level in levels]
    plain = [_COUNTED.sub("", name) for name in plain]
    if len(levels) < 3:
        return ()
    for ranks in (*(_on_scale(plain, scale) for scale in _SCALES), _as_ranges(plain)):
        if ranks is not None and len(set(ranks)) == len(levels):
            return tuple(level for _, level in sorted(zip(ranks, levels, strict=True)))
    return ()


def _on_scale(
    names: Sequence[str], scale: Sequence[Sequence[str]]
) -> list[tuple[float, int]] | None:
    places = {word: (float(step), 0) for step, words in enumerate(scale) for word in words}
    return [places[name] for name in names] if all(name in places for name in names) else None


def _as_ranges(names: Sequence[str]) -> list[tuple[float, int]] | None:
    """Return where ranges of numbers begin; less than a number comes before it, more after it."""
    found = [_RANGE.fullmatch(name) for name in names]
    ranks, units = [], set()
    for match in found:
        if match is None:
            return None
        beyond = bool(match["above"] or match["more"]) - bool(match["below"])
        ranks.append((float(match["first"].replace(",", ".")), beyond))
        units.add((match["unit"] or "").strip())
    return ranks if len(units - {""}) <= 1 else None
