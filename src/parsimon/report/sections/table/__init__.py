"""The report about a table: which sections it has, and the same in a few sentences.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, Section
from parsimon.report.findings import Findings, ModelComparison
from parsimon.report.sections._models import models_section, recommended_line
from parsimon.report.sections._page import Outline
from parsimon.report.sections._phrases import clean, count, percent, quoted
from parsimon.report.sections.table.answer import answer_screen, certainty_lists
from parsimon.report.sections.table.checking import (
    again_sentences,
    calibration_sentence,
    coverage_sentence,
    how_to_use,
    trust,
)
from parsimon.report.sections.table.claims import (
    beats_guessing,
    brief,
    certain,
    claim_lines,
    strongest_picture,
)
from parsimon.report.sections.table.classes import (
    all_claims,
    all_classes,
    each_class,
    joint_sentences,
)
from parsimon.report.sections.table.honesty import honest_sentences, rarer_share
from parsimon.report.sections.table.methods import cited, methods
from parsimon.report.sections.table.rows import rows_explained, rows_of_classes
from parsimon.report.sections.table.scope import Scope, guess_miss, why_no_outer_folds, words_of
from parsimon.report.sections.table.trade_off import formula_sections, kernel_search, knee_sentence
from parsimon.report.sections.table.treatments import page_title, the_table
from parsimon.report.sections.table.variables import what_matters

_MOST_LINES = 10
_MOST_CLASSES = 4


def _lead(findings: Findings) -> tuple[Block, ...]:
    """Return the first screen: the answer, with a picture, and how far it goes."""
    scopes = tuple(Scope(findings=findings, place=k) for k in range(len(findings.studies)))
    if len(scopes) == 1:
        return answer_screen(scopes[0])
    return (
        *all_classes(scopes),
        *strongest_picture(scopes),
        certainty_lists(scopes[0], findings.claims),
    )


def _sections(findings: Findings) -> Iterator[Section]:
    """Yield all sections below the first screen, what serves to look things up last."""
    scopes = tuple(Scope(findings=findings, place=k) for k in range(len(findings.studies)))
    yield from which_model(findings)
    if len(scopes) == 1:
        yield from _study(scopes[0])
    else:
        yield each_class(scopes)
        yield from filter(None, [rows_of_classes(scopes[0])])
    yield how_to_use(scopes)
    if len(scopes) == 1:
        yield from kernel_search(scopes[0])
    yield from formula_sections(findings)
    yield the_table(scopes[0])
    yield methods(scopes)


def which_model(findings: Findings) -> Iterator[Section]:
    """Yield the section about all models; nothing if they were not compared."""
    found = findings.comparison
    if found is not None:
        yield models_section(findings, found, _tell_saved(findings, found), guess_miss(findings))


def _tell_saved(findings: Findings, found: ModelComparison) -> tuple[str, ...]:
    """Say which model the file holds, and what of the page is about no model."""
    chosen = found.recommended
    if chosen.key == "gp":
        return ("It is saved beside this report.",)
    own = "errors"
    if len(findings.studies) == 1:
        number = findings.table.task == "regression"
        own = "errors and rows" if number else "errors, rows and thresholds"
    beside = f"It is saved beside this report; {own} on this page are its own."
    if chosen.family == "guessing":
        beside = "It is saved beside this report, and predicts the same for every row."
    return (beside, "The curves are of what these rows support, whichever model is used.")


def _study(scope: Scope) -> Iterator[Section]:
    """Yield the sections about one question."""
    yield what_matters(scope)
    rows = rows_explained(scope)
    if rows is not None:
        yield rows
    yield trust(scope)


def _summary(findings: Findings) -> tuple[str, ...]:
    """Return the report in five to ten plain sentences."""
    scopes = tuple(Scope(findings=findings, place=k) for k in range(len(findings.studies)))
    lines = [_table(findings)]
    lines += _several(scopes) if len(scopes) > 1 else _one(scopes[0])
    lines.append(recommended_line(findings.comparison, guess_miss(findings)))
    lines.append(_end(findings))
    return tuple(line for line in lines if line)[:_MOST_LINES]


def _table(findings: Findings) -> str:
    table = findings.table
    rows = f"{table.n_rows_used:,} of {count(table.n_rows, 'row')}"
    if table.n_rows_used == table.n_rows:
        rows = count(table.n_rows, "row")
    target = f"target {clean(table.target)}"
    if table.classes:
        shown = table.classes[:_MOST_CLASSES]
        target += ": " + ", ".join(f"{quoted(label)} {n:,}" for label, n in shown)
        target += ", …" if len(table.classes) > len(shown) else ""
    return f"{clean(table.name)}: {rows}, {count(table.n_columns - 1, 'column')}, {target}."


def _one(scope: Scope) -> list[str]:
    return [
        *claim_lines(scope, scope.study.claims, proved=beats_guessing(scope)),
        _structure(scope),
        *_tell_measured(scope),
        knee_sentence(scope),
        _trust(scope),
        " ".join(again_sentences(scope, shapes=False)),
    ]


_CHOSEN = {
    "one_se": ", the simplest within one standard error of the least {guide}",
    "least_error": ", that of the least {guide}",
}


def _structure(scope: Scope) -> str:
    """Return the structure, and what chose it; how much was tried if there is none."""
    study, search = scope.study, scope.study.search
    if search is None:
        return ""
    if not study.structure_found:
        tried = count(search.n_candidates, search.noun)
        better = "none is shown to be better than a constant"
        return f"The search tried {tried} on {scope.searched}; {better}."
    chosen = _CHOSEN.get(scope.choice, "").format(guide=scope.guide)
    return f"Structure{chosen}: {words_of(scope, study.model)}."


def _tell_measured(scope: Scope) -> list[str]:
    honest = scope.study.honest
    if honest is not None:
        said = [one for one in honest_sentences(scope, honest) if one]
        half = (len(said) + 1) // 2
        return [" ".join(said[:half]), " ".join(said[half:])]
    own, baseline = scope.study.model.error, scope.study.baseline.error
    # The first screen has the same figure.
    guess = baseline if scope.numeric else rarer_share(scope)
    known = scope.study.structure_found and not math.isnan(own)
    only = (
        "" if not known else f"; on its own folds the search {scope.does(own)}, which is optimistic"
    )
    return [
        f"No honest error was measured{_why(scope)}{only}.",
        "" if math.isnan(baseline) else f"Guessing {scope.does(guess)}.",
    ]


def _trust(scope: Scope) -> str:
    checks = scope.study.checks
    if scope.guesses:
        return ""
    if scope.numeric:
        return "" if checks.coverage is None else coverage_sentence(checks)
    return "" if checks.calibration_slope is None else calibration_sentence(scope)


def _several(scopes: tuple[Scope, ...]) -> list[str]:
    proved = any(map(beats_guessing, scopes))
    lines = list(claim_lines(scopes[0], all_claims(scopes), proved=proved))
    joint = scopes[0].findings.joint
    if joint is not None:
        lines.append(" ".join(one for one in joint_sentences(scopes[0], joint)[:3] if one))
    else:
        lines.append("No honest error was measured for all classes together.")
    for one in scopes[:_MOST_CLASSES]:
        nothing = "something, but no column," if beats_guessing(one) else "nothing"
        sure = brief(certain(one.study.claims), nothing)
        honest = one.study.honest
        error = "" if honest is None else f"; honest error {percent(honest.error.estimate)}"
        lines.append(f"{one.positive} against all others: {sure} beyond doubt{error}.")
    more = len(scopes) - _MOST_CLASSES
    return [
        *lines,
        f"The report has {count(more, 'further class', 'further classes')}." if more > 0 else "",
    ]


def _why(scope: Scope) -> str:
    few = scope.findings.run.too_few_rows
    return f", because {why_no_outer_folds(scope)}" if few else ""


def _end(findings: Findings) -> str:
    left_out = findings.run.skipped
    return f"Left out to save time: {', '.join(map(clean, left_out))}." if left_out else ""


OUTLINE = Outline(
    title=page_title,
    kind=lambda _: "",
    lead=_lead,
    sections=_sections,
    summary=_summary,
    works=cited,
)
