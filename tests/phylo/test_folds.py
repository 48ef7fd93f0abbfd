import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, cross_val_score

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PGLS, CladeKFold, brownian_traits, covariance, read_tree, yule_tree


def frame(names):
    return pd.DataFrame({"x": np.arange(len(names), dtype=float)}, index=list(names))


@settings(max_examples=30)
@given(st.integers(0, 500), st.integers(2, 6), st.sampled_from([None, 0.1, 0.4]))
def test_every_row_is_tested_once_and_no_clade_is_divided(seed, n_splits, depth):
    tree = yule_tree(30, random_state=seed)
    X = frame(np.random.default_rng(seed).permutation(tree.tip_names)[:24])
    splitter = CladeKFold(tree, n_splits, depth=depth)
    clades = splitter.clades(X)
    if len(np.unique(clades)) < n_splits:
        with pytest.raises(InvalidInputError, match=f"{n_splits} folds need as many clades"):
            list(splitter.split(X))
        return
    tested = np.zeros(24, dtype=int)
    for train, test in splitter.split(X):
        assert not set(clades[train]) & set(clades[test])
        assert len(test) > 0
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(24))
        tested[test] += 1
    assert (tested == 1).all()
    # Monophyletic: rows of a clade share more of their path than with any other row.
    V = covariance(tree)[np.ix_(tree.match(X), tree.match(X))]
    for clade in np.unique(clades):
        inside = clades == clade
        if 1 < inside.sum() < 24:
            assert V[np.ix_(inside, inside)].min() >= V[np.ix_(inside, ~inside)].max()


def test_folds_are_about_equal_where_the_tree_allows():
    tree = yule_tree(200, random_state=0)
    sizes = [len(test) for _, test in CladeKFold(tree, 5).split(frame(tree.tip_names))]
    assert max(sizes) <= 60
    assert min(sizes) >= 20


def test_a_cut_keeps_whole_what_is_separate_there():
    tree = read_tree("(((A:1,B:1):1,C:2):1,(D:2.5,(E:1,F:1):1.5):0.5,G:0.5);")
    X = frame("ABCDEFG")
    assert CladeKFold(tree, 2, depth=0.5).clades(X).tolist() == [0, 0, 1, 2, 3, 3, 4]
    assert CladeKFold(tree, 2, depth=0.0).clades(X).tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_rows_are_found_by_column_too():
    tree = yule_tree(20, random_state=1)
    X = frame(tree.tip_names)
    named = X.rename_axis("tip").reset_index()
    one = [test.tolist() for _, test in CladeKFold(tree, 3).split(X)]
    assert [test.tolist() for _, test in CladeKFold(tree, 3, tips="tip").split(named)] == one
    assert CladeKFold(tree, 3).get_n_splits() == 3
    assert "n_splits=3" in repr(CladeKFold(tree, 3))


def test_random_folds_flatter_and_clades_do_not():
    tree = yule_tree(80, random_state=3)
    traits = brownian_traits(tree, 2, random_state=4)
    X, y = traits[["trait1"]], traits["trait2"]
    errors = [
        -cross_val_score(PGLS(tree), X, y, cv=cv, scoring="neg_mean_squared_error").mean()
        for cv in (KFold(5, shuffle=True, random_state=0), CladeKFold(tree, 5))
    ]
    assert errors[0] < 0.7 * errors[1]


def test_options_are_checked():
    tree = yule_tree(5, random_state=0)
    with pytest.raises(InvalidInputError, match="n_splits must be an integer of at least 2"):
        CladeKFold(tree, 1)
    with pytest.raises(InvalidInputError, match="tree must be a Tree, got str"):
        CladeKFold("(A:1,B:1);", 2)
    with pytest.raises(InvalidInputError, match="depth must be between 0 and 1"):
        CladeKFold(tree, 2, depth=3.0)
    with pytest.raises(InvalidInputError, match="6 folds need as many clades"):
        list(CladeKFold(tree, 6).split(frame(tree.tip_names)))
