"""The first screen: the answer in a sentence, four figures, a picture, and how far it goes."""

from collections.abc import Iterator
from dataclasses import replace

from parsimon.report.document import Block, Listings
from parsimon.report.sections import _page as page
from parsimon.report.sections._blocks import Sentence
from parsimon.report.sections._phrases import count, named, opened
from parsimon.report.sections.table.claims import (
    beats_guessing,
    beyond_claims,
    certain,
    certainties,
    claimed_columns,
    headline,
    strongest_picture,
    suggested,
    suggestions,
)
from parsimon.report.sections.table.honesty import (
    better_log_loss,
    calibration_fault,
    how_well,
    key_figures,
    leads_with_balance,
    optimistic_sentences,
    rival_sentence,
)
from parsimon.report.sections.table.scope import Scope
from parsimon.report.sections.table.treatments import is_doubtful, treatment_sentences
from parsimon.structures import Claim

_MOST_DOUBTS = 6


def answer_screen(scope: Scope) -> tuple[Block, ...]:
    """Return the first screen of a table with one question."""
    return page.first_screen(
        answer(scope),
        (how_well(scope), rival_sentence(scope)),
        key_figures(scope),
        strongest_picture((scope,)),
        certainty_lists(scope, scope.study.claims),
    )


def answer(scope: Scope) -> str:
    """Return what predicts, as surely as it is claimed."""
    what, verb, again = f"{scope.positive} from {scope.negative}", "separate", "them"
    if scope.numeric:
        what, verb, again = scope.target, "predict", "it"
    verbs = (f"{verb}s {what}", f"{verb} {what}", f" {verb} {again}")
    return headline(scope, scope.study.claims, verbs, proved=beats_guessing(scope))


def certainty_lists(scope: Scope, claims: tuple[Claim, ...]) -> Listings:
    """Return what is certain, what is suggested and what to doubt."""
    # How the target follows a column is said where that column is described, unless it is sure, or
    # sure that the column matters.
    known = {one.variables for one in certain(claims) if one.kind == "variable"}
    claims = tuple(
        one
        for one in claims
        if one.kind != "shape" or ((one.certain or one.variables in known) and not scope.several)
    )
    scopes = [replace(scope, place=place) for place in range(len(scope.findings.studies))]
    sure = certainties(claims)
    if not certain(claims) and any(map(beats_guessing, scopes)):
        better = "new rows are predicted better than by guessing"
        sure = (f"Something here predicts {scope.target}: {better}.",)
    perhaps = suggestions(claims, parts=scope.study.honest is not None)
    doubts = tuple(one for one in _doubts(scope, claims) if one)[:_MOST_DOUBTS]
    return page.sure_and_unsure(sure, perhaps, doubts)


def _doubts(scope: Scope, claims: tuple[Claim, ...]) -> Iterator[Sentence]:
    """Yield what keeps a reader careful, the gravest first."""
    findings, honest = scope.findings, scope.study.honest
    if honest is None:
        first, more = optimistic_sentences(scope)
        yield (*first, *((" ", *more) if more else ()))
    elif not scope.several:
        yield _unproved(scope)
    n_rows = findings.table.n_rows_used
    found = [one for one in findings.table.treatments if is_doubtful(one, n_rows)]
    yield from treatment_sentences(found)
    if not scope.several:
        yield _calibration(scope)
        yield from beyond_claims(scope)
        yield _unshown(scope)
    if certain(claims) or suggested(claims):
        yield page.NOT_A_CAUSE
    else:
        yield "This does not prove that there is nothing: more rows would help most."


def _unproved(scope: Scope) -> str:
    honest = scope.study.honest
    if honest is None or honest.gain.low > 0 or scope.uses_guessing:
        return ""
    if leads_with_balance(scope):
        worse = better_log_loss(honest)
        return "" if worse else "Better probabilities than guessing’s are not proved."
    if honest.gain.high < 0:
        return "On new rows the model does worse than guessing."
    wrong = "a smaller miss" if scope.numeric else "fewer wrong answers"
    return f"That the model gives {wrong} than guessing is not proved."


def _calibration(scope: Scope) -> str:
    fault = calibration_fault(scope.study.checks)
    return "" if scope.guesses or not fault else f"The probabilities {fault}."


def _unshown(scope: Scope) -> str:
    """Say which columns these rows do not show to matter, though the model may use them."""
    claimed = claimed_columns(scope.claimed)
    others = [name for name in scope.columns if name not in claimed]
    if not others or not claimed:
        return ""
    used = [name for name in others if name in scope.used and not scope.guesses]
    also = "" if not used else f"; the model uses {_some(used, others)}"
    where = "" if scope.rows_seen == "these rows" else f" by {scope.rows_seen}"
    return (
        f"{opened(count(len(others), 'other column'))}: neither shown{where} to matter beside "
        f"these nor shown not to{also}."
    )


def _some(used: list[str], others: list[str]) -> str:
    """Return which of some columns are used: all, or their names."""
    if used == others:
        return "them" if len(used) > 1 else "it"
    return named(used)
