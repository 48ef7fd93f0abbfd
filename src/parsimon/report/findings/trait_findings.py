"""What was found about a trait and its tree, as values; and what its models are called."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from parsimon.report.findings import (
    Interval,
    ModelComparison,
    Picture,
    ReportFindings,
    RunFindings,
)

ModelName: TypeAlias = Literal["mean", "relatives", "ols", "rvm", "pgls", "phyrvm"]
Reason: TypeAlias = Literal[
    "text",  # holds words; `value` is one of them
    "date",
    "constant",  # `value` is the only one
    "empty",
    "mostly_empty",  # more than half of the cells are missing
    "costly",  # with it, fewer than half of the species would be complete
    "identifier",  # whole numbers that only number the rows
]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A column that is no feature, and why."""

    column: str
    reason: Reason
    value: str = ""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A column that may explain the target, as the fitted species have it."""

    name: str
    mean: float
    deviation: float
    minimum: float
    maximum: float


@dataclass(frozen=True, kw_only=True)
class TraitTable:
    """The table and the tree: what was used, and what was not.

    tip: The column that holds tip names; empty for the index of a data frame.
    tip_found: Whether it was named, is called "tip", or has the most names of tips.
    n_tips: Of the tree as it was read.
    n_in_tree: Rows that are tips.
    n_measured: Of these, rows with a target: those of the signal and of ancestors.
    n_fitted: Of these, rows with all features: those of the regressions.
    coded: Columns of words whose levels became 0/1 features.
    n_completed: Rows that lacked features, which are what the others let expect; `completed` are
        the columns, with the number of cells.
    not_in_tree, without_row: Rows that are no tips, and tips without a row.
    n_unnamed: Rows without a tip name.
    n_renamed: Rows that matched once spaces were read as underscores, or the other way round.
    n_incomplete: Rows with a target that lack a feature; `incomplete` are their names, and
        `gaps` the columns that lack cells in them.
    n_unpredictable: Rows with neither a target nor all features.
    redundant: Features that others determine, left out of least squares.
    dropped: Columns that were not to be features.
    alike: Features that are nearly the target itself.
    """

    name: str
    target: str
    tip: str
    tip_found: Literal["given", "called", "matched"]
    n_rows: int
    n_columns: int
    n_tips: int
    n_in_tree: int
    n_measured: int
    n_fitted: int
    target_mean: float
    target_minimum: float
    target_maximum: float
    features: tuple[Feature, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    not_in_tree: tuple[str, ...] = ()
    without_row: tuple[str, ...] = ()
    n_unnamed: int = 0
    n_renamed: int = 0
    n_incomplete: int = 0
    incomplete: tuple[str, ...] = ()
    gaps: tuple[tuple[str, int], ...] = ()
    n_unpredictable: int = 0
    redundant: tuple[str, ...] = ()
    coded: tuple[str, ...] = ()
    n_completed: int = 0
    completed: tuple[tuple[str, int], ...] = ()
    dropped: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SignalFinding:
    """How strongly the target follows the tree, as `parsimon.phylo.Signal` has it."""

    pagel_lambda: Interval
    likelihood_ratio: float
    lambda_p_value: float
    K: float
    K_p_value: float
    n_permutations: int
    n_species: int


@dataclass(frozen=True, kw_only=True)
class LambdaCurve:
    """A log likelihood or a log evidence along lambda, all else at its best."""

    of: Literal["target", "pgls", "phyrvm"]
    values: tuple[float, ...]
    heights: tuple[float, ...]
    best: Interval


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """A coefficient of least squares, for one standard deviation of its feature."""

    feature: str
    estimate: Interval
    standard_error: float
    t: float
    p_value: float
    adjusted_p_value: float


@dataclass(frozen=True, kw_only=True)
class PglsFinding:
    """Phylogenetic least squares; features are standardised, the intercept is the line's mean."""

    pagel_lambda: Interval
    intercept: float
    coefficients: tuple[Coefficient, ...]
    log_likelihood: float
    aic: float
    bic: float
    r_squared: float
    residual_error: float
    degrees_of_freedom: int


@dataclass(frozen=True, kw_only=True)
class Weight:
    """The weight of a feature that PhyRVM kept, for one standard deviation of the feature.

    `loss` is what the log evidence loses without it; `n_kept` counts the clade folds in whose
    fits the feature was kept.
    """

    feature: str
    weight: Interval
    deviation: float
    relevance: float
    loss: float
    n_kept: int = 0


