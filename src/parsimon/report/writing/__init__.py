"""From findings to a document: every sentence of the report.

`write` puts the sections together; each section is a module that turns findings into blocks, and
`phrases` says numbers, lists and names in one way everywhere.
"""

from collections.abc import Iterator

from parsimon.report.document import Block, Document, Explorer, Figure, Section
from parsimon.report.findings import Findings
from parsimon.report.writing.checking import model_checking
from parsimon.report.writing.classes import all_classes
from parsimon.report.writing.components import additive_components
from parsimon.report.writing.front_page import facts, lead, subtitle, title
from parsimon.report.writing.interactions import interactions
from parsimon.report.writing.methods import methods
from parsimon.report.writing.references import references
from parsimon.report.writing.scope import Scope
from parsimon.report.writing.stability import stability
from parsimon.report.writing.summary import summary
from parsimon.report.writing.terminal import summary_lines
from parsimon.report.writing.using import how_to_use
from parsimon.report.writing.variables import individual_variables

__all__ = ["summary_lines", "write"]


def write(findings: Findings) -> Document:
    """Write the report.

    Parameters
    ----------
    findings : Findings
        With at least one study.

    Returns
    -------
    Document
        Every picture stands where it is first spoken of, and nowhere else.

    Examples
    --------
    >>> from parsimon.report.findings import (
    ...     Checks, Findings, Model, Run, SearchFindings, Study, TableFindings
    ... )
    >>> constant = Model(
    ...     expression="C", symbols="C", words="a constant", kind="constant", variables=(),
    ...     n_kernels=0, error=0.3, standard_error=0.01, log_loss=0.6,
    ...     negative_log_evidence=40.0, fold_negative_log_evidence=32.0,
    ... )
    >>> search = SearchFindings(
    ...     n_kernels=9, n_cross_validated=9, depth=1, beam=1, base=("se",), guide="cv_error",
    ...     n_folds=5, stopped_by="depth", inference="expectation propagation", n_rows=60,
    ... )
    >>> study = Study(
    ...     task="classification", positive="ill", negative="well", n_positive=18, n_negative=42,
    ...     structure_found=False, model=constant, baseline=constant, front=(constant,), knee=0,
    ...     chosen=0, front_variables=(constant,), variables=(), components=(), interactions=(),
    ...     honest=None, checks=Checks(source="leave-one-out"), search=search,
    ... )
    >>> table = TableFindings(
    ...     name="ward", n_rows=60, n_rows_used=60, n_columns=5, n_missing=0, target="state",
    ...     task="classification", classes=(("well", 42), ("ill", 18)),
    ... )
    >>> run = Run(
    ...     version="1.0", seed=0, seconds=3.0, date="2026-01-31", command="", options=(),
    ...     skipped=("outer folds",), fingerprint="c0ffee", libraries=(),
    ... )
    >>> findings = Findings(table=table, studies=(study,), run=run)
    >>> document = write(findings)
    >>> document.title
    'What predicts state in ward'
    >>> [section.title for section in document.sections][:2]
    ['Executive summary', 'Model checking']
    """
    scopes = tuple(Scope(findings=findings, place=k) for k in range(len(findings.studies)))
    body: tuple[Section, ...]
    if len(scopes) == 1:
        body = tuple(_study(scopes[0]))
    else:
        body = (all_classes(scopes), *(_class(scope) for scope in scopes))
    seen: set[str] = set()
    return Document(
        title=title(findings),
        subtitle=subtitle(findings),
        facts=facts(findings),
        lead=_once(lead(findings), seen),
        sections=tuple(
            _section_once(one, seen) for one in (*body, how_to_use(scopes), methods(scopes))
        ),
        references=references(findings),
    )


def _study(scope: Scope) -> Iterator[Section]:
    """Yield the sections about one question."""
    yield summary(scope)
    if scope.study.variables:
        yield individual_variables(scope)
    if scope.study.structure_found:
        if scope.study.components:
            yield additive_components(scope)
        yield interactions(scope)
    yield model_checking(scope)
    yield stability(scope)


def _class(scope: Scope) -> Section:
    """Return one class against the rest as a section of its own."""
    title = f"{scope.positive} against all others"
    return Section(scope.anchor("class"), title, (), tuple(_study(scope)))


def _section_once(section: Section, seen: set[str]) -> Section:
    blocks = _once(section.blocks, seen)
    inner = tuple(_section_once(one, seen) for one in section.sections)
    return Section(section.anchor, section.title, blocks, inner)


def _once(blocks: tuple[Block, ...], seen: set[str]) -> tuple[Block, ...]:
    """Leave out figures that have been shown; what refers to them leads to the first."""
    kept: list[Block] = []
    for block in blocks:
        figure = block.fallback if isinstance(block, Explorer) else block
        if not isinstance(figure, Figure):
            kept.append(block)
        elif figure.anchor not in seen:
            seen.add(figure.anchor)
            kept.append(block)
        elif isinstance(block, Explorer):
            kept.append(Explorer(block.study, None))
    return tuple(kept)
