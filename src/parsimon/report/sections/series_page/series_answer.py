"""The first screen of a page about series: what the features separate, and how well."""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, KeyFigure
from parsimon.report.findings import ComparedModel
from parsimon.report.findings.series_findings import SeriesFeature, SeriesFindings
from parsimon.report.sections import _first_screen as screen
from parsimon.report.sections._phrases import (
    NARROW,
    clean,
    decimal,
    joined,
    opened,
    percent,
    percent_range,
    quoted,
    share_range,
    spelled,
)
from parsimon.report.sections._scope import explained_share, figures, miss, the

# Who searches for features, as the comparison has it.
OURS = "features"
_NO_USE = (
    "The features and the saved model were not found to be better than guessing; what the page "
    "shows of them may be chance."
)


def series_screen(findings: SeriesFindings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    pictures = [one.picture for one in findings.features] or [findings.front.picture]
    return screen.first_screen(
        _answer(findings),
        (_how_well(findings),),
        screen.shown_large(_key_figures(findings)),
        figures(findings, pictures[0]),
        screen.sure_and_unsure(
            _certainties(findings),
            (f"{words_of_feature(one)}." for one in findings.features if _beats_guessing(findings)),
            _doubts(findings),
        ),
    )


def summarise_series(findings: SeriesFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    features = (f"{k}. {words_of_feature(one)}" for k, one in enumerate(findings.features, 1))
    sure, doubts = _certainties(findings), [one for one in _doubts(findings) if one]
    first = f"{_answer(findings)} {_how_well(findings)}".strip()
    return (first, *features, *sure, *doubts)


def _answer(findings: SeriesFindings) -> str:
    """Return the answer in one sentence."""
    n, one, many = len(findings.features), *_verbs(findings)
    those = f"{opened(spelled(n))} {'feature' if n == 1 else 'features'} of a series"
    does = f"{those} {one if n == 1 else many} {_what(findings)}"
    if _own(findings) is None:
        none = f"No feature was found that {one} {_what(findings)}, not even in the search."
        return f"{does} in the search." if findings.learns else none
    if not _beats_guessing(findings):
        return f"No feature was found that surely {one} {_what(findings)}."
    return f"{does}."


def _how_well(findings: SeriesFindings) -> str:
    """Return how good the features are on new series, beside guessing and the best plain method."""
    own, guess, rival = _own(findings), _guessing(findings), _best_rival(findings)
    alone = len(findings.features) == 1
    if own is None:
        does = "it does" if alone else "they do"
        return f"How well {does} on new series was not measured." if findings.learns else ""
    beside = []
    if guess is not None:
        beside.append(f"guessing {_missed(findings, guess)}")
    if rival is not None:
        beside.append(f"the best plain method, {the(rival)}, {_missed(findings, rival)}")
    who = "It" if alone else "They"
    if findings.table.task == "regression":
        how = f"{who} missed new series by {_missed(findings, own)} on average"
        if _beats_guessing(findings):
            how += (
                f" and so explain{'s' * alone} {percent(1 - own.error.estimate)} of the variance "
                f"(95{NARROW}% interval {percent_range(explained_share(own.error))})"
            )
    else:
        how = (
            f"{who} called {_missed(findings, own)} of new series wrongly "
            f"(95{NARROW}% interval {share_range(own.error)})"
        )
    return f"{how}{'; ' if beside else ''}{joined(beside)}."


def _certainties(findings: SeriesFindings) -> tuple[str, ...]:
    if _own(findings) is None or not _beats_guessing(findings):
        return ()
    sure, verdict = _verdict(findings)
    return ("New series are predicted better than by guessing.", *([verdict] if sure else []))


def _doubts(findings: SeriesFindings) -> Iterator[str]:
    """Yield what keeps a reader careful, the gravest first."""
    if not _beats_guessing(findings):
        yield _NO_USE
    if findings.stopped:
        yield "Time ended the search before it was through."
    sure, verdict = _verdict(findings)
    if not sure:
        yield verdict
    if _beats_guessing(findings):
        yield "Other features may do as well as these."
        yield screen.NOT_A_CAUSE


def _verbs(findings: SeriesFindings) -> tuple[str, str]:
    """Return what one feature does, and what several do."""
    if findings.table.task == "regression":
        return "predicts", "predict"
    return "separates", "separate"


def _what(findings: SeriesFindings) -> str:
    table = findings.table
    if table.task == "regression":
        return clean(table.target)
    if len(table.classes) == 2:
        first, second = (quoted(name) for name, _ in table.classes)
        return f"{first} from {second}"
    return f"the {spelled(len(table.classes))} classes of {clean(table.target)}"


def _missed(findings: SeriesFindings, model: ComparedModel) -> str:
    if findings.table.task == "regression":
        return miss(model, findings.unit)
    said = percent(model.error.estimate)
    rare = findings.comparison is not None and findings.comparison.metric == "log loss"
    if rare and not math.isnan(model.log_loss):
        said += f" (log loss {decimal(model.log_loss, 3)})"
    return said


def compared_models(findings: SeriesFindings) -> tuple[ComparedModel, ...]:
    """Return all models of the comparison, the best first."""
    return () if findings.comparison is None else findings.comparison.models


def _own(findings: SeriesFindings) -> ComparedModel | None:
    return next((one for one in compared_models(findings) if one.family == OURS), None)


def _guessing(findings: SeriesFindings) -> ComparedModel | None:
    return next((one for one in compared_models(findings) if one.family == "guessing"), None)


def _best_rival(findings: SeriesFindings) -> ComparedModel | None:
    rivals = [one for one in compared_models(findings) if one.is_rival]
    if findings.comparison is not None and findings.comparison.metric == "log loss":
        # What gives no probabilities cannot be compared by them.
        rivals = [one for one in rivals if not math.isnan(one.log_loss)] or rivals
    return next(iter(rivals), None)


def _beats_guessing(findings: SeriesFindings) -> bool:
    """Tell whether the features are better than guessing by more than chance allows."""
    own, guess = _own(findings), _guessing(findings)
    if own is None or guess is None:
        return findings.learns
    if own.error.estimate >= guess.error.estimate:
        return False
    return not (own.is_best and guess.is_level)


def _verdict(findings: SeriesFindings) -> tuple[bool, str]:
    """Say whether the features or the best plain method is better, and if the features surely."""
    own, rival, found = _own(findings), _best_rival(findings), findings.comparison
    if own is None or rival is None or found is None or not _beats_guessing(findings):
        return False, ""
    if not (own.is_best or rival.is_best):
        return False, ""
    gap = (rival if own.is_best else own).difference
    said = percent_range(gap)
    unit = "of the variance" if findings.table.task == "regression" else "of the series"
    if found.metric == "log loss":
        said, unit = f"{decimal(gap.low, 3)} to {decimal(gap.high, 3)}", "in log loss"
    said = f"paired difference {said} {unit}"
    if gap.low <= 0:
        return False, f"Whether the features or {the(rival)} do better is not shown ({said})."
    if own.is_best:
        return True, f"The features are better than {the(rival)} by more than chance ({said})."
    better = f"{opened(the(rival))} is better by more than chance ({said}), but names no feature."
    return False, better


def _key_figures(findings: SeriesFindings) -> Iterator[KeyFigure]:
    own, guess, rival = _own(findings), _guessing(findings), _best_rival(findings)
    number = findings.table.task == "regression"
    n = len(findings.features)
    size = KeyFigure(
        f"{n:,}", "feature" if n == 1 else "features", f"of {lengths(findings)} values"
    )
    if own is None:
        yield size
        return
    if number:
        detail = f"explains {percent(max(0.0, 1 - own.error.estimate))}"
        yield KeyFigure(miss(own, findings.unit), "typical miss on new series", detail)
    else:
        yield KeyFigure(percent(own.error.estimate), "wrong on new series", share_range(own.error))
    verb = "missed" if number else "wrong"
    for model, by in ((rival, "the best plain method"), (guess, "guessing")):
        if model is not None:
            detail = clean(model.name)
            if model is guess:
                detail = "the mean" if number else "the commonest class"
            said = miss(model, findings.unit) if number else percent(model.error.estimate)
            yield KeyFigure(said, f"{verb} by {by}", detail)
    yield size


def words_of_feature(feature: SeriesFeature) -> str:
    """Return a feature in words, numbers and their signs on one line."""
    return opened(clean(feature.words).replace(" %", f"{NARROW}%"))


def lengths(findings: SeriesFindings) -> str:
    """Return how many values a series has."""
    low, high = findings.table.shortest, findings.table.longest
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
