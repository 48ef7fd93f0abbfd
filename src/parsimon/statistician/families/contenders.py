"""Models that answer beside the family that leads: our plain ones, and scikit-learn's as rivals.

A `Contender` is a name and a way to make an estimator for a prepared table. It answers the whole
question at once: all classes together, or the number. `chosen_contenders` turns what a user asked
for into a list of them; `ContenderFamily` lets one of them lead a report.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from parsimon._checks import shorten
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import SearchFindings, Task
from parsimon.statistician.families import (
    FamilyResult,
    ModelCandidate,
    ModelFamily,
    ModelSize,
    Question,
    model_size,
    predicted,
)
from parsimon.statistician.families.contender import Contender, Setting
from parsimon.statistician.families.feature_fronts import FORMULA

if TYPE_CHECKING:
    import pandas as pd

Rivals: TypeAlias = Literal["all", "none"] | str | Sequence[Any]

# What a fit of ours may see, so that it takes seconds: beyond, rows are drawn.
_PROCESS_ROWS, _RELEVANCE_ROWS = 500, 1500
# Columns that a contender may see; those that say most about the target, each alone.
MOST_COLUMNS = 200
FOREST_ROWS = 10_000
_KERNEL_COLUMNS = 60
_CENTRES, _ALL_CENTRES = 100, 200
_MARGIN_ROWS, _SEVERAL_ROWS = 1500, 1000
# Folds on which a contender that leads measures itself.
_LEAD_FOLDS = 3


def _guess(setting: Setting) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyRegressor() if setting.is_number else DummyClassifier(strategy="prior")


def _process(setting: Setting) -> Any:
    from parsimon.gp import GPClassifier, GPRegressor

    if setting.is_number:
        return GPRegressor(random_state=setting.seed)
    return GPClassifier(random_state=setting.seed)


def _relevance(setting: Setting) -> Any:
    from parsimon.rvm import RVC, RVR

    made: Any = RVR if setting.is_number else RVC
    # A function at every row of many costs half a minute and predicts no better.
    centres = _CENTRES if setting.n_rows > _ALL_CENTRES else None
    return made(centres=centres, random_state=setting.seed)


def _bayes_point(setting: Setting) -> Any:
    from parsimon.bpm import BayesPointClassifier

    del setting
    return BayesPointClassifier()


def _no_classes(setting: Setting) -> str:
    return "it answers questions of classes only" if setting.is_number else ""


def _margin(setting: Setting) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from parsimon.svm import ParetoSVC

    search: Any = ParetoSVC(n_points=20, max_iter=5, random_state=setting.seed)
    if setting.n_classes > 2:
        from sklearn.multiclass import OneVsRestClassifier

        # A front belongs to two classes: one for each class against the rest.
        search = OneVsRestClassifier(search)
    return make_pipeline(StandardScaler(), search)


def _too_wide(setting: Setting) -> str:
    if setting.n_columns > _KERNEL_COLUMNS:
        return f"it takes too long with more than {_KERNEL_COLUMNS} columns"
    return ""


def _no_margin(setting: Setting) -> str:
    if setting.n_rows > _MARGIN_ROWS:
        return f"it takes too long with more than {_MARGIN_ROWS:,} rows"
    if setting.n_classes > 2 and setting.n_rows * setting.n_classes > _SEVERAL_ROWS:
        return f"it takes too long with {setting.n_rows:,} rows of {setting.n_classes} classes"
    return _no_classes(setting)


def _linear(setting: Setting) -> Any:
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeCV
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if setting.is_number:
        return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))
    made: Any = LogisticRegression()
    if setting.n_folds:
        folds = StratifiedKFold(setting.n_folds, shuffle=True, random_state=setting.seed)
        made = LogisticRegressionCV(
            Cs=np.logspace(-3, 2, 6), cv=folds, scoring=LogShareOfTruth(), max_iter=300
        )
    return make_pipeline(StandardScaler(), made)


@dataclass(frozen=True)
class LogShareOfTruth:
    """scikit-learn's "neg_log_loss", whose checks take longer than a fit to a small table.

    A value and no function, so that a model that holds it can be saved.
    """

    def __call__(self, model: Any, X: Array, y: Array) -> float:
        shares = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        least = np.finfo(shares.dtype).eps
        return float(np.log(np.clip(shares, least, 1.0 - least)).mean())


def _tree(setting: Setting) -> Any:
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    made: Any = DecisionTreeRegressor if setting.is_number else DecisionTreeClassifier
    least = max(1, min(5, setting.n_rows // 10))
    tree = made(random_state=setting.seed, min_samples_leaf=least, max_leaf_nodes=2)
    if not setting.n_folds:
        return tree
    folding: Any = KFold if setting.is_number else StratifiedKFold
    n_folds = 2 if setting.n_rows > FOREST_ROWS else setting.n_folds
    folds = folding(n_folds, shuffle=True, random_state=setting.seed)
    return GridSearchCV(tree, {"max_leaf_nodes": [2, 3, 4, 5, 6, 8]}, cv=folds)


def _forest(setting: Setting) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    many = setting.n_rows > FOREST_ROWS
    options: dict[str, Any] = {
        "n_estimators": 100,
        "min_samples_leaf": 2,
        "max_samples": FOREST_ROWS if many else None,
        "random_state": setting.seed,
    }
    if setting.is_number:
        return RandomForestRegressor(max_features=1 / 3, **options)
    return RandomForestClassifier(**options)


def _boosting(setting: Setting) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    made: Any = HistGradientBoostingRegressor
    if not setting.is_number:
        made = HistGradientBoostingClassifier
    return made(
        learning_rate=0.06,
        max_iter=100,
        max_leaf_nodes=8,
        min_samples_leaf=max(2, min(20, setting.n_rows // 20)),
        early_stopping=False,
        random_state=setting.seed,
    )


def _copied(estimator: Any, setting: Setting) -> Any:
    """Return an unfitted copy of a user's estimator, with a seed if it has none."""
    from sklearn.base import clone

    copy = clone(estimator)
    if "random_state" in copy.get_params() and copy.get_params()["random_state"] is None:
        copy.set_params(random_state=setting.seed)
    return copy


