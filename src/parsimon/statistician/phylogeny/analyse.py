"""`analyse_traits`: give it a table of species and their tree, get everything that a page says."""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

import parsimon
from parsimon._checks import check_choice
from parsimon._progress import Progress
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PGLS, Tree, phylogenetic_signal, read_tree
from parsimon.report.findings import RunFindings
from parsimon.report.trait_findings import (
    LambdaCurve,
    ModelName,
    SignalFinding,
    SpeciesFinding,
    TraitFindings,
)
from parsimon.statistician.analyse import today
from parsimon.statistician.phylogeny.analysis import TraitAnalysis
from parsimon.statistician.phylogeny.ancestors import list_ancestors, reconstruct
from parsimon.statistician.phylogeny.judging import Judgement, check_folds, judge, usual_folds
from parsimon.statistician.phylogeny.models import (
    CURVE_POINTS,
    Fitted,
    fit,
    interval,
    lambda_curve,
    pgls_finding,
    phyrvm_finding,
    try_squares,
)
from parsimon.statistician.phylogeny.pictures import draw_pictures
from parsimon.statistician.phylogeny.reading import Traits, read_traits
from parsimon.statistician.prepare.tables import as_frame

_PERMUTATIONS = 999
# Signal, regressions, ancestors and pictures; then two sets of folds.
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
        One row for each species. Columns of text are left out; rows that are no tips, and rows
        without a feature, are too, and the findings list them.
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
        step = _Steps(progress)
        fits = _fits(traits, model)
        step("models")
        states, root = reconstruct(traits, fits.leading)
        step("ancestors")
        found = _found(traits, fits, n_folds, seed, n_jobs, step)
        seconds = time.perf_counter() - started
        findings = TraitFindings(
            table=traits.table,
            model=fits.leading.name,
            root=root,
            ancestors=list_ancestors(states),
            predictions=_predictions(traits, fits.leading),
            run=_run(table, full, seed, options, command, seconds),
            **found,
        )
        findings = draw_pictures(findings, states)
        step("pictures")
    return TraitAnalysis(
        findings=findings,
        model=fits.leading.pipeline,
        tree=traits.tree,
        ancestors=states,
        measured=traits.measured,
        X=traits.X,
        y=traits.y,
    )


class _Steps:
    """Counts what is done, for the progress bar."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, note: str) -> None:
        self._done += 1
        self._progress.update(self._done, note=note)


@dataclass(frozen=True, eq=False)
class _Fits:
    """The models fitted to all species with all features."""

    leading: Fitted
    pgls: Fitted | None
    phyrvm: Fitted | None
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
    traits: Traits, fits: _Fits, folds: int, seed: int, n_jobs: int | None, step: _Steps
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


def _predictions(traits: Traits, leading: Fitted) -> tuple[SpeciesFinding, ...]:
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


def _run(
    table: Any,
    tree: Tree,
    seed: int,
    options: tuple[tuple[str, str], ...],
    command: str,
    seconds: float,
) -> RunFindings:
    frame = as_frame(table)
    cells = frame.to_csv(index=True) + tree.write()
    return RunFindings(
        version=parsimon.__version__,
        seed=seed,
        seconds=seconds,
        date=today(),
        command=command,
        options=options,
        skipped=("folds",) if ("folds", "0") in options else (),
        fingerprint=hashlib.sha256(cells.encode()).hexdigest(),
        libraries=tuple(
            (library, version(library)) for library in ("numpy", "scipy", "scikit-learn")
        ),
    )
