import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.model_selection import cross_val_score

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import (
    P3CA,
    PGLS,
    CladeKFold,
    PhyloPCA,
    PhyRVM,
    ancestral_states,
    brownian_traits,
    phylogenetic_signal,
    yule_tree,
)


@pytest.fixture(scope="module")
def tree():
    return yule_tree(30, random_state=0)


@pytest.fixture(scope="module")
def traits(tree):
    return brownian_traits(tree, 3, random_state=1)


@pytest.fixture(scope="module", params=["pandas", "polars"])
def with_column(traits, request):
    frame = traits.rename_axis("tip").reset_index()[::-1].reset_index(drop=True)
    return frame if request.param == "pandas" else polars.from_pandas(frame)


def columns(frame, names):
    return frame[names] if isinstance(frame, pd.DataFrame) else frame.select(names)


@pytest.mark.parametrize("model_class", [PGLS, PhyRVM])
def test_a_column_called_tip_names_the_rows(tree, traits, with_column, model_class):
    by_index = model_class(tree).fit(traits[["trait1"]], traits["trait3"])
    X = columns(with_column, ["tip", "trait1"])
    by_column = model_class(tree).fit(X, np.asarray(with_column["trait3"]))
    np.testing.assert_allclose(by_column.coef_, by_index.coef_)
    assert list(by_column.feature_names_in_) == ["trait1"]
    np.testing.assert_allclose(by_column.predict(X), by_index.predict(traits[["trait1"]])[::-1])


@pytest.mark.parametrize("model_class", [PhyloPCA, P3CA])
def test_components_take_the_column_too(tree, traits, with_column, model_class):
    by_index, by_column = model_class(tree).fit(traits), model_class(tree).fit(with_column)
    np.testing.assert_allclose(by_column.components_, by_index.components_, atol=1e-9)
    np.testing.assert_allclose(by_column.transform(with_column), by_index.scores_[::-1], atol=1e-9)


def test_folds_and_scores_take_the_column(tree, traits, with_column):
    X = columns(with_column, ["tip", "trait1"])
    folds = CladeKFold(tree, 3)
    if isinstance(X, pd.DataFrame):
        scores = cross_val_score(PGLS(tree), X, with_column["trait3"], cv=folds)
        assert np.isfinite(scores).all()
    tips = np.asarray(X["tip"])
    by_column = [set(tips[test]) for _, test in folds.split(X)]
    assert by_column == [set(traits.index[test]) for _, test in folds.split(traits)]


def test_signal_and_ancestors_take_the_column(tree, traits):
    with_column = traits[["trait1"]].rename_axis("tip").reset_index()
    by_index = ancestral_states(tree, traits[["trait1"]])
    by_column = ancestral_states(tree, with_column)
    assert by_column.traits == ("trait1",)
    np.testing.assert_allclose(by_column.mean, by_index.mean)
    signals = [
        phylogenetic_signal(tree, values, n_permutations=9, random_state=0)
        for values in (with_column, traits["trait1"])
    ]
    assert signals[0] == signals[1]


def test_a_named_column_goes_first_and_numbers_called_tip_are_a_feature(tree, traits):
    X = traits[["trait1"]].assign(tip=np.arange(30.0))
    assert PGLS(tree).fit(X, traits["trait3"]).n_features_in_ == 2
    X = traits[["trait1"]].assign(tip="nobody", species=traits.index)
    with pytest.raises(InvalidInputError, match="names are not tips of the tree: nobody"):
        PGLS(tree).fit(X[["trait1", "tip"]], traits["trait3"].to_numpy())
    found = PGLS(tree, tips="species").fit(X[["trait1", "species"]], traits["trait3"])
    assert found.n_features_in_ == 1
