"""The report in a few sentences, for the terminal."""

from parsimon.report.phylogeny.findings import TraitFindings
from parsimon.report.phylogeny.writing.ancestors import root_sentences
from parsimon.report.phylogeny.writing.error import error_sentences
from parsimon.report.phylogeny.writing.models import sparse_sentences, squares_sentences
from parsimon.report.phylogeny.writing.signal import signal_sentences
from parsimon.report.phylogeny.writing.summary import species_sentence
from parsimon.report.phylogeny.writing.words import target_of
from parsimon.report.sections._phrases import clean, count


def summary_lines(findings: TraitFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    table = findings.table
    tip = f"column {clean(table.tip)}" if table.tip else "the index"
    lines = [
        f"{species_sentence(findings)} Tips by {tip}, "
        f"{count(len(table.features), 'feature')}, target {target_of(findings)}.",
        " ".join(signal_sentences(findings)[:1]),
    ]
    if findings.phyrvm is not None:
        lines += [" ".join(filter(None, sparse_sentences(findings)))]
        lines += squares_sentences(findings)
    lines += [sentence for sentence in error_sentences(findings) if sentence]
    lines += root_sentences(findings)
    return (*lines, *_predicted(findings))


def _predicted(findings: TraitFindings) -> tuple[str, ...]:
    n, lacking = len(findings.predictions), findings.table.n_unpredictable
    if not n + lacking:
        return ()
    without = f"species without {target_of(findings)}"
    if not lacking:
        return (f"{n:,} {without} {'was' if n == 1 else 'were'} predicted.",)
    return (f"{n:,} of {n + lacking:,} {without} {'was' if n == 1 else 'were'} predicted.",)
