"""Which features matter: PhyRVM and PGLS side by side."""

from parsimon.report.document import Block, Cell, Heading, Reference, Section, Table
from parsimon.report.findings import Interval
from parsimon.report.findings.trait_findings import (
    Coefficient,
    PglsFinding,
    PhyRvmFinding,
    TraitFindings,
    Weight,
)
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import (
    Sentence,
    count_cell,
    figures,
    number_cell,
    p_cell,
    paragraph,
    refer_to_figure,
    target_of,
    value_cell,
)
from parsimon.report.sections._blocks import note as set_apart

_SURE = 0.05
_NAMED = 3
_MOST_ROWS = 60
_SPLIT = 0.2
# More features than this share of the species are suspicious, unless they are very few.
_MOST_SHARE, _FEW = 0.25, 4


def features_section(findings: TraitFindings) -> Section:
    """Return the section about features; findings must have PhyRVM's."""
    cautions = (too_many_sentence(findings), alike_sentence(findings))
    blocks: list[Block] = [
        paragraph(*sparse_sentences(findings)),
        paragraph(*squares_sentences(findings)),
        *(set_apart("caution", said) for said in cautions if said),
        *figures(findings, "features"),
        _coefficients(findings),
        paragraph(
            refer_to_figure(findings, "features", "shows the weights"),
            "Features that go together can stand in for one another: that one is not kept does not "
            f"mean that it has nothing to do with {target_of(findings)}, and none of this says "
            "what causes what.",
        ),
    ]
    return Section(
        "features",
        f"Which features explain {target_of(findings)}",
        tuple(blocks),
        (_side_by_side(findings),),
    )


def too_many_sentence(findings: TraitFindings) -> str:
    """Say if a fit has nearly as many features as species."""
    n, kept = findings.table.n_fitted, findings.phyrvm
    if kept is None or len(kept.weights) <= _MOST_SHARE * n or len(kept.weights) < _FEW:
        return ""
    return (
        f"PhyRVM keeps {say.count(len(kept.weights), 'feature')} for {n:,} species: so many may "
        "follow chance, those of little relevance above all. Trust the error of unseen clades."
    )


def alike_sentence(findings: TraitFindings) -> str:
    """Say which features may be the target in another form."""
    alike = findings.table.alike
    if not alike:
        return ""
    return say.inflect(
        "{names} [is nearly a linear function|are nearly linear functions] of {target}. [Is it|Are "
        "they] another form of it, or measured with it? Then leave [it|them] out (--drop), or "
        "nothing is explained.",
        len(alike),
        names=say.named(alike),
        target=target_of(findings),
    )


def kept_in_every_fold(findings: TraitFindings) -> tuple[str, ...]:
    """Return the features that PhyRVM keeps, and keeps whichever fold of clades is left out."""
    if findings.phyrvm is None:
        return ()
    k = _counted_folds(findings)
    return tuple(weight.feature for weight in findings.phyrvm.weights if weight.n_kept >= k)


def sparse_sentences(findings: TraitFindings) -> tuple[str, ...]:
    """Return what PhyRVM kept."""
    found, n = findings.phyrvm, len(findings.table.features)
    if found is None:
        return ()
    if not found.weights:
        return (
            f"PhyRVM keeps none of the {say.spelled(n, 'feature')}: that any of them adds "
            "something these species do not show."
            if n > 1
            else "PhyRVM does not keep the only feature: that it adds something these species do "
            "not show.",
        )
    return (_tell_kept(found, n), _tell_steady(findings, found))


def squares_sentences(findings: TraitFindings) -> tuple[str, ...]:
    """Return what PGLS found."""
    found = findings.pgls
    if found is None:
        return (f"PGLS could not be fitted: {findings.pgls_failure}",)
    sure = [term for term in found.coefficients if term.adjusted_p_value < _SURE]
    n = len(found.coefficients)
    if n == 1:
        (term,) = found.coefficients
        weight = "a clear weight" if sure else "no clear weight"
        return (
            f"PGLS gives {say.clean(term.feature)} {weight}: {say.within(term.estimate)} for one "
            f"standard deviation ({say.p_value(term.p_value)}).",
        )
    if not sure:
        return (
            f"PGLS finds no feature that is clear of zero once all {n} are allowed for "
            "(p below 0.05 by Holm's rule).",
        )
    largest = sorted(sure, key=lambda term: -abs(term.t))
    signs = [
        f"{say.clean(term.feature)} ({say.signed(term.estimate.estimate)})" for term in largest
    ]
    names, are = say.joined(signs, _NAMED + 3), "is" if len(sure) == 1 else "are"
    return (
        f"In PGLS {say.spelled(len(sure))} of {say.spelled(n, 'feature')} {are} clear of zero (p "
        f"below 0.05 by Holm's rule): {names}.",
    )


