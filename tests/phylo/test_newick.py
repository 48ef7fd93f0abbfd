import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import Tree, read_tree
from tests.phylo.strategies import trees

HOSTILE = st.text(
    st.sampled_from(list("aZ_ '\"()[]{},:;=\\/\n\t#&é漢.0-+*")), min_size=1, max_size=8
)


@given(trees(zero_tips=True), st.lists(HOSTILE, min_size=15, max_size=15, unique=True))
def test_any_names_and_lengths_come_back(tree, names):
    hostile = Tree(tree.parent, tree.length, names[: len(tree.parent)])
    for form in ("newick", "nexus"):
        back = read_tree(hostile.write(format=form))
        assert back.write() == hostile.write()
        assert sorted(back.name) == sorted(hostile.name)
        assert sorted(back.length.tolist()) == sorted(hostile.length.tolist())
        depth = dict(zip(hostile.tip_names, hostile.depth[hostile.tips], strict=True))
        assert dict(zip(back.tip_names, back.depth[back.tips], strict=True)) == depth


@given(st.floats(0, 1e300))
def test_lengths_keep_all_digits(length):
    assert read_tree(Tree([-1, 0], [0, length], ["", "A"]).write()).length[1] == length


def test_comments_quotes_and_inner_names_are_read():
    text = "[&R] ( 'it''s (a) [b]' : 1e-1 [x[y]z], (B_c:2,\n C:3)inner[&support=9]:.5 )root:7 ;"
    tree = read_tree(text)
    assert tree.name == ("root", "it's (a) [b]", "inner", "B_c", "C")
    assert tree.length.tolist() == [7.0, 0.1, 0.5, 2.0, 3.0]
    assert read_tree(tree.write()) == tree
    assert read_tree(text, underscores="space").name[3] == "B c"


def test_quoted_underscores_stay_when_others_become_spaces():
    assert read_tree("('A_b':1,C_d:1);", underscores="space").tip_names == ("A_b", "C d")


@pytest.mark.parametrize("ending", ["nwk", "nwk.gz", "nex"])
def test_files_are_read_and_written(tmp_path, ending):
    tree = read_tree("(A:1,('B c':1,D:2):0.25);")
    path = tmp_path / f"tree.{ending}"
    tree.write(path, format="nexus" if ending == "nex" else "newick")
    assert read_tree(path) == tree
    assert read_tree(str(path)) == tree
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == ending.endswith("gz")


NEXUS = """#nexus
Begin taxa; dimensions ntax=3; taxlabels A B 'C;d'; End;
BEGIN TREES;
  Translate 1 A, 2 Bee_x, 3 'C;d' ;
  tree first = [&R] ((1:1,2:1):1,3:2);
  tree * 'the = second' = [comment; here] (3:1,(1:1,2:4):1);
END;
"""


def test_nexus_trees_are_translated_and_chosen():
    assert read_tree(NEXUS).tip_names == ("A", "Bee_x", "C;d")
    assert read_tree(NEXUS, which=1).tip_names == ("C;d", "A", "Bee_x")
    assert read_tree(NEXUS, which="the = second") == read_tree(NEXUS, which=1)
    assert read_tree(NEXUS, underscores="space").tip_names[1] == "Bee x"
    with pytest.raises(InvalidInputError, match="no tree 'third'; it has first, the = second"):
        read_tree(NEXUS, which="third")
    with pytest.raises(InvalidInputError, match="Tree 2 was asked for, but there are 2"):
        read_tree(NEXUS, which=2)
    with pytest.raises(InvalidInputError, match="not made of pairs"):
        read_tree("#NEXUS begin trees; translate 1 A, 2; tree t = (1:1,2:1); end;")


def test_several_newick_trees_are_chosen_by_number():
    two = "(A:1,B:1);\n('C;':2,D:2);"
    assert read_tree(two).tip_names == ("A", "B")
    assert read_tree(two, which=1).tip_names == ("C;", "D")
    with pytest.raises(InvalidInputError, match="by number"):
        read_tree(two, which="x")


def test_a_tree_of_one_tip_is_read():
    assert read_tree("A:3;").tip_names == ("A",)
    assert read_tree("(A:3);").depth.tolist() == [0.0, 3.0]


def test_lengths_that_are_missing_are_refused_or_set():
    with pytest.raises(InvalidInputError, match="3 of 4 branches have no length"):
        read_tree("((A,B):1,C);")
    np.testing.assert_array_equal(
        read_tree("((A,B):1,C);", default_length=2).length, [0, 1, 2, 2, 2]
    )
    with pytest.raises(InvalidInputError, match="default_length must be zero or a positive"):
        read_tree("(A,B);", default_length=-1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((A:1,B:1):1;", "';' is not expected"),
        ("((A:1,B:1):1", "a bracket is not closed"),
        ("(A:1,B:1)", "the last semicolon is missing"),
        ("(A:1,B:1));", "not expected"),
        ("(A b:1,B:1);", "'b' is not expected.*single quotes"),
        ("(A:x,B:1);", "must be a number, got 'x'"),
        ("(A:1:2,B:1);", "':' is not expected"),
        ("(A:1,B:1)(C:1);", r"'\(' is not expected"),
        ("(A:1,'B:1);", "opened and never closed"),
        ("(A:1,B:1[x;", "comment in the tree file is opened"),
        ("(A:1,A:1);", "more than once: A"),
        ("(A:-1,B:1);", "zero or positive"),
        ("(A:1,:1);", "1 of 2 tips have no name"),
        ("no such file", "cannot be read: No such file"),
    ],
)
def test_texts_that_are_no_tree_are_refused(text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_tree(text)


def test_many_quotes_that_are_never_closed_are_refused_at_once():
    # A pattern that tries every way to pair them would never end.
    with pytest.raises(InvalidInputError, match="asked for, but there are 0 trees"):
        read_tree("#NEXUS begin trees; tree t = (" + "''" * 60 + "',A:1)")
    with pytest.raises(InvalidInputError, match="opened and never closed"):
        read_tree("(A:1," + "'" * 121 + "B);")


def test_files_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "tree.nwk"
    path.write_bytes(b"\xff\xfe\x00(A")
    with pytest.raises(InvalidInputError, match="is not text"):
        read_tree(path)
    path.write_bytes(gzip.compress(b"(A:1,B:1);")[:12])
    with pytest.raises(InvalidInputError, match="is not text"):
        read_tree(path)
    with pytest.raises(InvalidInputError, match="underscores must be"):
        read_tree("(A:1,B:1);", underscores="drop")
    with pytest.raises(InvalidInputError, match="format must be"):
        read_tree("(A:1,B:1);").write(format="xml")
