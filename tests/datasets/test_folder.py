"""Data sets of the folder that PARSIMON_DATA names: conventions, errors, and every known file."""

import gzip
import re

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from parsimon.datasets import load, names
from parsimon.datasets.catalogue import BUNDLED, known
from parsimon.exceptions import DatasetNotFoundError, InvalidInputError

OTHERS = [entry for entry in known().values() if entry.where != BUNDLED]


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize("file", ["My-Table.csv.gz", "my_table.csv"])
def test_a_table_of_ones_own_loads_by_the_name_of_its_file(folder, file):
    write(folder / file, "a,b,split,target\n1,x,train,NA\n,y,test,None\n")
    bunch = load("my_table")
    assert names().count("my_table") == 1
    assert bunch.feature_names == ["a", "b"]
    assert bunch.split.tolist() == ["train", "test"]
    # Only an empty cell is missing: NA and None are labels here.
    assert bunch.target_names.tolist() == ["NA", "None"]
    assert np.isnan(bunch.data["a"].iloc[1])
    assert file in bunch.DESCR


def test_without_a_target_column_there_is_no_target(folder):
    write(folder / "plain.csv", "a,split,b\n1,train,2\n")
    bunch = load("plain")
    assert bunch.target is None
    assert bunch.target_names is None
    # A split is a split only right before the target.
    assert bunch.frame.columns.tolist() == bunch.feature_names == ["a", "split", "b"]
    assert load("plain", target="a").frame.columns.tolist() == ["split", "b", "a"]


def test_a_split_elsewhere_than_before_the_target_is_a_feature(folder):
    write(folder / "plain.csv", "split,a,target\n1,2,0\n")
    bunch = load("plain")
    assert bunch.feature_names == ["split", "a"]
    assert "split" not in bunch


@pytest.mark.parametrize(
    ("column", "classes"),
    [
        ([0, 1, 1], [0, 1]),
        ([-1.0, 1.0, 1.0], [-1, 1]),
        ([0.5, 1.0, 1.5], None),
        (3 * list(range(10)), list(range(10))),
        (list(range(10)), None),
        (list(range(11)), None),
        ([True, False], [False, True]),
    ],
)
def test_few_whole_numbers_are_classes_and_others_a_quantity(folder, column, classes):
    write(folder / "t.csv", "a,target\n" + "".join(f"0,{value}\n" for value in column))
    found = load("t").target_names
    assert (found if found is None else found.tolist()) == classes


def test_columns_that_would_tell_the_target_are_left_out(folder):
    write(folder / "heart_cleveland.csv.gz", "age,num,target\n60,2,1\n50,0,0\n")
    bunch = load("heart-cleveland")
    assert bunch.feature_names == ["age"]
    assert bunch.left_out["num"].tolist() == [2, 0]
    assert "Not features, in `left_out`: num" in bunch.DESCR
    assert "6, left as NaN" in bunch.DESCR
    assert load("heart-cleveland", target="num").feature_names == ["age", "target"]


def test_a_trait_table_brings_its_tree(folder):
    write(folder / "phylo_x.csv.gz", "tip,size\nb,2\na,1\n")
    write(folder / "phylo_x.nwk", "(a:1,b:1);\n")
    bunch = load("phylo_x")
    assert bunch.tips.tolist() == ["b", "a"]
    assert bunch.feature_names == ["size"]
    assert bunch.newick == "(a:1,b:1);"
    assert bunch.tree_path == folder / "phylo_x.nwk"


def test_a_tree_under_another_name_is_found_and_unpacked(folder):
    write(folder / "archaea_ogt_aa.csv.gz", "tip,Ala,Tmin,target\na,0.1,50,60\n")
    write(folder / "archaea_ogt_ar53.nwk.gz", "(a:1,b:2);")
    bunch = load("archaea_ogt_aa")
    assert bunch.newick == "(a:1,b:2);"
    assert bunch.feature_names == ["Ala"]
    assert bunch.target_names.tolist() == [60]


