"""How good the answer is on rows never seen: beside guessing, and beside what the search believed.

Of a number it is said in the unit of the target, and as the share of the variance explained.
"""

import math
from dataclasses import replace

from parsimon.report.document import Code, KeyFigure, Strong
from parsimon.report.findings import Checks, Honest, Interval
from parsimon.report.sections._blocks import Sentence
from parsimon.report.sections._models import explained_share, the, with_article
from parsimon.report.sections._phrases import (
    DASH,
    NARROW,
    count,
    decimal,
    ends,
    number_range,
    opened,
    percent,
    percent_range,
    points,
    share_range,
    short,
    sureness,
    within,
)
from parsimon.report.sections.table.claims import certain, certain_words
from parsimon.report.sections.table.rare_class import (
    better_log_loss,
    leads_with_balance,
    log_loss_words,
    rare_key_figures,
    rare_sentences,
)
from parsimon.report.sections.table.scope import Scope, misses, why_no_outer_folds


def key_figures(scope: Scope) -> tuple[KeyFigure, ...]:
    """Return four numbers: the error, guessing's, the AUC or the share explained, and the size."""
    honest = scope.study.honest
    if honest is not None and scope.uses_guessing:
        return (_guesses_figure(scope, honest), size_figure(scope))
    if honest is not None and leads_with_balance(scope):
        return rare_key_figures(scope, honest)
    if honest is None:
        return (*_optimistic(scope), *_area(scope), size_figure(scope))
    if scope.numeric:
        return (*_number_figures(honest), size_figure(scope))
    seen = f"{share_range(honest.error)}, on new rows"
    return (
        KeyFigure(percent(honest.error.estimate), "honest error", seen),
        _guessing(scope, honest.baseline_error.estimate),
        *_area(scope),
        size_figure(scope),
    )


def _guesses_figure(scope: Scope, honest: Honest) -> KeyFigure:
    """Return how well guessing does where it is the model to use."""
    if scope.numeric:
        figure, *_ = _number_figures(honest)
        return replace(figure, detail="root mean square of guessing, on new rows")
    seen = f"of guessing; {share_range(honest.error)}, on new rows"
    return KeyFigure(percent(honest.error.estimate), "honest error", seen)


def _guessing(scope: Scope, error: float) -> KeyFigure:
    return KeyFigure(percent(error), "guessing’s error", _called(scope, error))


def _called(scope: Scope, error: float) -> str:
    """Return what guessing does; of classes nearly even the commoner differs between parts."""
    if percent(error) == percent(_rarer_share(scope)):
        return f"calling every row {_commoner(scope)}"
    return "calling each row what most other rows are"


def _rarer_share(scope: Scope) -> float:
    return min(scope.share, 1 - scope.share)


def _number_figures(honest: Honest) -> tuple[KeyFigure, ...]:
    guess = misses(honest, honest.baseline_error.estimate)
    share, own = explained_share(honest.error), short(honest.root_mean_square)
    sure = "" if honest.miss is None or math.isnan(guess) else f"; {ends(honest.miss)}"
    return (
        KeyFigure(own, "typical miss", f"root mean square{sure}, on new rows"),
        KeyFigure(
            DASH if math.isnan(guess) else short(guess),
            "guessing’s miss",
            "always the mean",
        ),
        KeyFigure(
            percent(max(0.0, share.estimate)),
            "of the variance explained",
            percent_range(share),
        ),
    )


def _optimistic(scope: Scope) -> tuple[KeyFigure, ...]:
    """Return what the search believed, and said so."""
    own = scope.study.model.error
    if scope.numeric:
        label, value = "of the variance explained (optimistic)", max(0.0, 1 - own)
        others: tuple[KeyFigure, ...] = ()
    else:
        label, value = "optimistic error", own
        others = (_guessing(scope, _rarer_share(scope)),)
    if math.isnan(own) or scope.guesses:
        return others
    return (KeyFigure(percent(value), label, "no honest error was measured"), *others)


def _area(scope: Scope) -> tuple[KeyFigure, ...]:
    honest, roc = scope.study.honest, scope.study.checks.roc
    if honest is not None and honest.auc is not None:
        auc, where = honest.auc, ""
    elif roc is not None and scope.study.structure_found:
        auc, where = roc.auc, f", {scope.study.checks.source}"
    else:
        return ()
    return (KeyFigure(f"{auc.estimate:.3f}", "AUC (guessing: 0.5)", f"{number_range(auc)}{where}"),)


def size_figure(scope: Scope) -> KeyFigure:
    """Return how large the table is, and how many of its columns are used."""
    table = scope.findings.table
    places = range(len(scope.findings.studies))
    used = {name for place in places for name in replace(scope, place=place).used}
    n = table.n_columns - 1
    detail = f"{len(used)} of {count(n, 'column')} used" if used else "no column is used"
    return KeyFigure(f"{table.n_rows_used:,}{NARROW}×{NARROW}{n:,}", "rows × columns", detail)


