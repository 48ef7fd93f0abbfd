"""What a report says, as values: numbers and names, no sentences.

`Findings` at the end is the whole: a table, a `Study` for each question asked of it, and how the
run was made. A study holds models (`ModelFinding`, each with a size and an error), what they say
about variables and their parts, and how far to trust them.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from parsimon._notebook import block, drawing, sentence
from parsimon.report.findings.shared_findings import CalibrationBin as CalibrationBin
from parsimon.report.findings.shared_findings import EffectFinding, FeatureFront
from parsimon.report.findings.shared_findings import Interval as Interval
from parsimon.report.findings.shared_findings import Roc as Roc
from parsimon.report.findings.shared_findings import RowExplanation as RowExplanation
from parsimon.report.findings.shared_findings import RowFinding as RowFinding
from parsimon.structures.claims import Claim


@dataclass(frozen=True, kw_only=True)
class ModelFinding:
    """A model that was judged.

    expression: With the names of variables: "SE(glucose) + SE(pedigree) × SE(age)".
    symbols: With their numbers: "SE_1 + SE_3 × SE_4".
    words: "glucose alone, plus an interaction of pedigree and age".
    kind: One word: smooth, periodic, linear, constant, additive, interaction, ...
    size: What it costs to explain, in the unit of its family: terms, features, vectors, ...
    error, standard_error: Mean over the search's own folds: a share of rows, or of the variance
        for a number. It guided the search, so it is optimistic. NaN if it was not
        cross-validated.
    log_loss: Mean over the same folds, for each row.
    negative_log_evidence: On all rows that were searched.
    fold_negative_log_evidence: Mean over the folds' training parts, which is another scale.
    roc: From leave-one-out probabilities of this model, given to rows in the order that they have
        when both rows of a pair are left out.
    """

    expression: str
    symbols: str
    words: str
    kind: str
    variables: tuple[str, ...]
    size: float
    error: float
    standard_error: float
    log_loss: float
    negative_log_evidence: float
    fold_negative_log_evidence: float
    roc: Roc | None = None


Task: TypeAlias = Literal["classification", "regression"]
TreatmentKind: TypeAlias = Literal[
    "column_unasked",  # left out as --keep or --drop has it
    "columns_unnamed",  # of a file: `count` columns without a name and a value, left out
    "column_renamed",  # of a file: was called `value`, as an earlier column is; empty for no name
    "row_names",  # of a file: names of rows that the header has no cell for, left out
    "rows_short",  # of a file: `count` rows with too few cells; `value`: their lines
    "formulas_uncomputed",  # of a workbook: `count` formulas without a result, taken as missing
    "column_target",  # left out: equal to the target, `value`, and called after it
    "rows_without_target",  # rows left out, `count`
    "rows_of_rare_class",  # rows left out because their class is too small, `value`: the class
    "rows_duplicated",  # equal rows that stay, `count`
    "cells_filled",  # missing cells of a number filled with `value`; from others if empty
    "missing_indicated",  # a further 0/1 variable says where cells were missing
    "missing_level",  # missing cells of a category are a level of their own
    "missing_as_level",  # too few missing cells for a level of their own, taken as `value`
    "infinite_cells",  # infinite cells taken as missing
    "cells_unread",  # cells of a number that hold something else, `value`, taken as missing
    "text_numbers",  # numbers that were written as text, such as "1,200"
    "column_boolean",  # 0/1; `value`: what 1 means
    "column_category",  # one 0/1 variable for each level; `value`: the level without one
    "rare_levels",  # levels put together as "other", `count` of them
    "levels_unsupported",  # `count` levels in too few rows even together, taken as `value`
    "column_date",  # days since the first date, `value`
    "column_ambiguous_date",  # left out: day and month cannot be told apart, `value`: a cell
    "column_constant",  # left out
    "column_empty",  # left out
    "column_duplicate",  # left out; `value`: the column that it equals
    "column_identifier",  # left out: text or whole numbers that are different in every row
    "column_names",  # left out: `count` texts, most of them in too few rows to be levels
    "column_rare",  # left out: all but `count` cells are `value`
    "unseen_levels",  # of new rows: `count` cells of a new level, taken as `value`
    "columns_screened",  # only `count` of many variables were searched
    "rows_sampled",  # the search used `count` rows, the final fit all
    "suspicious_value",  # `value` stands in `count` rows of a column, far from the others
]


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """One thing that was done to the table before the search; `kind` says what."""

    kind: TreatmentKind
    column: str = ""
    count: int = 0
    value: str = ""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A numeric input of the search, as the rows that were used have it.

    `column` is the column of the table that it comes from; for a number the two names are equal.
    """

    name: str
    column: str
    kind: Literal["number", "indicator", "date"] = "number"
    minimum: float
    maximum: float
    mean: float
    deviation: float