def _tell_kept(found: PhyRvmFinding, n: int) -> str:
    m = len(found.weights)
    first = found.weights[:_NAMED]
    names = say.joined(
        [f"{say.clean(weight.feature)} ({say.signed(weight.weight.estimate)})" for weight in first]
    )
    if n == 1:
        return f"PhyRVM keeps the only feature: {names} for one standard deviation."
    part = f"{say.spelled(m)} of the {say.spelled(n, 'feature')}"
    if m == n:
        part = f"all {say.spelled(n, 'feature')}" if n > 2 else "both features"
    link = ":" if m <= _NAMED else ", first of all"
    return f"PhyRVM keeps {part}{link} {names} for one standard deviation."


def _tell_steady(findings: TraitFindings, found: PhyRvmFinding) -> str:
    """Say which features are kept whatever fold is left out."""
    if findings.error is None:
        return ""
    k = _counted_folds(findings)
    if not k:
        which = "it is" if len(found.weights) == 1 else "they are"
        return f"How steadily {which} kept is not known: PhyRVM could not be fitted in each fold."
    always = [weight.feature for weight in found.weights if weight.n_kept == k]
    if len(found.weights) == 1 and not always:
        (weight,) = found.weights
        return (
            f"It is kept in {say.spelled(weight.n_kept)} of {say.spelled(k)} folds of whole clades."
        )
    if not always:
        return (
            f"None of them is kept in all {say.spelled(k)} folds: the choice depends on which fold "
            "is left out."
        )
    if len(always) == len(found.weights):
        which = {1: "It is", 2: "Both are"}.get(len(always), "All of them are")
        return f"{which} kept whichever fold of clades is left out."
    are = "is" if len(always) == 1 else "are"
    return f"Whichever fold of clades is left out, {say.named(always)} {are} kept."


def _counted_folds(findings: TraitFindings) -> int:
    """Return in how many folds PhyRVM was fitted; 0 if not in all, for then counts mislead."""
    error = findings.error
    return 0 if error is None or "phyrvm" in dict(error.failures) else error.n_folds


def _coefficients(findings: TraitFindings) -> Table:
    kept = (
        {} if findings.phyrvm is None else {term.feature: term for term in findings.phyrvm.weights}
    )
    squares = (
        {} if findings.pgls is None else {term.feature: term for term in findings.pgls.coefficients}
    )
    names = [*kept, *(term.name for term in findings.table.features if term.name not in kept)]
    folds = _counted_folds(findings)
    headings = [
        Heading("Feature"),
        Heading("Weight", numeric=True, help="PhyRVM: change of the target for one sd."),
        Heading("sd", numeric=True, help="Posterior standard deviation of the weight."),
        Heading(
            "Relevance", numeric=True, help="How much of the target it may move, by its prior."
        ),
        Heading("Evidence lost", numeric=True, help="Log evidence lost without the feature."),
        *([Heading("Kept", numeric=True, help=f"In how many of {folds} folds.")] if folds else []),
        Heading("Estimate", numeric=True, help="PGLS: change of the target for one sd."),
        Heading("s.e.", numeric=True, help="Standard error of the estimate."),
        Heading("t", numeric=True),
        Heading("p", numeric=True, help="Of the t test, not adjusted for their number."),
    ]
    rows = tuple(
        (
            Cell(say.clean(name), strong=name in kept),
            *_weight_cells(kept.get(name), folds),
            *_square_cells(squares.get(name)),
        )
        for name in names[:_MOST_ROWS]
    )
    more = len(names) - len(rows)
    return Table(
        anchor="table-features",
        caption="The features in PhyRVM and in PGLS, for one standard deviation of each.",
        headings=tuple(headings),
        rows=rows,
        note=f"{say.count(more, 'further feature')}, none of them kept, not shown." if more else "",
    )


def _weight_cells(found: Weight | None, folds: int) -> tuple[Cell, ...]:
    if found is None:
        return (Cell(say.DASH),) * (5 if folds else 4)
    return (
        value_cell(found.weight.estimate),
        value_cell(found.deviation),
        value_cell(found.relevance),
        number_cell(found.loss, 1),
        *((count_cell(found.n_kept),) if folds else ()),
    )


