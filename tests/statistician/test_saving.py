"""Saved models: the same bits after loading, and nothing but models is loaded."""

import io
import json
import os
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from parsimon import __version__
from parsimon.exceptions import InvalidInputError
from parsimon.features import ClusteringSelector
from parsimon.gp import GPClassifier, GPRegressor, SparseGPClassifier
from parsimon.kernels import Linear, Periodic
from parsimon.kernels import SquaredExponential as SE
from parsimon.statistician import analyse
from parsimon.statistician.families._size import model_size
from parsimon.statistician.families.gp import _kernel_result
from parsimon.statistician.prepare.preparation import Preparer, Screener
from parsimon.statistician.saving import FORMAT_VERSION, load_model, restore, save_model, store
from parsimon.statistician.table_model import TableModel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, "high", "low")
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])
NEW = RNG.normal(size=(25, 3))
KERNEL = SE(0) + SE(1) * Linear(2) + Periodic(2)

ESTIMATORS = {
    "classifier of low rank": (GPClassifier(SE(0), n_restarts=0), LABELS),
    "dense classifier": (GPClassifier(KERNEL, form="dense", n_restarts=0, max_iter=5), LABELS),
    "laplace": (GPClassifier(inference="laplace", n_restarts=0), LABELS),
    "one against the rest": (GPClassifier(SE(0), n_restarts=0), THREE),
    "softmax": (GPClassifier(SE(0), multi_class="softmax", n_restarts=0, max_iter=5), THREE),
    "regressor": (GPRegressor(SE(0) + SE(1), n_restarts=0), X[:, 0] ** 2),
    "sparse": (SparseGPClassifier(SE(0), n_inducing=8, max_iter=3, random_state=0), LABELS),
    "pipeline": (make_pipeline(StandardScaler(), GPClassifier(n_restarts=0)), LABELS),
    "truth values": (
        GPClassifier(SE(0), n_restarts=0, class_weight={False: 1.0, True: 3.0}),
        LABELS == "low",
    ),
    "seed sequence": (
        GPClassifier(SE(0), random_state=np.random.SeedSequence(7, spawn_key=(2,))),
        LABELS,
    ),
}


def outputs(model, rows):
    if hasattr(model, "predict_proba"):
        return [model.predict_proba(rows), model.predict(rows)]
    return list(model.predict(rows, return_std=True))


def saved_and_loaded(model, folder):
    save_model(model, folder / "model.skops")
    return load_model(folder / "model.skops")


def table(n=60):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 9, n).round(1),
            "sex": rng.choice(["male", "female"], n),
            "site": rng.choice(["A", "B", "C", "D"], n),
            "seen": pd.date_range("2020-01-01", periods=n, freq="D").astype(str),
            "smokes": rng.random(n) > 0.5,
            "dose": [f"{1000 + 7 * k:,}" for k in range(n)],
            "same": 1,
        }
    )
    frame.loc[rng.choice(n, 8, replace=False), "age"] = np.nan
    frame.loc[3, "site"] = None
    return frame


