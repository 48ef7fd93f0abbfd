import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import Tree, covariance, read_tree
from tests.phylo.strategies import trees

FIVE = "((A:1,B:1):2,(C:2,(D:1,E:1):1):1);"


def test_the_covariance_of_five_tips_is_shared_path_length():
    # Fearn (2021), figure 5.1: the tree ((A,B),(C,(D,E))).
    expected = [
        [3, 2, 0, 0, 0],
        [2, 3, 0, 0, 0],
        [0, 0, 3, 1, 1],
        [0, 0, 1, 3, 2],
        [0, 0, 1, 2, 3],
    ]
    np.testing.assert_array_equal(covariance(read_tree(FIVE)), expected)


def test_arrays_cannot_be_changed_and_a_copy_is_the_tree_itself():
    tree = read_tree(FIVE)
    for array in (tree.parent, tree.length, tree.depth, tree.tips, tree.is_tip):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert copy.deepcopy(tree) is tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(read_tree(FIVE)) == hash(tree)
    assert tree != read_tree("(A:1,B:1);")
    assert tree != "A"


@given(trees(least=4), st.data())
def test_pruning_a_tip_removes_its_row_and_column(tree, data):
    if tree.n_tips < 2:
        return
    gone = data.draw(st.sampled_from(tree.tip_names))
    left = tree.prune([gone])
    rest = [name for name in tree.tip_names if name != gone]
    assert sorted(left.tip_names) == sorted(rest)
    full = pd.DataFrame(covariance(tree), tree.tip_names, tree.tip_names)
    small = pd.DataFrame(covariance(left), left.tip_names, left.tip_names)
    pd.testing.assert_frame_equal(small.loc[rest, rest], full.loc[rest, rest])
    inner = ~left.is_tip
    inner[0] = False
    assert (np.bincount(left.parent[1:], minlength=len(left.parent))[inner] > 1).all()


@given(trees(), st.randoms())
def test_the_order_of_tips_does_not_matter(tree, random):
    # The same tree with its nodes numbered in another order, parents still first.
    waiting, order = [0], []
    while waiting:
        node = waiting.pop(random.randrange(len(waiting)))
        order.append(node)
        waiting += np.flatnonzero(tree.parent == node).tolist()
    number = np.argsort(order)
    parent = [-1] + [number[tree.parent[node]] for node in order[1:]]
    other = Tree(parent, tree.length[order], [tree.name[node] for node in order])
    one = pd.DataFrame(covariance(tree), tree.tip_names, tree.tip_names)
    two = pd.DataFrame(covariance(other), other.tip_names, other.tip_names)
    pd.testing.assert_frame_equal(one, two.loc[one.index, one.columns])


@given(trees())
def test_resolving_keeps_distances_and_leaves_no_polytomy(tree):
    resolved = tree.resolve()
    assert np.bincount(resolved.parent[1:]).max() <= 2
    one = pd.DataFrame(covariance(tree), tree.tip_names, tree.tip_names)
    two = pd.DataFrame(covariance(resolved), resolved.tip_names, resolved.tip_names)
    pd.testing.assert_frame_equal(one, two.loc[one.index, one.columns])


def test_keeping_one_clade_keeps_the_root_unless_it_is_trimmed():
    tree = read_tree(FIVE)
    assert tree.keep(["A", "B"]).write() == "((A:1,B:1):2);"
    assert tree.keep(["A", "B"], trim=True).write() == "(A:1,B:1);"
    assert tree.keep(["A", "C"], trim=True).write() == "(A:3,C:3);"
    assert tree.keep(["A"]).write() == "(A:3);"
    with pytest.raises(InvalidInputError, match="at least one tip"):
        tree.prune(list("ABCDE"))


def test_scaling_sets_the_height():
    tree = read_tree(FIVE).scale(2.0)
    assert tree.depth.max() == 2.0
    np.testing.assert_allclose(covariance(tree), covariance(read_tree(FIVE)) * 2 / 3)
    with pytest.raises(InvalidInputError, match="height zero"):
        read_tree("(A:0,B:0);").scale()
    with pytest.raises(InvalidInputError, match="height must be a positive number"):
        tree.scale(-1)


def test_ultrametric_within_a_tolerance():
    assert read_tree(FIVE).is_ultrametric()
    nearly = read_tree("(A:1,B:1.001);")
    assert not nearly.is_ultrametric()
    assert nearly.is_ultrametric(tol=0.01)


