"""Files of models that someone made to take memory, or to lead compiled code out of it."""

import io
import json
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.cluster import KMeans
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from parsimon import __version__
from parsimon.exceptions import CheckpointError, InvalidInputError
from parsimon.pareto._checkpoint import read_checkpoint, write_checkpoint
from parsimon.statistician import load_model, save_model
from parsimon.statistician._loaded_models import _needs_trust
from parsimon.statistician.saving import FORMAT, FORMAT_VERSION, StoredRange, StoredSeed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
CODES = np.digitize(X[:, 0], [-0.4, 0.4])
ABOUT = {"format": FORMAT, "format_version": FORMAT_VERSION, "version": __version__}


def written(place, members):
    """Write members into a file that says it is a model of ours."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**members, "parsimon.json": json.dumps(ABOUT)}.items():
            archive.writestr(name, content)
    return place


def members_of(model):
    """Return what skops writes of a model, by name."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def claiming(shape):
    """Return an array in NumPy's format that says it has this shape and holds one number."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(8)


def test_a_file_that_unpacks_to_far_more_than_it_is_takes_no_memory(tmp_path):
    members = members_of(LogisticRegression().fit(X, CODES))
    members["more.bin"] = bytes(100 * 2**20)
    place = written(tmp_path / "bomb.skops", members)
    assert place.stat().st_size < 2**18
    with pytest.raises(InvalidInputError, match=r"not loaded: more\.bin has .* unpack to 104,8"):
        load_model(place)


def test_what_the_list_of_an_archive_says_is_enough_to_refuse_it(tmp_path):
    # Eight gigabytes, of which nothing is there: nobody looks further than the list.
    place = written(tmp_path / "bomb.skops", members_of(LogisticRegression()))
    data = bytearray(place.read_bytes())
    entry = data.rindex(b"schema.json") - 46
    assert data[entry : entry + 4] == b"PK\x01\x02"
    data[entry + 24 : entry + 28] = (2**32 - 2).to_bytes(4, "little")
    place.write_bytes(data)
    with pytest.raises(InvalidInputError, match=r"bytes unpack to 4,294,96\d,\d{3}"):
        load_model(place)


@pytest.mark.parametrize("shape", [(2**40,), (2**31, 2**31), (2,), (0,), (2**63, 2)])
def test_an_array_that_is_not_as_long_as_it_says_is_refused(shape, tmp_path):
    members = members_of(LogisticRegression().fit(X, CODES))
    first = next(name for name in members if name.endswith(".npy"))
    place = written(tmp_path / "model.skops", {**members, first: claiming(shape)})
    with pytest.raises(InvalidInputError, match="has 8 bytes in the file, which no model"):
        load_model(place)


def test_an_array_that_is_named_again_and_again_is_refused(tmp_path):
    model = LogisticRegression().fit(X, CODES)
    model.more_ = [np.full(2**16, float(place)) for place in range(300)]
    members = members_of(model)
    first = next(name for name in members if len(members[name]) > 2**19)
    schema = json.loads(members["schema.json"])
    text = json.dumps(schema)
    for name in [name for name in members if len(members[name]) > 2**19 and name != first]:
        text = text.replace(name, first)
        del members[name]
    place = written(tmp_path / "model.skops", {**members, "schema.json": text})
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
        load_model(place)


def test_a_large_model_of_zeros_is_saved_and_loaded(tmp_path):
    model = LogisticRegression().fit(X, CODES)
    model.more_ = np.zeros(9 * 10**6)
    save_model(model, tmp_path / "model.skops")
    assert len(load_model(tmp_path / "model.skops").more_) == 9 * 10**6


@pytest.mark.parametrize(
    "content",
    [
        StoredSeed(1, (), 2**40, 0),
        StoredSeed(1, (), np.int64(2**40), 0),
        StoredRange(0, 2**60, 1),
    ],
    ids=["a pool", "a pool in an array", "a range"],
)
def test_a_seed_or_a_range_that_fills_the_memory_is_refused(content, tmp_path):
    model = LogisticRegression().fit(X, CODES)
    model.random_state = content
    place = written(tmp_path / "model.skops", members_of(model))
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
        load_model(place)


def test_the_seed_of_a_generator_is_checked_too(tmp_path):
    model = LogisticRegression(random_state=np.random.default_rng(0))
    good = written(tmp_path / "good.skops", members := members_of(model))
    assert isinstance(load_model(good).random_state, np.random.Generator)
    schema = json.loads(members["schema.json"])
    seed = schema["content"]["content"]["random_state"]["content"]["seed_seq"]["content"]
    seed["pool_size"]["content"] = str(2**40)
    place = written(tmp_path / "bad.skops", {**members, "schema.json": json.dumps(schema)})
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
        load_model(place)


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found, np.zeros(1)]
    return found


def test_a_model_that_is_nested_too_deep_is_one_sentence(tmp_path):
    members = members_of(LogisticRegression())
    deep = "[" * 10**5
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
        load_model(written(tmp_path / "model.skops", {**members, "schema.json": deep}))
    model = LogisticRegression()
    model.more_ = nested(120)
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
        load_model(written(tmp_path / "model.skops", members_of(model)))


MACHINES = {
    "SVC": SVC(),
    "SVC of probabilities": SVC(kernel="linear", probability=True, random_state=0),
    "NuSVC": NuSVC(nu=0.2),
    "SVR": SVR(),
    "OneClassSVM": OneClassSVM(),
}
HARMS = {
    "short coefficients": ("_dual_coef_", lambda one: one[:, :1].copy()),
    "few coefficients": ("_dual_coef_", lambda one: one[:0].copy()),
    "short vectors": ("support_vectors_", lambda one: one[:1].copy()),
    "narrow vectors": ("support_vectors_", lambda one: one[:, :1].copy()),
    "short places": ("support_", lambda one: one[:1].copy()),
    "far places": ("support_", lambda one: one + 10**6),
    "places before": ("support_", lambda one: one - 10**6),
    "large counts": ("_n_support", lambda one: one + 10**6),
    "negative counts": ("_n_support", lambda one: one - 10**6),
    "short intercepts": ("_intercept_", lambda one: one[:0].copy()),
    "more columns": ("n_features_in_", lambda one: one + 100),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_that_libsvm_would_read_past_is_refused(name, harm, tmp_path):
    machine = MACHINES[name].fit(X, CODES)
    place = tmp_path / "model.skops"
    save_model(machine, place)
    np.testing.assert_array_equal(load_model(place).predict(X), machine.predict(X))
    attribute, change = HARMS[harm]
    bad = skops.io.loads(skops.io.dumps(machine))
    setattr(bad, attribute, change(getattr(machine, attribute)))
    if attribute == "_n_support" and name in ("SVR", "OneClassSVM") and harm == "large counts":
        pytest.skip("libsvm does not read the counts of a machine without classes")
    save_model(make_pipeline(bad), place)
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
        load_model(place)


@pytest.mark.parametrize(("key", "value"), [("node_count", 10**9), ("n_outputs", 10**8)])
def test_a_tree_with_more_nodes_or_outputs_than_it_has_is_refused(key, value, tmp_path):
    members = members_of(DecisionTreeClassifier(max_depth=2).fit(X, CODES))
    schema = json.loads(members["schema.json"])
    tree = schema["content"]["content"]["tree_"]
    if key == "n_outputs":
        tree["__reduce__"]["args"]["content"][2]["content"] = str(value)
    else:
        tree["content"]["content"][key]["content"] = str(value)
    place = written(tmp_path / "model.skops", {**members, "schema.json": json.dumps(schema)})
    with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
        load_model(place)


def test_centres_and_neighbours_are_checked(tmp_path):
    place = tmp_path / "model.skops"
    centres = KMeans(2, n_init=1, random_state=0).fit(X)
    neighbours = KNeighborsClassifier(algorithm="brute").fit(X, CODES)
    for model in (centres, neighbours):
        save_model(model, place)
        np.testing.assert_array_equal(load_model(place).predict(X), model.predict(X))
    centres.cluster_centers_ = centres.cluster_centers_[:, :1].copy()
    neighbours._y = neighbours._y + 10**6
    for model in (centres, neighbours):
        save_model(model, place)
        with pytest.raises(InvalidInputError, match="cannot be read: it is damaged"):
            load_model(place)


def test_estimators_whose_compiled_code_is_not_checked_need_trust(tmp_path):
    model = GradientBoostingClassifier(n_estimators=2).fit(X, CODES)
    with pytest.raises(InvalidInputError, match=r"GradientBoostingClassifier, which loading would"):
        save_model(model, tmp_path / "model.skops")
    save_model(model, tmp_path / "model.skops", trusted=[GradientBoostingClassifier])
    again = load_model(tmp_path / "model.skops", trusted=[GradientBoostingClassifier])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_scikit_learn_predicts_with_numpy_needs_no_trust_and_the_rest_does():
    """Of packages with compiled code or words of their own only what is checked here is known."""
    others = ("cluster", "neighbors", "manifold", "semi_supervised", "feature_extraction")
    apart = {
        *("GradientBoostingClassifier", "GradientBoostingRegressor", "IsolationForest"),
        *("RandomTreesEmbedding", "SplineTransformer", "KNNImputer", "NMF", "MiniBatchNMF"),
        *("LatentDirichletAllocation", "DictionaryLearning", "MiniBatchDictionaryLearning"),
        *("SparseCoder", "SparsePCA", "MiniBatchSparsePCA"),
    }
    checked = {"KMeans", "KNeighborsClassifier", "KNeighborsRegressor"}
    estimators = dict(all_estimators())
    assert apart | checked <= set(estimators)
    paths = {name: f"{kind.__module__}.{name}" for name, kind in estimators.items()}
    inside = {name for name, path in paths.items() if path.split(".")[1] in others}
    assert {name for name, path in paths.items() if _needs_trust(path)} == apart | inside - checked
    for part in ("_loss.link.LogitLink", "metrics._scorer._Scorer", "utils._bunch.Bunch"):
        assert not _needs_trust(f"sklearn.{part}")
    assert not _needs_trust("sklearn.base.BaseEstimator")
    assert not _needs_trust("numpy.ndarray")
    assert _needs_trust("sklearn.elsewhere.LogisticRegression")


def test_a_checkpoint_that_claims_more_than_it_holds_is_refused(tmp_path):
    place = tmp_path / "search.npz"
    write_checkpoint(place, {}, {"rows": np.zeros(3)})
    with zipfile.ZipFile(place) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(place, "w") as archive:
        for name, content in {**members, "rows.npy": claiming((2**40,))}.items():
            archive.writestr(name, content)
    with pytest.raises(CheckpointError, match="is not a checkpoint of a search"):
        read_checkpoint(place)
