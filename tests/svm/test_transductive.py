"""`TransductiveSVC`: the toy sets of the source, its options, and hard cases."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.svm import SVC

from parsimon.datasets import load
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import SquaredExponential, as_kernel
from parsimon.svm.transductive import TransductiveSVC
from tests.svm.transduction_problems import four_clusters, three_clusters


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(60, centers=[[-4.0, 0.0], [4.0, 0.5]], random_state=3)
    X.flags.writeable = False
    known = np.full(60, -1)
    known[:8] = y[:8]
    return X, known, y


def test_two_moons_need_seven_labels():
    errors = []
    for seed in range(3):
        X, truth = make_moons(200, noise=0.07, random_state=seed)
        y = np.full(200, -1)
        y[:7] = truth[:7]
        model = TransductiveSVC(gamma=5.0, stall=2, random_state=seed).fit(X, y)
        errors.append((model.transduction_ != truth).mean())
        plain = SVC(gamma=5.0).fit(X[:7], truth[:7])
        assert (plain.predict(X) != truth).mean() > 0.03
    assert np.median(errors) <= 0.01


def test_four_clusters_are_split_horizontally():
    X, y, shown = four_clusters()
    options = {"C": 1.0, "kernel": "linear", "positive_ratio": None}
    model = TransductiveSVC(**options).fit(X, y)
    assert model.transduction_.tolist() == shown.tolist()
    assert model.objective_ == pytest.approx(0.03125)
    direction = (model.dual_coef_ @ model.support_vectors_)[0]
    np.testing.assert_allclose(direction, [0.0, 0.25], atol=1e-6)
    plain = SVC(kernel="linear").fit(X[:2], y[:2])
    assert abs(plain.coef_[0, 0]) > 0.01


def test_three_clusters_are_cut_between_the_middle_and_the_bottom_one():
    X, y, heaps = three_clusters()
    model = TransductiveSVC(kernel="linear", stall=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.transduction_ == 1, heaps > 0)
    middle, bottom = (model.decision_function(X[heaps == heap]) for heap in (1, 0))
    assert middle.min() > 0.9
    assert bottom.max() < -0.9
    labelled = y >= 0
    plain = SVC(kernel="linear").fit(X[labelled], y[labelled]).decision_function(X[heaps == 1])
    assert plain.min() < 0.2


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_without_unlabelled_rows_it_is_the_plain_machine(blobs, kernel):
    X, _, y = blobs
    polynomial = {"degree": 2, "coef0": 1.0}
    same = as_kernel(kernel, gamma=0.3, **polynomial)
    model = TransductiveSVC(0.5, kernel=same).fit(X, y)
    plain = SVC(C=0.5, kernel=kernel, gamma=0.3, **polynomial).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.sort(plain.support_))
    order = np.argsort(plain.support_)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_[:, order], atol=1e-8)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-6
    )
    np.testing.assert_array_equal(model.transduction_, y)
    np.testing.assert_array_equal(model.n_support_, plain.n_support_)


def test_no_labels_at_all_are_sent_elsewhere(blobs):
    with pytest.raises(InvalidInputError, match="ParetoTransductiveSVC, which then finds two"):
        TransductiveSVC().fit(blobs[0], np.full(60, -1))


def test_one_labelled_class_is_refused(blobs):
    X, y, _ = blobs
    with pytest.raises(InvalidInputError, match="got one class: 1"):
        TransductiveSVC().fit(X, np.where(y == 0, -1, y))


def test_texts_and_numbers_give_the_same_machine(blobs):
    X, y, truth = blobs
    names = np.array(["no", "yes"], dtype=object)
    texts = np.where(y < 0, None, names[y])
    model = TransductiveSVC(stall=2, random_state=0).fit(X, texts)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.transduction_ == "yes", truth == 1)
    numbers = TransductiveSVC(stall=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), numbers.decision_function(X))


def test_duplicated_rows_and_a_singular_kernel(blobs):
    X, y, truth = blobs
    twice = TransductiveSVC(kernel="linear", stall=2, random_state=0).fit(
        np.concatenate([X, X]), np.concatenate([y, y])
    )
    np.testing.assert_array_equal(twice.transduction_, np.concatenate([truth, truth]))
    assert np.isfinite(twice.decision_function(X)).all()
    # Every row alike: nothing can be told apart, and nothing breaks.
    alike = TransductiveSVC(stall=2, random_state=0).fit(np.ones((30, 2)), y[:30])
    assert set(alike.transduction_) <= {0, 1}


def test_precomputed_kernels_kernel_values_and_callables_agree(blobs):
    X, y, _ = blobs
    named = TransductiveSVC(gamma=0.5, stall=2, random_state=0).fit(X, y)
    kernel = SquaredExponential(lengthscale=1.0)
    K = kernel.gram(X)
    given = TransductiveSVC(kernel=kernel, stall=2, random_state=0).fit(X, y)
    computed = TransductiveSVC(kernel="precomputed", stall=2, random_state=0).fit(K, y)
    called = TransductiveSVC(kernel=kernel.gram, stall=2, random_state=0).fit(X, y)
    for model, rows in ((given, X), (computed, K), (called, X)):
        np.testing.assert_allclose(
            model.decision_function(rows), named.decision_function(X), atol=1e-6
        )


def test_three_classes_go_one_against_the_rest_in_any_number_of_processes():
    X, truth = make_blobs(90, centers=[[-4, 0], [4, 0], [0, 6]], random_state=0)
    y = np.full(90, -1)
    y[:12] = truth[:12]
    options = {"C": 5.0, "stall": 1, "max_iter": 2, "random_state": 0}
    model = TransductiveSVC(**options).fit(X, y)
    assert model.decision_function(X).shape == (90, 3)
    assert model.objective_.shape == (3,)
    assert (model.transduction_ == truth).mean() > 0.97
    parallel = TransductiveSVC(**options, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(parallel.dual_coef_, model.dual_coef_)


def test_three_classes_without_unlabelled_rows_are_plain_machines():
    X, y = load_iris(return_X_y=True)
    model = TransductiveSVC().fit(X, y)
    for code in range(3):
        plain = SVC().fit(X, y == code)
        np.testing.assert_allclose(
            model.decision_function(X)[:, code], plain.decision_function(X), atol=1e-6
        )


def test_same_seed_same_bits(blobs):
    X, y, _ = blobs
    rng = np.random.default_rng(0)
    X = X + rng.normal(size=X.shape)
    first, second = (TransductiveSVC(gamma=2.0, stall=2, random_state=5).fit(X, y) for _ in "ab")
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    np.testing.assert_array_equal(first.transduction_, second.transduction_)


def test_the_class_ratio_is_kept(blobs):
    X, y, _ = blobs
    for ratio, count in ((0.25, 13), (0.75, 39)):
        model = TransductiveSVC(positive_ratio=ratio, stall=1, random_state=0).fit(X, y)
        assert (model.transduction_[8:] == 1).sum() == count
    model = TransductiveSVC(positive_ratio=(0.1, 0.2), stall=1, random_state=0).fit(X, y)
    assert 6 <= (model.transduction_[8:] == 1).sum() <= 10
    with pytest.raises(InvalidInputError, match="positive_ratio must be"):
        TransductiveSVC(positive_ratio="half").fit(X, y)


def test_costs(blobs):
    X, y, _ = blobs
    X = X + 3.0 * np.random.default_rng(1).normal(size=X.shape)
    # A wrong label wants a multiplier as large as it may have.
    y = np.where(np.arange(60) == 0, 1 - y[0], y)
    model = TransductiveSVC(C=3.0, C_unlabelled=0.2, stall=1, random_state=0).fit(X, y)
    sizes = np.zeros(60)
    sizes[model.support_] = np.abs(model.dual_coef_[0])
    assert sizes[8:].max() == pytest.approx(0.2)
    assert 0.2 < sizes[:8].max() <= 3.0
    heuristic = TransductiveSVC(C="heuristic", kernel="linear", stall=1, random_state=0).fit(X, y)
    trace = (X**2).sum()
    assert np.abs(heuristic.dual_coef_).max() == pytest.approx(60 / trace, rel=1e-6)
    for option, value in (("C", 0.0), ("C_unlabelled", -1.0), ("C", "much")):
        with pytest.raises(InvalidInputError, match=f"{option} must be a positive number"):
            TransductiveSVC(**{option: value}).fit(X, y)


def test_weights_of_rows_and_classes(blobs):
    X, y, _ = blobs
    weights = np.ones(60)
    weights[40:] = 0.0
    model = TransductiveSVC(gamma=0.5, stall=1, random_state=0).fit(X, y, sample_weight=weights)
    fewer = TransductiveSVC(gamma=0.5, stall=1, random_state=0).fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.dual_coef_, fewer.dual_coef_)
    assert len(model.transduction_) == 60
    np.testing.assert_array_equal(model.transduction_[40:], model.predict(X[40:]))
    rng = np.random.default_rng(1)
    X, truth = X + 3.0 * rng.normal(size=X.shape), blobs[2]
    for class_weight in ({1: 5.0}, "balanced"):
        ours = TransductiveSVC(class_weight=class_weight, gamma=0.5).fit(X, truth)
        plain = SVC(class_weight=class_weight, gamma=0.5).fit(X, truth)
        np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=1e-6)
    weights = rng.uniform(0.5, 2.0, 60)
    ours = TransductiveSVC(gamma=0.5).fit(X, truth, sample_weight=weights)
    assert np.abs(ours.dual_coef_[0]).max() > 1.0
    assert (np.abs(ours.dual_coef_[0]) <= weights[ours.support_] + 1e-12).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "best"}, "method must be"),
        ({"population_size": 1}, "population_size must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"stall": 0}, "stall must be"),
        ({"time_limit": -1.0}, "time_limit must be"),
        ({"method": "exhaustive"}, "at most 24 unlabelled rows"),
    ],
)
def test_odd_options_are_refused(blobs, options, match):
    with pytest.raises(InvalidInputError, match=match):
        TransductiveSVC(**options).fit(*blobs[:2])


def test_how_it_ended(blobs):
    X, y, _ = blobs

    def ended(**options):
        return TransductiveSVC(random_state=0, **options).fit(X, y).stopped_by_

    assert ended(stall=1) == "stall"
    assert ended(max_iter=1, stall=5) == "max_iter"
    assert ended(time_limit=1e-6) == "time_limit"
    assert ended(method="greedy") == "converged"
    assert ended(method="greedy", time_limit=1e-6) == "time_limit"
    assert TransductiveSVC().fit(X[:12], y[:12]).stopped_by_ == "exact"


def drawn(truth, n_each, seed):
    """Return labels of a few rows of each class, -1 elsewhere."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for code in np.unique(truth):
        rows = rng.choice(np.flatnonzero(truth == code), n_each, replace=False)
        y[rows] = code
    return y