def _searched(setting: Setting) -> Any:
    raise InvalidInputError(f"A search over kernels is no estimator for {setting.task}.")


SEARCH = "gp"
KERNEL_SEARCH = Contender(
    name="kernel search",
    key=SEARCH,
    family="gp",
    words="a Gaussian process of the parts that the report describes",
    make=_searched,
)
GUESSING = Contender(
    name="guessing",
    key="guessing",
    family="guessing",
    words="the same answer for every row",
    make=_guess,
)
OURS = (
    Contender(
        name="relevance vector machine",
        key="rvm",
        family="rvm",
        words="a few rows or columns with a weight each",
        make=_relevance,
        most_rows=_RELEVANCE_ROWS,
        refuses=_too_wide,
    ),
    Contender(
        name="Bayes point machine",
        key="bpm",
        family="bpm",
        words="the average of all straight borders",
        make=_bayes_point,
        refuses=_no_classes,
    ),
    Contender(
        name="plain Gaussian process",
        key="plain-gp",
        family="gp",
        words="a smooth function of all variables",
        make=_process,
        most_rows=_PROCESS_ROWS,
        refuses=_too_wide,
    ),
    Contender(
        name="support vector machine",
        key="svm",
        family="svm",
        words="the widest margin that pays, from a Pareto front",
        make=_margin,
        refuses=_no_margin,
    ),
    FORMULA,
)
_RIVALS = (
    Contender(
        name="linear model",
        key="linear",
        family="rival",
        words="a weighted sum of the variables",
        make=_linear,
    ),
    Contender(
        name="decision tree",
        key="tree",
        family="rival",
        words="at most eight leaves",
        make=_tree,
    ),
    Contender(
        name="random forest",
        key="forest",
        family="rival",
        words="the mean of many trees",
        make=_forest,
    ),
    Contender(
        name="gradient boosting",
        key="boosting",
        family="rival",
        words="a sum of many small trees",
        make=_boosting,
    ),
)
FAMILIES = (SEARCH, *(one.key for one in OURS))
RIVALS = tuple(one.key for one in _RIVALS)


