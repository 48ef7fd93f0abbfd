"""The report about a trait and its tree: front page, summary, and which sections it has.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, KeyFigure, Section
from parsimon.report.findings import ModelComparison
from parsimon.report.findings.trait_findings import CALLED, Coefficient, TraitFindings
from parsimon.report.sections import _page as page
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import figures, target_of
from parsimon.report.sections._models import models_section, recommended_line
from parsimon.report.sections.traits.ancestry import (
    ancestors_section,
    follows,
    follows_tree,
    root_sentences,
    signal_section,
    signal_sentences,
)
from parsimon.report.sections.traits.clade_errors import (
    better_than_the_mean,
    error_section,
    error_sentences,
    predictions_section,
    random_folds_leak,
)
from parsimon.report.sections.traits.features import (
    alike_sentence,
    features_section,
    kept_in_every_fold,
    sparse_sentences,
    squares_sentences,
    too_many_sentence,
)
from parsimon.report.sections.traits.species import (
    fitted_species,
    species_section,
    species_sentence,
    target_range,
)
from parsimon.report.sections.traits.trait_methods import cited_works, in_python, trait_methods

# Of p-values by Holm's rule: what is called certain, and what is suggested.
_CERTAIN, _SUGGESTED = 0.001, 0.05
_NAMED = 4


def _title(findings: TraitFindings) -> str:
    """Return the report's title."""
    return f"What explains {target_of(findings)} in {say.clean(findings.table.name)}"


def _facts(findings: TraitFindings) -> list[tuple[str, str]]:
    """Return the lines of the front page: what is said, and its value."""
    table = findings.table
    return [
        ("Species", fitted_species(table)),
        ("Tree", f"{table.n_tips:,} tips"),
        ("Features", f"{len(table.features):,}"),
        ("Target", f"{say.clean(table.target)} ({target_range(table)})"),
        ("Model", CALLED[findings.model]),
        ("Folds", "none" if findings.error is None else f"{findings.error.n_folds}, whole clades"),
    ]