def crabs():
    """Return the species of crabs, which are no clusters, and their standardised sizes and sex."""
    data = load("crabs")
    table = np.asarray(data.data)
    text = np.array([isinstance(value, str) for value in table[0]])
    columns = [
        (c == c[0]).astype(float) if is_text else c.astype(float)
        for c, is_text in zip(table.T, text, strict=True)
    ]
    X = np.column_stack(columns)
    truth = np.unique(np.asarray(data.target), return_inverse=True)[1]
    return (X - X.mean(axis=0)) / X.std(axis=0), truth


def test_defaults_do_no_harm_where_classes_are_no_clusters():
    X, truth = crabs()
    ours, plain = [], []
    for seed in range(4):
        y = drawn(truth, 10, seed)
        hidden = y < 0
        model = TransductiveSVC(random_state=0).fit(X, y)
        ours.append((model.transduction_ != truth)[hidden].mean())
        plain.append((SVC().fit(X[~hidden], y[~hidden]).predict(X) != truth)[hidden].mean())
        if model.fell_back_:
            assert "were not used" in model.reason_
            assert model.C_unlabelled_ == 0.0
            assert (y[model.support_] >= 0).all()
    assert np.mean(ours) <= np.mean(plain)
    # Asked for in so many words, the unlabelled rows are used, and do harm.
    forced = TransductiveSVC(1.0, C_unlabelled=None, random_state=0).fit(X, y)
    assert not forced.fell_back_
    assert (forced.transduction_ != truth)[hidden].mean() > ours[-1]