def _commoner(scope: Scope) -> str:
    study = scope.study
    larger = scope.positive if study.n_positive > study.n_negative else scope.negative
    return "“other”" if larger == "the other classes" else larger


def how_well(scope: Scope) -> str:
    """Return in a sentence how good the answer is on new rows, how surely, beside guessing."""
    honest = scope.study.honest
    if honest is None:
        return _unmeasured(scope)
    if scope.uses_guessing:
        return _how_well_guessing(scope, honest)
    if leads_with_balance(scope) and honest.auc is not None:
        return (
            f"{opened(scope.rare_class)} is rare; of two new rows, one of {scope.positive} and one "
            f"of {scope.negative}, {_subject(scope)} gives the first the higher probability in "
            f"{percent(honest.auc.estimate)} of cases ({sureness(honest.auc)} "
            f"{percent_range(honest.auc)}), where guessing has 50{NARROW}%."
        )
    if scope.numeric:
        off, guess = short(honest.root_mean_square), misses(honest, honest.baseline_error.estimate)
        known = not math.isnan(guess)
        ours = honest.miss if known else None
        return (
            f"On rows never seen {_subject(scope)} is off by {off} on average (root "
            f"mean square{'' if ours is None else f', {sureness(ours)} {ends(ours)}'}); "
            f"{_share_words(explained_share(honest.error))}.{_heavy(honest)}"
            + (f" Predicting the mean is off by {short(guess)}" if known else "")
            + (f"{_doubt(honest)}." if known else "")
        )
    error = honest.error
    return (
        f"On rows never seen {_subject(scope)} is wrong in {percent(error.estimate)} of cases "
        f"({sureness(error)} {share_range(error)}); guessing is wrong in "
        f"{percent(honest.baseline_error.estimate)}{_doubt(honest)}."
    )


def _how_well_guessing(scope: Scope, honest: Honest) -> str:
    if scope.numeric:
        off = short(honest.root_mean_square)
        return (
            "The model to use is guessing: on rows never seen, always predicting the mean is off "
            f"by {off} on average (root mean square)."
        )
    error = honest.error
    return (
        f"The model to use is guessing: on rows never seen, {_called(scope, error.estimate)} is "
        f"wrong in {percent(error.estimate)} of cases ({sureness(error)} {share_range(error)})."
    )


def _heavy(honest: Honest) -> str:
    """Say so where a few rows carry most of the squared misses, and what holds all the same."""
    half = honest.median_miss
    if half is None:
        return ""
    return (
        " A few rows make most of this miss, so that its interval may be too short; half of the "
        f"rows are missed by less than {within(half)}."
    )


def _subject(scope: Scope) -> str:
    """Return whose figures these are."""
    found = scope.findings.recommended
    return "the model" if found is None else f"{with_article(found.name)}, the model to use,"


def _share_words(share: Interval) -> str:
    if share.estimate <= 0:
        return "none of the variance is explained"
    return f"{percent(share.estimate)} of the variance is explained"


def _doubt(honest: Honest) -> str:
    """Say so where being better than guessing is not sure."""
    if honest.gain.low > 0:
        return ""
    return ", which is better" if honest.gain.high < 0 else ", and a gain over that is not proved"


def _unmeasured(scope: Scope) -> str:
    why = why_no_outer_folds(scope)
    error = scope.study.model.error
    said = f"How well it does on new rows was not measured, because {why}"
    if math.isnan(error) or not scope.study.structure_found:
        return f"{said}."
    beside = "" if scope.numeric else f" (guessing {scope.does(_rarer_share(scope))})"
    return f"{said}; on its own folds it {scope.does(error)}{beside}, which is optimistic."


def rival_sentence(scope: Scope) -> str:
    """Return how the best of the other models does on the same rows; nothing if none was asked."""
    found, honest = scope.findings.comparison, scope.study.honest
    if found is None or honest is None:
        return ""
    ours = found.recommended
    others = [one for one in found.models if one is not ours and one.family != "guessing"]
    if not others:
        return ""
    rival = others[0]
    loss, least = rival.error.estimate, ours.error.estimate
    size = f"is wrong in {percent(loss)}"
    if scope.numeric:
        size = f"is off by {short(misses(honest, rival.error.estimate))}"
    elif found.metric == "log loss" and not math.isnan(rival.log_loss + ours.log_loss):
        loss, least = rival.log_loss, ours.log_loss
        size = f"has a log loss of {decimal(loss, 3)}, not {decimal(least, 3)}"
        if decimal(loss, 3) == decimal(least, 3):
            return f"Its best rival, {the(rival)}, has a log loss of {decimal(loss, 3)} as well."
    beside = "which is better" if loss < least else "which is worse"
    if loss == least or (rival.is_level and ours.is_level):
        beside = "which is no clear difference"
    return f"Its best rival, {the(rival)}, {size}, {beside}."


