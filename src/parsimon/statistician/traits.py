"""`analyse_traits`: give it a table of species and their tree, get everything that a report says.

The models are those of the family `Phylogeny`; what is fitted, measured and drawn goes into
`TraitFindings`, and the `TraitAnalysis` that is returned writes files.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._checks import check_choice
from parsimon._progress import Progress
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PGLS, Tree, phylogenetic_signal, read_tree
from parsimon.phylo.ancestors import AncestralStates
from parsimon.report import Readable
from parsimon.report.figures.trait_figures import (
    draw_ancestors,
    draw_curves,
    draw_errors,
    draw_features,
    draw_posterior,
    draw_predicted,
)
from parsimon.report.trait_findings import (
    CALLED,
    LambdaCurve,
    ModelName,
    SignalFinding,
    SpeciesFinding,
    TraitFindings,
)
from parsimon.statistician.analysis import run_findings
from parsimon.statistician.families.phylo import (
    CURVE_POINTS,
    FittedRegression,
    Judgement,
    Traits,
    check_folds,
    fit,
    interval,
    judge,
    lambda_curve,
    list_ancestors,
    pgls_finding,
    phyrvm_finding,
    read_traits,
    reconstruct,
    try_squares,
    usual_folds,
)
from parsimon.statistician.prepare.frames import as_frame
from parsimon.statistician.study import picture_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class TraitAnalysis(Readable):
    """Everything that was found about a trait and its tree.

    Attributes
    ----------
    findings : TraitFindings
        Numbers and names, no sentences.
    model : Pipeline
        The model that leads the page, fitted: a StandardScaler, then `PhyRVM` or `PGLS`. Without
        features it is the tree alone, and takes a table with one column of zeros.
    tree : Tree
        Of the species that were used alone.
    ancestors : AncestralStates
        The target at every node of it.
    measured : Series of shape (n_measured,)
        The target of all species that have one, by tip name.
    X, y : DataFrame of shape (n, d), Series of shape (n,)
        Species with a target, by tip name: what the model was fitted to.
    """

    findings: TraitFindings
    model: Any
    tree: Tree
    ancestors: AncestralStates
    measured: "pd.Series[float]"
    X: "pd.DataFrame"
    y: "pd.Series[float]"

    def __repr__(self) -> str:
        table = self.findings.table
        return f"TraitAnalysis of {table.name}: {table.target} of {table.n_measured} species"


def draw_figures(findings: TraitFindings, states: AncestralStates) -> TraitFindings:
    """Return the findings with their figures."""
    pictures = [picture_of(*drawn) for drawn in _drawn(findings, states)]
    return replace(findings, pictures=tuple(pictures))


def _drawn(findings: TraitFindings, states: AncestralStates) -> "Iterator[tuple[str, Axes, str]]":
    """Yield the name of each picture, its axes, and what a screen reader says."""
    target = findings.table.target
    yield "tree", draw_ancestors(states, target), f"The tree, coloured by {target}"
    yield (
        "lambda",
        draw_curves(findings.curves, target),
        f"Log-likelihood of {target} along Pagel's lambda",
    )
    if findings.phyrvm is not None:
        yield (
            "posterior",
            draw_posterior(findings.phyrvm),
            "Posterior density of lambda in PhyRVM",
        )
    features = draw_features(findings.phyrvm, findings.pgls, target)
    if features is not None:
        yield "features", features, f"Weights of the features of {target}"
    if findings.error is not None:
        model = CALLED[findings.model]
        yield "errors", draw_errors(findings.error, target), f"Errors of models of {target}"
        yield (
            "predicted",
            draw_predicted(findings.error.species, target, model),
            f"Observed {target} against predictions for unseen clades",
        )


_PERMUTATIONS = 999
# Signal, regressions, ancestors and figures; then two sets of folds.
_STEPS = 4


def analyse_traits(
    table: Any,
    tree: Tree | str | os.PathLike[str],
    target: str,
    *,
    name: str = "table",
    tip: str | None = None,
    model: Literal["phyrvm", "pgls"] = "phyrvm",
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    folds: int | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    verbose: bool = False,
    command: str = "",
) -> TraitAnalysis:
    """Explain a trait of related species, and collect everything worth saying.

    The phylogenetic signal of the target, sparse regression (`PhyRVM`) and least squares (`PGLS`)
    with Pagel's lambda side by side, their errors on clades that they have not seen, and the
    ancestors.

    Parameters
    ----------
    table : DataFrame of pandas or polars
        One row for each species. Words of a few levels become 0/1 features, and empty cells of
        features are expected from the other features and from relatives. Rows that are no tips
        are left out, and the findings list them.
    tree : Tree, str or Path
        A tree with branch lengths, or a file with one in Newick or NEXUS format.
    target : str
        A column of numbers. Species without a value are predicted.
    name : str, default "table"
        What the report calls the table.
    tip : str, optional
        The column of tip names; otherwise one called "tip", or the column or index with the most
        names of tips.
    model : {"phyrvm", "pgls"}
        Which model leads the page and predicts.
    features : sequence of str, optional
        The only columns that may explain the target; none of them for the tree alone.
    drop : sequence of str
        Columns that may not.
    folds : int, optional
        Folds of whole clades; 0 for none. One for each eight species if left out, from 3 to 10.
    seed : int, default 0
        Of permutations and random folds; the same seed gives the same findings.
    n_jobs : int, default -1
        Processes, as in joblib; -1 for all processors. A small table gets one.
    verbose : bool, default False
        Show progress.
    command : str, default ""
        The command that makes this report, to be printed in it.

    Returns
    -------
    TraitAnalysis

    Examples
    --------
    >>> from parsimon.phylo import brownian_traits, yule_tree
    >>> tree = yule_tree(30, random_state=0)
    >>> table = brownian_traits(tree, 2, random_state=0)
    >>> table["mass"] = 3 * table["trait1"] + 0.5 * table["trait2"]
    >>> analysis = analyse_traits(table, tree, "mass", features=["trait1"], folds=0)
    >>> [one.feature for one in analysis.findings.phyrvm.weights]
    ['trait1']
    """
    started = time.perf_counter()
    check_choice("model", model, ["phyrvm", "pgls"])
    full = tree if isinstance(tree, Tree) else read_tree(os.fspath(tree))
    traits = read_traits(table, full, target, name=name, tip=tip, features=features, drop=drop)
    n_folds = usual_folds(len(traits.y)) if folds is None else folds
    check_folds(n_folds, len(traits.y))
    options = _options(traits, model, n_folds, seed, features)
    with Progress("Analysing", total=_STEPS + 2 * n_folds, verbose=verbose) as progress:
        step = _ProgressSteps(progress)
        fits = _fits(traits, model)
        step("models")
        states, root = reconstruct(traits, fits.leading)
        step("ancestors")
        found = _found(traits, fits, n_folds, seed, n_jobs, step)
        findings = TraitFindings(
            table=traits.table,
            model=fits.leading.name,
            root=root,
            ancestors=list_ancestors(states),
            predictions=_predictions(traits, fits.leading),
            run=run_findings(
                seed=seed,
                seconds=time.perf_counter() - started,
                command=command,
                options=options,
                skipped=() if n_folds else ("folds",),
                cells=as_frame(table).to_csv(index=True) + full.write(),
            ),
            **found,
        )
        findings = draw_figures(findings, states)
        step("figures")
    return TraitAnalysis(
        findings=findings,
        model=fits.leading.pipeline,
        tree=traits.tree,
        ancestors=states,
        measured=traits.measured,
        X=traits.X,
        y=traits.y,
    )


class _ProgressSteps:
    """Counts what is done, for the progress bar."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, note: str) -> None:
        self._done += 1
        self._progress.update(self._done, note=note)


