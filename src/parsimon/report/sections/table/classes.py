"""All classes together, if there are more than two: before each is asked for by itself."""

import math
from dataclasses import replace

from parsimon.report.document import (
    Block,
    Cell,
    Heading,
    KeyFigure,
    KeyFigures,
    Section,
    Strong,
    Table,
)
from parsimon.report.findings import Joint
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import count_cell, paragraph
from parsimon.report.sections._models import with_article
from parsimon.report.sections.table.claims import (
    beats_guessing,
    brief,
    certain,
    columns_of,
    effect_figures,
    headline,
    list_claims,
    suggested,
)
from parsimon.report.sections.table.honesty import rival_sentence, size_figure
from parsimon.report.sections.table.scope import Scope, why_no_outer_folds
from parsimon.structures import Claim

_MOST_PICTURES = 2


def all_classes(scopes: tuple[Scope, ...]) -> tuple[Block, ...]:
    """Return the joint answer: what predicts, how well, and who is mistaken for whom."""
    first, joint = scopes[0], scopes[0].findings.joint
    verbs = (f"predicts {first.target}", f"predict {first.target}", "")
    proved = any(map(beats_guessing, scopes))
    answer = Strong(headline(first, all_claims(scopes), verbs, proved=proved))
    n = str(len(first.findings.table.classes))
    if joint is None:
        why = why_no_outer_folds(first)
        missed = f"How well it does on new rows was not measured, because {why}."
        return (
            paragraph((answer, f" {missed}")),
            KeyFigures((KeyFigure(n, "classes"), size_figure(first))),
        )
    said = " ".join(sentence for sentence in joint_sentences(first, joint) if sentence)
    total = sum(map(sum, joint.confusion))
    wrong = total - sum(joint.confusion[k][k] for k in range(len(joint.classes)))
    honest, error = joint.source == "outer folds", joint.error
    where = "on new rows" if honest else "leave-one-out"
    figures = (
        KeyFigure(
            say.percent(error.estimate),
            "honest error" if honest else "optimistic error",
            f"{say.share_range(error)}, {where}",
        ),
        KeyFigure(
            say.percent(joint.baseline_error.estimate), "guessing’s error", "the commonest class"
        ),
        KeyFigure(n, "classes", f"{wrong:,} of {say.count(total, 'row')} mistaken"),
        size_figure(first),
    )
    return (
        paragraph((answer, f" {said}"), rival_sentence(first)),
        KeyFigures(figures),
        _confusion(first, joint),
    )


def all_claims(scopes: tuple[Scope, ...]) -> tuple[Claim, ...]:
    """Return what is claimed of all classes together; a shape belongs to one of them."""
    return tuple(one for one in scopes[0].findings.claims if one.kind != "shape")


def each_class(scopes: tuple[Scope, ...]) -> Section:
    """Return the section with a short part on each class."""
    return Section(
        "classes",
        "Class by class",
        (_overview(scopes),),
        tuple(found for one in scopes if (found := _class(one)) is not None),
    )


def _class(scope: Scope) -> Section | None:
    """Return the part on one class, with pictures; None if nothing tells it from the others."""
    claims = [one for one in scope.claimed if one.kind != "shape"]
    if not claims:
        return None
    shown = [figure for name in columns_of(claims) for figure in effect_figures(scope, [name])]
    return Section(
        scope.anchor("class"),
        f"{scope.positive} against all others",
        (paragraph(f"{list_claims(claims)}."), *shown[:_MOST_PICTURES]),
    )


def joint_sentences(scope: Scope, joint: Joint) -> tuple[str, ...]:
    """Return how often the most probable class is wrong."""
    if scope.uses_guessing:
        return (
            "The model to use is guessing: on rows never seen, calling every row by the commonest "
            f"class is wrong in {say.percent(joint.error.estimate)} of cases "
            f"({say.sureness(joint.error)} "
            f"{say.share_range(joint.error)}).",
        )
    rows, honesty = "On rows never seen", ""
    if joint.source == "leave-one-out":
        rows = "With each row left out in turn"
        honesty = "This is a little optimistic, since the models were chosen with all rows."
    used = scope.findings.recommended
    whose = "" if used is None else f" by {with_article(used.name)}"
    return (
        f"{rows}, the most probable of "
        f"{say.spelled(len(joint.classes), 'class', 'classes')}{whose} is "
        f"wrong in {say.percent(joint.error.estimate)} of cases ({say.sureness(joint.error)} "
        f"{say.share_range(joint.error)}); guessing is wrong in "
        f"{say.percent(joint.baseline_error.estimate)}.",
        honesty,
        _commonest_slip(joint),
    )


def _commonest_slip(joint: Joint) -> str:
    slips = [
        (joint.confusion[i][j], i, j)
        for i in range(len(joint.classes))
        for j in range(len(joint.classes))
        if i != j
    ]
    most, i, j = max(slips, key=lambda one: one[0], default=(0, 0, 0))
    if not most:
        return "No class was taken for another."
    times = "once" if most == 1 else f"{most:,} times"
    return (
        f"The commonest slip was to call {say.quoted(joint.classes[i])} "
        f"{say.quoted(joint.classes[j])}, "
        f"{times}."
    )


def _confusion(scope: Scope, joint: Joint) -> Table:
    return Table(
        anchor="table-joint",
        caption=f"Who is mistaken for whom: rows of {scope.target}, and what they were called.",
        headings=(
            Heading("Truly / called"),
            *(Heading(say.clean(label), numeric=True) for label in joint.classes),
        ),
        rows=tuple(
            (
                Cell(say.clean(label)),
                *(replace(count_cell(n), strong=k == place) for k, n in enumerate(row)),
            )
            for place, (label, row) in enumerate(zip(joint.classes, joint.confusion, strict=True))
        ),
    )


def _overview(scopes: tuple[Scope, ...]) -> Table:
    return Table(
        anchor="table-classes",
        caption="Each class against all others.",
        headings=(
            Heading("Class"),
            Heading("Rows", numeric=True),
            Heading("Wrong", numeric=True, help="Honest error of telling it from the others."),
            Heading("Guessing", numeric=True),
            Heading("Beyond doubt", help="Columns that matter; pairs interact."),
            Heading("Suggested"),
        ),
        rows=tuple(map(_class_row, scopes)),
    )


def _class_row(scope: Scope) -> tuple[Cell, ...]:
    study = scope.study
    wrong, guessing = math.nan, study.baseline.error
    if study.honest is not None:
        wrong, guessing = study.honest.error.estimate, study.honest.baseline_error.estimate
    return (
        Cell(say.clean(study.positive)),
        count_cell(study.n_positive),
        _share(wrong),
        _share(guessing),
        Cell(brief(certain(study.claims))),
        Cell(brief(suggested(study.claims))),
    )


def _share(share: float) -> Cell:
    return Cell(say.DASH) if math.isnan(share) else Cell(say.percent(share), order=share)
