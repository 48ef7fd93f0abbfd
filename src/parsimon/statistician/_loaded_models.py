"""What a file of a model claims, checked before compiled code believes it.

skops makes only types that are known; it does not look at what they hold. libsvm, trees and
neighbours read memory at the places that arrays name: `check_schema` looks at the description of a
model before anything of it is made, `check_estimator` at each estimator before anyone asks it.
"""

import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from parsimon._received import array_shape, read_json

# Levels of a description: each level of a model, such as a part of a kernel, takes some of them.
_DEEPEST = 200
# Words of chance that a seed keeps: NumPy has four; the time to make one grows with the square.
_LARGEST_POOL = 64
_LONGEST_RANGE = 2**24
# Packages of scikit-learn whose predictions are NumPy's work, or are checked below.
_KNOWN = frozenset(
    {
        *("_loss", "base", "calibration", "compose", "covariance", "cross_decomposition"),
        *("decomposition", "discriminant_analysis", "dummy", "ensemble", "feature_selection"),
        *("frozen", "gaussian_process", "impute", "isotonic", "kernel_approximation"),
        *("kernel_ridge", "linear_model", "metrics", "mixture", "model_selection", "multiclass"),
        *("multioutput", "naive_bayes", "neural_network", "pipeline", "preprocessing"),
        *("random_projection", "svm", "tree", "utils"),
    }
)
_CHECKED = frozenset(
    {
        "sklearn.cluster._kmeans.KMeans",
        "sklearn.neighbors._classification.KNeighborsClassifier",
        "sklearn.neighbors._regression.KNeighborsRegressor",
    }
)
# Their compiled code relies on more than is checked here.
_UNCHECKED = frozenset(
    {
        *("GradientBoostingClassifier", "GradientBoostingRegressor", "IsolationForest"),
        *("RandomTreesEmbedding", "SplineTransformer", "KNNImputer", "NMF", "MiniBatchNMF"),
        *("LatentDirichletAllocation", "DictionaryLearning", "MiniBatchDictionaryLearning"),
        *("SparseCoder", "SparsePCA", "MiniBatchSparsePCA"),
    }
)


def check_schema(archive: zipfile.ZipFile) -> list[str]:
    """Check the description of a model; return the types of scikit-learn's that need trust."""
    sizes = {member.filename: member.file_size for member in archive.infolist()}
    schema = read_json(archive.read("schema.json"), _DEEPEST)
    read, types = 0, set()
    for node in _nodes(schema):
        kind = f"{node.get('__module__')}.{node.get('__class__')}"
        types.add(kind)
        # Each mention of a member is read for itself.
        read += sizes[node["file"]] if isinstance(node.get("file"), str) else 0
        if "pool_size" in node and not 0 < _number(node["pool_size"]) <= _LARGEST_POOL:
            raise ValueError("a seed that is too large")
        if node.get("__loader__") == "JsonNode":
            read_json(str(node["content"]))
        if node.get("__loader__") == "TreeNode" or kind == "sklearn.tree._tree.Tree":
            _check_described_tree(node, archive, sizes)
    if read > 2 * max(sum(sizes.values()), 2**26):
        raise ValueError("the same arrays again and again")
    return sorted(kind for kind in types if _needs_trust(kind))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every dictionary of a description, without recursion."""
    left = [schema]
    while left:
        found = left.pop()
        if isinstance(found, dict):
            yield found
            left += found.values()
        elif isinstance(found, list):
            left += found


def _number(node: Any) -> int:
    """Return a whole number that stands in a description itself, not in an array beside it."""
    if node.get("__loader__") != "JsonNode":
        raise ValueError("a number that is not written as one")
    return int(json.loads(node["content"]))


def _check_described_tree(
    node: dict[str, Any], archive: zipfile.ZipFile, sizes: dict[str, int]
) -> None:
    """Refuse a tree that is made with more outputs or nodes than its arrays have."""

    def length(array: dict[str, Any]) -> int:
        with archive.open(array["file"]) as file:
            (found,) = array_shape(file, sizes[array["file"]])
        return found

    _, classes, n_outputs = node["__reduce__"]["args"]["content"]
    state = node["content"]["content"]
    if length(classes) != _number(n_outputs) or length(state["nodes"]) != _number(
        state["node_count"]
    ):
        raise ValueError("a tree with other outputs or nodes than it says")


def _needs_trust(kind: str) -> bool:
    package, _, rest = kind.partition(".")
    if package != "sklearn" or kind in _CHECKED:
        return False
    return rest.split(".")[0] not in _KNOWN or kind.rpartition(".")[2] in _UNCHECKED


def check_range(start: int, stop: int, step: int) -> range:
    """Return a range that a list may be made of."""
    found = range(start, stop, step)
    if len(found) > _LONGEST_RANGE:
        raise ValueError("a range without an end")
    return found


def check_estimator(estimator: Any) -> None:
    """Refuse an estimator of scikit-learn's that leads out of memory, which it does not check."""
    kind = type(estimator).__module__ + "." + type(estimator).__name__
    if not kind.startswith("sklearn."):
        return
    _check_trees(estimator)
    if kind.startswith("sklearn.svm._classes.") and hasattr(estimator, "_dual_coef_"):
        _check_machine(estimator)
    elif kind in _CHECKED and hasattr(estimator, "n_features_in_"):
        _check_points(estimator)


