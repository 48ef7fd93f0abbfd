"""What one kind of report is made of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from parsimon.report.document import Block, Section


def _nothing(findings: Any) -> tuple[tuple[str, str], ...]:
    del findings
    return ()


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The parts of a report, each a function of its findings.

    title: Of the page.
    kind: What the page is, before "a report written by"; empty for a plain report.
    lead: The first screen.
    sections: Those below it, in order.
    summary: The report in a few plain sentences.
    works: Short names of the works that it cites.
    facts: Lines about the run for the end: what is said, and its value.
    """

    title: Callable[[Any], str]
    kind: Callable[[Any], str]
    lead: Callable[[Any], tuple[Block, ...]]
    sections: Callable[[Any], Iterable[Section]]
    summary: Callable[[Any], tuple[str, ...]]
    works: Callable[[Any], Iterable[str]]
    facts: Callable[[Any], tuple[tuple[str, str], ...]] = _nothing