def test_a_tree_alone_has_no_table_and_no_target(folder):
    write(folder / "phylo_whale.nwk", "(a:1,b:1);")
    bunch = load("phylo_whale")
    assert bunch.newick == "(a:1,b:1);"
    assert bunch.frame is bunch.data is bunch.target is None
    with pytest.raises(InvalidInputError, match="phylo_whale is a tree without a table"):
        load("phylo_whale", target="size")


def test_arrays_become_one_frame_with_a_split(folder):
    np.savez(
        folder / "digits.npz",
        X_train=np.array([[1, 2], [3, 4]], dtype=np.uint8),
        y_train=[7, 8],
        X_test=np.array([[5, 6]], dtype=np.uint8),
        y_test=[9],
        extra=[0, 1],
    )
    bunch = load("digits")
    assert bunch.data.to_numpy().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert bunch.target.tolist() == [7, 8, 9]
    assert bunch.split.tolist() == ["train", "train", "test"]
    assert bunch.feature_names == ["x1", "x2"]
    assert bunch.extra.tolist() == [0, 1]


def test_splits_can_be_given_to_scikit_learn(folder):
    rows = "".join(f"{x},{int(x > 4)}\n" for x in range(10))
    write(folder / "t.csv.gz", "x,target\n" + rows)
    train = np.array([[0, 1, 8, 9], [2, 3, 6, 7]], dtype=np.uint16)
    test = np.array([[2, 3, 4, 5, 6, 7], [0, 1, 4, 5, 8, 9]], dtype=np.uint16)
    np.savez(folder / "t_splits.npz", train=train, test=test, unique_id=np.arange(10))
    bunch = load("t")
    assert [pair[0].tolist() for pair in bunch.splits] == train.tolist()
    assert [pair[1].tolist() for pair in bunch.splits] == test.tolist()
    assert bunch.splits[0][0].dtype == np.intp
    assert bunch.unique_id.tolist() == list(range(10))
    scores = cross_val_score(
        DecisionTreeClassifier(random_state=0), bunch.data, bunch.target, cv=bunch.splits
    )
    assert scores.tolist() == [1.0, 1.0]
    assert "t_splits" not in names()


def test_splits_without_their_table_are_not_offered(folder):
    np.savez(folder / "t_splits.npz", train=[[0]], test=[[1]])
    assert "t" not in names()


def test_other_files_of_the_folder_are_not_offered(folder):
    write(folder / "README.md", "hello")
    write(folder / "notes.txt", "hello")
    write(folder / "aligned.fasta.gz", ">a\nACGT\n")
    assert names() == sorted(entry.name for entry in known().values() if entry.where == BUNDLED)


def test_a_bundled_name_gives_the_bundled_table_everywhere(folder):
    write(folder / "iris.csv.gz", "a,target\n1,2\n")
    assert load("iris").data.shape == (150, 4)
    assert names().count("iris") == 1


def test_without_a_folder_the_error_says_where_to_get_the_file():
    pattern = (
        r"mushroom is not bundled, and PARSIMON_DATA is not set\. Get it from GitHub "
        r"renatopp/arff-datasets .*save it as mushroom\.csv\.gz \(a header row, the target last"
        r".*set PARSIMON_DATA to that folder"
    )
    with pytest.raises(DatasetNotFoundError, match=pattern):
        load("mushroom")


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("mnist13", r"mnist13\.npz \(arrays X_train"),
        ("gtdb_ar53", r"gtdb_ar53\.nwk \(Newick\)"),
        ("phylo_anole", r"phylo_anole\.csv\.gz \(a header row\)"),
    ],
)
def test_the_error_says_which_kind_of_file_is_wanted(name, pattern):
    with pytest.raises(DatasetNotFoundError, match=pattern):
        load(name)


def test_a_folder_that_lacks_the_file_is_named(folder):
    with pytest.raises(DatasetNotFoundError, match=r"PARSIMON_DATA \(.*\) does not hold it"):
        load("mushroom")


def test_names_of_the_folder_are_suggested(folder):
    write(folder / "my_measurements.csv", "a\n1\n")
    with pytest.raises(DatasetNotFoundError, match=r"mean my_measurements\?.*lists those of"):
        load("my_measurement")


