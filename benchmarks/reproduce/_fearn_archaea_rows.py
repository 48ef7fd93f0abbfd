"""Rows of the archaeal study: table 5.3, who predicts best under which folds, the baselines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.reproduce import _fearn_archaea as study
from benchmarks.reproduce._fearn_archaea import (
    ENGQVIST,
    GAUSSIAN,
    IVYWREL,
    LINE,
    OLS,
    PGLS_NAME,
    PHYRVM,
    RANDOM,
    RVM,
    TEMPURA,
    FoldJob,
)
from benchmarks.reproduce._fearn_tables import (
    ARCHAEA,
    IVYWREL_LINE,
    LEAST_SQUARES,
    MINUS,
    N_SPECIES,
    PLUS,
    Archaeal,
)
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.evaluation import corrected_t_interval, wilcoxon_signed_rank
from parsimon.phylo import PGLS, PhyRVM

REFERENCE = f"{PHYRVM}, conditional"
Found = Mapping[FoldJob, Mapping[str, Any]]


def rows(found: Found) -> list[Row]:
    """Return all rows of the archaea for the folds that were run."""
    made: list[Row] = []
    schemes = list(dict.fromkeys((job.data, job.scheme) for job in found))
    for data in (TEMPURA, ENGQVIST):
        made += table_rows(data, cell(found, data, RANDOM))
    made += baseline_rows(cell(found, TEMPURA, RANDOM))
    for data, scheme in schemes:
        made += comparison_rows(f"{data}, {scheme}", cell(found, data, scheme))
    return made


def cell(found: Found, data: str, scheme: str) -> list[Mapping[str, Any]]:
    """Return the folds of one way of dividing one set, in their order."""
    own = [job for job in found if (job.data, job.scheme) == (data, scheme)]
    return [found[job] for job in sorted(own, key=lambda job: job.fold)]


def errors(folds: Sequence[Mapping[str, Any]], variant: str) -> Array:
    """Return the root mean squared error of each fold."""
    return np.array([np.sqrt(np.mean(fold[variant]["squares"])) for fold in folds])


def table_rows(data: str, folds: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return table 5.3 beside ours: lambda, training error, error of random folds."""
    X, y, tree = study.archaea(data)
    printed = {
        **{name: name[: len(MINUS)] for name in study.FORMS},
        PHYRVM: MINUS,
        RVM: RVM,
        PGLS_NAME: LEAST_SQUARES,
        OLS: OLS,
    }
    made: list[Row] = []
    gaussian = bool(folds) and f"{GAUSSIAN}, {study.KINDS[0]}" in folds[0]
    for name, model in study.models(tree, gaussian=gaussian).items():
        if name not in (*printed, GAUSSIAN):
            continue
        model.fit(X, y)
        peer = ARCHAEA[printed.get(name, MINUS)]
        made += _table_model(f"Table 5.3, {data}, {name}", name, model, peer, folds)
    return made


def _table_model(
    case: str, name: str, pipeline: Any, peer: Archaeal, folds: Sequence[Mapping[str, Any]]
) -> list[Row]:
    X, y, _ = study.archaea(case.split(", ")[1])
    model = pipeline[-1]
    with_tree = isinstance(model, PGLS | PhyRVM)
    fitted = model.fitted_values_ if with_tree else pipeline.predict(X)
    made = []
    if with_tree:
        made.append(
            Row(
                case,
                "lambda; printed",
                model.lambda_,
                peer.share,
                note=_evidence(model, peer, len(y)),
            )
        )
    note = "" if with_tree else _evidence(model, peer, len(y))
    trained = float(np.sqrt(np.mean((y - fitted) ** 2)))
    made.append(Row(case, "training RMSE; printed", trained, peer.error, note=note))
    if folds:
        variants = [f"{name}, {kind}" for kind in study.KINDS] if with_tree else [name]
        for variant in variants:
            own = errors(folds, variant)
            kind = variant[len(name) :]
            made.append(
                Row(
                    case,
                    f"RMSE of random folds{kind}; printed",
                    float(own.mean()),
                    peer.test_error.mean,
                    note=f"sd {own.std(ddof=1):.2f} over {len(own)} folds, "
                    f"printed {peer.test_error.deviation:.2f}",
                    rivals=plain(folds),
                )
            )
    return made