@dataclass(frozen=True, eq=False)
class _Fits:
    """The models fitted to all species with all features."""

    leading: FittedRegression
    pgls: FittedRegression | None
    phyrvm: FittedRegression | None
    pgls_failure: str


def _fits(traits: Traits, model: ModelName) -> _Fits:
    tree, X, y = traits.tree, traits.X, traits.y
    if not X.shape[1]:
        return _Fits(fit("relatives", tree, X, y), None, None, "")
    phyrvm = fit("phyrvm", tree, X, y)
    pgls, failure = try_squares(tree, X, y)
    if model == "pgls":
        if pgls is None:
            raise InvalidInputError(
                f"PGLS cannot lead the page: {failure} Let PhyRVM lead it (--model phyrvm)."
            )
        return _Fits(pgls, pgls, phyrvm, failure)
    return _Fits(phyrvm, pgls, phyrvm, failure)


def _signal(traits: Traits, seed: np.random.SeedSequence) -> tuple[SignalFinding, LambdaCurve]:
    found = phylogenetic_signal(
        traits.tree, traits.measured, n_permutations=_PERMUTATIONS, random_state=seed
    )
    signal = SignalFinding(
        pagel_lambda=interval(found.pagel_lambda, *found.lambda_interval),
        likelihood_ratio=found.likelihood_ratio,
        lambda_p_value=found.lambda_p_value,
        K=found.K,
        K_p_value=found.K_p_value,
        n_permutations=found.n_permutations,
        n_species=found.n,
    )
    # The regression on a constant alone: a column of zeros adds nothing to it.
    nothing = np.column_stack([traits.tree.match(traits.measured), np.zeros(found.n)])
    alone = PGLS(traits.tree, tips=0).fit(nothing, traits.measured.to_numpy())
    return signal, lambda_curve("target", alone.profile(n_points=CURVE_POINTS))


