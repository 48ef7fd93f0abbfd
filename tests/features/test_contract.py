import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.tree import DecisionTreeClassifier

from parsimon.features import (
    AucFrontSelector,
    ClusteringSelector,
    ColumnMaxima,
    ColumnSubset,
    FeatureAggregator,
    FewColumnsClassifier,
    ParetoSelector,
    StableSelector,
)
from tests.contract import contract


@contract(
    [
        AucFrontSelector(max_iter=30, random_state=0),
        ClusteringSelector(2, n_init=8, max_iter=3, random_state=0),
        ColumnMaxima([[0]]),
        ColumnSubset([0]),
        FeatureAggregator(2, n_init=8, max_candidates=60, max_iter=2, random_state=0),
        FewColumnsClassifier(),
        ParetoSelector(cv=3, random_state=0),
        ParetoSelector(task="classification", cv=3, random_state=0),
        ParetoSelector(task="regression", cv=3, random_state=0),
        StableSelector(n_splits=3, n_permutations=1, random_state=0),
    ],
    [
        ClusteringSelector(2, clusterer="gaussian mixture", n_init=4, random_state=0),
        ClusteringSelector(2, clusterer="single link", max_subsets=3, max_iter=2, random_state=0),
        FewColumnsClassifier(2, shared_unit=False),
        ParetoSelector(
            DecisionTreeClassifier(max_depth=2, random_state=0),
            cv=2,
            max_subsets=3,
            population_size=4,
            max_iter=1,
            random_state=0,
        ),
        StableSelector(SelectKBest(k=1), n_splits=3, n_permutations=0, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