def test_names_are_matched_from_every_kind_of_table():
    tree = read_tree("(A:1,B:1,C:1);")
    frame = pd.DataFrame({"tip": ["C", "A"], "x": [1.0, 2.0]})
    assert tree.match(frame, column="tip").tolist() == [2, 0]
    assert tree.match(pl.DataFrame({"tip": ["C", "A"]}), column="tip").tolist() == [2, 0]
    assert tree.match(frame.set_index("tip")).tolist() == [2, 0]
    assert tree.match(frame.set_index("tip")["x"]).tolist() == [2, 0]
    assert tree.match({"B": 1}).tolist() == [1]
    assert tree.match(("B", "C")).tolist() == [1, 2]
    assert read_tree("(1:1,2:1);").match(pd.Series([0.1, 0.2], index=[2, 1])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (["A", "X", "Y"], r"2 of 3 names are not tips of the tree: X, Y\. Tips without a row: B"),
        (["A", "C d"], r"not tips of the tree: C d.*match with underscores in place of spaces"),
        (pl.DataFrame({"name": ["A"]}), "needs `column`"),
        ("A", "single text 'A'"),
    ],
)
def test_a_mismatch_is_listed(table, message):
    with pytest.raises(InvalidInputError, match=message):
        read_tree("(A:1,B:1,C_d:1);").match(table)


def test_spaces_and_columns_that_are_not_there_are_named():
    with pytest.raises(InvalidInputError, match="spaces in place of underscores"):
        read_tree("(A:1,'B c':1);").match(["B_c"])
    with pytest.raises(InvalidInputError, match="no column 'species'; it has tip"):
        read_tree("(A:1,B:1);").match(pd.DataFrame({"tip": ["A"]}), column="species")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([], [], []), "at least one node"),
        (([-1, 0], [0, 1, 2], ["", "A"]), "as many lengths and names"),
        (([0, 0], [0, 1], ["", "A"]), "the parent of node 0 is 0"),
        (([-1, 2, 0], [0, 1, 1], ["", "A", "B"]), "the parent of node 1 is 2"),
        (([-1, 0, 0], [0, -1, 1], ["", "A", "B"]), r"above node 1 \(A\) is -1"),
        (([-1, 0, 0], [0, np.nan, 1], ["", "A", "B"]), "is nan"),
        (([-1, 0, 0], [0, 1, 1], ["", "A", "A"]), "more than once: A"),
        (([-1, 0, 0], [0, 1, 1], ["", "A", ""]), "1 of 2 tips have no name"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(arrays, message):
    with pytest.raises(InvalidInputError, match=message):
        Tree(*arrays)


def test_a_deep_tree_needs_no_recursion():
    n = 5_000
    parent = np.repeat(np.arange(0, 2 * n, 2), 2)
    parent = np.concatenate([[-1], np.where(parent == 0, 0, parent)])
    tree = Tree(parent, np.ones(len(parent)), [f"t{i}" for i in range(len(parent))])
    assert tree.depth.max() == n
    assert read_tree(tree.write()).n_tips == n + 1
    assert tree.keep(tree.tip_names[::2]).depth.max() == n
    assert tree.resolve() == read_tree(tree.write())


def test_transforms_change_the_covariance_as_pagel_defined_them():
    tree = read_tree("((A:1,B:1):2,(C:2,(D:1,E:1.5):1):1);")
    V = covariance(tree)
    diagonal = np.diag(np.diag(V))
    np.testing.assert_allclose(
        covariance(tree.transform(pagel_lambda=0.3)), 0.3 * V + 0.7 * diagonal
    )
    np.testing.assert_allclose(covariance(tree.transform(delta=1.7)), V**1.7)
    np.testing.assert_allclose(
        covariance(tree.transform(delta=1.7, pagel_lambda=0.3)),
        0.3 * V**1.7 + 0.7 * diagonal**1.7,
    )
    powered = Tree(tree.parent, tree.length**0.5, tree.name)
    assert tree.transform(kappa=0.5) == powered
    for model in ({"pagel_lambda": 0.4}, {"kappa": 0.2}, {"delta": 2.0}):
        np.testing.assert_allclose(covariance(tree.transform(**model)), covariance(tree, **model))


def test_ornstein_uhlenbeck_is_another_tree_only_if_ultrametric():
    tree = read_tree(FIVE)
    np.testing.assert_allclose(
        covariance(tree.transform(alpha=0.7)), covariance(tree, alpha=0.7), rtol=1e-12
    )
    for model in ({"delta": 2.0, "alpha": 0.7}, {"pagel_lambda": 0.4, "alpha": 0.7}):
        np.testing.assert_allclose(
            covariance(tree.transform(**model)), covariance(tree, **model), rtol=1e-12
        )
    with pytest.raises(InvalidInputError, match="equally deep"):
        read_tree("(A:1,B:2);").transform(alpha=1.0)
    with pytest.raises(InvalidInputError, match="equally deep, after kappa"):
        tree.transform(kappa=0.5, alpha=1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pagel_lambda": 1.6}, "makes the branches of these tips negative: A, B"),
        ({"pagel_lambda": -0.1}, "pagel_lambda must be zero or a positive number"),
        ({"kappa": -1}, "kappa must be zero or a positive number"),
        ({"root": "stationary"}, "needs alpha above zero"),
        ({"alpha": 1.0, "root": "loose"}, "root must be"),
    ],
)
def test_models_that_are_none_are_refused(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        covariance(read_tree(FIVE), **parameters)
