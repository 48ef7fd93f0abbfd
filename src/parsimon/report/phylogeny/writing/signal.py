"""How strongly the target follows the tree."""

from parsimon.report.document import Block, Cell, Heading, Section, Table
from parsimon.report.phylogeny.findings import SignalFinding, TraitFindings
from parsimon.report.phylogeny.writing.words import (
    figure,
    p_cell,
    p_value,
    shown,
    target_of,
    within,
)
from parsimon.report.sections._blocks import Sentence, number_cell, paragraph
from parsimon.report.sections._blocks import note as set_apart
from parsimon.report.sections._phrases import count, decimal

_SURE = 0.05
_CLOSELY, _PARTLY = 0.9, 0.5
_ALIKE, _MUCH_ALIKE = 0.8, 1.25
_FEW = 20


def follows(signal: SignalFinding) -> str:
    """Return in a few words how the target follows the tree."""
    by_lambda, by_K = _signs(signal)
    if not by_lambda:
        if by_K:
            return "follows the tree by Blomberg's K, but not surely by lambda"
        return "shows no sure sign of following the tree"
    beside = "" if by_K else " by lambda, but not surely by Blomberg's K"
    if signal.pagel_lambda.estimate >= _CLOSELY:
        return f"follows the tree closely{beside}"
    if signal.pagel_lambda.estimate >= _PARTLY:
        return f"follows the tree in good part{beside}"
    return f"follows the tree weakly{beside}"


def _signs(signal: SignalFinding) -> tuple[bool, bool]:
    """Return whether lambda and K are surely more than chance."""
    return signal.lambda_p_value < _SURE, signal.K_p_value < _SURE


def signal_sentences(findings: TraitFindings) -> tuple[str, ...]:
    """Return the strength of the signal in words."""
    signal, target = findings.signal, target_of(findings)
    return (
        f"The trait {target} {follows(signal)}: Pagel's lambda is {within(signal.pagel_lambda, 2)}"
        f", and {p_value(signal.lambda_p_value)} against no signal at all.",
        _meaning(findings),
        f"Blomberg's K is {decimal(signal.K, 2)} ({p_value(signal.K_p_value)}): {_alike(signal)}.",
    )


def signal_section(findings: TraitFindings) -> Section:
    """Return the section about lambda and K."""
    target, signal = target_of(findings), findings.signal
    blocks: list[Block] = [
        paragraph(*_reading(findings)),
        _table(findings),
        *figure(findings, "lambda"),
    ]
    if signal.n_species < _FEW:
        blocks.append(
            set_apart(
                "caution",
                f"{count(signal.n_species, 'species', 'species')} are few: lambda and K can hardly "
                "tell a weak signal from none, and a lambda at the end of its range says little.",
            )
        )
    return Section("signal", f"How {target} follows the tree", tuple(blocks))


def _meaning(findings: TraitFindings) -> str:
    signal, target = findings.signal, target_of(findings)
    signs = _signs(signal)
    if any(signs) and not all(signs):
        return "The two measures weigh the tree differently, and one alone is weak evidence."
    if not any(signs):
        return (
            f"With {count(signal.n_species, 'species', 'species')} a weak signal may have been "
            "missed; if there is none, relatives say nothing about each other."
        )
    share = signal.pagel_lambda.estimate
    if share >= _CLOSELY:
        return f"Close relatives have similar values of {target}, and the tree alone says much."
    if share >= _PARTLY:
        return (
            f"Relatives have similar values of {target}, but a good part of it changes from "
            "species to species without regard to the tree."
        )
    return f"Most of {target} changes from species to species without regard to the tree."


def _alike(signal: SignalFinding) -> str:
    """Return what K says beside 1, its expectation under Brownian motion."""
    if not _signs(signal)[1]:
        return "relatives are not surely more alike than shuffled values would be"
    if signal.K > _MUCH_ALIKE:
        return "relatives are even more alike than Brownian motion would make them"
    if signal.K > _ALIKE:
        return "relatives are about as alike as Brownian motion makes them"
    return "relatives are alike, though less than Brownian motion would make them"


def _table(findings: TraitFindings) -> Table:
    signal = findings.signal
    best = signal.pagel_lambda
    return Table(
        anchor="table-signal",
        caption=f"Phylogenetic signal of {target_of(findings)}, "
        f"{count(signal.n_species, 'species', 'species')}.",
        headings=(
            Heading("Measure"),
            Heading("Value", numeric=True),
            Heading("From", numeric=True, help="Lower end of the 95 % interval."),
            Heading("To", numeric=True, help="Upper end of the 95 % interval."),
            Heading("p", numeric=True, help="How probable as much signal would be without any."),
        ),
        rows=(
            (
                Cell("Pagel's lambda"),
                number_cell(best.estimate, 3),
                number_cell(best.low, 3),
                number_cell(best.high, 3),
                p_cell(signal.lambda_p_value),
            ),
            (
                Cell("Blomberg's K"),
                number_cell(signal.K, 3),
                number_cell(float("nan")),
                number_cell(float("nan")),
                p_cell(signal.K_p_value),
            ),
        ),
        note="Lambda is tested by its likelihood ratio, K by "
        f"{count(signal.n_permutations, 'permutation')} of the species.",
    )


def _reading(findings: TraitFindings) -> tuple[Sentence, ...]:
    return (
        "Pagel's lambda is 0 if relatives are no more alike than others, and 1 if they are as "
        "alike as Brownian motion along the branches makes them.",
        "Blomberg's K is 1 on average under Brownian motion; it is less if relatives are less "
        "alike than that, and greater if they are more.",
        shown(findings, "lambda", "shows how well each lambda explains the species"),
    )
