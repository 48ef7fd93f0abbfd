"""The two tables of models: what each variable says alone, and the structure beside its parts."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parsimon.report.document import Cell, Heading, Table
from parsimon.report.findings import ModelFinding, VariableFinding
from parsimon.report.sections._blocks import number_cell, share_cell
from parsimon.report.sections._phrases import DASH, clean, count, number
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.table.claims import chance, is_claimed, variable_claim
from parsimon.structures import Claim

_NOTHING = Cell(DASH)


class _Least(NamedTuple):
    """The least error and evidence of a table, which are set strong."""

    error: float
    evidence: float


def model_order(model: ModelFinding) -> tuple[bool, float, float]:
    """Return what models are sorted by: error to 0.01 %, then negative log evidence to 0.01.

    He (2016), section 5.1; a model that was not cross-validated comes last.
    """
    unknown = math.isnan(model.error)
    return (unknown, 0.0 if unknown else round(model.error, 4), _rounded(model))


def ranked(scope: Scope) -> tuple[VariableFinding, ...]:
    """Return the variables of a study: the most probable first, then those that say most alone."""
    return tuple(sorted(scope.study.variables, key=lambda one: _variable_order(scope, one)))


def _variable_order(scope: Scope, one: VariableFinding) -> tuple[float, tuple[bool, float, float]]:
    claim = variable_claim(scope, one.variable)
    claimed = claim is not None and is_claimed(claim)
    return (-claim.probability if claim is not None and claimed else 0.0, model_order(one.model))


def variable_table(scope: Scope) -> Table:
    """Return the table of all variables and the baseline, the most probable first."""
    study = scope.study
    least = _least([study.baseline, *(one.model for one in study.variables)])
    rows = [
        (_variable_order(scope, one), _variable_row(scope, one, least)) for one in study.variables
    ]
    baseline = _baseline_row(study.baseline, least)
    rows.append(((0.0, model_order(study.baseline)), baseline))
    cells = tuple(row for _, row in sorted(rows, key=lambda one: one[0]))
    return Table(
        anchor=scope.anchor("table-variables"),
        caption="The variables: how probable it is that each matters, and what it says alone.",
        headings=_variable_headings(scope),
        rows=cells,
        emphasised=(cells.index(baseline),),
        note=one_kind(scope),
    )


def component_table(scope: Scope) -> Table:
    """Return the table of the structure, its parts, the one-variable models and the baseline."""
    models = sorted(_distinct(_compared(scope)), key=model_order)
    least = _least(models)
    baseline = next(
        place for place, one in enumerate(models) if one.symbols == scope.study.baseline.symbols
    )
    return Table(
        anchor=scope.anchor("table-components"),
        caption="The structure beside its parts, all models of one variable and the baseline.",
        headings=(
            Heading("Variables"),
            Heading("Kernel", help="With the numbers of the variables."),
            *_measured_headings(scope),
        ),
        rows=tuple(
            (
                Cell("Baseline" if place == baseline else _numbers(scope, model)),
                Cell(clean(model.symbols), code=True),
                *_measured(model, least),
            )
            for place, model in enumerate(models)
        ),
        emphasised=(baseline,),
        note=one_kind(scope),
    )


def one_kind(scope: Scope) -> str:
    """Return the note that says what kind of number a table of models holds."""
    search = scope.study.search
    return (
        f"Errors are means over the same {count(search.n_folds, 'fold')} of the search, each "
        f"kernel fitted again in each; evidence is on {scope.searched}. The errors "
        "serve to compare rows of this table."
    )


def _variable_headings(scope: Scope) -> tuple[Heading, ...]:
    return (
        Heading("No.", numeric=True, help="The variable's number in the symbols of kernels."),
        Heading("Variable"),
        Heading(
            "Matters",
            numeric=True,
            help="Probability that its column matters beside the others; a dash: below one half.",
        ),
        Heading("Min", numeric=True),
        Heading("Max", numeric=True),
        Heading("Mean", numeric=True),
        Heading("SD", numeric=True, help="Standard deviation."),
        Heading("Kind", help="The kind of kernel that was best for it."),
        *_measured_headings(scope),
        Heading(
            "Alone",
            numeric=True,
            help="Log Bayes factor of its model alone against the baseline; not a verdict.",
        ),
    )


def _measured_headings(scope: Scope) -> tuple[Heading, Heading]:
    what = "variance left unexplained" if scope.numeric else "rows misclassified"
    return (
        Heading(
            "NLML", numeric=True, help="Negative log marginal likelihood: the less, the better."
        ),
        Heading("Error", numeric=True, help=f"Cross-validated: share of {what}."),
    )


def _measured(model: ModelFinding, least: _Least) -> tuple[Cell, Cell]:
    evidence = model.negative_log_evidence
    return (
        number_cell(evidence, strong=_rounded(model) == least.evidence),
        share_cell(model.error, strong=round(model.error, 4) == least.error),
    )


def _variable_row(scope: Scope, found: VariableFinding, least: _Least) -> tuple[Cell, ...]:
    one = scope.variable(found.variable)
    place = _place(scope, one.name)
    return (
        Cell(DASH if place is None else str(place), order=None if place is None else float(place)),
        Cell(clean(one.name)),
        _probability(variable_claim(scope, one)),
        Cell(scope.value(one, one.minimum), order=one.minimum),
        Cell(scope.value(one, one.maximum), order=one.maximum),
        Cell(scope.value(one, one.mean), order=one.mean),
        Cell(number(one.deviation), order=one.deviation),
        Cell(clean(found.model.kind)),
        *_measured(found.model, least),
        number_cell(found.log_bayes_factor, 1),
    )


def _probability(claim: Claim | None) -> Cell:
    """Return how probable it is that a column matters; strong if that is beyond doubt."""
    if claim is None or not is_claimed(claim):
        return _NOTHING
    return Cell(
        chance(claim).replace("more than", ">"),
        order=claim.probability,
        strong=claim.certain,
    )


def _baseline_row(baseline: ModelFinding, least: _Least) -> tuple[Cell, ...]:
    return (
        _NOTHING,
        Cell("Baseline"),
        *(_NOTHING,) * 5,
        Cell(clean(baseline.kind)),
        *_measured(baseline, least),
        number_cell(0.0, 1),
    )


def _compared(scope: Scope) -> Iterable[ModelFinding]:
    study = scope.study
    yield study.model
    yield from (part.alone for part in study.components)
    yield from (one.model for one in study.variables)
    yield study.baseline


def _distinct(models: Iterable[ModelFinding]) -> list[ModelFinding]:
    """Return the first model of each kernel."""
    found: dict[str, ModelFinding] = {}
    for model in models:
        found.setdefault(model.symbols, model)
    return list(found.values())


def _least(models: Sequence[ModelFinding]) -> _Least:
    errors = [round(one.error, 4) for one in models if not math.isnan(one.error)]
    return _Least(min(errors, default=math.nan), min(map(_rounded, models)))


def _rounded(model: ModelFinding) -> float:
    return round(model.negative_log_evidence, 2)


def _numbers(scope: Scope, model: ModelFinding) -> str:
    places = [_place(scope, name) for name in model.variables]
    return ", ".join(str(place) for place in places if place is not None) or DASH


def _place(scope: Scope, name: str) -> int | None:
    """Return a variable's number as the symbols of kernels have it, from 1."""
    names = [one.name for one in scope.findings.table.variables]
    return names.index(name) + 1 if name in names else None