def test_defaults_find_moons_and_say_so():
    X, truth = make_moons(200, noise=0.07, random_state=1)
    y = np.full(200, -1)
    y[:7] = truth[:7]
    model = TransductiveSVC(random_state=0).fit(X, y)
    assert (model.transduction_ == truth).all()
    assert not model.fell_back_
    assert model.reason_.startswith("The unlabelled rows were used: labels that spread along")
    assert (model.C_, model.C_unlabelled_) == (10.0, 3.0)


def test_a_machine_that_falls_back_is_svc_of_the_labelled_rows():
    X, truth = crabs()
    y = drawn(truth, 10, 0)
    model = TransductiveSVC(C=2.0, gamma=0.2, random_state=0).fit(X, y)
    assert model.fell_back_
    known = y >= 0
    plain = SVC(C=2.0, gamma=0.2).fit(X[known], y[known])
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.transduction_[~known], plain.predict(X[~known]))
    # A class ratio that was asked for holds all the same.
    kept = TransductiveSVC(C=2.0, gamma=0.2, positive_ratio=0.25, random_state=0).fit(X, y)
    assert kept.fell_back_
    assert (kept.transduction_[~known] == 1).sum() == 45


def test_the_price_is_raised_where_rows_left_out_ask_for_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    # A narrow border that a soft machine blurs: both classes lie along parallel lines.
    truth = np.arange(60) % 2
    X = np.column_stack((4.0 * X[:, 0], 0.3 * truth + 0.02 * X[:, 1]))
    y = np.where(np.arange(60) < 40, truth, -1)
    options = {"C_unlabelled": None, "stall": 1, "random_state": 0}
    chosen = TransductiveSVC(kernel="linear", **options).fit(X, y)
    assert chosen.C_ > 10.0
    noise = TransductiveSVC(**options)
    assert noise.fit(rng.normal(size=(60, 2)), y).C_ == 10.0


