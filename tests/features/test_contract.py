import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.tree import DecisionTreeClassifier

from parsimon.features import (
    ClusteringSelector,
    ColumnMaxima,
    ColumnSubset,
    FeatureAggregator,
    FeatureTransfer,
    FewColumnsClassifier,
    ParetoConstructor,
    ParetoSelector,
    StableSelector,
)
from tests.contract import contract


@contract(
    ClusteringSelector(2, n_init=8, max_iter=3, random_state=0),
    ColumnMaxima([[0]]),
    ColumnSubset([0]),
    FeatureAggregator(2, n_init=8, max_candidates=60, max_iter=2, random_state=0),
    FeatureTransfer(task="classification", constructor=False),
    FeatureTransfer(constructor=False),
    FewColumnsClassifier(),
    ParetoSelector(task="classification", cv=2, random_state=0),
    ParetoSelector(cv=2, random_state=0),
    StableSelector(n_splits=3, n_permutations=1, random_state=0),
    ClusteringSelector(2, clusterer="gaussian mixture", n_init=4, random_state=0),
    ClusteringSelector(2, clusterer="single link", max_subsets=3, max_iter=2, random_state=0),
    FeatureTransfer(constructor=ParetoConstructor(start="columns", max_iter=1, random_state=0)),
    FewColumnsClassifier(2, shared_unit=False),
    ParetoSelector(task="regression", cv=2, random_state=0),
    ParetoSelector(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        cv=3,
        max_features=2,
        random_state=0,
    ),
    StableSelector(SelectKBest(k=1), n_splits=3, n_permutations=0, random_state=0),
)
@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
