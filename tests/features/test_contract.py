import pytest
from sklearn.feature_selection import SelectKBest

from parsimon.features import AucFrontSelector, FewColumnsClassifier, StableSelector
from tests.contract import contract


@contract(
    [
        AucFrontSelector(max_iter=30, random_state=0),
        FewColumnsClassifier(),
        StableSelector(n_splits=3, n_permutations=1, random_state=0),
    ],
    [
        FewColumnsClassifier(2, shared_unit=False),
        StableSelector(SelectKBest(k=1), n_splits=3, n_permutations=0, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
