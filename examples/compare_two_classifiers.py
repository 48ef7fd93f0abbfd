"""Compare two classifiers honestly: whether one is better, or it was the folds.

Look at the intervals, at what the grid search believed of itself, and at the two
p-values: the second test takes the folds for independent, and is far too sure.
"""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from parsimon.datasets import load
from parsimon.evaluation import corrected_t, honest_score, wilcoxon_signed_rank


def main() -> None:
    pima = load("pima_cleaned")
    candidates = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "tree": GridSearchCV(
            DecisionTreeClassifier(random_state=0),
            {"max_leaf_nodes": [2, 4, 8, 16, 32], "min_samples_leaf": [1, 5, 20]},
            scoring="roc_auc",
        ),
    }
    # The same random_state: both meet the same folds. The grid search runs again in each.
    results = {
        name: honest_score(
            model, pima.data, pima.target, scoring="roc_auc", outer=5, repeats=2, random_state=0
        )
        for name, model in candidates.items()
    }
    for name, result in results.items():
        print(f"{name}\n{result.describe()}\n")

    first, second = results.values()
    sizes = {"n_train": first.n_train, "n_test": first.n_test}
    corrected = corrected_t(first.scores, second.scores, **sizes)
    print(corrected.describe())
    naive = wilcoxon_signed_rank(first.scores, second.scores)
    print(f"\nAs if the folds were independent, p would be {naive.p_value:.3f}.")


if __name__ == "__main__":
    main()
