"""How good the answer is on rows never seen: beside guessing, and beside what the search believed.

Of a number it is said in the unit of the target, and as the share of the variance explained. Where
one class is rare, calling every row by the common one is hardly ever wrong, so that figures which a
constant cannot have for nothing come first: balanced error, precision, recall and AUC.
"""

import math
from dataclasses import replace

from parsimon.report.document import Code, KeyFigure, Strong
from parsimon.report.findings import Checks, Decision, Honest, Interval
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import Sentence
from parsimon.report.sections._models import explained_share, the, with_article
from parsimon.report.sections.table.claims import certain, certain_words
from parsimon.report.sections.table.scope import Scope, misses, why_no_outer_folds

# A slope that is surely off by no more than this is off a little.
_LITTLE_SLOPE = 0.1
_HALF = f"guessing has 50{say.NARROW}%"


def key_figures(scope: Scope) -> tuple[KeyFigure, ...]:
    """Return four numbers: the error, guessing's, the AUC or the share explained, and the size."""
    honest, size = scope.study.honest, size_figure(scope)
    if honest is None:
        return (*_optimistic(scope), *_area(scope), size)
    error = honest.error
    seen = f"{say.share_range(error)}, on new rows"
    if scope.uses_guessing:
        own = KeyFigure(say.percent(error.estimate), "honest error", f"of guessing; {seen}")
        if scope.numeric:
            own = replace(
                _number_figures(honest)[0], detail="root mean square of guessing, on new rows"
            )
        return (own, size)
    if leads_with_balance(scope):
        return _rare_figures(scope, honest)
    if scope.numeric:
        return (*_number_figures(honest), size)
    own = KeyFigure(say.percent(error.estimate), "honest error", seen)
    return (own, _guessing(scope, honest.baseline_error.estimate), *_area(scope), size)


def _rare_figures(scope: Scope, honest: Honest) -> tuple[KeyFigure, ...]:
    """Return AUC, average precision, balanced error and, of a rare class, what is found of it."""
    figures = []
    if honest.auc is not None:
        area = f"{say.number_range(honest.auc)}, on new rows"
        figures.append(KeyFigure(f"{honest.auc.estimate:.3f}", "AUC", area))
    shares: list[tuple[Interval | None, str, str]] = [
        (honest.average_precision, "average precision", f"guessing has {say.percent(scope.share)}")
    ]
    at = honest.at_base_rate
    if at is not None:
        shares.append((at.balanced_error, "balanced error", _HALF))
        right = "no row was called so"
        if at.precision is not None:
            right = f"{say.percent(at.precision.estimate)} of calls are right"
        if scope.positive_is_rare:
            shares.append((at.recall, f"of {scope.positive} found", right))
    figures += [
        KeyFigure(say.percent(share.estimate), label, f"{say.share_range(share)}; {also}")
        for share, label, also in shares
        if share is not None
    ]
    return tuple(figures)


def _guessing(scope: Scope, error: float) -> KeyFigure:
    return KeyFigure(say.percent(error), "guessing’s error", _guess_words(scope, error))


def _guess_words(scope: Scope, error: float) -> str:
    """Return what guessing does; of classes nearly even the commoner differs between parts."""
    if say.percent(error) != say.percent(rarer_share(scope)):
        return "calling each row what most other rows are"
    study = scope.study
    larger = scope.positive if study.n_positive > study.n_negative else scope.negative
    return f"calling every row {'“other”' if larger == 'the other classes' else larger}"


def rarer_share(scope: Scope) -> float:
    """Return the error of calling every row of a table what most of them are."""
    return min(scope.share, 1 - scope.share)


def _number_figures(honest: Honest) -> tuple[KeyFigure, ...]:
    guess = misses(honest, honest.baseline_error.estimate)
    share, known = explained_share(honest.error), not math.isnan(guess)
    sure = f"; {say.ends(honest.miss)}" if honest.miss is not None and known else ""
    own, explained = say.short(honest.root_mean_square), say.percent(max(0.0, share.estimate))
    return (
        KeyFigure(own, "typical miss", f"root mean square{sure}, on new rows"),
        KeyFigure(say.short(guess) if known else say.DASH, "guessing’s miss", "always the mean"),
        KeyFigure(explained, "of the variance explained", say.percent_range(share)),
    )