@dataclass(frozen=True, kw_only=True)
class TableFindings:
    """The table: what it holds and what was done to it."""

    name: str
    n_rows: int
    n_rows_used: int
    n_columns: int
    n_missing: int
    target: str
    task: Task
    classes: tuple[tuple[str, int], ...] = ()
    variables: tuple[Variable, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    picture: str = ""


Band: TypeAlias = Literal["strong", "some", "little", "none"]


@dataclass(frozen=True, kw_only=True)
class VariableFinding:
    """What one variable says alone.

    ratio: Its error divided by the baseline's.
    band: By that ratio: below 0.25, 0.8, 1, and from 1 on (He 2016, table 5.2).
    log_bayes_factor: Log evidence of its model minus that of the baseline.
    in_model: Whether the best structure uses it.
    """

    variable: Variable
    model: ModelFinding
    ratio: float
    band: Band
    log_bayes_factor: float
    in_model: bool = False


@dataclass(frozen=True, kw_only=True)
class ComponentFinding:
    """An additive part of the best structure, in the order in which parts help most.

    alone, cumulative: This part by itself; this part with all parts before it. Both
        cross-validated with refit; of more than four parts their errors are not known.
    gain: How much the error falls when this part joins (for the first: from the baseline); may
        be negative, and NaN where it is not known.
    strength: Standard deviation of the part's exact posterior mean over the rows, in the full
        model.
    """

    alone: ModelFinding
    cumulative: ModelFinding
    gain: float
    strength: float


@dataclass(frozen=True, kw_only=True)
class InteractionFinding:
    """A product in the best structure, compared with the same structure without the product.

    `additive` has a sum in its place; `gain` is how much the error falls by the product, and
    `log_bayes_factor` the log evidence of the product minus that of the sum.
    """

    variables: tuple[str, ...]
    additive: ModelFinding
    gain: float
    log_bayes_factor: float


@dataclass(frozen=True, kw_only=True)
class OuterFold:
    """What the whole search found on one outer training part, and its error outside it.

    error, baseline_error: Of a number, shares of what the baseline leaves in the rows of all folds.
    claims: What the training part supports; None if there was no time to look.
    """

    n_train: int
    n_test: int
    error: float
    baseline_error: float
    guide_error: float
    words: str
    variables: tuple[str, ...]
    claims: tuple[Claim, ...] | None = ()


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What follows on rows never seen if rows are called positive from a probability on.

    threshold: The least probability that is called positive; its mean over the folds.
    balanced_error: Mean of the share of positive rows that are missed and of negative rows that
        are called.
    precision: Share of positive rows among the `n_called` that are called; None if none is.
    recall: Share of the positive rows that are called.
    """

    threshold: float
    n_called: int
    error: Interval
    balanced_error: Interval
    precision: Interval | None
    recall: Interval


@dataclass(frozen=True, kw_only=True)
class Honest:
    """The performance of the whole search on rows that it never saw.

    error, baseline_error: Shares of rows (or of the variance), over the rows of all outer folds.
    gain: Baseline's error minus ours, paired over rows.
    guide_error: What the searches inside the folds believed, on average.
    log_loss, baseline_log_loss, brier: NaN for a number.
    root_mean_square: Of the residuals, in units of the target; NaN for classes.
    log_loss_gain: Baseline's log loss minus ours, paired over rows. This and what follows is None
        for a number.
    average_precision: Mean precision over the positive rows; guessing has their share.
    at_half, at_base_rate: Errors if a row is called positive from a probability of one half on, or
        from the share of positive rows in the training part on: the threshold if all rows of
        either class together weigh the same.
    miss: The root mean square with its interval, from the squared misses; this and what follows is
        None for classes.
    median_miss: What half of the rows are missed by at most, where a few rows carry so much of the
        squares that no interval of their mean is sure; None elsewhere.
    """

    error: Interval
    baseline_error: Interval
    gain: Interval
    guide_error: float
    auc: Interval | None
    log_loss: float
    baseline_log_loss: float
    brier: float
    root_mean_square: float
    folds: tuple[OuterFold, ...]
    n_planned: int
    failures: tuple[str, ...] = ()
    log_loss_gain: Interval | None = None
    average_precision: Interval | None = None
    at_half: Decision | None = None
    at_base_rate: Decision | None = None
    miss: Interval | None = None
    median_miss: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class Checks:
    """How far the model may be trusted.

    `source` says which predictions these are: of rows outside ("outer folds"), with one row left
    out of a fit whose structure has seen it ("leave-one-out"), or of rows that the model was fitted
    to, where a sparse model allows no better ("training rows").

    coverage: Share of rows inside the 95 % interval of their prediction, for a number.
    slope_interval, intercept_interval, coverage_interval: How sure these figures are. Words such
        as "too bold" are for what lies outside.
    """

    source: Literal["outer folds", "leave-one-out", "training rows"]
    calibration: tuple[CalibrationBin, ...] = ()
    calibration_slope: float | None = None
    calibration_intercept: float | None = None
    brier: float | None = None
    roc: Roc | None = None
    hull: tuple[tuple[float, float], ...] = ()
    coverage: float | None = None
    surprising: tuple[RowFinding, ...] = ()
    influential: tuple[RowFinding, ...] = ()
    calibration_picture: str = ""
    roc_picture: str = ""
    slope_interval: Interval | None = None
    intercept_interval: Interval | None = None
    coverage_interval: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class Joint:
    """All classes together: the most probable class of each row, outside the search.

    `confusion[i][j]` counts rows of class i that were called j, in the order of `classes`.
    `explained` are a few rows as the model to use sees them.
    """

    classes: tuple[str, ...]
    error: Interval
    baseline_error: Interval
    confusion: tuple[tuple[int, ...], ...]
    source: Literal["outer folds", "leave-one-out"]
    explained: tuple[RowExplanation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SearchFindings:
    """How the search of a family went.

    family: What its models are called as a whole: "Gaussian processes".
    noun: What one candidate of the search is called.
    unit, unit_help: What sizes count, in the singular; and what that is, for a reader.
    n_candidates, n_cross_validated: Models that were tried, and those that went through folds.
    guide: What was minimised, such as "cv_error".
    stopped_by: "depth", "no_improvement", "exhausted", "time_limit" or "interrupt".
    n_rows: Rows that were searched.
    n_pairs, n_pairs_seen: Pairs of variables that there are, and those looked at for an
        interaction.
    choose: The rule that chose the model.
    """

    family: str = ""
    noun: str = "model"
    unit: str = "term"
    unit_help: str = "The size of the model."
    n_candidates: int
    n_cross_validated: int
    guide: str
    n_folds: int
    stopped_by: str
    n_rows: int
    n_pairs: int = 0
    n_pairs_seen: int = 0
    choose: str = ""
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class KernelSearchFindings(SearchFindings):
    """How a search over kernels went: its options, and how posteriors were computed."""

    family: str = "Gaussian processes"
    noun: str = "kernel"
    unit_help: str = "Base kernels in the structure."
    depth: int
    beam: int
    base: tuple[str, ...]
    inference: str


@dataclass(frozen=True, kw_only=True)
class Study:
    """One question and everything found about it.

    positive, negative: The class that is asked for, what stands against it; empty for a number.
    model: The best structure; the baseline if there is none, or nothing was searched.
    front: What each further unit of size buys, from the baseline on; `knee` and `chosen` are
        places in it, `front_variables` is the same for variables.
    search: How kernels were searched; None if they were not.
    honest, checks, explained: Of the model to use; checks and rows of a table with one question.
    claims: What `n_claim_rows` rows (0 for all) support of the table's columns, the surest first;
        `effects` are how the target goes with them.
    explained: A few rows, taken apart; none where the model is no sum.
    left_out: What there was no time for.
    """

    task: Task
    positive: str
    negative: str
    n_positive: int
    n_negative: int
    model: ModelFinding
    baseline: ModelFinding
    structure_found: bool = False
    front: tuple[ModelFinding, ...] = ()
    knee: int = 0
    chosen: int = 0
    front_variables: tuple[ModelFinding, ...] = ()
    variables: tuple[VariableFinding, ...] = ()
    components: tuple[ComponentFinding, ...] = ()
    interactions: tuple[InteractionFinding, ...] = ()
    search: SearchFindings | None = None
    honest: Honest | None = None
    checks: Checks = Checks(source="outer folds")
    claims: tuple[Claim, ...] = ()
    n_claim_rows: int = 0
    effects: tuple[EffectFinding, ...] = ()
    front_picture: str = ""
    explained: tuple[RowExplanation, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawing as SVG, with the sentences that belong below and what a screen reader says."""

    name: str
    svg: str
    caption: str
    title: str

    def _repr_html_(self) -> str:
        return block("", [drawing(self.svg), sentence(self.caption, soft=True)])


@dataclass(frozen=True, kw_only=True)
class RunFindings:
    """What is needed to get the same report again.

    options: Those that were given or decided, as the command line spells them.
    skipped: What was left out to save time, as it was: "outer folds of the search", ...
    too_few_rows: Whether outer folds were asked for but the table is too small for them.
    fingerprint: SHA-256 of the table's cells.
    libraries: Names and versions.
    reading: What was done to the table of a file when it was read.
    """

    version: str
    seed: int
    seconds: float = field(compare=False)
    date: str
    command: str
    options: tuple[tuple[str, str], ...]
    skipped: tuple[str, ...]
    fingerprint: str
    libraries: tuple[tuple[str, str], ...]
    too_few_rows: bool = False
    reading: tuple[Treatment, ...] = ()


class ReportFindings:
    """What the writer, the page and the data need of the findings of any report.

    outline: The package in `parsimon.report.sections` that writes them.
    format, format_version: What their JSON says it is.
    table: It has a `name` and a `target`.
    studies: Those that the page lets a reader explore.
    """

    outline: ClassVar[str]
    format: ClassVar[str]
    format_version: ClassVar[int]
    table: Any
    studies: tuple[Study, ...] = ()
    run: RunFindings
    pictures: tuple[Picture, ...]

    def picture(self, name: str) -> Picture | None:
        """Return the picture of that name; None if there is none."""
        return next((one for one in self.pictures if one.name == name), None)


@dataclass(frozen=True, kw_only=True)
class ComparedModel:
    """One model among all that answered, measured on the outer folds that all of them share.

    family: "gp", "rvm", ...; "rival" for scikit-learn's, "own" for a user's estimator; "guessing"
        for the same answer everywhere.
    error, log_loss: Honest; `log_loss` is NaN for numbers.
    difference: Of its loss (see `ModelComparison.metric`) and the best one's on the same rows,
        positive if worse.
    size: Bits that it takes to write the model down; `size_words` says of what.
    is_level: Whether it cannot be told from the best.
    worse: Probability that it loses over 5 % more than the best, below 1/4 if `recommended`.
    key: What options call it; `slope` multiplies its log odds, if they were too sure.
    """

    name: str
    family: str
    words: str
    error: Interval
    log_loss: float
    difference: Interval
    variables: int
    size: float
    size_words: str
    seconds: float = field(compare=False)
    is_best: bool
    is_level: bool
    recommended: bool
    worse: float = 0.0
    key: str = ""
    slope: float = 1.0

    @property
    def is_rival(self) -> bool:
        """Whether it is not one of ours."""
        return self.family in ("rival", "own")


@dataclass(frozen=True, kw_only=True)
class ModelComparison:
    """All models that answered, the best first.

    metric: What decides who is best: "log loss" or, of series and columns, "error" for classes;
        "variance left" for numbers.
    left_out: Who did not answer, and why.
    picture: Of errors against sizes.
    """

    models: tuple[ComparedModel, ...]
    metric: str
    left_out: tuple[tuple[str, str], ...] = ()
    picture: str = ""

    @property
    def recommended(self) -> ComparedModel:
        """The simplest that is probably not much worse than the best."""
        return next(model for model in self.models if model.recommended)

    @property
    def best(self) -> ComparedModel:
        """The one of the least loss."""
        return next(model for model in self.models if model.is_best)

    def of_family(self, family: str) -> ComparedModel | None:
        """Return the best model of a family; None if none answered."""
        return next((model for model in self.models if model.family == family), None)


@dataclass(frozen=True, kw_only=True)
class RecommendedModel:
    """The model to use and its file; `columns` are those of the table that it uses."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Importance:
    """What a column of the table is worth: alone, and to the model that has the others too.

    alone: By how much the error falls from that of guessing if a model sees this column alone, on
        the folds of the search; NaN if no such model was fitted.
    in_company: By how much the error of held-out rows rises if the column is shuffled among them,
        with its paired interval. Of classes the share of wrong rows, of numbers that of the
        variance.
    """

    name: str
    alone: float
    in_company: Interval


@dataclass(frozen=True, kw_only=True)
class Findings(ReportFindings):
    """Everything that a report about a table says; `claims` are those of all questions together."""

    outline: ClassVar[str] = "table"
    format: ClassVar[str] = "parsimon-findings"
    format_version: ClassVar[int] = 3

    table: TableFindings
    studies: tuple[Study, ...]
    run: RunFindings
    joint: Joint | None = None
    claims: tuple[Claim, ...] = ()
    comparison: ModelComparison | None = None
    recommended: RecommendedModel | None = None
    importance: tuple[Importance, ...] = ()
    formulas: FeatureFront | None = None
    pictures: tuple[Picture, ...] = field(default=(), repr=False)