def as_families(families: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of families from a sequence, or from one text with commas; "all" for all."""
    names = families.split(",") if isinstance(families, str) else [str(one) for one in families]
    found = tuple(dict.fromkeys(_key(name) for name in names if name.strip()))
    if found == ("all",):
        return FAMILIES
    if found == ("none",):
        return ()
    _check_known("families", found, FAMILIES)
    return found


def chosen_contenders(
    families: Sequence[str], rivals: Rivals, *, lead: str = SEARCH
) -> tuple[Contender, ...]:
    """Return who is asked beside the lead: guessing, our plain models, rivals; cheap ones first."""
    ours = tuple(one for one in OURS if one.key in families and one.key != lead)
    others = tuple(one for one in _chosen_rivals(rivals) if one.key != lead)
    found = (GUESSING, *others, *ours)
    twice = [one.name for one in found if sum(other.name == one.name for other in found) > 1]
    if twice:
        raise InvalidInputError(f"Two models are called {twice[0]!r}; give one another name.")
    return found


def contender_called(key: str) -> Contender:
    """Return the contender of that key or name."""
    known = {one.key: one for one in (*OURS, *_RIVALS, GUESSING)}
    known |= {_key(one.name): one for one in (*OURS, *_RIVALS)}
    if _key(key) not in known:
        names = shorten([SEARCH, *FAMILIES[1:], *RIVALS], 12)
        raise InvalidInputError(f"There is no family {key!r}; the families are {names}.")
    return known[_key(key)]


def _chosen_rivals(rivals: Rivals) -> tuple[Contender, ...]:
    if isinstance(rivals, str):
        rivals = rivals.split(",")
    found: list[Contender] = []
    for place, one in enumerate(rivals):
        if isinstance(one, str):
            found += _named_rivals(_key(one))
        else:
            found.append(_own_rival(one, place))
    return tuple(found)


def _named_rivals(key: str) -> Iterable[Contender]:
    if key in ("all", "none", ""):
        return _RIVALS if key == "all" else ()
    _check_known("rivals", (key,), RIVALS)
    return tuple(one for one in _RIVALS if one.key == key)


def _own_rival(given: Any, place: int) -> Contender:
    """Return a user's estimator, or a name and an estimator, as a contender."""
    name, estimator = given if isinstance(given, tuple) and len(given) == 2 else ("", given)
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InvalidInputError(
            f"rivals must be estimators, pairs of a name and an estimator, or names among "
            f"{', '.join(RIVALS)}; number {place + 1} is {type(given).__name__}."
        )
    words = type(estimator).__name__
    name = str(name) or words
    return Contender(
        name=name,
        key=_key(name),
        family="own",
        words=words,
        make=partial(_copied, estimator),
    )


def _check_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"{what} must be among {', '.join(known)}, or all or none; got {name!r}."
            )


def _key(name: str) -> str:
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())


