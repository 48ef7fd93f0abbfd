"""The bundled tables: shapes and counts as published, values as in independent copies."""

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Bunch

from parsimon.datasets import load, names
from parsimon.datasets.catalogue import BUNDLED, known
from parsimon.exceptions import DatasetNotFoundError, InvalidInputError

# name: rows, features, target column, rows of each class, as published.
PUBLISHED = {
    "iris": (150, 4, "species", {"setosa": 50, "versicolor": 50, "virginica": 50}),
    "pima": (768, 8, "diabetes", {"no": 500, "yes": 268}),
    "pima_cleaned": (724, 4, "diabetes", {"no": 475, "yes": 249}),
    "bupa": (345, 6, "selector", {"1": 145, "2": 200}),
    "wisconsin": (699, 9, "diagnosis", {"benign": 458, "malignant": 241}),
    "sonar": (208, 60, "object", {"mine": 111, "rock": 97}),
    "ionosphere": (351, 34, "radar_return", {"bad": 126, "good": 225}),
    "ripley": (1250, 2, "class", {"0": 625, "1": 625}),
    "crabs": (200, 6, "sex", {"female": 100, "male": 100}),
    "pima_ripley": (532, 7, "diabetes", {"no": 355, "yes": 177}),
}
# name: rows, features, target column, of those whose target is a number.
NUMBERS = {
    "sp500": (3333, 1, "close"),
    "sp500_windows": (163, 80, "next"),
}
YES_NO = {"pos": "yes", "neg": "no", "Yes": "yes", "No": "no"}
# name: file of an independent copy, its columns in our order, its labels in our words.
COPIES = {
    "iris": ("iris", None, {}),
    "pima": ("pima_uci", None, YES_NO),
    "bupa": ("bupa", None, {1: "1", 2: "2"}),
    "wisconsin": ("wbc", None, {}),
    "sonar": ("sonar", None, {"M": "mine", "R": "rock"}),
    "ionosphere": ("ionosphere", None, {}),
    "ripley": ("ripley_synth", None, {0: "0", 1: "1"}),
    "crabs": (
        "crabs",
        ["index", "sp", "FL", "RW", "CL", "CW", "BD", "target"],
        {"B": "blue", "O": "orange", "F": "female", "M": "male"},
    ),
    "pima_ripley": ("pima_ripley", None, YES_NO),
}


