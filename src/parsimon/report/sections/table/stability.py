"""How stable the findings are: what the search found again on parts of the table."""

import math
from collections import Counter
from collections.abc import Sequence

from parsimon.report.document import Cell, Code, Heading, Reference, Section, Table
from parsimon.report.findings import Honest, OuterFold
from parsimon.report.sections._blocks import Sentence, count_cell, note, paragraph, share_cell
from parsimon.report.sections._phrases import clean, count, joined, percent, points
from parsimon.report.sections._scope import Scope, why_no_outer_folds, words_of
from parsimon.report.sections.table.claims import certain, claimed_columns, suggested
from parsimon.structures import Claim

_MOST_FAILURES = 3
_MOST_NAMED = 8


def stability(scope: Scope) -> Section:
    """Return the section about the outer folds."""
    honest = scope.study.honest
    anchor, title = scope.anchor("stability"), "How stable is it?"
    if honest is None:
        return Section(anchor, title, (note("caution", *_unknown(scope)),))
    return Section(
        anchor,
        title,
        (
            paragraph(*_introduction(scope, honest), *_optimism(honest)),
            paragraph(*again_sentences(scope), _unclaimed(scope, honest), _again(scope, honest)),
            *((note("caution", *failed),) if (failed := _failures(honest)) else ()),
            _table(scope, honest),
        ),
    )


def again_sentences(scope: Scope, *, shapes: bool = True) -> tuple[str, ...]:
    """Return on how many parts of the table what is claimed came back; nothing without parts."""
    honest, claims = scope.study.honest, scope.study.claims
    if honest is None:
        return ()
    return tuple(
        f"{start} {_counted(scope, honest, found)}."
        for start, found in (
            ("Of what is beyond doubt,", [one for one in certain(claims) if one.kind != "shape"]),
            ("Of the suggestions,", [one for one in suggested(claims) if one.kind != "shape"]),
            ("Of the shapes,", [one for one in scope.claimed if shapes and one.kind == "shape"]),
        )
        if _counted(scope, honest, found)
    )


def _counted(scope: Scope, honest: Honest, claims: Sequence[Claim]) -> str:
    """Return how often each of some claims came back, those of equal count together."""
    n = len(honest.folds)
    groups: dict[int, list[str]] = {}
    for claim in claims:
        times = _times_again(scope, honest, claim)
        if times is not None:
            groups.setdefault(times, []).append(_name(claim))
    counts = sorted(groups.items(), reverse=True)
    return joined(
        [
            f"{joined(names)}{'' if place else ' came back'} on {_parts(times, n)}"
            for place, (times, names) in enumerate(counts)
        ]
    )


def _name(claim: Claim) -> str:
    if claim.kind == "shape":
        return f"that {clean(claim.words)}"
    return " with ".join(map(clean, claim.variables))


def _times_again(scope: Scope, honest: Honest, claim: Claim) -> int | None:
    """Return on how many parts a claim came back; None if that is not known."""
    if any(fold.claims for fold in honest.folds):
        return sum(any(one.about == claim.about for one in fold.claims) for fold in honest.folds)
    if claim.kind != "variable":
        return None
    return sum(claim.variables[0] in _columns(scope, fold) for fold in honest.folds)


def _columns(scope: Scope, fold: OuterFold) -> set[str]:
    return set(map(scope.column, fold.variables))


def _parts(times: int, n: int) -> str:
    if times == n:
        return f"{_all(n)} parts"
    return f"{times or 'none'} of {n} parts"


def _unclaimed(scope: Scope, honest: Honest) -> str:
    """Say what else was used on parts of the table."""
    n, claimed = len(honest.folds), set(claimed_columns(scope.claimed))
    uses = Counter(name for fold in honest.folds for name in _columns(scope, fold))
    others = [
        f"{clean(name)} ({times} of {n})"
        for name, times in sorted(uses.items(), key=lambda one: (-one[1], one[0]))
        if name not in claimed
    ]
    if not others:
        return ""
    verb = "was" if len(others) == 1 else "were"
    return f"Not claimed, but used on some parts, {verb} {joined(others, _MOST_NAMED)}."