def table_model(task="classification"):
    frame = table()
    y = (frame["dose"].str.replace(",", "").astype(int) > 1200).to_numpy().astype(float)
    preparer = Preparer().fit(frame)
    numbers = preparer.transform(frame)
    screener = Screener(most=4, task=task).fit(numbers, y)
    kernel = SE(0) + SE(1)
    estimator = GPClassifier if task == "classification" else GPRegressor
    model = estimator(kernel, optimise=False, n_restarts=0).fit(screener.transform(numbers), y)
    classes = ("low", "high") if task == "classification" else ()
    return TableModel(preparer, screener, [model], classes, "dose level")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_model_predicts_the_same_bits(name, tmp_path):
    estimator, y = ESTIMATORS[name]
    model = estimator.fit(X, y)
    before = outputs(model, NEW)
    again = saved_and_loaded(model, tmp_path)
    for ours, theirs in zip(before, outputs(again, NEW), strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)
    # Saving changed nothing in the model itself.
    for ours, theirs in zip(before, outputs(model, NEW), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_table_model_takes_tables_after_loading(task, tmp_path):
    model = table_model(task)
    again = saved_and_loaded(model, tmp_path)
    new = table(20).iloc[::-1].assign(site="unseen")
    np.testing.assert_array_equal(model.predict(new), again.predict(new))
    assert again.target == "dose level"
    assert again.preparer.treatments_ == model.preparer.treatments_
    if task == "classification":
        np.testing.assert_array_equal(model.predict_proba(new), again.predict_proba(new))


def test_what_was_fitted_comes_back(tmp_path):
    model = GPClassifier(SE(0) + SE(1), n_restarts=0).fit(X, LABELS)
    again = saved_and_loaded(model, tmp_path)
    assert again.kernel_ == model.kernel_
    assert again.log_evidence_ == model.log_evidence_
    assert again.leave_one_out().log_loss == model.leave_one_out().log_loss
    parts = zip(model.components(NEW), again.components(NEW), strict=True)
    assert all(np.array_equal(a.mean, b.mean) and a.name == b.name for a, b in parts)
    posterior, other = (each._model.fits[0].posterior for each in (model, again))
    np.testing.assert_allclose(posterior.evidence_gradient(), other.evidence_gradient())


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    seeds = np.random.SeedSequence(7, spawn_key=(2,))
    seeds.spawn(1)
    estimator = GPClassifier(SE(0), random_state=seeds)
    again = saved_and_loaded(estimator.fit(X, LABELS), tmp_path)
    assert again.random_state.state == estimator.random_state.state
    assert again.random_state.n_children_spawned == 1
    assert again.fit(X, LABELS).score(X, LABELS) > 0.5


@pytest.mark.parametrize(
    "value", [{False: 1, True: 2}, {None: 1}, {(1, 2): {3: 4}}, {1.5: [{2: 3}]}, {"a": (1, {2: 3})}]
)
def test_keys_of_any_kind_come_back(value, tmp_path):
    model = LogisticRegression(class_weight=value)
    assert saved_and_loaded(model, tmp_path).class_weight == value


def test_ranges_come_back(tmp_path):
    model = ClusteringSelector(range(9, 1, -2))
    assert saved_and_loaded(model, tmp_path).n_clusters == range(9, 1, -2)


def test_what_is_shared_stays_shared():
    seed = np.random.SeedSequence(3)
    first, second = restore(store([seed, (seed, {1: seed})]))
    assert first is second[0]
    assert first is second[1][1]


def test_derivatives_are_not_written(tmp_path):
    model = GPClassifier(SE(0), n_restarts=0).fit(X, LABELS)
    assert model._model.fits[0].posterior.prior.derivatives is not None
    again = saved_and_loaded(model, tmp_path)
    assert again._model.fits[0].posterior.prior.derivatives is None
    assert model._model.fits[0].posterior.prior.derivatives is not None


def test_a_model_with_a_function_is_not_saved(tmp_path):
    model = make_pipeline(FunctionTransformer(os.system), GPClassifier())
    with pytest.raises(InvalidInputError, match=r"This Pipeline cannot be saved: .*posix\.system"):
        save_model(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_class_from_elsewhere_is_not_saved(tmp_path):
    class Own:
        pass

    with pytest.raises(InvalidInputError, match=r"This Own cannot be saved: .*Own"):
        save_model(Own(), tmp_path / "model.skops")


def test_a_missing_folder_is_said(tmp_path):
    with pytest.raises(InvalidInputError, match="absent does not exist; make it first"):
        save_model(GPClassifier(), tmp_path / "absent" / "model.skops")


def test_saving_replaces_the_file_as_a_whole(tmp_path, monkeypatch):
    place = tmp_path / "model.skops"
    save_model(LogisticRegression(C=2.0), place)

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save_model(LogisticRegression(C=3.0), place)
    assert load_model(place).C == 2.0
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]


def written(folder, model, **about):
    """Write a file as another version or a villain would."""
    says = {"format": "parsimon-model", "format_version": FORMAT_VERSION, "version": __version__}
    buffer = io.BytesIO(skops.io.dumps(model))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("parsimon.json", json.dumps(says | about))
    (folder / "model.skops").write_bytes(buffer.getvalue())
    return folder / "model.skops"


@pytest.mark.parametrize(
    ("member", "name"),
    [
        (os.system, "posix.system"),
        (print, "builtins.print"),
        (pd.read_pickle, "read_pickle"),
        (np.load, "numpy.load"),
    ],
)
def test_a_file_with_a_function_is_refused(member, name, tmp_path):
    place = written(tmp_path, FunctionTransformer(member))
    with pytest.raises(InvalidInputError, match=f"was not loaded: it holds .*{name}"):
        load_model(place)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("parsimon.cli.tables", "read_table"),
        ("parsimon.cli.tables", "Path"),
        ("parsimon.statistician.saving", "os"),
        ("parsimon.exceptions", "ParsimonError"),
        ("parsimon.absent", "Thing"),
    ],
)
def test_only_types_of_ours_that_hold_data_are_allowed(module, name, tmp_path):
    # A key's type is called with the key, so that this would read a file or make a path.
    place = written(tmp_path, LogisticRegression(class_weight={"x.csv": 1}))
    with zipfile.ZipFile(place) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    schema = json.dumps(json.loads(members["schema.json"]))
    node = '{"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"'
    assert node in schema
    changed = node.replace('"str"', f'"{name}"').replace('"builtins"', f'"{module}"')
    members["schema.json"] = schema.replace(node, changed).encode()
    with zipfile.ZipFile(place, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    with pytest.raises(InvalidInputError, match=rf"it holds {module}\.{name}, which no model"):
        load_model(place)


@pytest.mark.parametrize("content", [b"", b"PK", b"a,b\n1,2\n"])
def test_another_file_is_not_a_model(content, tmp_path):
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"table\.csv is not a model that Parsimon saved"):
        load_model(tmp_path / "table.csv")


def test_a_skops_file_of_another_program_is_not_a_model(tmp_path):
    skops.io.dump(LogisticRegression(), tmp_path / "other.skops")
    with pytest.raises(InvalidInputError, match="is not a model that Parsimon saved"):
        load_model(tmp_path / "other.skops")
    with pytest.raises(InvalidInputError, match="is not a model that Parsimon saved"):
        load_model(written(tmp_path, LogisticRegression(), format="something"))