@dataclass(frozen=True, eq=False)
class ContenderCandidate(ModelCandidate):
    """A contender, fitted to the rows of a question, with its error on folds of its own."""

    contender: Contender
    question: Question
    fitted: Any
    own_error: float

    @property
    def words(self) -> str:
        """What it is and how many variables it uses."""
        if self.contender is GUESSING:
            return "a constant"
        n = len(self.variables)
        return f"a {self.contender.name} of {n} {'variable' if n == 1 else 'variables'}"

    @cached_property
    def _size(self) -> ModelSize:
        X = self.question.X
        return model_size(self.fitted, n_rows=len(X), n_columns=X.shape[1], X=X)

    @property
    def size(self) -> float:
        """Bits that it takes to write it down; guessing is where sizes begin."""
        return 0.0 if self.contender is GUESSING else float(round(self._size.bits))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that it uses."""
        names = self.question.names
        return tuple(names[place] for place in self._size.used if place < len(names))

    @property
    def error(self) -> float:
        """Its error on its own folds."""
        return self.own_error

    def fit(self, X: "pd.DataFrame", y: Any, seed: np.random.SeedSequence) -> Any:
        """Return the same kind of model fitted to rows; shapes X (n, d), y (n,)."""
        return self.contender.fit(X, y, self.question.task, seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class ContenderResult(FamilyResult):
    """A contender's answer, beside guessing."""

    guess: ContenderCandidate
    found: ContenderCandidate

    @property
    def candidates(self) -> Sequence[ModelCandidate]:
        """Guessing and the model."""
        return (self.guess, self.found)

    @property
    def structure_found(self) -> bool:
        """Whether the model has fewer errors than guessing."""
        return self.found.error < self.guess.error and bool(self.found.variables)

    @property
    def chosen(self) -> ModelCandidate:
        """The model; guessing if it is no better."""
        return self.found if self.structure_found else self.guess

    @property
    def model(self) -> Any:
        """What was chosen, fitted to the rows of the question."""
        return self.found.fitted if self.structure_found else self.guess.fitted

    def search_findings(self) -> SearchFindings:
        """Return that one model was asked."""
        return SearchFindings(
            family=self.found.contender.name,
            unit="bit",
            unit_help="Bits that it takes to write the model down.",
            n_candidates=2,
            n_cross_validated=2,
            guide="cv_error",
            n_folds=_LEAD_FOLDS,
            stopped_by="exhausted",
            n_rows=len(self.question.y),
        )


@dataclass(frozen=True)
class ContenderFamily(ModelFamily):
    """A contender that leads."""

    contender: Contender

    @property
    def name(self) -> str:  # type: ignore[override]
        """The contender's name."""
        return self.contender.name

    def search(
        self, question: Question, *, seed: np.random.SeedSequence, time_limit: float | None = None
    ) -> ContenderResult:
        """Fit the contender and guessing, and measure both on folds."""
        del time_limit
        folding, fitting = seed.spawn(2)
        guess, found = (
            ContenderCandidate(
                one,
                question,
                one.fit(question.X, question.y, question.task, fitting),
                _own_error(one, question, folding),
            )
            for one in (GUESSING, self.contender)
        )
        return ContenderResult(question=question, guess=guess, found=found)


def _own_error(contender: Contender, question: Question, seed: np.random.SeedSequence) -> float:
    """Return the share of wrong rows, or of the variance, on a few folds."""
    from sklearn.model_selection import KFold, StratifiedKFold

    X, y = question.X, np.asarray(question.y, dtype=np.float64)
    setting = Setting.of(X, y, question.task, seed)
    n_folds = min(_LEAD_FOLDS, setting.n_folds)
    if n_folds < 2:
        return float("nan")
    folding: Any = KFold if question.is_number else StratifiedKFold
    folds = folding(n_folds, shuffle=True, random_state=setting.seed)
    values = np.empty(len(y))
    for train, test in folds.split(X, y):
        model = contender.fit(X.iloc[train], y[train], question.task, seed)
        values[test] = predicted(model, X.iloc[test])
    return _mean_loss(y, values, question.task)


def _mean_loss(y: Array, values: Array, task: Task) -> float:
    if task == "classification":
        return float(np.mean((values >= 0.5) != (y == 1)))
    return float(np.mean((y - values) ** 2) / (np.var(y) or 1.0))