def _check_machine(machine: Any) -> None:
    """Refuse a support vector machine whose arrays are shorter than libsvm takes them to be."""
    counts, places = np.asarray(machine._n_support), np.asarray(machine.support_)
    is_classifier = hasattr(machine, "classes_")
    n_classes = len(machine.classes_) if is_classifier else 2
    n_pairs = n_classes * (n_classes - 1) // 2
    n, vectors = len(places), np.asarray(machine.support_vectors_)
    by_values = isinstance(machine.kernel, str) and machine.kernel != "precomputed"
    fitted = vars(machine).get("_BaseLibSVM__Xfit")
    rows = machine.shape_fit_[0] if fitted is None else min(len(fitted), machine.shape_fit_[0])
    fits = (
        not machine._sparse
        and counts.shape == (n_classes,)
        and (counts >= 0).all()
        and (not is_classifier or counts.sum() == n)
        and (not n or (places.min() >= 0 and places.max() < rows))
        and (not by_values or vectors.shape == (n, machine.n_features_in_))
        and np.shape(machine._dual_coef_) == (n_classes - 1, n)
        and np.shape(machine._intercept_) == (n_pairs,)
        and all(len(values) in (0, n_pairs) for values in (machine._probA, machine._probB))
    )
    if not fits:
        raise ValueError("a support vector machine whose arrays do not fit each other")


def _check_points(estimator: Any) -> None:
    """Refuse centres or neighbours with other columns than rows have, or of classes not there."""
    is_cluster = hasattr(estimator, "cluster_centers_")
    points = np.asarray(estimator.cluster_centers_ if is_cluster else estimator._fit_X)
    fits = points.ndim == 2 and points.shape[1] == estimator.n_features_in_ and len(points) > 0
    if fits and not is_cluster:
        values = np.asarray(estimator._y)
        fits = values.shape == (len(points),) and estimator._tree is None
        if hasattr(estimator, "classes_"):
            within = values.min() >= 0 and values.max() < len(estimator.classes_)
            fits = fits and values.dtype.kind in "iu" and within
    if not fits:
        raise ValueError("points with other columns or classes than they have")


def _check_trees(estimator: Any) -> None:
    """Refuse trees of scikit-learn's that lead out of memory, which it does not check itself."""
    attributes = vars(estimator)
    inside = np.ravel(np.asarray(attributes.get("estimators_", ()), dtype=object)).tolist()
    trees = [
        vars(model).get("tree_") for model in (estimator, *inside) if hasattr(model, "__dict__")
    ]
    steps = attributes.get("_predictors", ())
    for tree in (*trees, *(tree for step in steps for tree in step)):
        if tree is not None:
            _check_tree(tree, int(attributes["n_features_in_"]))


def _check_tree(tree: Any, n_features: int) -> None:
    """Refuse a tree with nodes or columns that are not there."""
    if type(tree).__name__ == "Tree":
        inner = tree.children_left != -1
        named = (tree.children_left, tree.children_right, tree.feature)
    else:
        inner = tree.nodes["is_leaf"] == 0
        named = tuple(tree.nodes[name] for name in ("left", "right", "feature_idx"))
        if tree.nodes["is_categorical"].any():
            raise ValueError("a tree of categories, which no model here has")
    left, right, features = (np.asarray(places[inner], dtype=np.int64) for places in named)
    # Children come after their parents, so that no way through a tree is endless.
    places = np.flatnonzero(inner)
    ends = (left > places) & (left < len(inner)) & (right > places) & (right < len(inner))
    if not (ends & (features >= 0) & (features < n_features)).all():
        raise ValueError("a tree leads to nodes or columns that it has not")
