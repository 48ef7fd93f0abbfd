"""`parsimon predict`: columns that are added, and what each mistake is told."""

import io
import json
import shutil
import zipfile
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main
from parsimon.gp import GPClassifier, GPRegressor
from parsimon.kernels import SquaredExponential as SE
from parsimon.statistician.contributions import SeenRows
from parsimon.statistician.prepare.preparation import Preparer, Screener
from parsimon.statistician.saving import save_model
from parsimon.statistician.table_model import TableModel

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"age": RNG.normal(50, 10, 40), "sex": RNG.choice(["f", "m", "x"], 40)})
SIGN = (TABLE["age"] + RNG.normal(0, 5, 40) > 50).to_numpy().astype(float)


def fitted(classes, targets, estimator=GPClassifier):
    preparer = Preparer().fit(TABLE)
    numbers = preparer.transform(TABLE)
    task = "classification" if classes else "regression"
    screener = Screener(task=task).fit(numbers, targets[0])
    X = screener.transform(numbers)
    kernel = SE(0, lengthscale=10.0) + SE(1)
    models = [estimator(kernel, optimise=False, n_restarts=0).fit(X, y) for y in targets]
    made = TableModel(preparer, screener, models, classes, "state")
    made.seen = SeenRows.of(X, made.variables)
    return made


