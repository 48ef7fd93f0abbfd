"""What a newcomer may bring: strange files, labels, trees and tables. One sentence, or it works."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import (
    P3CA,
    PGLS,
    CladeKFold,
    PhyloPCA,
    PhyRVM,
    Tree,
    TreeGaussian,
    ancestral_states,
    brownian_traits,
    covariance,
    phylogenetic_signal,
    read_tree,
    yule_tree,
)
from parsimon.phylo._likelihood import maximise

NEXUS = """#NEXUS
BEGIN TREES;
  TRANSLATE
    1 Homo_sapiens,
    2 'Pan troglodytes',
    3 C
  ;
  TREE one = [&U] ((1:1,2:1):1,3:2);
END;
"""
NAMES = ("Homo_sapiens", "Pan troglodytes", "C")


@given(
    st.lists(
        st.one_of(
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
            st.sampled_from(
                ["1", "-2.5e3", "nan", "inf", "1_000", "''", "'", "[&R]", "tree", "end;", "#NEXUS"]
            ),
        ),
        min_size=3,
        max_size=3,
        unique=True,
    ),
    st.sampled_from(["nwk", "nwk.gz", "nex", "nex.gz"]),
)
def test_any_label_comes_back_from_any_file(tmp_path_factory, labels, ending):
    tree = Tree([-1, 0, 0, 2, 2], [0, 3, 1, 2, 2], ["", labels[0], "", *labels[1:]])
    path = tmp_path_factory.mktemp("trees") / f"tree.{ending}"
    tree.write(path, format="nexus" if "nex" in ending else "newick")
    assert read_tree(path) == tree
    if ending == "nwk":
        for name in labels:
            alone = Tree([-1], [2.0], [name])
            assert read_tree(alone.write()) == alone


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("packed", [False, True])
def test_line_ends_marks_and_packing_do_not_matter(tmp_path, newline, mark, packed):
    path = tmp_path / "tree.txt"
    for text, names in ((NEXUS, NAMES), ("(A:1,\n  B:1\n);\n", ("A", "B"))):
        content = (mark + text.replace("\n", newline)).encode()
        path.write_bytes(gzip.compress(content) if packed else content)
        assert read_tree(path).tip_names == names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"tip,x\nA,1\n", r"begins with 'tip,x\\nA,1\\n'"),
        (b"This is not a tree.", "begins with 'This is not"),
        (b"<!DOCTYPE html><html>(404);</html>", "begins with '<!DOCTYPE"),
        (b">A\nACGT\n", "begins with '>A"),
        (b"#NEXUS\nbegin data;\nend;\n", "there are 0 trees. A NEXUS file has them in a TREES"),
        (b"\x89PNG\r\n\x1a\n", "is not text.*UTF-8"),
        ("(Ä:1,B:1);".encode("latin-1"), "is not text.*UTF-8"),
        ("(A:1,B:1);".encode("utf-16"), "is not text.*UTF-8"),
        (gzip.compress(b"(A:1,B:1);", mtime=0)[:10] + b"\xff" * 30, "is not text"),
    ],
)
def test_files_that_are_no_trees_are_refused_in_one_sentence(tmp_path, content, message):
    path = tmp_path / "tree"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_tree(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "from a path or from text, got NoneType"),
        (b"(A:1,B:1);", "from a path or from text, got bytes"),
        (read_tree("(A:1,B:1);"), "from a path or from text, got Tree"),
        ("", "text of the tree is empty"),
        ("~nobody-of-this-name/tree.nwk", "cannot be read: .*home directory"),
        ("tree\x00.nwk", "cannot be read: .*null"),
        ("((A,B),C);", "4 of 4 branches have no length. Give default_length"),
        ("((A:-0.1,B:1):1,C:2);", r"that above node 2 \(A\) is -0.1"),
    ],
)
def test_sources_that_are_no_trees_are_refused(source, message):
    with pytest.raises(InvalidInputError, match=message):
        read_tree(source)


def test_a_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tree.nwk").write_text("(A:1,B:1);")
    assert read_tree("~/tree.nwk").tip_names == ("A", "B")


def table_of(tree, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(tree.n_tips, 2)), list(tree.tip_names), ["a", "b"])
    return table.assign(y=table["a"] + rng.normal(size=tree.n_tips))


ESTIMATORS = {
    "PGLS": lambda tree, table: PGLS(tree).fit(table[["a"]], table["y"]).log_likelihood_,
    "PhyRVM": lambda tree, table: PhyRVM(tree).fit(table[["a"]], table["y"]).log_evidence_,
    "PhyloPCA": lambda tree, table: PhyloPCA(tree).fit(table[["a", "b"]]).log_likelihood_,
    "P3CA": lambda tree, table: P3CA(tree, n_components=1).fit(table[["a", "b"]]).log_likelihood_,
    "ancestral_states": lambda tree, table: ancestral_states(
        tree, table["y"], model="lambda"
    ).mean.sum(),
    "phylogenetic_signal": lambda tree, table: (
        phylogenetic_signal(tree, table["y"], n_permutations=1, random_state=0).K
    ),
    "TreeGaussian": lambda tree, table: TreeGaussian(tree, tips=tree.match(table)).log_density(
        table["y"]
    )[0],
}
AWKWARD = {
    "a star": "(A:1,B:1,C:1,D:1,E:1,F:1,G:1);",
    "polytomies": "((A:1,B:1,C:1):1,(D:1,E:1,F:1):1,G:2);",
    "inner branches of length zero": "((A:1,B:1):0,((C:1,D:1):0,(E:1,F:1):2):0,G:1);",
    "tips of unequal depth": "((A:1,B:3):0.5,(C:0.1,D:7):2,(E:1,F:2):1,G:4);",
    "one tip at an inner node": "((A:0,B:1):1,(C:1,D:1):1,(E:1,F:1):1,G:2);",
    "single children": "((((A:1):1,B:2):1):1,((C:1):1,D:3,E:2):1,(F:1,G:2):2);",
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("shape", AWKWARD)
def test_awkward_trees_are_trees(name, shape):
    tree = read_tree(AWKWARD[shape])
    # With two children a node and no empty branch in sight it is the same tree.
    same = tree.resolve().keep(list(tree.tip_names))
    results = [ESTIMATORS[name](one, table_of(tree)) for one in (tree, same)]
    assert np.isfinite(results).all()
    if name != "ancestral_states":  # it sums over the nodes, which are more
        assert results[0] == pytest.approx(results[1], rel=1e-6)


TWINS = "((A:0,B:0):1,(C:1,D:1):1,(E:0.5,F:0.5):1.5,G:2,H:2);"


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("alike", [True, False])
def test_two_tips_at_distance_zero(name, alike):
    tree = read_tree(TWINS)
    table = table_of(tree)
    table.loc["A"] = table.loc["B"] if alike else [0.3, -2.0, 5.0]
    table.loc["B"] = table.loc["A"] if alike else [0.3, 2.0, -5.0]
    # Relatives are alike, so that lambda is pulled upwards.
    table.loc[["C", "D"]] = [[3.0, 3.0, 3.0], [3.1, 3.2, 3.4]]
    table.loc[["E", "F"]] = [[-3.0, 2.0, -3.0], [-3.1, 2.1, -3.2]]
    estimates_lambda = name not in {"phylogenetic_signal", "TreeGaussian"}
    if estimates_lambda and not alike:
        assert np.isfinite(ESTIMATORS[name](tree, table))
        return
    with pytest.raises(InvalidInputError, match="A and B are at distance zero") as caught:
        ESTIMATORS[name](tree, table)
    assert ("grows without limit as lambda approaches 1" in str(caught.value)) == (
        name != "TreeGaussian" and alike
    )


def test_a_twin_that_is_not_fitted_is_predicted_exactly():
    tree = read_tree(TWINS)
    table = table_of(tree)
    for kind in (PGLS, PhyRVM):
        model = kind(tree, pagel_lambda=1.0).fit(table[["a"]].drop("B"), table["y"].drop("B"))
        mean, sd = model.predict(table.loc[["A"], ["a"]].set_axis(["B"]), return_std=True)
        assert mean[0] == pytest.approx(table.loc["A", "y"])
        assert sd[0] == pytest.approx(0.0, abs=1e-7)
    states = ancestral_states(tree, table["y"].drop("B"))
    assert states.mean[tree.name.index("B"), 0] == pytest.approx(table.loc["A", "y"])


def test_an_estimate_near_a_singular_bound_is_kept_if_it_is_a_maximum():
    def height(values):
        if values["lambda"] == 1.0:
            raise InvalidInputError("singular")
        rest = 1.0 - values["lambda"]
        return -np.log(rest) - 1e-4 / rest

    best = maximise(height, {"lambda": (0.0, 1.0)})
    assert 1.0 - best.values["lambda"] == pytest.approx(1e-4, rel=1e-2)
    for bounds in ({"lambda": (0.0, 1.0)}, {"lambda": (0.0, 1.0), "kappa": (0.0, 1.0)}):
        with pytest.raises(InvalidInputError, match=r"without limit as lambda approaches 1\. sing"):
            maximise(lambda values: height(values) + 1e-4 / (1.0 - values["lambda"]), bounds)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("PGLS", "1 row cannot tell lambda beside 1 or more coefficients"),
        ("PhyRVM", "All values of y are equal"),
        ("PhyloPCA", "minimum of 2 is required"),
        ("P3CA", "minimum of 2 is required"),
        ("ancestral_states", "at least two tips"),
        ("phylogenetic_signal", "at least three tips"),
    ],
)
def test_one_tip_is_too_few(name, message):
    tree = read_tree("(A:2);")
    with pytest.raises(ValueError, match=message):
        ESTIMATORS[name](tree, table_of(tree))
    assert covariance(tree).tolist() == [[2.0]]
    alone = TreeGaussian(tree).conditional([3.0])
    assert alone.mean.tolist() == [0.0, 3.0]


def test_one_tip_with_a_given_lambda_is_fitted():
    tree = read_tree("(A:2,B:1);")
    table = table_of(tree)
    for kind in (PGLS, PhyRVM):
        model = kind(tree, pagel_lambda=1.0).fit(table.loc[["A"], ["a"]], table.loc[["A"], "y"])
        assert model.predict(table.loc[["A"], ["a"]])[0] == pytest.approx(table.loc["A", "y"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_two_rows_of_a_tip_are_refused(name):
    tree = yule_tree(8, random_state=0)
    table = table_of(tree)
    with pytest.raises(InvalidInputError, match=r"more than one row.*Average the rows of each tip"):
        ESTIMATORS[name](tree, pd.concat([table, table[:1]]))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_that_are_no_tips_are_listed(name):
    tree = yule_tree(8, random_state=0)
    wrong = table_of(tree).rename(index={"t2": "Homo sapiens"})
    with pytest.raises(InvalidInputError, match=r"not tips of the tree: Homo sapiens.*row: t2"):
        ESTIMATORS[name](tree, wrong)
    spaced = read_tree(tree.write().replace("t2:", "Homo_sapiens:"))
    with pytest.raises(InvalidInputError, match="match with underscores in place of spaces"):
        ESTIMATORS[name](spaced, wrong)


@pytest.mark.parametrize("kind", [PGLS, PhyRVM, PhyloPCA, P3CA])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.assign(b="red"), "column 'b' holds text, such as 'red'.*Encode it"),
        (lambda X: X[[]], "no columns of features"),
        (lambda X: X[:0], "no rows"),
        (lambda X: X.rename_axis("species").reset_index(), "column 'species' holds tips: give"),
        (lambda X: X.assign(species=X.index), "if it names the tips, give tips='species'"),
    ],
)
def test_tables_without_numbers_are_refused(kind, change, message):
    tree = yule_tree(8, random_state=0)
    X = change(table_of(tree)[["a", "b"]])
    with pytest.raises(InvalidInputError, match=message):
        kind(tree).fit(X, np.arange(len(X), dtype=float))


def test_numbers_as_text_are_numbers_and_folds_need_none():
    tree = yule_tree(12, random_state=0)
    table = table_of(tree)
    as_text = table[["a"]].map(str)
    expected = PGLS(tree).fit(table[["a"]], table["y"]).coef_
    np.testing.assert_allclose(PGLS(tree).fit(as_text, table["y"]).coef_, expected)
    folds = [test.tolist() for _, test in CladeKFold(tree, 3).split(table)]
    words = table.assign(b="red")
    assert [test.tolist() for _, test in CladeKFold(tree, 3).split(words)] == folds


@pytest.mark.parametrize("kind", [PGLS, PhyRVM])
def test_a_constant_column_is_harmless_and_a_constant_target_is_said(kind):
    tree = yule_tree(12, random_state=0)
    table = table_of(tree)
    with_constant = kind(tree).fit(table[["a"]].assign(b=0.1), table["y"])
    plain = kind(tree).fit(table[["a"]], table["y"])
    assert with_constant.lambda_ == pytest.approx(plain.lambda_, abs=1e-4)
    np.testing.assert_allclose(with_constant.fitted_values_, plain.fitted_values_, atol=1e-3)
    with pytest.raises(InvalidInputError, match=r"All values of y are equal.*as a number"):
        kind(tree).fit(table[["a"]], np.full(12, 0.1))
    with pytest.raises(InvalidInputError, match="All values of y are equal"):
        ancestral_states(tree, pd.Series(0.1, table.index), model="lambda")
    given_share = kind(tree, pagel_lambda=0.5).fit(table[["a"]], np.full(12, 0.1))
    np.testing.assert_allclose(given_share.predict(table[["a"]]), 0.1)


def test_a_table_of_five_rows_is_fitted():
    tree = yule_tree(5, random_state=0)
    table = brownian_traits(tree, 2, random_state=1)
    model = PGLS(tree).fit(table[["trait1"]], table["trait2"])
    assert model.degrees_of_freedom_ == 3
    text = str(model.summary())
    assert re.search(r"lambda \S+, estimated; 95 % interval 0 to 1", text)
    assert "nan" not in text
    with pytest.raises(InvalidInputError, match="5 rows cannot tell lambda beside 5 or more"):
        PGLS(tree).fit(brownian_traits(tree, 5, random_state=2), table["trait2"])
