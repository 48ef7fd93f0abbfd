"""Make the table behind `parsimon front --demo`: many models of one data set, scored alike.

Every subset of pima's eight columns with logistic regression, and a few models that use all of
them; the score is the mean area under the ROC curve over the same ten stratified folds.

    python tools/make_demo_table.py
"""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from parsimon.datasets import load

TARGET = Path(__file__).parents[1] / "src" / "parsimon" / "cli" / "demo_models.csv"
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def main() -> None:
    """Score all candidates and write the table."""
    pima = load("pima")
    X, y = pima.data, np.asarray(pima.target)
    columns = list(X.columns)
    rows = [score("always the majority", DummyClassifier(), X[columns[:1]], y, n_columns=0)]
    for size in range(1, len(columns) + 1):
        for chosen in combinations(columns, size):
            model = make_pipeline(StandardScaler(), LogisticRegression())
            rows.append(score(f"logistic: {', '.join(chosen)}", model, X[list(chosen)], y))
    for name, model in whole_table_models().items():
        rows.append(score(name, model, X, y))
    pd.DataFrame(rows).to_csv(TARGET, index=False)


def whole_table_models() -> dict[str, object]:
    """Return models that use every column."""
    return {
        "decision tree": DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
        "naive Bayes": GaussianNB(),
        "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(25)),
        "support vector machine": make_pipeline(StandardScaler(), SVC()),
        "random forest": RandomForestClassifier(500, min_samples_leaf=5, random_state=0, n_jobs=2),
        "gradient boosting": HistGradientBoostingClassifier(
            max_depth=3, learning_rate=0.03, random_state=0
        ),
    }


def score(
    name: str, model: object, X: pd.DataFrame, y: np.ndarray, n_columns: int | None = None
) -> dict[str, object]:
    """Return one row of the table."""
    folds = cross_val_score(model, X, y == "yes", cv=FOLDS, scoring="roc_auc")
    features = X.shape[1] if n_columns is None else n_columns
    return {"model": name, "features": features, "auc": round(folds.mean(), 4)}


if __name__ == "__main__":
    main()
