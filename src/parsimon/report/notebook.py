"""An analysis in a notebook: its tables as data frames, and itself as a block of HTML."""

from typing import TYPE_CHECKING, Any

from parsimon._notebook import block, drawing, sentence, table
from parsimon.report.figures.search_figures import words_by_column
from parsimon.report.findings import Findings, Picture, ReportFindings
from parsimon.report.findings.shared_findings import EffectFinding

if TYPE_CHECKING:
    import pandas as pd

_MOST_CLAIMS = 12


def analysis_block(findings: ReportFindings, title: str) -> str:
    """Return what an analysis says: its summary, claims, models and one figure."""
    from parsimon.report.sections import summary_lines

    parts = [sentence(line) for line in summary_lines(findings) if line.strip()]
    if isinstance(findings, Findings):
        parts += [*_claims(findings), *_models(findings)]
    shown = _picture(findings)
    if shown is not None:
        parts += [drawing(shown.svg), sentence(shown.caption, soft=True)]
    return block(title, parts)


def _claims(findings: Findings) -> list[str]:
    shown = findings.claims[:_MOST_CLAIMS]
    if not shown:
        return []
    more = ""
    if len(shown) < len(findings.claims):
        more = f", the first {len(shown)} of {len(findings.claims)}"
    rows = []
    for claim in shown:
        sure = "> 99.9 %" if claim.probability > 0.999 else f"{100 * claim.probability:.1f} %"
        rows.append((claim.words, "certain" if claim.certain else "suggested", sure))
    return [table(f"What the rows support{more}", ("claim", "", "probability"), rows)]


def _models(findings: Findings) -> list[str]:
    comparison = findings.comparison
    if comparison is None:
        return []
    rows = [
        (
            one.name,
            f"{100 * one.error.estimate:.1f} %",
            f"{100 * one.error.low:.1f} to {100 * one.error.high:.1f}",
            one.size_words,
        )
        for one in comparison.models
    ]
    place = comparison.models.index(comparison.recommended)
    wrong = "variance left" if comparison.metric == "variance left" else "wrong"
    said = "Models on the same new rows; the one to use is marked"
    return [table(said, ("model", wrong, "95 %", "size"), rows, marked=place)]


def _picture(findings: ReportFindings) -> Picture | None:
    """Return the figure that says most: all models, else the front, else the first one."""
    names = ["models", *(study.front_picture for study in findings.studies)]
    found = filter(None, map(findings.picture, names))
    return next(found, next(iter(findings.pictures), None))


def findings_tables(findings: Findings) -> dict[str, "pd.DataFrame"]:
    """Return what was found as data frames: claims, variables, front, and models if compared."""
    import pandas as pd

    found = {
        "claims": pd.DataFrame([_claim_row(one) for one in findings.claims], columns=_CLAIM),
        "variables": pd.DataFrame(_variable_rows(findings)),
        "front": pd.DataFrame(_front_rows(findings)),
    }
    if findings.comparison is not None:
        found["models"] = pd.DataFrame([_model_row(one) for one in findings.comparison.models])
    return found


_CLAIM = ("words", "kind", "variables", "shape", "probability", "certain")


def _claim_row(claim: Any) -> dict[str, Any]:
    row = {name: getattr(claim, name) for name in _CLAIM}
    return row | {"variables": (" or " if claim.kind == "set" else " and ").join(claim.variables)}


def _variable_rows(findings: Findings) -> list[dict[str, Any]]:
    """Return a row for each column; a category by the level that ranks highest."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for study in findings.studies:
        effects = {one.columns: one for one in study.effects}
        for one in study.variables:
            column, name = one.variable.column, one.variable.name
            row = {
                "positive": study.positive,
                "variable": column,
                "level": "" if column == name else name.removeprefix(f"{column} = "),
                "error": one.model.error,
                "ratio": one.ratio,
                "log_bayes_factor": one.log_bayes_factor,
                "in_model": one.in_model,
            }
            effect = effects.get((column,), EffectFinding(columns=(column,)))
            row |= {name: getattr(effect, name) for name in ("way", "rising", "falling", "turning")}
            known = rows.setdefault((study.positive, column), row)
            known["in_model"] |= one.in_model
    return list(rows.values())


def _front_rows(findings: Findings) -> list[dict[str, Any]]:
    columns = {one.name: one.column for one in findings.table.variables}
    return [
        {
            "positive": study.positive,
            "size": one.size,
            "error": one.error,
            "standard_error": one.standard_error,
            "words": words_by_column(one.words, {name: columns[name] for name in one.variables}),
            "knee": place == study.knee,
            "chosen": place == study.chosen,
        }
        for study in findings.studies
        for place, one in enumerate(study.front)
    ]


def _model_row(model: Any) -> dict[str, Any]:
    return {
        "name": model.name,
        "family": model.family,
        "error": model.error.estimate,
        "error_low": model.error.low,
        "error_high": model.error.high,
        "log_loss": model.log_loss,
        "difference": model.difference.estimate,
        "difference_low": model.difference.low,
        "difference_high": model.difference.high,
        "variables": model.variables,
        "bits": model.size,
        "seconds": model.seconds,
        "best": model.is_best,
        "level": model.is_level,
        "recommended": model.recommended,
    }
