"""All classes together, if there are more than two: before each is asked for by itself."""

import math

from parsimon.report.document import (
    Block,
    Cell,
    Heading,
    KeyFigure,
    KeyFigures,
    Reference,
    Section,
    Strong,
    Table,
)
from parsimon.report.findings import Joint
from parsimon.report.sections._blocks import count_cell, note, paragraph, share_cell
from parsimon.report.sections._phrases import (
    clean,
    count,
    percent,
    quoted,
    share_range,
    spelled,
    sureness,
)
from parsimon.report.sections._scope import Scope, why_no_outer_folds
from parsimon.report.sections.table.claims import brief, certain, claim_blocks, suggested
from parsimon.structures import Claim


def all_classes(scopes: tuple[Scope, ...]) -> Section:
    """Return the section about all classes together."""
    joint = scopes[0].findings.joint
    blocks: list[Block] = []
    if joint is not None:
        blocks.append(_key_figures(scopes, joint))
    blocks += _headline(scopes)
    if joint is None:
        why = why_no_outer_folds(scopes[0])
        blocks.append(
            note("caution", (Strong("No honest error was measured"), f", because {why}."))
        )
    else:
        blocks += [paragraph(*joint_sentences(joint)), _confusion(scopes[0], joint)]
    blocks += [paragraph(_each(scopes)), _overview(scopes)]
    return Section("summary", "All classes together", tuple(blocks))


def all_claims(scopes: tuple[Scope, ...]) -> tuple[Claim, ...]:
    """Return what is claimed of all classes together; a shape belongs to one of them."""
    return tuple(one for one in scopes[0].findings.claims if one.kind != "shape")


def _headline(scopes: tuple[Scope, ...]) -> tuple[Block, ...]:
    claims = all_claims(scopes)
    target = scopes[0].target
    if not certain(claims) and not suggested(claims):
        return (paragraph((Strong(f"These rows do not show that any column predicts {target}."),)),)
    return claim_blocks(claims, f"What predicts {target}?")


def joint_sentences(joint: Joint) -> tuple[str, ...]:
    """Return how often the most probable class is wrong."""
    rows, honesty = "On rows that were new to the searches", ""
    if joint.source == "leave-one-out":
        rows = "With each row left out in turn"
        honesty = "This is a little optimistic, since the structures were chosen with all rows."
    total = sum(map(sum, joint.confusion))
    wrong = total - sum(joint.confusion[k][k] for k in range(len(joint.classes)))
    return (
        f"{rows}, the most probable of {spelled(len(joint.classes), 'class', 'classes')} was wrong "
        f"in {percent(joint.error.estimate)} of cases ({sureness(joint.error)} "
        f"{share_range(joint.error)}).",
        honesty,
        f"Calling every row by the commonest class is wrong in "
        f"{percent(joint.baseline_error.estimate)}.",
        f"In all, {wrong:,} of {count(total, 'row')} got the wrong class.",
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
        f"The commonest slip was to call {quoted(joint.classes[i])} {quoted(joint.classes[j])}, "
        f"{times}."
    )


def _key_figures(scopes: tuple[Scope, ...], joint: Joint) -> KeyFigures:
    where = "on rows never seen" if joint.source == "outer folds" else "leave-one-out"
    label = "honest error" if joint.source == "outer folds" else "optimistic error"
    return KeyFigures(
        (
            KeyFigure(percent(joint.error.estimate), label, f"{share_range(joint.error)}, {where}"),
            KeyFigure(percent(joint.baseline_error.estimate), "baseline", "the commonest class"),
            KeyFigure(str(len(joint.classes)), "classes", "each against all others"),
            KeyFigure(
                str(len({name for one in scopes for name in one.study.model.variables})),
                "variables used",
                "by the structures of all classes",
            ),
        )
    )


def _confusion(scope: Scope, joint: Joint) -> Table:
    return Table(
        anchor="table-joint",
        caption=f"Which class of {scope.target} was called which.",
        headings=(
            Heading("In the table"),
            *(Heading(f"Called {quoted(label)}", numeric=True) for label in joint.classes),
        ),
        rows=tuple(
            (Cell(clean(label)), *(count_cell(n) for n in row))
            for label, row in zip(joint.classes, joint.confusion, strict=True)
        ),
    )


def _each(scopes: tuple[Scope, ...]) -> tuple[str | Reference, ...]:
    return (
        f"The following {spelled(len(scopes), 'section')} ask for one class each against all "
        "others; ",
        Reference("table-classes"),
        " puts their answers side by side.",
    )


def _overview(scopes: tuple[Scope, ...]) -> Table:
    return Table(
        anchor="table-classes",
        caption="Each class against all others.",
        headings=(
            Heading("Class"),
            Heading("Rows", numeric=True),
            Heading("Honest error", numeric=True, help="On rows that the search never saw."),
            Heading("Baseline", numeric=True),
            Heading(
                "Beyond doubt", help="Columns that matter with near certainty; pairs interact."
            ),
            Heading("Suggested", help="Columns that probably matter; pairs that may interact."),
        ),
        rows=tuple(
            (
                Cell(clean(one.study.positive)),
                count_cell(one.study.n_positive),
                share_cell(
                    math.nan if one.study.honest is None else one.study.honest.error.estimate
                ),
                share_cell(
                    one.study.baseline.error
                    if one.study.honest is None
                    else one.study.honest.baseline_error.estimate
                ),
                Cell(brief(certain(one.study.claims))),
                Cell(brief(suggested(one.study.claims))),
            )
            for one in scopes
        ),
    )
