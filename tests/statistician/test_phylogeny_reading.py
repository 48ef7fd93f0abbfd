"""Which rows, columns and tips are used, and what each mistake is told."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PhyloPCA, Tree, brownian_traits, read_tree, yule_tree
from parsimon.statistician.families.phylo._features import redundant_columns
from parsimon.statistician.families.phylo._species import match_rows, read_traits

TREE = read_tree("(((A_a:1,B:1):1,C:2):1,(D:2,(E:1,F:1):1)DEF:1);")


def frame(**columns):
    made = pd.DataFrame({"tip": ["A_a", *"BCDEF"], "y": [1.0, 2.0, 4.0, 3.0, 5.0, 6.0]})
    return made.assign(**{"x": [2.0, 1.0, 5.0, 4.0, 6.0, 7.5], **columns})


def left_out(traits):
    return {one.column: one.reason for one in traits.table.left_out}


def test_a_column_called_tip_is_taken_before_one_that_matches():
    table = frame(other=["A_a", *"BCDEF"])
    assert read_traits(table, TREE, "y").table.tip == "tip"
    assert read_traits(table, TREE, "y").table.tip_found == "called"


def test_without_it_the_column_with_the_most_tips_is_taken():
    table = frame(few=["A_a", "B", *"uvwx"]).rename(columns={"tip": "species"})
    found = read_traits(table, TREE, "y").table
    assert (found.tip, found.tip_found) == ("species", "matched")


def test_a_column_that_is_given_is_taken():
    table = frame(other=["A_a", "B", "C", "D", "E", "x"])
    found = read_traits(table, TREE, "y", tip="other").table
    assert (found.tip, found.tip_found, found.not_in_tree) == ("other", "given", ("x",))


def test_an_index_of_tips_is_taken():
    found = read_traits(frame().set_index("tip"), TREE, "y")
    assert (found.table.tip, found.table.tip_found) == ("", "matched")
    assert list(found.X.index) == ["A_a", *"BCDEF"]


def test_spaces_and_underscores_are_the_same():
    table = frame()
    table["tip"] = ["A a", *"BCDEF"]
    found = read_traits(table, TREE, "y")
    assert found.table.n_renamed == 1
    assert found.X.index[0] == "A_a"


def test_numbers_name_tips():
    tree = read_tree("((1:1,2:1):1,(3:1,4:1):1);")
    table = pd.DataFrame({"tip": [1.0, 2.0, 3.0, 4.0, None], "y": [1.0, 2.0, 4.0, 8.0, 5.0]})
    found = match_rows(table, tree, None, "y")
    assert found.tips == ("1", "2", "3", "4")
    assert found.n_unnamed == 1


def test_polars_tables_are_read():
    assert read_traits(pl.DataFrame(frame().to_dict("list")), TREE, "y").table.n_fitted == 6


def test_the_tree_loses_what_has_no_row_and_keeps_names_and_depths():
    found = read_traits(frame().iloc[1:], TREE, "y")
    assert sorted(found.tree.tip_names) == list("BCDEF")
    assert found.table.without_row == ("A_a",)
    assert "DEF" in found.tree.name
    assert found.tree.depth.max() == TREE.depth.max()


def test_the_root_is_the_last_common_ancestor_of_the_rows():
    tree = read_tree("((A:1,(B:1,(C:1,D:1):1):1):1,Z:9);")
    table = pd.DataFrame({"tip": list("ABCD"), "y": [1.0, 2.0, 4.0, 3.0]})
    found = read_traits(table, tree, "y")
    assert found.tree.depth.max() == 3
    assert (found.tree.parent == 0).sum() == 2


def test_rows_without_a_target_are_to_be_predicted():
    found = read_traits(frame(y=[1.0, 2.0, np.nan, 3.0, 5.0, 6.0]), TREE, "y")
    assert list(found.new.index) == ["C"]
    assert "C" not in found.X.index
    assert "C" not in found.measured.index
    assert "C" in found.tree.tip_names


def test_rows_without_a_feature_stay_with_what_relatives_let_expect():
    table = frame(x=[2.0, np.nan, 5.0, 4.0, 6.0, np.nan], y=[1.0, 2.0, 4.0, 3.0, 5.0, np.nan])
    found = read_traits(table, TREE, "y")
    assert list(found.X.index) == list(found.measured.index) == ["A_a", *"BCDE"]
    assert list(found.new.index) == ["F"]
    whole = pd.concat([found.X, found.new])["x"]
    expected = PhyloPCA(TREE).fit(table.set_index("tip")[["x"]]).imputed_[:, 0]
    np.testing.assert_allclose(whole.to_numpy(), expected, atol=0.05)
    # Cells that are there are never touched.
    assert whole[["A_a", "C", "D", "E"]].tolist() == [2, 5, 4, 6]
    assert found.table.n_completed == 2
    assert found.table.completed == (("x", 2),)
    assert (found.table.n_incomplete, found.table.n_unpredictable) == (0, 0)


def test_the_target_has_no_part_in_what_is_expected():
    table = frame(x=[2.0, np.nan, 5.0, 4.0, 6.0, 7.0])
    other = table.assign(y=table["y"].to_numpy()[::-1])
    pd.testing.assert_frame_equal(read_traits(table, TREE, "y").X, read_traits(other, TREE, "y").X)


def test_gaps_of_many_columns_are_near_the_truth(rng):
    tree = yule_tree(80, random_state=1)
    whole = brownian_traits(tree, 3, random_state=1)
    whole["trait3"] = whole["trait1"] - whole["trait2"] + 0.05 * rng.normal(size=80)
    holes = whole.mask(rng.random(whole.shape) < 0.15).assign(y=whole["trait1"])
    found = read_traits(holes, tree, "y", features=["trait1", "trait2", "trait3"])
    gaps = holes[["trait1", "trait2", "trait3"]].isna().loc[found.X.index]
    truth = whole.loc[found.X.index]
    off = (found.X - truth)[gaps].stack()
    assert len(found.X) == 80
    assert np.sqrt((off**2).mean()) < 0.3 * truth.to_numpy().std()


def test_a_column_with_too_few_cells_is_left_out():
    table = frame(x=[2.0, 3.0, 5.0, np.nan, np.nan, np.nan], b=[1.0, 5.0, 3.0, 7.0, 2.0, 2.5])
    found = read_traits(table, TREE, "y")
    assert left_out(found) == {"x": "costly"}
    assert found.table.n_fitted == 6


def test_words_become_features_one_for_each_level():
    tree = yule_tree(30, random_state=0)
    table = brownian_traits(tree, 1, random_state=0).rename(columns={"trait1": "y"})
    mode = np.where(np.arange(30) % 4, "eggs", "young").astype(object)
    place = np.array(["sea", "lake", "land"] * 10, dtype=object)
    mode[5], place[7] = None, None
    found = read_traits(table.assign(mode=mode, place=place), tree, "y")
    assert found.table.coded == ("mode", "place")
    assert list(found.X.columns) == [
        *("mode = young", "place = lake", "place = land", "place = sea"),
    ]
    assert set(found.X["place = sea"].drop(table.index[7])) == {0.0, 1.0}
    # An empty cell is expected from relatives, not a level of its own.
    assert dict(found.table.completed) == dict.fromkeys(found.X.columns, 1)
    shares = found.X.filter(like="place").sum(axis=1)
    np.testing.assert_allclose(shares, 1, atol=1e-9)
    assert len(found.table.redundant) == 1


def test_columns_that_hold_no_numbers_are_left_out():
    table = frame(
        colour=["red", "blue", "grey", "green", "black", "white"],
        seen=pd.to_datetime(["2020-01-01"] * 6),
        same=[4.0] * 6,
        gone=[None] * 6,
        sample_id=[101, 205, 333, 402, 571, 610],
    )
    assert left_out(read_traits(table, TREE, "y")) == {
        "colour": "text",
        "seen": "date",
        "same": "constant",
        "gone": "empty",
        "sample_id": "identifier",
    }


def test_numbers_written_as_text_and_truth_values_are_features():
    table = frame(mass=["1,200", "900", "3", "4", "5", "6"], wild=[True, False] * 3)
    found = read_traits(table, TREE, "y").X
    assert found["mass"].iloc[0] == 1200.0
    assert found["wild"].tolist() == [1.0, 0.0] * 3


def test_a_column_that_is_mostly_empty_goes_before_rows_do():
    table = frame(rare=[1.0, 2.0, np.nan, np.nan, np.nan, np.nan])
    found = read_traits(table, TREE, "y")
    assert left_out(found) == {"rare": "mostly_empty"}
    assert found.table.n_fitted == 6


def test_columns_that_cost_too_many_rows_go_the_emptiest_first():
    table = frame(
        a=[np.nan, np.nan, np.nan, 4.0, 1.0, 2.0],
        b=[1.0, 5.0, 3.0, np.nan, np.nan, 2.0],
    )
    found = read_traits(table, TREE, "y")
    assert left_out(found) == {"a": "costly"}
    assert list(found.X.columns) == ["x", "b"]
    assert found.table.n_fitted == 4


def test_features_that_are_named_stay_whatever_is_missing():
    table = frame(a=[np.nan, np.nan, 3.0, 4.0, 1.0, 2.0], b=[1.0] * 5 + [2.0])
    found = read_traits(table, TREE, "y", features=["a"])
    assert list(found.X.columns) == ["a"]
    assert found.table.n_fitted == 6
    assert read_traits(table, TREE, "y", features=[]).X.shape == (6, 0)


def test_a_column_that_is_constant_among_the_rows_left_is_left_out():
    table = frame(b=[7.0, 1.0, 1.0, 1.0, 1.0, 1.0], y=[np.nan, 2.0, 4.0, 3.0, 5.0, 6.0])
    found = read_traits(table, TREE, "y")
    assert left_out(found) == {"b": "constant"}


def test_columns_are_dropped_as_asked():
    found = read_traits(frame(z=range(6)), TREE, "y", drop=["x"])
    assert list(found.X.columns) == ["z"]
    assert found.table.dropped == ("x",)


def test_a_feature_that_is_nearly_the_target_is_noted():
    table = frame()
    table["copy"] = -3 * table["y"] + [0, 0.01, 0, 0.01, 0, 0]
    assert read_traits(table, TREE, "y").table.alike == ("copy",)
    assert read_traits(frame(), TREE, "y").table.alike == ()


def test_shares_that_add_up_to_one_lose_one(rng):
    shares = pd.DataFrame(rng.dirichlet(np.ones(6), size=40)).round(6)
    assert len(redundant_columns(shares)) == 1
    assert redundant_columns(shares.iloc[:, :5]) == ()


def test_a_column_of_one_value_is_redundant(rng):
    numbers = pd.DataFrame({"a": rng.normal(size=12), "same": 3.0, "b": rng.normal(size=12)})
    assert redundant_columns(numbers) == ("same",)


def test_with_fewer_species_than_columns_nothing_is_called_redundant(rng):
    assert redundant_columns(pd.DataFrame(rng.normal(size=(5, 8)))) == ()


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"y": list("aabbcc")}, {}, "'y' holds text such as 'a', but a trait must be a number"),
        ({"y": pd.to_datetime(["2020-01-01"] * 6)}, {}, "'y' holds dates"),
        ({"y": [0, 1] * 3}, {}, "only the values 0 and 1: these are classes"),
        ({"y": [3.0] * 6}, {}, "'y' is 3 in all 6 species"),
        ({"y": [1.0, 2.0, 3.0, None, None, None]}, {}, "Only 3 species of the tree have a value"),
        ({"y": [1.0] + [None] * 5}, {}, "Only 1 species of the tree has a value"),
        ({"y": [None] * 6}, {}, "No species of the tree have a value|'y' "),
        ({"tip": list("uvwxyz")}, {}, "6 of 6 names are not tips of the tree"),
        ({"tip": ["A_a", "B", "B", "D", "E", "F"]}, {}, "more than one row: B. Average the rows"),
        ({}, {"tip": "y"}, "cannot name the tips and be the target"),
        ({}, {"tip": "t"}, "no column 't'"),
        ({}, {"features": ["y"]}, "'y' is the target, names the tips or is dropped"),
        ({}, {"features": ["nope"]}, "no column 'nope'"),
        ({}, {"drop": ["nope"]}, "no column 'nope'"),
        ({"c": list("abcdef")}, {"features": ["c"]}, "feature 'c' holds text such as 'a'"),
        ({"c": pd.to_datetime(["2020-01-01"] * 6)}, {"features": ["c"]}, "'c' holds dates"),
        (
            {"c": [1.0, 2.0, 3.0, None, None, None]},
            {"features": ["c"]},
            "Only 3 species of the tree have 'y' and all features",
        ),
    ],
)
def test_mistakes_are_told_in_a_sentence(changes, options, message):
    with pytest.raises(InvalidInputError, match=message):
        read_traits(frame(**changes), TREE, "y", **options)


def test_no_column_of_tips_is_told():
    table = frame().drop(columns="tip")
    with pytest.raises(InvalidInputError, match="No column of the table holds names of tips"):
        read_traits(table, TREE, "y")


def test_rows_in_any_order_give_the_same_traits():
    tree = yule_tree(12, random_state=0)
    table = brownian_traits(tree, 2, random_state=0)
    turned = read_traits(table.iloc[::-1], tree, "trait1")
    straight = read_traits(table, tree, "trait1")
    pd.testing.assert_frame_equal(turned.X.sort_index(), straight.X.sort_index())
    assert isinstance(turned.tree, Tree)
    assert set(turned.tree.tip_names) == set(straight.tree.tip_names)