def test_classes_share_one_labelling_and_beat_one_against_the_rest():
    X, truth = load_iris(return_X_y=True)
    errors = {"default": [], "greedy": [], "plain": []}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.full(150, -1)
        rows = np.concatenate([rng.choice(150, 9, replace=False), [0, 50, 100]])
        y[rows] = truth[rows]
        hidden = y < 0
        models = {"default": TransductiveSVC(), "greedy": TransductiveSVC(1.0, method="greedy")}
        for key, model in models.items():
            found = model.fit(X, y).transduction_
            errors[key].append((found != truth)[hidden].mean())
        plain = SVC().fit(X[~hidden], y[~hidden])
        errors["plain"].append((plain.predict(X) != truth)[hidden].mean())
    assert np.mean(errors["default"]) <= np.mean(errors["greedy"])
    assert np.mean(errors["default"]) <= np.mean(errors["plain"])


def test_shares_of_several_classes_leave_room_for_all_rows():
    X, truth = make_blobs(90, centers=[[-4, 0], [4, 0], [0, 6]], random_state=0)
    y = drawn(truth, 3, 0)
    with pytest.raises(InvalidInputError, match="allows 60 to 60 rows in all 3 classes"):
        TransductiveSVC(positive_ratio=0.25).fit(X, y)
    model = TransductiveSVC(positive_ratio=(0.2, 0.35)).fit(X, y)
    assert np.bincount(model.transduction_[y < 0]).max() <= 28


def test_a_weight_of_two_is_a_labelled_row_twice(blobs):
    X, y, _ = blobs
    X = X + 2.0 * np.random.default_rng(1).normal(size=X.shape)
    weights = np.ones(60)
    weights[:3] = [2.0, 3.0, 2.0]
    repeated = np.repeat(np.arange(60), weights.astype(int))
    for options in ({}, {"C": 1.0, "C_unlabelled": 0.5}, {"method": "greedy"}):
        weighted = TransductiveSVC(stall=1, random_state=0, **options)
        weighted.fit(X, y, sample_weight=weights)
        twice = TransductiveSVC(stall=1, random_state=0, **options).fit(X[repeated], y[repeated])
        np.testing.assert_allclose(
            weighted.decision_function(X), twice.decision_function(X), atol=1e-9
        )
        np.testing.assert_array_equal(weighted.transduction_[repeated], twice.transduction_)
        assert weighted.reason_ == twice.reason_


def test_weights_count_in_the_class_ratio(blobs):
    X, y, _ = blobs
    weights = np.where(y == 1, 7.0, 1.0)
    greedy = TransductiveSVC(1.0, method="greedy").fit(X, y, sample_weight=weights)
    n_positive, n_negative = (y == 1).sum(), (y == 0).sum()
    share = 7.0 * n_positive / (7.0 * n_positive + n_negative)
    assert (greedy.transduction_[8:] == 1).sum() == int(52 * share + 0.5)
    # The weights of classes are prices; they say nothing about how many rows there are.
    priced = TransductiveSVC(1.0, method="greedy", class_weight={1: 7.0}).fit(X, y)
    assert (priced.transduction_[8:] == 1).sum() == int(52 * n_positive / 8 + 0.5)