def plain(folds: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return errors of those who know nothing or next to nothing, on the same folds."""
    return {name: float(errors(folds, name).mean()) for name in (study.MEAN, study.DRAWN, LINE)}


def _evidence(model: Any, peer: Archaeal, n: int) -> str:
    if not hasattr(model, "log_evidence_"):
        return ""
    weights = int(np.sum(model.coef_ != 0))
    text = f"log evidence {model.log_evidence_:.1f}, a species {model.log_evidence_ / n:.3f}"
    if peer.evidence is not None:
        text += f" (printed {peer.evidence:.1f}, {peer.evidence / N_SPECIES:.3f})"
    return f"{text}; {weights} weights"


def baseline_rows(folds: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the line on the IVYWREL sum beside the printed one."""
    X, y, _ = study.archaea(TEMPURA)
    correlation = float(np.corrcoef(X[list(IVYWREL)].sum(axis=1), y)[0, 1])
    own = errors(folds, LINE)
    return [
        Row(
            f"{TEMPURA}, baselines",
            f"{LINE}: RMSE of random folds; table 5.4, 213 archaea",
            float(own.mean()),
            IVYWREL_LINE.mean,
            note=f"sd {own.std(ddof=1):.2f} and {IVYWREL_LINE.deviation:.2f}; correlation of the "
            f"sum and the temperature {correlation:.3f}",
            rivals={name: error for name, error in plain(folds).items() if name != LINE},
        )
    ]


def comparison_rows(case: str, folds: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the conditional PhyRVM beside every other model on the same folds."""
    names = [name for name in folds[0] if not name.startswith((MINUS, PLUS, "n_"))]
    means = {name: float(errors(folds, name).mean()) for name in names}
    ranked = sorted(means, key=lambda name: means[name])
    pooled = min(names, key=lambda name: _pooled(folds, name))
    made = [
        Row(
            case,
            f"lowest RMSE: {ranked[0]}; second: {ranked[1]}",
            means[ranked[0]],
            means[ranked[1]],
            note=f"{len(folds)} folds; {_versus(folds, ranked[0], ranked[1])}; all species pooled: "
            f"{pooled} {_pooled(folds, pooled):.2f}",
        ),
        _coverage_row(case, folds, names),
    ]
    for name in ranked:
        if name != REFERENCE:
            made.append(
                Row(
                    case,
                    f"RMSE: {REFERENCE}; {name}",
                    means[REFERENCE],
                    means[name],
                    note=f"sd {errors(folds, name).std(ddof=1):.2f}, pooled "
                    f"{_pooled(folds, name):.2f} (ours {_pooled(folds, REFERENCE):.2f}); "
                    + _versus(folds, REFERENCE, name),
                )
            )
    return made


def _coverage_row(case: str, folds: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Row:
    others = ", ".join(
        f"{name} {coverage(folds, name):.3f}"
        for name in names
        if name != REFERENCE and folds[0][name]["inside"] is not None
    )
    return Row(
        case,
        f"{REFERENCE}: 95 % intervals that hold the test; peer: 0.95",
        coverage(folds, REFERENCE),
        0.95,
        higher_is_better=True,
        note=others,
    )


def _versus(folds: Sequence[Mapping[str, Any]], first: str, second: str) -> str:
    """Return the paired interval of second less first, in words."""
    gaps = errors(folds, second) - errors(folds, first)
    low, high = corrected_t_interval(
        gaps,
        n_train=float(np.mean([fold["n_train"] for fold in folds])),
        n_test=float(np.mean([fold["n_test"] for fold in folds])),
    )
    ten = slice(0, study.N_FOLDS)
    p = wilcoxon_signed_rank(errors(folds, second)[ten], errors(folds, first)[ten]).p_value
    verdict = f"{first} wins" if low > 0 else f"{second} wins" if high < 0 else "not settled"
    return (
        f"paired difference {gaps.mean():+.2f} ({low:+.2f} to {high:+.2f}), first better in "
        f"{np.sum(gaps > 0)} of {len(gaps)}, Wilcoxon p of ten {p:.2g}: {verdict}"
    )


def _pooled(folds: Sequence[Mapping[str, Any]], variant: str) -> float:
    return float(np.sqrt(np.mean(np.concatenate([fold[variant]["squares"] for fold in folds]))))


def coverage(folds: Sequence[Mapping[str, Any]], variant: str) -> float:
    """Return the share of test rows inside their 95 % intervals."""
    return float(np.mean(np.concatenate([fold[variant]["inside"] for fold in folds])))