TWO = fitted(("well", "ill"), [SIGN])
THREE = fitted(("a", "b", "c"), [SIGN, 1 - SIGN, (TABLE["sex"] == "x").to_numpy().astype(float)])
NUMBER = fitted((), [TABLE["age"].to_numpy() / 10], GPRegressor)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the folder of three models."""
    folder = tmp_path_factory.mktemp("models")
    for name, model in (("two", TWO), ("three", THREE), ("number", NUMBER)):
        save_model(model, folder / f"{name}.skops")
    return folder


@pytest.fixture(autouse=True)
def folder(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    TABLE.assign(note="kept, not used").to_csv("new.csv", index=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["predict", *map(str, arguments)])


def written(result):
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


def failed(result, message):
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_classes_and_probabilities_are_added_to_the_rows():
    found = written(run("two.skops", "new.csv"))
    assert list(found) == [
        *("age", "sex", "note", "predicted state", "probability of well", "probability of ill"),
    ]
    share = TWO.predict_proba(TABLE)
    np.testing.assert_allclose(found[["probability of well", "probability of ill"]], share)
    assert found["predicted state"].tolist() == TWO.predict(TABLE).tolist()
    assert found["note"].unique().tolist() == ["kept, not used"]


def test_three_classes_have_three_probabilities():
    found = written(run("three.skops", "new.csv"))
    np.testing.assert_allclose(
        found[[f"probability of {label}" for label in "abc"]], THREE.predict_proba(TABLE)
    )


def test_a_number_has_a_deviation():
    found = written(run("number.skops", "new.csv"))
    assert list(found)[-2:] == ["predicted state", "sd of state"]
    np.testing.assert_allclose(found["predicted state"], NUMBER.predict(TABLE))
    np.testing.assert_allclose(found["sd of state"], NUMBER.predict_deviation(TABLE))


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.9, 1.0])
def test_the_threshold_decides_when_the_positive_class_is_called(threshold):
    found = written(run("two.skops", "new.csv", "--threshold", threshold))
    expected = np.where(TWO.predict_proba(TABLE)[:, 1] >= threshold, "ill", "well")
    assert found["predicted state"].tolist() == expected.tolist()


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_files_are_written_by_their_ending(ending, folder):
    result = run("two.skops", "new.csv", "--out", f"out.{ending}")
    assert result.stdout == f"40 rows written to out.{ending}.\n"
    read = {"csv": pd.read_csv, "tsv": pd.read_table, "parquet": pd.read_parquet}[ending]
    assert list(read(f"out.{ending}"))[-1] == "probability of ill"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_columns_of_the_table_are_never_replaced():
    TABLE.assign(**{"predicted state": "mine"}).to_csv("again.csv", index=False)
    found = written(run("two.skops", "again.csv"))
    assert found["predicted state"].unique().tolist() == ["mine"]
    assert found["predicted state (2)"].tolist() == TWO.predict(TABLE).tolist()


def test_cells_that_were_filled_and_unseen_levels_are_said():
    strange = TABLE.astype({"age": object})
    strange.loc[:2, "age"] = None
    strange.loc[5, "sex"] = "other"
    strange.to_csv("strange.csv", index=False)
    result = run("two.skops", "strange.csv")
    taken = "what the other columns of the row predict"
    assert f"3 missing cells of age were filled with {taken}." in result.stderr
    assert "Levels occur that no fitted row had: sex (1 cell" in result.stderr
    assert len(written(result)) == 40


def test_nothing_is_said_about_clean_rows():
    assert run("two.skops", "new.csv").stderr == ""


def test_rows_may_come_in_another_order_and_number():
    TABLE.iloc[[7, 3]][["sex", "age"]].to_csv("few.csv", index=False)
    found = written(run("two.skops", "few.csv"))
    share = TWO.predict_proba(TABLE)[[7, 3], 1]
    np.testing.assert_allclose(found["probability of ill"], share)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.skops", "new.csv"], "The model absent.skops does not exist"),
        (["new.csv", "new.csv"], "new.csv is not a model that Parsimon saved"),
        (["two.skops", "absent.csv"], "absent.csv does not exist"),
        (["two.skops", "absent"], "There is no file absent."),
        (["two.skops", "new.csv", "--out", "x/y.csv"], "The folder x does not exist"),
        (
            ["two.skops", "new.csv", "--out", "y.xls"],
            "y.xls must end in .csv, .tsv, .json or .parquet",
        ),
        (["two.skops", "new.csv", "--threshold", "1.5"], "a probability, 0 to 1; got 1.5"),
        (["three.skops", "new.csv", "--threshold", ".5"], "for two classes, and 'state' has 3"),
        (["number.skops", "new.csv", "--threshold", ".5"], "'state' is a number: --threshold"),
    ],
)
def test_mistakes_are_one_line(arguments, message):
    failed(run(*arguments), message)


def test_missing_columns_are_named():
    TABLE[["sex"]].assign(agee=1).to_csv("part.csv", index=False)
    result = run("two.skops", "part.csv")
    failed(result, "lacks 1 of the 2 columns that are used: 'age'. Did you mean 'age' by 'agee'?")


def test_a_column_that_the_model_does_not_use_may_be_absent_or_strange():
    model = GPClassifier(SE(0, lengthscale=10.0), optimise=False, n_restarts=0)
    X = TWO.numbers(TABLE)
    alone = TableModel(TWO.preparer, TWO.screener, [model.fit(X, SIGN)], ("a", "b"), "state")
    assert alone.columns == ("age",)
    save_model(alone, "alone.skops")
    TABLE.assign(sex="never seen").to_csv("strange.csv", index=False)
    TABLE[["age"]].to_csv("age.csv", index=False)
    results = [run("alone.skops", name) for name in ("strange.csv", "age.csv")]
    for result in results:
        assert result.stderr == ""
        share = written(result)["probability of b"]
        np.testing.assert_allclose(share, alone.predict_proba(TABLE)[:, 1])


def test_values_outside_what_the_model_has_seen_are_counted():
    strange = TABLE.copy()
    strange.loc[[1, 4], "age"] = [200.0, -3.0]
    strange.to_csv("strange.csv", index=False)
    result = run("two.skops", "strange.csv")
    low, high = TABLE["age"].min(), TABLE["age"].max()
    expected = f"2 cells of 'age' lie outside {low:.4g} to {high:.4g}, all that the model has seen."
    assert result.stderr == expected + "\n"


@pytest.mark.parametrize("name", ["two", "number", "three"])
def test_explanations_add_up_to_the_score(name):
    model = {"two": TWO, "number": NUMBER, "three": THREE}[name]
    found = written(run(f"{name}.skops", "new.csv", "--explain"))
    steps = found["contribution of age"] + found["contribution of sex"]
    np.testing.assert_allclose(found["score of a typical row"] + steps, found["score"])
    X = model.numbers(TABLE)
    if name == "number":
        np.testing.assert_allclose(found["score"], model.models[0].predict(X))
    elif name == "two":
        np.testing.assert_allclose(found["score"], model.models[0].latent(X), atol=1e-12)
    else:
        assert found["explained class"].tolist() == model.predict(TABLE).tolist()
        each = np.column_stack([one.latent(X) for one in model.models])
        own = each[np.arange(len(X)), np.argmax(model.predict_proba(TABLE), axis=1)]
        np.testing.assert_allclose(found["score"], own, atol=1e-12)


def test_rows_are_written_as_json():
    rows = json.loads(run("two.skops", "new.csv", "--json").stdout)
    assert len(rows) == 40
    assert rows[3]["probability of ill"] == pytest.approx(TWO.predict_proba(TABLE)[3, 1], abs=1e-9)
    run("two.skops", "new.csv", "--out", "out.json")
    with open("out.json") as file:
        assert json.load(file) == rows


def test_a_model_of_arrays_is_refused():
    save_model(GPClassifier(SE(0), n_restarts=0).fit(TABLE[["age"]], SIGN), "bare.skops")
    failed(run("bare.skops", "new.csv"), "holds a GPClassifier, which takes numbers, not tables")


def test_a_model_whose_parts_do_not_fit_is_one_line():
    """Any two arrays may be swapped, with or without the digest that notices it."""
    with zipfile.ZipFile("two.skops") as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    arrays = [member for member in members if member.endswith(".npy")]
    shapes = {member: np.load(io.BytesIO(members[member])).shape for member in arrays}
    pairs = [pair for pair in combinations(arrays, 2) if shapes[pair[0]] != shapes[pair[1]]]
    about = json.loads(members["parsimon.json"])
    del about["digest"]
    refused = 0
    for first, second in pairs[:: len(pairs) // 12]:
        changed = {**members, first: members[second], second: members[first]}
        for digest in (members["parsimon.json"], json.dumps(about).encode()):
            with zipfile.ZipFile("swapped.skops", "w") as archive:
                for member, content in (changed | {"parsimon.json": digest}).items():
                    archive.writestr(member, content)
            result = run("swapped.skops", "new.csv")
            assert not isinstance(result.exception, Exception), result.exception
            if result.exit_code:
                refused += 1
                failed(result, "Error: ")
    # Every file with the digest, and some without one.
    assert refused > len(pairs[:: len(pairs) // 12])