def test_every_bundled_table_is_checked_here():
    checked = {*PUBLISHED, *NUMBERS}
    assert checked == {entry.name for entry in known().values() if entry.where == BUNDLED}
    assert names() == sorted(checked)
    assert set(COPIES) == set(PUBLISHED) - {"pima_cleaned"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_rows_features_and_classes_are_as_published(name):
    n, n_features, target, counts = PUBLISHED[name]
    bunch = load(name)
    assert isinstance(bunch, Bunch)
    assert bunch.frame.shape == (n, n_features + 1)
    assert bunch.frame.columns.tolist() == [*bunch.feature_names, target]
    pd.testing.assert_frame_equal(bunch.data, bunch.frame.drop(columns=target))
    pd.testing.assert_series_equal(bunch.target, bunch.frame[target])
    assert bunch.target.value_counts().to_dict() == counts
    assert bunch.target_names.tolist() == sorted(counts)
    assert bunch.target_names.dtype.kind == "U"


@pytest.mark.parametrize("name", NUMBERS)
def test_a_table_whose_target_is_a_number_has_no_classes(name):
    n, n_features, target = NUMBERS[name]
    bunch = load(name)
    assert bunch.data.shape == (n, n_features)
    assert (bunch.target.name, bunch.target.dtype, bunch.target_names) == (target, float, None)


@pytest.mark.parametrize("name", [*PUBLISHED, *NUMBERS])
def test_the_catalogue_agrees_with_the_table(name):
    entry, bunch = known()[name], load(name)
    assert (entry.rows, entry.features) == bunch.data.shape
    classes = bunch.target_names
    assert entry.classes == ("number" if classes is None else str(len(classes)))
    assert entry.missing == bunch.frame.isna().sum().sum()
    assert list(entry.left_out) == bunch.left_out.columns.tolist()


@pytest.mark.parametrize("name", COPIES)
def test_values_are_those_of_an_independent_copy(name, data_folder):
    file, order, words = COPIES[name]
    copy = pd.read_csv(data_folder / f"{file}.csv.gz")
    if order is not None:
        copy = copy[order]
    with (files("parsimon.datasets") / "tables" / f"{name}.csv.gz").open("rb") as table:
        ours = pd.read_csv(table, compression="gzip", dtype={load(name).target.name: str})
    for column in {"sp", "target"} & set(copy.columns):
        copy[column] = [words.get(label, label) for label in copy[column]]
    assert sorted(rows_of(ours)) == sorted(rows_of(copy))


def rows_of(frame):
    """Return rows that can be sorted and compared: missing cells become the text 'missing'."""
    return [
        tuple("missing" if pd.isna(cell) else str(number(cell)) for cell in row)
        for row in frame.itertuples(index=False)
    ]


def number(cell):
    return cell if isinstance(cell, str) else float(cell)


def test_missing_cells_stay_missing_and_the_text_says_so():
    wisconsin = load("wisconsin")
    assert wisconsin.data.isna().sum().to_dict() == {
        **dict.fromkeys(wisconsin.feature_names, 0),
        "bare_nuclei": 16,
    }
    assert "16 cells of `bare_nuclei` are missing" in wisconsin.DESCR


def test_zeros_of_pima_stay_and_the_text_counts_them():
    pima = load("pima")
    zeros = (pima.data == 0).sum()
    for column in ("glucose", "blood_pressure", "skin_thickness", "insulin", "bmi"):
        assert f"{column} {zeros[column]}" in pima.DESCR.replace("\n", " ")
    assert zeros["insulin"] == 374


def test_pima_cleaned_is_columns_2_6_7_8_of_rows_without_impossible_zeros():
    pima = load("pima").frame.to_numpy()
    kept = [row[[1, 5, 6, 7, 8]].tolist() for row in pima if row[1] and row[2] and row[5]]
    assert load("pima_cleaned").frame.to_numpy().tolist() == kept


def test_the_days_of_sp500_are_all_weekdays_and_holidays_repeat_the_last_close():
    sp500 = load("sp500").frame
    days = pd.to_datetime(sp500["date"])
    assert days.tolist() == pd.bdate_range("1980-01-01", "1992-10-08").tolist()
    close = sp500.set_index("date")["close"]
    # Black Monday, and Christmas of the same year.
    assert close["1987-10-19"] / close["1987-10-16"] - 1 == pytest.approx(-0.2047, abs=1e-4)
    assert close["1987-12-25"] == close["1987-12-24"] == 252.03
    assert "103 days without trade" in load("sp500").DESCR


def test_windows_of_sp500_are_80_days_one_every_20_with_the_day_after():
    close, windows = load("sp500").target.to_numpy(), load("sp500_windows")
    by_hand = [close[at : at + 80] for at in range(0, 3333 - 80, 20)]
    np.testing.assert_array_equal(windows.data.to_numpy(), by_hand)
    np.testing.assert_array_equal(windows.target, close[80::20])
    assert len(windows.target) == 163


def test_identifiers_and_splits_are_apart_from_features():
    assert load("crabs").left_out.columns.tolist() == ["index"]
    assert load("wisconsin").left_out["id"].iloc[0] == 1000025
    assert load("ripley").split.value_counts().to_dict() == {"test": 1000, "train": 250}
    assert load("pima_ripley").split.value_counts().to_dict() == {"test": 332, "train": 200}
    assert "split" not in load("ripley").frame
    assert "split" not in load("iris")


def test_train_and_test_rows_of_ripley_are_his():
    pima = load("pima_ripley")
    diabetic = pima.target == "yes"
    assert diabetic[pima.split == "train"].sum() == 68
    assert diabetic[pima.split == "test"].sum() == 109


def test_another_target_makes_the_usual_one_a_feature():
    crabs = load("crabs", target="species")
    assert crabs.frame.columns[-1] == "species"
    assert "sex" in crabs.feature_names
    assert crabs.target_names.tolist() == ["blue", "orange"]
    assert load("wisconsin", target="id").left_out.empty


def test_a_numeric_target_has_no_classes():
    drinks = load("bupa", target="drinks")
    assert drinks.target_names is None
    assert (drinks.target > 5).sum() == 88


@pytest.mark.parametrize("name", ["Pima-Cleaned", " PIMA_cleaned ", "pima-cleaned"])
def test_case_and_hyphens_do_not_matter(name):
    assert load(name).name == "pima_cleaned"


def test_a_wrong_target_gets_the_nearest_column():
    with pytest.raises(InvalidInputError, match=r"no column 'glucos'.*mean 'glucose'"):
        load("pima", target="glucos")


def test_a_misspelt_name_gets_the_nearest_names():
    with pytest.raises(DatasetNotFoundError, match=r"'irsi'\. Did you mean iris"):
        load("irsi")


def test_a_name_like_no_other_gets_what_is_bundled():
    with pytest.raises(DatasetNotFoundError, match=r"Bundled: iris, pima, .*PARSIMON_DATA"):
        load("zzzzzz")


@pytest.mark.parametrize("name", ["spiral", "make_spiral", "Make-Spiral"])
def test_the_name_of_a_generator_gets_the_call(name):
    with pytest.raises(DatasetNotFoundError, match=r"call parsimon\.datasets\.make_spiral\("):
        load(name)


def test_a_name_must_be_text():
    with pytest.raises(InvalidInputError, match="must be text, got int"):
        load(3)


def test_changing_a_loaded_table_changes_no_later_one():
    iris = load("iris")
    iris.frame["sepal_length"] = 0.0
    assert load("iris").frame.iloc[0, 0] == 5.1


def test_a_bundled_table_needs_no_folder(monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", "/no/such/folder")
    assert load("iris").data.shape == (150, 4)


def test_scikit_learn_takes_what_load_gives():
    iris = load("iris")
    model = LogisticRegression(max_iter=1000).fit(iris.data, iris.target)
    assert model.classes_.tolist() == iris.target_names.tolist()
    assert model.feature_names_in_.tolist() == iris.feature_names
    assert model.score(iris.data, iris.target) > 0.95


def test_every_table_has_text_with_licence_source_and_citation():
    sources = (files("parsimon.datasets") / "SOURCES.md").read_text()
    for name, (n, *_) in {**PUBLISHED, **NUMBERS}.items():
        text = load(name).DESCR
        assert text.startswith(f"# {name}\n")
        assert str(n) in text
        for word in (
            "- Source: ",
            "- Licence: ",
            "- Cite: ",
            "missing" if name != "pima" else "zeros",
        ):
            assert word in text, (name, word)
        assert name in sources


def test_bundled_files_are_small_and_all_known():
    tables = [path for path in (files("parsimon.datasets") / "tables").iterdir()]
    assert sum(len(path.read_bytes()) for path in tables) < 300_000
    stems = {path.name.split(".")[0] for path in tables}
    assert stems == {*PUBLISHED, *NUMBERS}


def test_the_printed_bayes_areas_of_ripley_come_from_the_bundled_sample():
    # Clark (2011): 0.953 on the training rows, 0.977 on the test rows.
    from scipy.stats import multivariate_normal
    from sklearn.metrics import roc_auc_score

    ripley = load("ripley")
    X = ripley.data.to_numpy()

    def density(*centres):
        return np.mean([multivariate_normal(c, 0.03).pdf(X) for c in centres], axis=0)

    score = density((-0.3, 0.7), (0.4, 0.7)) / density((-0.7, 0.3), (0.3, 0.3))
    for part, printed in (("train", 0.953), ("test", 0.977)):
        rows = ripley.split == part
        assert round(roc_auc_score(ripley.target[rows] == "1", score[rows]), 3) == printed