def _found(
    traits: Traits, fits: _Fits, folds: int, seed: int, n_jobs: int | None, step: _ProgressSteps
) -> dict[str, Any]:
    """Return the findings about signal, errors and both regressions."""
    permuting, folding = np.random.SeedSequence(seed).spawn(2)
    signal, curve = _signal(traits, permuting)
    step("signal")
    judged = Judgement(None, "", {})
    if folds:
        judged = judge(traits, fits.leading.name, folds, folding, step, n_jobs=n_jobs)
    curves, pgls, phyrvm = [curve], None, None
    if fits.pgls is not None:
        pgls, curve = pgls_finding(fits.pgls)
        curves.append(curve)
    if fits.phyrvm is not None:
        phyrvm, curve = phyrvm_finding(fits.phyrvm, traits.tree, traits.y, judged.kept)
        curves.append(curve)
    return {
        "signal": signal,
        "curves": tuple(curves),
        "pgls": pgls,
        "phyrvm": phyrvm,
        "pgls_failure": fits.pgls_failure,
        "error": judged.error,
        "error_failure": judged.failure,
    }


def _predictions(traits: Traits, leading: FittedRegression) -> tuple[SpeciesFinding, ...]:
    if not len(traits.new):
        return ()
    mean, half = leading.predict(traits.new)
    return tuple(
        SpeciesFinding(
            tip=str(tip),
            observed=float("nan"),
            predicted=interval(value, value - reach, value + reach),
        )
        for tip, value, reach in zip(traits.new.index, mean, half, strict=True)
    )


def _options(
    traits: Traits, model: str, folds: int, seed: int, features: Sequence[str] | None
) -> tuple[tuple[str, str], ...]:
    """Return what was asked for, as the page says it."""
    table = traits.table
    options = [("model", model), ("folds", str(folds)), ("seed", str(seed))]
    if table.tip_found == "given":
        options.append(("tip", table.tip))
    if features is not None:
        options.append(("features", ", ".join(features) or "none"))
    if table.dropped:
        options.append(("drop", ", ".join(table.dropped)))
    return tuple(options)