def _lead(findings: TraitFindings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    recommended = recommended_line(findings.comparison, _guess_miss(findings))
    return page.first_screen(
        _answer(findings),
        (*error_sentences(findings)[:2], recommended),
        _key_figures(findings),
        figures(findings, "tree"),
        page.sure_and_unsure(_certainties(findings), _suggestions(findings), _doubts(findings)),
    )


def _answer(findings: TraitFindings) -> str:
    """Return what explains the trait, as surely as that is known."""
    target, tree = target_of(findings), follows_tree(findings.signal)
    sure = [say.clean(one.feature) for one in certain_features(findings)]
    alike = f"relatives have similar values of {target}"
    if sure:
        verb = "explains" if len(sure) == 1 else "explain"
        what = f"{say.joined(sure, _NAMED)} {verb} {target}"
        return f"{what}, and {alike}." if tree else f"{what}."
    if not findings.table.features:
        return f"{say.opened(alike)}." if tree else f"The tree does not surely explain {target}."
    if tree:
        return f"{say.opened(alike)}; no feature surely explains more."
    return f"Nothing here surely explains {target}, neither a feature nor the tree."


def certain_features(findings: TraitFindings) -> tuple[Coefficient, ...]:
    """Return features whose weight is clear of zero in both regressions, whatever clade is left."""
    kept = kept_in_every_fold(findings)
    return tuple(
        one
        for one in _coefficients(findings)
        if one.adjusted_p_value < _CERTAIN and one.feature in kept
    )


def _coefficients(findings: TraitFindings) -> list[Coefficient]:
    found = () if findings.pgls is None else findings.pgls.coefficients
    return sorted(found, key=lambda one: -abs(one.t))


def _certainties(findings: TraitFindings) -> Iterator[str]:
    if follows_tree(findings.signal):
        yield signal_sentences(findings)[0]
    for one in certain_features(findings):
        yield (
            f"{say.opened(say.clean(one.feature))} explains {target_of(findings)}: "
            f"{say.signed(one.estimate.estimate)} for one standard deviation "
            f"({say.ends(one.estimate)}; {say.p_value(one.adjusted_p_value)} by Holm's rule)."
        )


def _suggestions(findings: TraitFindings) -> Iterator[str]:
    sure = {one.feature for one in certain_features(findings)}
    weights = () if findings.phyrvm is None else findings.phyrvm.weights
    likely = {one.feature: one for one in _coefficients(findings)}
    names = [one.feature for one in weights]
    names += [
        name
        for name, one in likely.items()
        if one.adjusted_p_value < _SUGGESTED and name not in names
    ]
    perhaps = [name for name in names if name not in sure]
    if perhaps:
        yield f"{say.opened(say.named(perhaps))} may explain {target_of(findings)} too."


def _doubts(findings: TraitFindings) -> Iterator[str]:
    """Yield what keeps a reader careful, the gravest first."""
    if findings.error is None:
        yield error_sentences(findings)[0]
    elif not better_than_the_mean(findings):
        yield "New clades are not surely predicted better than by the mean of the other species."
    yield alike_sentence(findings)
    yield too_many_sentence(findings)
    if random_folds_leak(findings):
        yield "A species without close relatives here is predicted less well than the others."
    lacking = findings.table.n_rows - findings.table.n_fitted
    if lacking:
        rows = say.opened(say.count(lacking, "row"))
        yield f"{rows} of the table had no part in the regressions."
    yield page.NOT_A_CAUSE


def _key_figures(findings: TraitFindings) -> Iterator[KeyFigure]:
    signal, target = findings.signal, target_of(findings)
    best = signal.pagel_lambda
    range_ = f"{say.decimal(best.low, 2)} to {say.decimal(best.high, 2)}: {follows(signal)}"
    yield KeyFigure(say.decimal(best.estimate, 2), "Pagel's lambda", range_)
    if findings.phyrvm is not None:
        kept, n = len(findings.phyrvm.weights), len(findings.table.features)
        yield KeyFigure(f"{kept} of {n}", "features kept", "by PhyRVM")
    own = None if findings.error is None else findings.error.of(findings.model)
    mean = None if findings.error is None else findings.error.of("mean")
    if own is not None and mean is not None:
        label = f"typical miss for new clades ({CALLED[findings.model]})"
        detail = f"{say.ends(own.rmse)}; by the mean {say.short(mean.rmse.estimate)}"
        yield KeyFigure(say.short(own.rmse.estimate), label, detail)
    root = next((one for one in findings.root if one.way == "lambda"), None)
    if root is not None:
        label = f"{target} of the last common ancestor"
        yield KeyFigure(say.short(root.value.estimate), label, say.ends(root.value))


def _summary(findings: TraitFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    table = findings.table
    tip = f"column {say.clean(table.tip)}" if table.tip else "the index"
    lines = [
        _answer(findings),
        f"{species_sentence(findings)} Tips by {tip}, "
        f"{say.count(len(table.features), 'feature')}, target {target_of(findings)}.",
        " ".join(signal_sentences(findings)[:1]),
    ]
    if findings.phyrvm is not None:
        lines += [" ".join(filter(None, sparse_sentences(findings)))]
        lines += squares_sentences(findings)
    lines += [sentence for sentence in error_sentences(findings) if sentence]
    lines += filter(None, [recommended_line(findings.comparison, _guess_miss(findings))])
    lines += root_sentences(findings)
    return (*lines, *_tell_predicted(findings))


def _tell_predicted(findings: TraitFindings) -> tuple[str, ...]:
    n, lacking = len(findings.predictions), findings.table.n_unpredictable
    if not n + lacking:
        return ()
    without = f"species without {target_of(findings)}"
    if not lacking:
        return (f"{n:,} {without} {'was' if n == 1 else 'were'} predicted.",)
    return (f"{n:,} of {n + lacking:,} {without} {'was' if n == 1 else 'were'} predicted.",)


def _guess_miss(findings: TraitFindings) -> float:
    """Return by how much the mean of the others misses, in the unit of the trait."""
    guess = None if findings.error is None else findings.error.of("mean")
    return math.nan if guess is None else guess.rmse.estimate


def _tell_saved(findings: TraitFindings, found: ModelComparison) -> str:
    """Say which model the file holds, where it is not the one that the page describes."""
    name, leading = found.recommended.name, CALLED[findings.model]
    said = "All got the same features; rivals and guessing know no tree."
    if name == leading:
        return f"{said} The saved model is {leading}, fitted to all species."
    return (
        f"{said} The saved model is the recommended one, fitted to all species; the rest of this "
        f"page is about {leading}."
    )


def _sections(findings: TraitFindings) -> Iterator[Section]:
    """Yield all sections."""
    yield signal_section(findings)
    if findings.phyrvm is not None:
        yield features_section(findings)
    yield error_section(findings)
    if findings.comparison is not None:
        yield models_section(
            findings,
            findings.comparison,
            (_tell_saved(findings, findings.comparison),),
            _guess_miss(findings),
        )
    yield ancestors_section(findings)
    if findings.predictions:
        yield predictions_section(findings)
    yield species_section(findings)
    yield in_python(findings)
    yield trait_methods(findings)


OUTLINE = page.Outline(
    title=_title,
    kind=lambda _: "A trait and its tree",
    lead=_lead,
    sections=_sections,
    summary=_summary,
    works=cited_works,
    facts=_facts,
)
