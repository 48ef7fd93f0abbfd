"""A document made by hand that holds every kind of block, for tests of the setters."""

from parsimon.report.document import (
    Bullets,
    Cell,
    Code,
    Document,
    Explorer,
    Figure,
    Heading,
    KeyFigure,
    KeyFigures,
    Link,
    Note,
    Paragraph,
    Reference,
    Section,
    Strong,
    Table,
)
from parsimon.report.findings import Findings, Study


def percent(share: float) -> str:
    return f"{100 * share:.2f}\u202f%"


def variable_table(study: Study, anchor: str) -> Table:
    """Variables in the order of the table, with one cell that is no number."""
    rows = [
        (
            Cell(found.variable.name, strong=found.in_model),
            Cell(percent(found.model.error), order=found.model.error),
            Cell(f"{found.log_bayes_factor:.1f}".replace("-", "\u2212"), found.log_bayes_factor),
            Cell(found.model.symbols, code=True),
        )
        for found in study.variables
    ]
    rows.append((Cell("baseline"), Cell("34.39\u202f%", order=0.3439), Cell("\u2013"), Cell("C")))
    return Table(
        anchor=anchor,
        caption="Each variable alone.",
        headings=(
            Heading("variable"),
            Heading("error", numeric=True, help="of five folds that guided the search"),
            Heading("log Bayes factor", numeric=True),
            Heading("kernel"),
        ),
        rows=tuple(rows),
        emphasised=(len(rows) - 1,),
        note="The baseline knows no variable.",
    )


def study_section(findings: Findings, place: int) -> Section:
    study = findings.studies[place]
    key = f"study-{place + 1}"
    picture = findings.picture(study.front_picture)
    fallback = None if picture is None else Figure(f"{key}-front", picture)
    drawn = findings.picture(study.effects[0].picture)
    inner = Section(
        anchor=f"{key}-variable-1",
        title=study.variables[0].variable.name,
        blocks=(
            Paragraph((Strong(study.variables[0].variable.name), " says much by itself.")),
            Figure(f"{key}-variable-figure-1", drawn),
        ),
    )
    return Section(
        anchor=key,
        title=f"What predicts {study.positive or findings.table.target}",
        blocks=(
            Paragraph((study.model.words, ": ", Code(study.model.expression), ".")),
            Explorer(place, fallback),
            variable_table(study, f"{key}-table"),
        ),
        sections=(inner,),
    )


def document(findings: Findings) -> Document:
    """Return a document with every kind of block, about the findings' studies."""
    study = findings.studies[0]
    return Document(
        title=f"What predicts {findings.table.target}?",
        subtitle=f"{findings.table.name}: {findings.table.n_rows_used} rows",
        facts=(("table", findings.table.name), ("variables", study.variables[0].variable.name)),
        lead=(
            Paragraph(
                (
                    f"Best: {study.model.words}. See ",
                    Reference("study-1"),
                    " and ",
                    Reference("study-1-table"),
                    ".",
                )
            ),
            KeyFigures(
                (
                    KeyFigure("23.3\u202f%", "honest error", "20.7 to 25.9\u202f%"),
                    KeyFigure("34.4\u202f%", "baseline"),
                )
            ),
            Note("note", Paragraph(("Something to know.",))),
            Note(
                "caution", Paragraph(("Something to beware of: ", study.variables[0].variable.name))
            ),
            Bullets((Paragraph(("one",)), Paragraph(("two ", Code(findings.run.command))))),
        ),
        sections=(
            *(study_section(findings, place) for place in range(len(findings.studies))),
            Section(
                "methods",
                "Methods",
                (Paragraph(("See ", Link("the paper", "https://example.org/a?b=1&c=2"), ".")),),
            ),
        ),
        references=(("He 2016", "He, Q. (2016). A report."), ("A book", "")),
    )