def _optimistic(scope: Scope) -> tuple[KeyFigure, ...]:
    """Return what the search believed, and said so."""
    own = scope.study.model.error
    others = () if scope.numeric else (_guessing(scope, rarer_share(scope)),)
    if math.isnan(own) or scope.guesses:
        return others
    label, value = "optimistic error", own
    if scope.numeric:
        label, value = "of the variance explained (optimistic)", max(0.0, 1 - own)
    return (KeyFigure(say.percent(value), label, "no honest error was measured"), *others)


def _area(scope: Scope) -> tuple[KeyFigure, ...]:
    honest, roc = scope.study.honest, scope.study.checks.roc
    if honest is not None and honest.auc is not None:
        auc, where = honest.auc, ""
    elif roc is not None and scope.study.structure_found:
        auc, where = roc.auc, f", {scope.study.checks.source}"
    else:
        return ()
    return (
        KeyFigure(f"{auc.estimate:.3f}", "AUC (guessing: 0.5)", f"{say.number_range(auc)}{where}"),
    )


def size_figure(scope: Scope) -> KeyFigure:
    """Return how large the table is, and how many of its columns are used."""
    table = scope.findings.table
    places = range(len(scope.findings.studies))
    used = {name for place in places for name in replace(scope, place=place).used}
    n = table.n_columns - 1
    detail = f"{len(used)} of {say.count(n, 'column')} used" if used else "no column is used"
    return KeyFigure(
        f"{table.n_rows_used:,}{say.NARROW}×{say.NARROW}{n:,}", "rows × columns", detail
    )


def how_well(scope: Scope) -> str:
    """Return in a sentence how good the answer is on new rows, how surely, beside guessing."""
    honest, used = scope.study.honest, scope.findings.recommended
    if honest is None:
        return _unmeasured(scope)
    if scope.uses_guessing:
        return _how_well_guessing(scope, honest)
    who = "the model" if used is None else f"{with_article(used.name)}, the model to use,"
    error = honest.error
    if leads_with_balance(scope) and honest.auc is not None:
        return (
            f"{say.opened(scope.rare_class)} is rare; of two new rows, one of {scope.positive} and "
            f"one of {scope.negative}, {who} gives the first the higher probability in "
            f"{say.percent(honest.auc.estimate)} of cases ({say.sureness(honest.auc)} "
            f"{say.percent_range(honest.auc)}), where {_HALF}."
        )
    doubt = ""
    if honest.gain.low <= 0:
        worse = honest.gain.high < 0
        doubt = ", which is better" if worse else ", and a gain over that is not proved"
    if not scope.numeric:
        return (
            f"On rows never seen {who} is wrong in {say.percent(error.estimate)} of cases "
            f"({say.sureness(error)} {say.share_range(error)}); guessing is wrong in "
            f"{say.percent(honest.baseline_error.estimate)}{doubt}."
        )
    guess, share = misses(honest, honest.baseline_error.estimate), 1 - error.estimate
    sure, mean = "", ""
    if not math.isnan(guess):
        mean = f" Predicting the mean is off by {say.short(guess)}{doubt}."
        if honest.miss is not None:
            sure = f", {say.sureness(honest.miss)} {say.ends(honest.miss)}"
    explained = f"{say.percent(share)} of the variance is explained"
    return (
        f"On rows never seen {who} is off by {say.short(honest.root_mean_square)} on average (root "
        f"mean square{sure}); {explained if share > 0 else 'none of the variance is explained'}."
        f"{_heavy(honest)}{mean}"
    )


def _how_well_guessing(scope: Scope, honest: Honest) -> str:
    error = honest.error
    does = (
        f"{_guess_words(scope, error.estimate)} is wrong in {say.percent(error.estimate)} of cases "
        f"({say.sureness(error)} {say.share_range(error)})"
    )
    if scope.numeric:
        off = say.short(honest.root_mean_square)
        does = f"always predicting the mean is off by {off} on average (root mean square)"
    return f"The model to use is guessing: on rows never seen, {does}."


def _heavy(honest: Honest) -> str:
    """Say so where a few rows carry most of the squared misses, and what holds all the same."""
    half = honest.median_miss
    if half is None:
        return ""
    return (
        " A few rows make most of this miss, so that its interval may be too short; half of the "
        f"rows are missed by less than {say.within(half)}."
    )


def _unmeasured(scope: Scope) -> str:
    error = scope.study.model.error
    said = f"How well it does on new rows was not measured, because {why_no_outer_folds(scope)}"
    if math.isnan(error) or not scope.study.structure_found:
        return f"{said}."
    beside = "" if scope.numeric else f" (guessing {scope.does(rarer_share(scope))})"
    return f"{said}; on its own folds it {scope.does(error)}{beside}, which is optimistic."


