"""`analyse_traits`: give it a table of species and their tree, get everything that a report says.

The models are `regressions` on a tree; what is fitted, measured and drawn goes into
`TraitFindings`, and the `TraitAnalysis` that is returned writes files.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

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
from parsimon.report.findings import ModelComparison
from parsimon.report.findings.trait_findings import (
    CALLED,
    LambdaCurve,
    SignalFinding,
    SpeciesFinding,
    TraitFindings,
)
from parsimon.statistician._walk import Kind, Work, analyse_kind
from parsimon.statistician.comparison import comparison_picture
from parsimon.statistician.families.family import Family
from parsimon.statistician.families.phylo._clades import (
    Judgement,
    check_folds,
    compare_regressions,
    judge,
    trait_question,
    usual_folds,
)
from parsimon.statistician.families.phylo._regressions import (
    CURVE_POINTS,
    FittedRegression,
    fit_regression,
    interval,
    lambda_curve,
    list_ancestors,
    pgls_finding,
    phyrvm_finding,
    reconstruct,
    try_squares,
)
from parsimon.statistician.families.phylo._species import Traits, read_traits
from parsimon.statistician.families.registered import Rivals, chosen_families
from parsimon.statistician.folds import FAST_FOLDS
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.prepare.frames import fingerprint
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.table_model import as_table_model
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
    pictures = [picture_of(*drawn) for drawn in _draw_all(findings, states)]
    if findings.comparison is not None:
        pictures.append(comparison_picture(findings.comparison))
    return replace(findings, pictures=tuple(pictures))


def _draw_all(
    findings: TraitFindings, states: AncestralStates
) -> "Iterator[tuple[str, Axes, str]]":
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
# Keeps the seed of a final fit apart from those of an analysis.
_FITTING = 4


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
    fast: bool = False,
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
    fast : bool, default False
        Three folds, if `folds` is left out.

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
    kind = TraitKind(
        target=target,
        tree=tree if isinstance(tree, Tree) else read_tree(os.fspath(tree)),
        tip=tip,
        model=model,
        features=None if features is None else tuple(features),
        drop=tuple(drop),
        folds=folds,
        name=name,
        seed=seed,
        n_jobs=n_jobs,
        verbose=verbose,
        command=command,
        rivals=rivals,
        checkpoint=checkpoint,
        time_limit=time_limit,
        fast=fast,
    )
    return analyse_kind(kind, table)


class _Fits(NamedTuple):
    """The models fitted to all species with all features."""

    leading: FittedRegression
    pgls: FittedRegression | None
    phyrvm: FittedRegression | None
    pgls_failure: str


class _Judged(NamedTuple):
    """Errors on unseen clades, and all models compared on them."""

    judgement: Judgement
    comparison: ModelComparison | None


@dataclass(frozen=True, kw_only=True)
class TraitKind(Kind):
    """Species of a tree, of which regressions on it answer beside plain rivals."""

    tree: Tree
    tip: str | None = None
    model: Literal["phyrvm", "pgls"] = "phyrvm"
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    folds: int | None = None
    rivals: Rivals = "all"

    last_steps = (5.0, 0.1)
    seeds = ("permuting", "folding", "comparing")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("model", self.model, ["phyrvm", "pgls"])
        self.families  # noqa: B018 - says what is not known before anything is fitted

    @property
    def n_outer(self) -> int:
        """No folds of rows: clades are dealt when the models are judged."""
        return 0

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Guessing and the rivals."""
        return chosen_families((), self.rivals)

    def identify(self, frame: "pd.DataFrame") -> str:
        return fingerprint(frame, index=True, beside=self.tree.write())

    def read(self, frame: "pd.DataFrame") -> Traits:
        traits = read_traits(
            frame,
            self.tree,
            self.target,
            name=self.name,
            tip=self.tip,
            features=self.features,
            drop=self.drop,
        )
        check_folds(self._folds(traits), len(traits.y))
        return traits

    def _folds(self, traits: Traits) -> int:
        """Return the number of folds of clades."""
        if self.folds is not None:
            return self.folds
        return FAST_FOLDS if self.fast else usual_folds(len(traits.y))

    def search(self, work: Work) -> _Fits:
        """Fit the regressions to all species."""
        tree, X, y = work.asked.tree, work.asked.X, work.asked.y
        if not X.shape[1]:
            return _Fits(fit_regression("relatives", tree, X, y), None, None, "")
        phyrvm = fit_regression("phyrvm", tree, X, y)
        pgls, failure = try_squares(tree, X, y)
        if self.model == "phyrvm":
            return _Fits(phyrvm, pgls, phyrvm, failure)
        if pgls is None:
            raise InvalidInputError(
                f"PGLS cannot lead the page: {failure} Let PhyRVM lead it (--model phyrvm)."
            )
        return _Fits(pgls, pgls, phyrvm, failure)

    def compare(self, work: Work, found: _Fits) -> _Judged:
        """Judge the regressions on whole clades, beside rivals."""
        traits = work.asked
        n_folds = self._folds(traits)
        if not n_folds:
            return _Judged(Judgement(None, "", {}), None)
        with Progress("Analysing", total=3 * n_folds, verbose=self.verbose) as progress:
            notes = count()

            def step(note: str) -> None:
                progress.update(next(notes) + 1, note=note)

            judged = judge(
                traits,
                found.leading.name,
                n_folds,
                work.seeds["folding"],
                step,
                n_jobs=work.n_jobs,
                finished=work.kept,
                time_limit=work.budget.left(),
            )
            comparison = compare_regressions(
                traits,
                judged,
                self.families[1:] if traits.X.shape[1] else (),
                work.seeds["comparing"],
                done=lambda n_done: step("rivals") if n_done else None,
                n_jobs=work.n_jobs,
                finished=work.kept,
                time_limit=work.budget.left(),
            )
        return _Judged(judged, comparison)

    def describe(self, work: Work, found: _Fits, compared: _Judged) -> TraitAnalysis:
        traits, (judged, comparison) = work.asked, compared
        signal, curve = _measure_signal(traits, work.seeds["permuting"])
        curves, pgls, phyrvm = [curve], None, None
        if found.pgls is not None:
            pgls, curve = pgls_finding(found.pgls)
            curves.append(curve)
        if found.phyrvm is not None:
            phyrvm, curve = phyrvm_finding(found.phyrvm, traits.tree, traits.y, judged.kept)
            curves.append(curve)
        states, root = reconstruct(traits, found.leading)
        findings = TraitFindings(
            table=traits.table,
            model=found.leading.name,
            root=root,
            ancestors=list_ancestors(states),
            predictions=_predict_new(traits, found.leading),
            run=work.run(self._list_options(traits), () if self._folds(traits) else ("folds",)),
            signal=signal,
            curves=tuple(curves),
            pgls=pgls,
            phyrvm=phyrvm,
            pgls_failure=found.pgls_failure,
            error=judged.error,
            error_failure=judged.failure,
            comparison=None if comparison is None else replace(comparison, picture="models"),
        )
        return TraitAnalysis(
            findings=draw_figures(findings, states),
            model=found.leading.pipeline,
            tree=traits.tree,
            ancestors=states,
            measured=traits.measured,
            X=traits.X,
            y=traits.y,
            traits=traits,
            rivals=self.families,
            seed=self.seed,
        )

    def _list_options(self, traits: Traits) -> dict[str, object]:
        """Return what was asked for, as the page says it."""
        table = traits.table
        found: dict[str, object] = {
            "model": self.model,
            "folds": self._folds(traits),
            "seed": self.seed,
        }
        if table.tip_found == "given":
            found["tip"] = table.tip
        if self.features is not None:
            found["features"] = ", ".join(self.features) or "none"
        if table.dropped:
            found["drop"] = ", ".join(table.dropped)
        names = [self.rivals] if isinstance(self.rivals, str) else self.rivals
        if self.rivals != "all" and all(isinstance(name, str) for name in names):
            found["rivals"] = ",".join(names)
        return found


def _measure_signal(
    traits: Traits, seed: np.random.SeedSequence
) -> tuple[SignalFinding, LambdaCurve]:
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


def _predict_new(traits: Traits, leading: FittedRegression) -> tuple[SpeciesFinding, ...]:
    """Return what the leading model says of species without a value."""
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