def honest_sentences(scope: Scope, honest: Honest) -> tuple[str, ...]:
    """Return the honest figures: the error beside what the search believed and guessing."""
    if scope.uses_guessing:
        return (how_well(scope),)
    if leads_with_balance(scope):
        return rare_sentences(scope, honest)
    return (how_well(scope), _believed(scope, honest), gain_sentence(scope, honest))


def gain_sentence(scope: Scope, honest: Honest) -> str:
    """Return how much is gained over guessing, whether that is sure, and what claims it is for.

    A claim is about what moves the outcome, the gain about wrong answers; where only one of the two
    is sure, one sentence says both.
    """
    gain = honest.gain
    if gain.low == gain.high == 0:
        return "There is no gain over guessing."
    size = points(gain.estimate)
    if scope.numeric:
        size = f"{percent(abs(gain.estimate))} of the variance"
    start = f"the gain over guessing is {size}"
    if round(gain.estimate, 3) <= 0:
        start = "there is no gain over guessing"
        start += f": the error is {size} higher" if round(gain.estimate, 3) else ""
    # A difference of two shares cannot be greater than all of them.
    cut = replace(gain, low=max(-1.0, gain.low), high=min(1.0, gain.high))
    both = percent_range(cut).removesuffix(f"{NARROW}%")
    if gain.low > 0:
        return f"{opened(start)} ({sureness(gain)} {both}).{_owed(scope)}"
    start = f"{start}; the {sureness(gain)} of the gain, {both},"
    if gain.high < 0:
        return opened(f"{start} is below zero throughout.")
    sure = certain_words(scope)
    if not sure:
        return opened(f"{start} includes zero, so that these rows do not prove a gain.")
    wrong = "a smaller error" if scope.numeric else "fewer wrong answers"
    return (
        f"The rows show beyond doubt that {sure}, but do not prove that this gives "
        f"{wrong}: {start} includes zero.{_better_probabilities(scope, honest)}"
    )


def _owed(scope: Scope) -> str:
    """Say so where a gain is sure and what it is owed to is not, as of columns that are alike."""
    if any(one.kind != "any" for one in certain(scope.study.claims)):
        return ""
    sure = "is not certain" if scope.claimed else "is not shown"
    return f" Which column it is owed to {sure}."


def _better_probabilities(scope: Scope, honest: Honest) -> str:
    """Say whether the probabilities are better even so."""
    if scope.numeric or math.isnan(honest.log_loss + honest.baseline_log_loss):
        return ""
    losses = log_loss_words(honest)
    if better_log_loss(honest):
        return f" The probabilities are better all the same: {losses}."
    return f" Nor are better probabilities proved: {losses}."


def _believed(scope: Scope, honest: Honest) -> str:
    error = scope.study.model.error
    searched = scope.study.structure_found and scope.findings.recommended is None
    if math.isnan(error) or not searched:
        return ""
    own = percent(1 - error) if scope.numeric and error < 1 else percent(error)
    what = " explained" if scope.numeric else ""
    own = "nothing explained" if scope.numeric and error >= 1 else f"{own}{what}"
    start = f"On its own folds the search believed {own}"
    if round(error, 3) < round(honest.error.estimate, 3):
        return f"{start}, which is too good to be quoted."
    return f"{start}; that is not to be quoted, even though it is no better here."


# A slope that is surely off by no more than this is off a little.
_LITTLE_SLOPE = 0.1


def calibration_fault(checks: Checks) -> str:
    """Return what is surely wrong with probabilities; nothing where the interval holds 1."""
    slope, sure = checks.calibration_slope, checks.slope_interval
    if slope is None or sure is None or sure.low <= 1 <= sure.high:
        return ""
    if sure.high <= 0:
        return "point the wrong way"
    little = "a little " if abs(slope - 1) <= _LITTLE_SLOPE else ""
    return f"are {little}too {'bold' if slope < 1 else 'timid'}"


def optimistic_sentences(scope: Scope) -> tuple[Sentence, ...]:
    """Return what must be said if no honest error was measured."""
    skipped = "outer folds" in scope.findings.run.skipped
    why = why_no_outer_folds(scope)
    worse = "expect worse on new rows" if scope.numeric else "expect more errors on new rows"
    return (
        (
            Strong("No honest error was measured"),
            f" and no other model asked, because {why}: {worse}.",
        ),
        ("Run it with ", Code("--outer 5"), " and without ", Code("--fast"), " to measure one.")
        if skipped
        else "",
    )