def rival_sentence(scope: Scope) -> str:
    """Return how the best of the other models does on the same rows; nothing if none was asked."""
    found, honest = scope.findings.comparison, scope.study.honest
    if found is None or honest is None:
        return ""
    ours = found.recommended
    others = (model for model in found.models if model is not ours and model.family != "guessing")
    rival = next(others, None)
    if rival is None:
        return ""
    loss, least = rival.error.estimate, ours.error.estimate
    size = f"is wrong in {say.percent(loss)}"
    if scope.numeric:
        size = f"is off by {say.short(misses(honest, rival.error.estimate))}"
    elif found.metric == "log loss" and not math.isnan(rival.log_loss + ours.log_loss):
        loss, least = rival.log_loss, ours.log_loss
        size = f"has a log loss of {say.decimal(loss, 3)}, not {say.decimal(least, 3)}"
        if say.decimal(loss, 3) == say.decimal(least, 3):
            return (
                f"Its best rival, {the(rival)}, has a log loss of {say.decimal(loss, 3)} as well."
            )
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
    return (how_well(scope), _search_words(scope, honest), gain_sentence(scope, honest))


def gain_sentence(scope: Scope, honest: Honest) -> str:
    """Return how much is gained over guessing, whether that is sure, and what claims it is for.

    A claim is about what moves the outcome, the gain about wrong answers; where only one of the two
    is sure, one sentence says both.
    """
    gain = honest.gain
    if gain.low == gain.high == 0:
        return "There is no gain over guessing."
    size = say.points(gain.estimate)
    if scope.numeric:
        size = f"{say.percent(abs(gain.estimate))} of the variance"
    start = f"the gain over guessing is {size}"
    if round(gain.estimate, 3) <= 0:
        start = "there is no gain over guessing"
        start += f": the error is {size} higher" if round(gain.estimate, 3) else ""
    # A difference of two shares cannot be greater than all of them.
    cut = replace(gain, low=max(-1.0, gain.low), high=min(1.0, gain.high))
    both = say.percent_range(cut).removesuffix(f"{say.NARROW}%")
    if gain.low > 0:
        return f"{say.opened(start)} ({say.sureness(gain)} {both}).{_owner_words(scope)}"
    start = f"{start}; the {say.sureness(gain)} of the gain, {both},"
    if gain.high < 0:
        return say.opened(f"{start} is below zero throughout.")
    sure = certain_words(scope)
    if not sure:
        return say.opened(f"{start} includes zero, so that these rows do not prove a gain.")
    wrong = "a smaller error" if scope.numeric else "fewer wrong answers"
    return (
        f"The rows show beyond doubt that {sure}, but do not prove that this gives "
        f"{wrong}: {start} includes zero.{_better_probabilities(scope, honest)}"
    )


def _owner_words(scope: Scope) -> str:
    """Say so where a gain is sure and what it is owed to is not, as of columns that are alike."""
    if any(claim.kind != "any" for claim in certain(scope.study.claims)):
        return ""
    return f" Which column it is owed to is not {'certain' if scope.claimed else 'shown'}."


def _better_probabilities(scope: Scope, honest: Honest) -> str:
    """Say whether the probabilities are better even so."""
    if scope.numeric or math.isnan(honest.log_loss + honest.baseline_log_loss):
        return ""
    if better_log_loss(honest):
        return f" The probabilities are better all the same: {_log_losses(honest)}."
    return f" Nor are better probabilities proved: {_log_losses(honest)}."


def _search_words(scope: Scope, honest: Honest) -> str:
    error = scope.study.model.error
    searched = scope.study.structure_found and scope.findings.recommended is None
    if math.isnan(error) or not searched:
        return ""
    own = say.percent(error)
    if scope.numeric:
        own = "nothing explained" if error >= 1 else f"{say.percent(1 - error)} explained"
    start = f"On its own folds the search believed {own}"
    if round(error, 3) < round(honest.error.estimate, 3):
        return f"{start}, which is too good to be quoted."
    return f"{start}; that is not to be quoted, even though it is no better here."


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
    worse = "expect worse on new rows" if scope.numeric else "expect more errors on new rows"
    why = f" and no other model asked, because {why_no_outer_folds(scope)}: {worse}."
    first = (Strong("No honest error was measured"), why)
    if "outer folds" not in scope.findings.run.skipped:
        return first, ""
    run = ("Run it with ", Code("--outer 5"), " and without ", Code("--fast"), " to measure one.")
    return first, run