def _unknown(scope: Scope) -> tuple[Sentence, ...]:
    skipped = "outer folds" in scope.findings.run.skipped
    return (
        f"Nothing can be said about stability, because {why_no_outer_folds(scope)}.",
        (
            "Run it with ",
            Code("--outer 5"),
            " and without ",
            Code("--fast"),
            " to see whether the same structure is found on parts of the table.",
        )
        if skipped
        else "",
    )


def _introduction(scope: Scope, honest: Honest) -> tuple[Sentence, ...]:
    sizes = [fold.error for fold in honest.folds]
    return (
        f"The whole search was run again {_times(len(honest.folds))}, each time without a part of "
        "the rows, and then tested on that part.",
        (
            Reference(scope.anchor("table-folds")),
            f" lists what it found. The error outside ranged from {percent(min(sizes))} to "
            f"{percent(max(sizes))}.",
        ),
    )


def _all(n: int) -> str:
    return "both" if n == 2 else f"all {n}"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _optimism(honest: Honest) -> tuple[str, ...]:
    believed = honest.guide_error
    if math.isnan(believed):
        return ()
    gap = honest.error.estimate - believed
    start = f"Inside, the searches believed {percent(believed)} on average"
    if round(gap, 3) == 0:
        return (f"{start}, as much as the error outside.",)
    way = "too optimistic" if gap > 0 else "too pessimistic"
    return (f"{start}, which was {points(gap)} {way}.",)


def _again(scope: Scope, honest: Honest) -> str:
    """Say how often the structure of the whole table was found again."""
    n = len(honest.folds)
    words = words_of(scope.study.model)
    same = sum(clean(fold.words) == words for fold in honest.folds)
    if not scope.study.structure_found:
        return _nothing_again(same, n)
    if same == n:
        return "The structure of the whole table was found again on every part."
    if same == 0:
        return (
            "The whole structure, in this very form, was found on no part: rely on what came back, "
            "not on the form."
        )
    return f"The very structure of the whole table was found again on {same} of {n} parts."


def _nothing_again(same: int, n: int) -> str:
    """Say how often no structure was found again."""
    if same == n:
        return "On every part the search found no structure either."
    if same == 0:
        return (
            "On every part the search did find a structure, although it found none in the whole "
            "table: trust neither."
        )
    return f"On {same} of {n} parts the search found no structure either."


def _failures(honest: Honest) -> tuple[Sentence, ...]:
    missing = honest.n_planned - len(honest.folds)
    if missing <= 0 and not honest.failures:
        return ()
    verb = "is" if missing == 1 else "are"
    first = (
        f"{missing} of {count(honest.n_planned, 'planned fold')} {verb} missing from these figures."
    )
    shown = honest.failures[:_MOST_FAILURES]
    if not shown:
        return (first,)
    return (first, "The reasons given: " + "; ".join(clean(one).rstrip(".") for one in shown) + ".")


def _table(scope: Scope, honest: Honest) -> Table:
    return Table(
        anchor=scope.anchor("table-folds"),
        caption="What the search found on each outer training part, and its error outside it.",
        headings=(
            Heading("Fold", numeric=True),
            Heading("Rows inside", numeric=True),
            Heading("Rows outside", numeric=True),
            Heading("Error outside", numeric=True),
            Heading("Baseline", numeric=True, help="Error of a constant outside."),
            Heading("Believed", numeric=True, help="Error on the search's own folds, inside."),
            Heading("Structure found"),
        ),
        rows=tuple(
            (
                count_cell(place),
                count_cell(fold.n_train),
                count_cell(fold.n_test),
                share_cell(fold.error),
                share_cell(fold.baseline_error),
                share_cell(fold.guide_error),
                Cell(clean(fold.words)),
            )
            for place, fold in enumerate(honest.folds, start=1)
        ),
    )