def _square_cells(found: Coefficient | None) -> tuple[Cell, ...]:
    if found is None:
        return (Cell(say.DASH),) * 4
    return (
        value_cell(found.estimate.estimate),
        value_cell(found.standard_error),
        number_cell(found.t, 2),
        p_cell(found.p_value),
    )


def _side_by_side(findings: TraitFindings) -> Section:
    rows = []
    if findings.phyrvm is not None:
        rows.append(_phyrvm_row(findings.phyrvm))
    if findings.pgls is not None:
        rows.append(_pgls_row(findings.pgls))
    blocks: list[Block] = [
        Table(
            anchor="table-regressions",
            caption="Both regressions, fitted to "
            f"{say.count(findings.table.n_fitted, 'species', 'species')}.",
            headings=(
                Heading("Model"),
                Heading("Features", numeric=True),
                Heading("lambda", numeric=True, help="Of the residuals: what features leave."),
                Heading("Interval", numeric=True, help="95 %."),
                Heading("R²", numeric=True, help="Of the species made independent by the tree."),
                Heading("Log height", numeric=True, help="Log evidence, or log-likelihood."),
                Heading("AIC", numeric=True),
                Heading("BIC", numeric=True),
            ),
            rows=tuple(rows),
            note="Log evidence and log-likelihood cannot be compared with each other.",
        ),
        paragraph(*_lambda_sentences(findings)),
        *figures(findings, "posterior"),
    ]
    if findings.phyrvm is not None and not findings.phyrvm.converged:
        blocks.append(set_apart("caution", "The fit of PhyRVM stopped before it had converged."))
    return Section("side-by-side", "PhyRVM and PGLS side by side", tuple(blocks))


def _phyrvm_row(found: PhyRvmFinding) -> tuple[Cell, ...]:
    return (
        Cell("PhyRVM"),
        count_cell(len(found.weights)),
        number_cell(found.pagel_lambda.estimate, 3),
        _lambda_ends(found.pagel_lambda),
        Cell(say.percent_cell(found.r_squared), order=found.r_squared)
        if found.weights
        else Cell(say.DASH),
        number_cell(found.log_evidence, 1),
        Cell(say.DASH),
        Cell(say.DASH),
    )


def _pgls_row(found: PglsFinding) -> tuple[Cell, ...]:
    return (
        Cell("PGLS"),
        count_cell(len(found.coefficients)),
        number_cell(found.pagel_lambda.estimate, 3),
        _lambda_ends(found.pagel_lambda),
        Cell(say.percent_cell(found.r_squared), order=found.r_squared),
        number_cell(found.log_likelihood, 1),
        number_cell(found.aic, 1),
        number_cell(found.bic, 1),
    )


def _lambda_ends(best: Interval) -> Cell:
    return Cell(f"{say.decimal(best.low, 3)} to {say.decimal(best.high, 3)}", order=best.low)


def _lambda_sentences(findings: TraitFindings) -> tuple[Sentence, ...]:
    found, signal = findings.phyrvm, findings.signal.pagel_lambda
    if found is None:
        return ()
    own = found.pagel_lambda
    last: tuple[Sentence, ...] = (
        refer_to_figure(findings, "posterior", "shows what is known about that lambda"),
        ("How well either model predicts is measured in ", Reference("error"), ".")
        if findings.error is not None
        else "",
    )
    first = (
        f"In PhyRVM the residuals have a lambda of {say.within(own, 2)}; {target_of(findings)} "
        f"itself has {say.decimal(signal.estimate, 2)}."
    )
    if not found.weights:
        return (first, *last)
    return (
        first,
        _taken_over(own, signal),
        f"Its line explains {say.percent(found.r_squared)} of the variation of the species, made "
        "independent by the tree.",
        *last,
    )


def _taken_over(own: Interval, signal: Interval) -> str:
    """Say what features change about lambda; surely only if the intervals are apart."""
    if own.estimate < signal.estimate - _SPLIT:
        take = "take" if own.high < signal.low else "may take"
        return f"The features {take} over a good part of what the tree said before."
    if own.estimate > signal.estimate + _SPLIT:
        follows = "follows" if own.low > signal.high else "may follow"
        return f"What the features leave {follows} the tree more closely than the target itself."
    return "By these estimates the features hardly change how much the tree says."