@pytest.mark.parametrize("ask", [names, lambda: load("mushroom")])
def test_a_variable_that_names_no_folder_is_an_error(ask, monkeypatch, tmp_path):
    monkeypatch.setenv("PARSIMON_DATA", str(tmp_path / "absent"))
    with pytest.raises(InvalidInputError, match=r"absent', which is not a folder"):
        ask()


def test_an_empty_variable_is_as_good_as_none(monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", " ")
    assert "iris" in names()


@pytest.mark.parametrize("file", ["t.csv.gz", "t.csv", "t.npz", "t.nwk.gz"])
def test_a_broken_file_is_named_in_one_sentence(folder, file):
    (folder / file).write_bytes(b"\xff\xfe\x00broken")
    with pytest.raises(InvalidInputError, match=rf"{file} cannot be read \("):
        load("t")


def test_a_cut_off_file_is_named_too(folder):
    whole = gzip.compress(b"a,target\n" + b"1,2\n" * 10_000)
    (folder / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInputError, match=r"t.csv.gz cannot be read \("):
        load("t")


def test_arrays_that_are_missing_are_named(folder):
    np.savez(folder / "t.npz", X_train=[[1]], y_train=[1])
    with pytest.raises(InvalidInputError, match="but X_test, y_test are missing"):
        load("t")


def test_pickled_objects_are_never_loaded(folder):
    arrays = {"X_train": [[1]], "y_train": [1], "X_test": [[1]]}
    np.savez(folder / "t.npz", **arrays, y_test=np.array([{}], dtype=object))
    with pytest.raises(InvalidInputError, match="allow_pickle"):
        load("t")


@pytest.mark.parametrize("entry", OTHERS, ids=lambda entry: entry.name)
def test_every_known_data_set_loads_and_is_as_described(entry, data_folder, monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", str(data_folder))
    bunch = load(entry.name)
    assert entry.source in bunch.DESCR
    if entry.tree:
        assert bunch.newick.endswith(";")
    if entry.kind == "tree":
        assert bunch.newick.count(",") >= entry.rows / 2
        return
    assert bunch.data.shape == (entry.rows, entry.features)
    assert bunch.left_out.columns.tolist() == list(entry.left_out)
    everything = bunch.frame.isna().sum().sum() + bunch.left_out.isna().sum().sum()
    assert everything == entry.missing
    if entry.classes.isdigit():
        assert len(bunch.target_names) == int(entry.classes)
    else:
        assert bunch.target_names is None
        assert (bunch.target is None) == (entry.classes == "")
    assert not {"split", "tip", "target"} & set(bunch.feature_names)


def test_the_target_that_a_description_names_leaves_the_features_as_counted(
    data_folder, monkeypatch
):
    monkeypatch.setenv("PARSIMON_DATA", str(data_folder))
    named = [(entry, re.search(r'target="(\S+)"', entry.description)) for entry in OTHERS]
    named = [(entry, match[1]) for entry, match in named if match]
    assert len(named) == 31
    for entry, target in named:
        bunch = load(entry.name, target=target)
        assert bunch.data.shape == (entry.rows, entry.features)
        assert target not in bunch.left_out
        assert bunch.target.notna().all()


def test_every_file_of_the_data_folder_is_known(data_folder, monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", str(data_folder))
    assert set(names()) == set(known())


def test_raetsch_splits_partition_the_rows(data_folder, monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", str(data_folder))
    bunch = load("raetsch_titanic")
    assert len(bunch.splits) == 10
    for train, test in bunch.splits:
        assert (len(train), len(test)) == (150, 2051)
        assert sorted([*train, *test]) == list(range(2201))


def test_tips_of_the_traits_are_in_the_tree(data_folder, monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", str(data_folder))
    for name in ("phylo_anole", "archaea_ogt_aa"):
        bunch = load(name)
        assert all(f"{tip}:" in bunch.newick for tip in bunch.tips)