@pytest.mark.parametrize("about", [{"version": "99.1"}, {"format_version": FORMAT_VERSION + 1}])
def test_a_newer_file_says_to_upgrade(about, tmp_path):
    with pytest.raises(InvalidInputError, match=r"newer than this one .*pip install --upgrade"):
        load_model(written(tmp_path, LogisticRegression(), **about))


def test_an_older_file_is_loaded(tmp_path):
    assert load_model(written(tmp_path, LogisticRegression(C=3.0), version="0.0.9")).C == 3.0


def test_a_damaged_file_is_one_sentence(tmp_path):
    place = tmp_path / "model.skops"
    save_model(GPClassifier(SE(0), n_restarts=0).fit(X, LABELS), place)
    data = bytearray(place.read_bytes())
    with zipfile.ZipFile(place) as archive:
        info = archive.getinfo("schema.json")
    data[info.header_offset + 200 : info.header_offset + 260] = b"\xff" * 60
    place.write_bytes(bytes(data))
    with pytest.raises(InvalidInputError, match="was changed after it was saved, or is damaged"):
        load_model(place)


def test_a_file_with_swapped_arrays_is_refused(tmp_path):
    place = tmp_path / "model.skops"
    save_model(GPClassifier(SE(0), n_restarts=0).fit(X, LABELS), place)
    with zipfile.ZipFile(place) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    first, second, *_ = [member for member in members if member.endswith(".npy")]
    members[first], members[second] = members[second], members[first]
    with zipfile.ZipFile(place, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    with pytest.raises(InvalidInputError, match="was changed after it was saved, or is damaged"):
        load_model(place)


def test_missing_files_and_folders_are_said(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no\.skops does not exist"):
        load_model(tmp_path / "no.skops")
    with pytest.raises(InvalidInputError, match="is a folder"):
        load_model(tmp_path)


def _with_nodes(tree, change):
    """Return a tree of scikit-learn's with nodes that someone has changed."""
    _, arguments, state = tree.__reduce__()
    nodes = state["nodes"].copy()
    change(nodes)
    other = type(tree)(*arguments)
    other.__setstate__({**state, "nodes": nodes})
    return other


@pytest.mark.parametrize(
    "change",
    [
        lambda nodes: nodes["left_child"].__setitem__(0, 10**6),
        lambda nodes: nodes["right_child"].__setitem__(0, 0),
        lambda nodes: nodes["feature"].__setitem__(0, 10**6),
        lambda nodes: nodes["feature"].__setitem__(0, -5),
    ],
    ids=["a child out of memory", "a way without an end", "a column out of memory", "before it"],
)
def test_a_hostile_forest_is_one_sentence(change, tmp_path):
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, LABELS)
    model = TableModel(Preparer().fit(pd.DataFrame(X)), Screener(), [forest], ("high", "low"), "y")
    save_model(model, tmp_path / "good.skops")
    assert (load_model(tmp_path / "good.skops").models[0].predict(NEW) == forest.predict(NEW)).all()
    forest.estimators_[1].tree_ = _with_nodes(forest.estimators_[1].tree_, change)
    save_model(model, tmp_path / "hostile.skops")
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged") as raised:
        load_model(tmp_path / "hostile.skops")
    assert "\n" not in str(raised.value)


def test_a_number_of_many_rows_is_kept_at_its_pivots(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.uniform(-2, 2, size=(300, 2)), columns=["a", "b"])
    table["y"] = np.sin(2 * table["a"]) + 0.2 * rng.normal(size=300)
    options = {"depth": 1, "fast": True, "rivals": "none", "n_jobs": 1}
    whole = analyse(table, "y", **options).model()
    monkeypatch.setattr(_kernel_result, "EXACT_ROWS", 200)
    small = analyse(table, "y", **options).model()
    assert isinstance(whole.models[0], GPRegressor)
    assert type(small.models[0]).__name__ == "PivotRegressor"
    np.testing.assert_allclose(small.predict(table), whole.predict(table), atol=1e-4)
    deviations = small.predict_deviation(table), whole.predict_deviation(table)
    np.testing.assert_allclose(*deviations, rtol=1e-3)
    sizes = []
    for name, model in (("small", small), ("whole", whole)):
        save_model(model, tmp_path / name)
        sizes.append((tmp_path / name).stat().st_size)
        assert (load_model(tmp_path / name).predict(table) == model.predict(table)).all()
    assert 2 * sizes[0] < sizes[1]
    freedom = [model_size(one.models[0], n_rows=300, n_columns=2).bits for one in (small, whole)]
    assert freedom[0] == pytest.approx(freedom[1])


def test_equal_models_are_equal_bytes(tmp_path):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["low", "low", "high", "high"]
    files, kept = [], []
    for name in ("a.skops", "b.skops"):
        kept.append(GPClassifier(random_state=0).fit(X, y))
        save_model(kept[-1], tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    with zipfile.ZipFile(tmp_path / "a.skops") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
