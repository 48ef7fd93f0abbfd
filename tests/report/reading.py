"""Reading a document in tests: its text as a person sees it, and its parts by anchor."""

from collections.abc import Iterator
from dataclasses import replace

from tools.page_text import blocks, paragraphs, plain, sections

from parsimon.report.document import Document, Explorer, Figure, KeyFigures, Section, Table
from parsimon.report.findings import Findings
from parsimon.report.sections import write
from parsimon.report.sections.table.scope import Scope


def with_study(found: Findings, **changes) -> Findings:
    """Return the findings with their first study changed."""
    return replace(found, studies=(replace(found.studies[0], **changes), *found.studies[1:]))


def with_run(found: Findings, **changes) -> Findings:
    return replace(found, run=replace(found.run, **changes))


def chosen_by(found: Findings, rule: str) -> Findings:
    """Return the findings with their structure chosen by another rule."""
    return with_study(found, search=replace(found.studies[0].search, choose=rule))


def with_table(found: Findings, **changes) -> Findings:
    return replace(found, table=replace(found.table, **changes))


def scope(found: Findings) -> Scope:
    return Scope(findings=found)


def figures(document: Document) -> list[Figure]:
    found = [block.fallback if isinstance(block, Explorer) else block for block in blocks(document)]
    return [one for one in found if isinstance(one, Figure)]


def tables(document: Document) -> dict[str, Table]:
    return {one.anchor: one for one in blocks(document) if isinstance(one, Table)}


def rows(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def section(found: Findings, anchor: str) -> Section:
    document = write(found)
    return next(one for one in sections(document) if one.anchor == anchor)


def text(found: Findings, anchor: str) -> str:
    """Return the paragraphs of one section, its inner ones included."""
    document = write(found)
    numbers = document.numbers()

    def read(one: Section) -> Iterator[str]:
        yield from (plain(each, numbers) for each in paragraphs(one.blocks))
        for inner in one.sections:
            yield from read(inner)

    return "\n".join("\n".join(read(one)) for one in sections(document) if one.anchor == anchor)


def lead(found: Findings) -> str:
    """Return the paragraphs and lists of the first screen."""
    document = write(found)
    return "\n".join(plain(one, document.numbers()) for one in paragraphs(document.lead))


def texts(document: Document) -> Iterator[str]:
    """Yield every text of a document on its own."""
    numbers = document.numbers()
    yield from (document.title, document.subtitle)
    yield from (part for fact in document.facts for part in fact)
    yield from (part for work in document.references for part in work)
    yield from (one.title for one in sections(document))
    for block in blocks(document):
        yield from (plain(each, numbers) for each in paragraphs((block,)))
        if isinstance(block, KeyFigures):
            yield from (part for one in block.items for part in (one.value, one.label, one.detail))
        if isinstance(block, Table):
            yield from (block.caption, block.note)
            yield from (part for one in block.headings for part in (one.title, one.help))
            yield from (cell.text for row in block.rows for cell in row)
