"""`analyse_traits`: give it a table of species and their tree, get everything that a report says.

The models are `regressions` on a tree; what is fitted, measured and drawn goes into
`TraitFindings`, and the `TraitAnalysis` that is returned writes files.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._checks import check_choice, check_seconds
from parsimon._progress import Progress
from parsimon._random import seed_sequence
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
from parsimon.report.findings import ModelComparison, RunFindings
from parsimon.report.findings.trait_findings import (
    CALLED,
    LambdaCurve,
    ModelName,
    SignalFinding,
    SpeciesFinding,
    TraitFindings,
)
from parsimon.statistician.analysis import run_findings
from parsimon.statistician.comparison import comparison_picture
from parsimon.statistician.families import Family
from parsimon.statistician.families.phylo import (
    CURVE_POINTS,
    FittedRegression,
    Judgement,
    Traits,
    check_folds,
    compare_regressions,
    fit_regression,
    interval,
    judge,
    lambda_curve,
    list_ancestors,
    pgls_finding,
    phyrvm_finding,
    read_traits,
    reconstruct,
    trait_question,
    try_squares,
    usual_folds,
)
from parsimon.statistician.families.registered import Rivals, chosen_families
from parsimon.statistician.finished_work import FinishedWork
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.prepare.frames import as_frame, fingerprint
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.table_model import as_table_model
from parsimon.statistician.time_budget import TimeBudget
from parsimon.statistician.trait_model import TraitModel

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
    traits : Traits
        All of that, and the columns that the features come from.
    rivals : tuple of Family
        Who answered beside the regressions on the tree.
    seed : int
        Of every random choice.
    """

    findings: TraitFindings
    model: Any
    tree: Tree
    ancestors: AncestralStates
    measured: "pd.Series[float]"
    X: "pd.DataFrame"
    y: "pd.Series[float]"
    traits: Traits
    rivals: tuple[Family, ...] = ()
    seed: int = 0

    @property
    def comparison(self) -> ModelComparison | None:
        """All models on the same unseen clades, the best first; None without folds."""
        return self.findings.comparison

    @cached_property
    def recommended(self) -> TraitModel:
        """The simplest model within one standard error of the best, fitted to all species.

        Without a comparison it is the model that leads the page.
        """
        found, name = self.comparison, self.findings.model
        if found is None:
            return self._trait_model(fit_regression(name, self.traits.clade, self.X, self.y))
        row = found.recommended
        if row.family == "phylo":
            key: Any = row.key
            return self._trait_model(fit_regression(key, self.traits.clade, self.X, self.y))
        family = next(one for one in self.rivals if one.name == row.name)
        seed = np.random.SeedSequence([self.seed, _FITTING])
        fitted = family.fit(PreparedTable.of([trait_question(self.traits)]), seed)
        return self._trait_model(as_table_model(fitted, classes=(), row=row))

    def _trait_model(self, model: Any) -> TraitModel:
        traits, table = self.traits, self.traits.table
        return TraitModel(
            model,
            traits.clade,
            traits.sources,
            self.X.to_numpy(dtype=np.float64),
            tuple(map(str, self.X.index)),
            table.target,
            table.tip if table.tip_found == "given" else None,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the recommended model for `parsimon predict` and `load_model`; return its path."""
        from parsimon.statistician.saving import save_model

        save_model(self.recommended, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        table = self.findings.table
        return f"TraitAnalysis of {table.name}: {table.target} of {table.n_measured} species"


def draw_figures(findings: TraitFindings, states: AncestralStates) -> TraitFindings:
    """Return the findings with their figures."""
    pictures = [picture_of(*drawn) for drawn in _drawn(findings, states)]
    if findings.comparison is not None:
        pictures.append(comparison_picture(findings.comparison))
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
# Of a time limit: for findings, figures and files.
_LAST_SECONDS, _LAST_SHARE = 5.0, 0.1
# Signal, regressions, ancestors and figures; then two sets of folds, and rivals on one of them.
_STEPS = 4
# Keeps the seed of a final fit apart from those of an analysis.
_FITTING = 4


@dataclass(frozen=True)
class _TraitOptions:
    """What the findings about a trait depend on, beside its table and tree."""

    model: Literal["phyrvm", "pgls"]
    tip: str | None
    features: tuple[str, ...] | None
    drop: tuple[str, ...]
    folds: int
    seed: int
    rivals: Rivals


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
    rivals: Rivals = "all",
    checkpoint: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
) -> TraitAnalysis:
    """Explain a trait of related species, and collect everything worth saying.

    The phylogenetic signal of the target, sparse regression (`PhyRVM`) and least squares (`PGLS`)
    with Pagel's lambda side by side, their errors on clades that they have not seen beside those
    of plain rivals, and the ancestors.

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
    rivals : "all", "none", or sequence of estimators, (name, estimator) and names
        Models without a tree that answer on the same clades: "linear", "tree", "forest",
        "boosting", or your own.
    checkpoint : str or Path, optional
        A folder of your own that keeps what is finished, as in `analyse`.
    time_limit : float, optional
        Seconds for everything: in a short time there are fewer folds of clades, or none, and fewer
        rivals.

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
    check_seconds("time_limit", time_limit)
    budget = TimeBudget.keeping(time_limit, _LAST_SECONDS, _LAST_SHARE)
    families = chosen_families((), rivals)
    full = tree if isinstance(tree, Tree) else read_tree(os.fspath(tree))
    traits = read_traits(table, full, target, name=name, tip=tip, features=features, drop=drop)
    n_folds = usual_folds(len(traits.y)) if folds is None else folds
    check_folds(n_folds, len(traits.y))
    options = _TraitOptions(
        model,
        tip,
        None if features is None else tuple(features),
        tuple(drop),
        n_folds,
        seed,
        rivals,
    )
    frame = as_frame(table)
    kept = FinishedWork.of(checkpoint, frame, (list(frame.index), full.write()), options)
    run = run_findings(
        seed=seed,
        seconds=0.0,
        command=command,
        options=_said(traits, options),
        skipped=() if n_folds else ("folds",),
        fingerprint=fingerprint(frame, index=True, beside=full.write()),
    )
    run = replace(run, date=kept.once("date", lambda: run.date))
    with Progress("Analysing", total=_STEPS + 3 * n_folds, verbose=verbose) as progress:
        step = _ProgressSteps(progress)
        analysis = _analysed(traits, options, families, run, n_jobs, step, kept, budget)
        run = replace(run, seconds=time.perf_counter() - started)
        findings = replace(analysis.findings, run=run)
        findings = draw_figures(findings, analysis.ancestors)
        step("figures")
    return replace(analysis, findings=findings)


def _analysed(
    traits: Traits,
    options: _TraitOptions,
    families: tuple[Family, ...],
    run: RunFindings,
    n_jobs: int | None,
    step: "_ProgressSteps",
    kept: FinishedWork,
    budget: TimeBudget,
) -> TraitAnalysis:
    """Fit, reconstruct, judge and compare; nothing is drawn."""
    fits = _fits(traits, options.model)
    step("models")
    states, root = reconstruct(traits, fits.leading)
    step("ancestors")
    findings = TraitFindings(
        table=traits.table,
        model=fits.leading.name,
        root=root,
        ancestors=list_ancestors(states),
        predictions=_predictions(traits, fits.leading),
        run=run,
        **_found(traits, fits, options, families[1:], n_jobs, step, kept, budget),
    )
    return TraitAnalysis(
        findings=findings,
        model=fits.leading.pipeline,
        tree=traits.tree,
        ancestors=states,
        measured=traits.measured,
        X=traits.X,
        y=traits.y,
        traits=traits,
        rivals=families,
        seed=options.seed,
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
        return _Fits(fit_regression("relatives", tree, X, y), None, None, "")
    phyrvm = fit_regression("phyrvm", tree, X, y)
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
    traits: Traits,
    fits: _Fits,
    options: _TraitOptions,
    rivals: Sequence[Family],
    n_jobs: int | None,
    step: _ProgressSteps,
    kept: FinishedWork,
    budget: TimeBudget,
) -> dict[str, Any]:
    """Return the findings about signal, errors, all models and both regressions."""
    permuting, folding, comparing = seed_sequence(options.seed).spawn(3)
    signal, curve = _signal(traits, permuting)
    step("signal")
    judged, comparison = Judgement(None, "", {}), None
    if options.folds:
        name = fits.leading.name
        judged = judge(
            traits,
            name,
            options.folds,
            folding,
            step,
            n_jobs=n_jobs,
            finished=kept,
            time_limit=budget.left(),
        )
        comparison = compare_regressions(
            traits,
            judged,
            rivals if traits.X.shape[1] else (),
            comparing,
            n_jobs=n_jobs,
            done=lambda n_done: step("rivals") if n_done else None,
            finished=kept,
            time_limit=budget.left(),
        )
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
        "comparison": None if comparison is None else replace(comparison, picture="models"),
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


def _said(traits: Traits, options: _TraitOptions) -> tuple[tuple[str, str], ...]:
    """Return what was asked for, as the page says it."""
    table, said = traits.table, []
    said += [("model", options.model), ("folds", str(options.folds)), ("seed", str(options.seed))]
    if table.tip_found == "given":
        said.append(("tip", table.tip))
    if options.features is not None:
        said.append(("features", ", ".join(options.features) or "none"))
    if table.dropped:
        said.append(("drop", ", ".join(table.dropped)))
    names = [options.rivals] if isinstance(options.rivals, str) else options.rivals
    if options.rivals != "all" and all(isinstance(one, str) for one in names):
        said.append(("rivals", ",".join(names)))
    return tuple(said)
