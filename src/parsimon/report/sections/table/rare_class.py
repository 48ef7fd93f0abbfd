"""What is said where one class is rare: figures that a constant cannot have for nothing.

Calling every row by the common class is then hardly ever wrong, so that the share of wrong answers
at one half says little. Balanced error, precision, recall, average precision and AUC come first.
"""

import math

from parsimon.report.document import KeyFigure
from parsimon.report.findings import Decision, Honest, Interval
from parsimon.report.sections._phrases import (
    NARROW,
    count,
    decimal,
    number_range,
    percent,
    share_range,
    sureness,
)
from parsimon.report.sections.table.claims import certain_words
from parsimon.report.sections.table.scope import Scope

_NEVER_SEEN = "on new rows"


def leads_with_balance(scope: Scope) -> bool:
    """Return whether a class is rare and was measured in a way that suits it."""
    honest = scope.study.honest
    return scope.rare and honest is not None and honest.at_base_rate is not None


def rare_key_figures(scope: Scope, honest: Honest) -> tuple[KeyFigure, ...]:
    """Return AUC, average precision, balanced error and, of a rare class, what is found of it."""
    figures = []
    if honest.auc is not None:
        figures.append(_figure(f"{honest.auc.estimate:.3f}", "AUC", number_range(honest.auc)))
    if honest.average_precision is not None:
        guess = f"guessing has {percent(scope.share)}"
        figures.append(_share_figure(honest.average_precision, "average precision", guess))
    at = honest.at_base_rate
    if at is not None:
        guess = f"guessing has 50{NARROW}%"
        figures.append(_share_figure(at.balanced_error, "balanced error", guess))
    if at is not None and scope.positive_is_rare:
        figures.append(_share_figure(at.recall, f"of {scope.positive} found", _of_calls(at)))
    return tuple(figures)


def _figure(value: str, label: str, detail: str) -> KeyFigure:
    return KeyFigure(value, label, f"{detail}, {_NEVER_SEEN}")


def _share_figure(share: Interval, label: str, also: str) -> KeyFigure:
    return KeyFigure(percent(share.estimate), label, f"{share_range(share)}; {also}")


def _of_calls(at: Decision) -> str:
    if at.precision is None:
        return "no row was called so"
    return f"{percent(at.precision.estimate)} of calls are right"


def rare_sentences(scope: Scope, honest: Honest) -> tuple[str, ...]:
    """Return the honest figures, those that mean something for a rare class first."""
    at = honest.at_base_rate
    return (
        _why(scope, honest),
        "" if at is None else _balanced(scope, at),
        "" if at is None or not scope.positive_is_rare else _found(scope, at),
        _average_precision(scope, honest),
        _log_loss(scope, honest),
        _at_half(scope, honest),
    )


def _why(scope: Scope, honest: Honest) -> str:
    rare, common = scope.positive, scope.negative
    n = scope.study.n_positive
    if not scope.positive_is_rare:
        rare, common, n = common, rare, scope.study.n_negative
    total = scope.study.n_positive + scope.study.n_negative
    return (
        f"{rare} is rare ({n:,} of {count(total, 'row')}, {percent(n / max(1, total))}): calling "
        f"every row {common} is wrong in {percent(honest.baseline_error.estimate)} only, so that "
        "the share of wrong answers says little here."
    )


def _balanced(scope: Scope, at: Decision) -> str:
    return (
        f"On rows never seen, rows were called {scope.positive} from a probability of "
        f"{percent(at.threshold)} on, their share among all: the balanced error, in which both "
        "classes weigh the same, is "
        f"{percent(at.balanced_error.estimate)} ({sureness(at.balanced_error)} "
        f"{share_range(at.balanced_error)}), and guessing has 50{NARROW}%."
    )


def _found(scope: Scope, at: Decision) -> str:
    recall = (
        f"It found {percent(at.recall.estimate)} of the rows of {scope.positive} (recall, "
        f"{sureness(at.recall)} {share_range(at.recall)})"
    )
    if at.precision is None:
        return f"{recall}."
    return (
        f"{recall}; of the {count(at.n_called, 'row')} that it called so, "
        f"{percent(at.precision.estimate)} are {scope.positive} (precision, "
        f"{sureness(at.precision)} {share_range(at.precision)})."
    )


def _average_precision(scope: Scope, honest: Honest) -> str:
    found = honest.average_precision
    if found is None:
        return ""
    return (
        f"Over all thresholds the precision is {percent(found.estimate)} on average (average "
        f"precision, {sureness(found)} {share_range(found)}); guessing has {percent(scope.share)}."
    )


def log_loss_words(honest: Honest) -> str:
    """Return the log loss beside that of guessing, for the inside of a sentence."""
    return (
        f"log loss {decimal(honest.log_loss, 3)} against {decimal(honest.baseline_log_loss, 3)} "
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
    figures = f"({log_loss_words(honest)}{_loss_interval(honest)})"
    better, sure = better_log_loss(honest), certain_words(scope)
    if better:
        whose = "" if sure else f" Which column it is owed to is not {_how(scope)}."
        return f"The probabilities are better than guessing {figures}.{whose}"
    if not sure:
        proved = "worse than guessing" if better is False else "not proved to be better"
        return f"The probabilities are {proved} {figures}."
    return (
        f"The rows show beyond doubt that {sure}, but do not prove that this gives "
        f"better probabilities than guessing on new rows {figures}."
    )


def _how(scope: Scope) -> str:
    return "certain" if scope.claimed else "shown"


def _loss_interval(honest: Honest) -> str:
    gain = honest.log_loss_gain
    return "" if gain is None else f"; {sureness(gain)} of the gain {number_range(gain)}"


def _at_half(scope: Scope, honest: Honest) -> str:
    at = honest.at_half
    if at is None:
        return ""
    called = f"{count(at.n_called, 'row')} {'is' if at.n_called == 1 else 'are'}"
    if not at.n_called:
        called = "no row is"
    return (
        f"From a probability of one half on, {called} called {scope.positive}, and "
        f"{percent(at.error.estimate)} of all are wrong."
    )