@dataclass(frozen=True, kw_only=True)
class PhyRvmFinding:
    """Sparse phylogenetic regression.

    `pagel_lambda` is the posterior mode and interval; `lambda_values` and `lambda_density` are
    points of the posterior density. The prior is that of
    `PhyRVM`.
    """

    prior: Literal["ard", "priced", "smooth"] = "ard"

    pagel_lambda: Interval
    lambda_mean: float
    lambda_values: tuple[float, ...]
    lambda_density: tuple[float, ...]
    intercept: float
    weights: tuple[Weight, ...]
    log_evidence: float
    r_squared: float
    converged: bool


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A model on species that it was not fitted to.

    rmse: Root mean squared error over all species, in units of the target.
    difference: Its error minus that of the model that leads the page; None for that one. The
        interval of the mean holds with 95 %, those of the other models hold together with 95 %
        (Bonferroni).
    explained: Share of the squared error of the training mean that is gone; negative if it is
        worse.
    coverage: Share of species inside their 95 % intervals; NaN for the mean.
    """

    model: ModelName
    rmse: Interval
    difference: Interval | None
    explained: float
    coverage: float


@dataclass(frozen=True, kw_only=True)
class SpeciesFinding:
    """A prediction with its 95 % interval; NaN is observed where the target is not known."""

    tip: str
    observed: float
    predicted: Interval
    fold: int = 0


@dataclass(frozen=True, kw_only=True)
class CladeError:
    """How good predictions are for clades that were not seen, and beside it for random folds.

    `failures` are models that could not be judged, with the reason; `species` are predictions of
    the leading model without the clade of each. `leak` is how much larger the error of the leading
    model is for unseen clades than in random folds.
    """

    n_folds: int
    clades: tuple[Judged, ...]
    random: tuple[Judged, ...]
    species: tuple[SpeciesFinding, ...]
    leak: Interval
    failures: tuple[tuple[ModelName, str], ...] = ()

    def of(self, model: ModelName, *, random: bool = False) -> Judged | None:
        """Return what was found about one model; None if it could not be judged."""
        found = self.random if random else self.clades
        return next((one for one in found if one.model == model), None)


@dataclass(frozen=True, kw_only=True)
class RootFinding:
    """The value of the last common ancestor, by one of several ways."""

    way: Literal["lambda", "brownian", "line"]
    value: Interval


@dataclass(frozen=True, kw_only=True)
class Ancestor:
    """An inner node of the tree; `first` and `last` are tips whose last common ancestor it is."""

    node: int
    name: str
    first: str
    last: str
    n_tips: int
    depth: float
    value: Interval


@dataclass(frozen=True, kw_only=True)
class TraitFindings(ReportFindings):
    """Everything that the page says.

    model: The model that leads the page and predicts; "relatives" if there are no features.
    pgls_failure, error_failure: Why there is no least squares, or no error of unseen clades;
        empty if there is.
    ancestors: All inner nodes, the root first.
    predictions: Species without a target.
    comparison: All models, and rivals without a tree, on the same unseen clades.
    """

    outline: ClassVar[str] = "traits"
    format: ClassVar[str] = "parsimon-trait-findings"
    format_version: ClassVar[int] = 1

    table: TraitTable
    signal: SignalFinding
    model: ModelName
    curves: tuple[LambdaCurve, ...]
    pgls: PglsFinding | None
    phyrvm: PhyRvmFinding | None
    error: CladeError | None
    root: tuple[RootFinding, ...]
    ancestors: tuple[Ancestor, ...]
    predictions: tuple[SpeciesFinding, ...]
    run: RunFindings
    pgls_failure: str = ""
    error_failure: str = ""
    comparison: ModelComparison | None = None
    pictures: tuple[Picture, ...] = field(default=(), repr=False)


CALLED: dict[ModelName, str] = {
    "mean": "mean of the others",
    "relatives": "tree alone",
    "ols": "least squares without tree",
    "rvm": "RVM without tree",
    "pgls": "PGLS",
    "phyrvm": "PhyRVM",
}
SPOKEN: dict[ModelName, str] = {
    "mean": "the mean of the other species",
    "relatives": "the tree alone",
    "ols": "least squares without the tree",
    "rvm": "the RVM without the tree",
    "pgls": "PGLS",
    "phyrvm": "PhyRVM",
}
MEANING: dict[ModelName, str] = {
    "mean": "the mean of the species that were seen, for every species: the baseline",
    "relatives": "the tree and no features",
    "ols": "all features by ordinary least squares, and no tree",
    "rvm": "features chosen by their evidence, and no tree",
    "pgls": "all features by least squares, and the tree",
    "phyrvm": "features chosen by their evidence, and the tree",
}
