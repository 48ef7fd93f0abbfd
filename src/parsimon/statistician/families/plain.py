"""Plain families: guessing, our models fitted once, and scikit-learn's as rivals.

Each is a name and a way to make an estimator for a table; `registered` says who is asked.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.statistician.families.family import Family, Setting
from parsimon.statistician.families.feature_fronts import FORMULA

# What a fit of ours may see, so that it takes seconds: beyond, rows are drawn.
_PROCESS_ROWS, _RELEVANCE_ROWS = 500, 1500
FOREST_ROWS = 10_000
_KERNEL_COLUMNS = 60
_CENTRES, _ALL_CENTRES = 100, 200
_MARGIN_ROWS, _SEVERAL_ROWS = 1500, 1000


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


GUESSING = Family(
    name="guessing",
    key="guessing",
    kind="guessing",
    words="the same answer for every row",
    make=_guess,
)
PLAIN = (
    Family(
        name="relevance vector machine",
        key="rvm",
        kind="rvm",
        words="a few rows or columns with a weight each",
        make=_relevance,
        most_rows=_RELEVANCE_ROWS,
        refuses=_too_wide,
    ),
    Family(
        name="Bayes point machine",
        key="bpm",
        kind="bpm",
        words="the average of all straight borders",
        make=_bayes_point,
        refuses=_no_classes,
    ),
    Family(
        name="plain Gaussian process",
        key="plain-gp",
        kind="gp",
        words="a smooth function of all variables",
        make=_process,
        most_rows=_PROCESS_ROWS,
        refuses=_too_wide,
    ),
    Family(
        name="support vector machine",
        key="svm",
        kind="svm",
        words="the widest margin that pays, from a Pareto front",
        make=_margin,
        refuses=_no_margin,
    ),
    FORMULA,
)
LINEAR = Family(
    name="linear model",
    key="linear",
    kind="rival",
    words="a weighted sum of the variables",
    make=_linear,
)
RIVALS = (
    LINEAR,
    Family(
        name="decision tree",
        key="tree",
        kind="rival",
        words="at most eight leaves",
        make=_tree,
    ),
    Family(
        name="random forest",
        key="forest",
        kind="rival",
        words="the mean of many trees",
        make=_forest,
    ),
    Family(
        name="gradient boosting",
        key="boosting",
        kind="rival",
        words="a sum of many small trees",
        make=_boosting,
    ),
)