def leads_with_balance(scope: Scope) -> bool:
    """Return whether a class is rare and was measured in a way that suits it."""
    honest = scope.study.honest
    return scope.rare and honest is not None and honest.at_base_rate is not None


def rare_sentences(scope: Scope, honest: Honest) -> tuple[str, ...]:
    """Return the honest figures, those that mean something for a rare class first."""
    study, at, average = scope.study, honest.at_base_rate, honest.average_precision
    n, common = study.n_positive, scope.negative
    if not scope.positive_is_rare:
        n, common = study.n_negative, scope.positive
    total = study.n_positive + study.n_negative
    said = [
        f"{scope.rare_class} is rare ({n:,} of {say.count(total, 'row')}, "
        f"{say.percent(n / max(1, total))}): calling every row {common} is wrong in "
        f"{say.percent(honest.baseline_error.estimate)} only, so that the share of wrong answers "
        "says little here."
    ]
    if at is not None:
        said.append(
            f"On rows never seen, rows were called {scope.positive} from a probability of "
            f"{say.percent(at.threshold)} on, their share among all: the balanced error, in which "
            f"both classes weigh the same, is {_sure_share(at.balanced_error)}, and {_HALF}."
        )
        said += [_recall(scope, at)] * scope.positive_is_rare
    if average is not None:
        said.append(
            f"Over all thresholds the precision is {say.percent(average.estimate)} on average "
            f"(average precision, {say.sureness(average)} {say.share_range(average)}); guessing "
            f"has {say.percent(scope.share)}."
        )
    return (*said, _log_loss(scope, honest), _at_half(scope, honest))


def _sure_share(share: Interval) -> str:
    return f"{say.percent(share.estimate)} ({say.sureness(share)} {say.share_range(share)})"


def _recall(scope: Scope, at: Decision) -> str:
    recall = (
        f"It found {say.percent(at.recall.estimate)} of the rows of {scope.positive} (recall, "
        f"{say.sureness(at.recall)} {say.share_range(at.recall)})"
    )
    if at.precision is None:
        return f"{recall}."
    return (
        f"{recall}; of the {say.count(at.n_called, 'row')} that it called so, "
        f"{say.percent(at.precision.estimate)} are {scope.positive} (precision, "
        f"{say.sureness(at.precision)} {say.share_range(at.precision)})."
    )


def _log_losses(honest: Honest) -> str:
    """Return the log loss beside that of guessing, for the inside of a sentence."""
    return (
        f"log loss {say.decimal(honest.log_loss, 3)} against "
        f"{say.decimal(honest.baseline_log_loss, 3)} "
        "for guessing"
    )


def better_log_loss(honest: Honest) -> bool | None:
    """Return whether probabilities are surely better than the baseline's; None if not clear."""
    gain = honest.log_loss_gain
    if gain is not None:
        return True if gain.low > 0 else False if gain.high < 0 else None
    if math.isnan(honest.log_loss + honest.baseline_log_loss):
        return None
    return True if honest.log_loss < honest.baseline_log_loss else None


def _log_loss(scope: Scope, honest: Honest) -> str:
    """Say whether probabilities are better than a constant's, in step with what is claimed."""
    if math.isnan(honest.log_loss + honest.baseline_log_loss):
        return ""
    gain = honest.log_loss_gain
    interval = (
        "" if gain is None else f"; {say.sureness(gain)} of the gain {say.number_range(gain)}"
    )
    figures = f"({_log_losses(honest)}{interval})"
    better, sure = better_log_loss(honest), certain_words(scope)
    if better:
        how = "certain" if scope.claimed else "shown"
        whose = "" if sure else f" Which column it is owed to is not {how}."
        return f"The probabilities are better than guessing {figures}.{whose}"
    if not sure:
        proved = "worse than guessing" if better is False else "not proved to be better"
        return f"The probabilities are {proved} {figures}."
    return (
        f"The rows show beyond doubt that {sure}, but do not prove that this gives "
        f"better probabilities than guessing on new rows {figures}."
    )


def _at_half(scope: Scope, honest: Honest) -> str:
    at = honest.at_half
    if at is None:
        return ""
    called = f"{say.count(at.n_called, 'row')} {'is' if at.n_called == 1 else 'are'}"
    return (
        f"From a probability of one half on, {called if at.n_called else 'no row is'} called "
        f"{scope.positive}, and {say.percent(at.error.estimate)} of all are wrong."
    )
