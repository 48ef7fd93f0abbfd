import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binomtest, bootstrap, norm
from sklearn.metrics import roc_auc_score

from parsimon.exceptions import InvalidInputError
from parsimon.roc import auc, auc_interval, roc_band, roc_points
from parsimon.roc.intervals import bca_bounds, model_variance, newcombe_bounds, wilson_bounds

METHODS = ("logit", "delong", "newcombe", "percentile", "bca")
tied = st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=20).filter(
    lambda rows: 0 < sum(y for y, _ in rows) < len(rows)
)


def delong_by_pairs(y, scores, tie):
    """Return DeLong's variance from the whole table of pairs."""
    difference = scores[y == 1][:, None] - scores[y == 0]
    wins = (difference > 0) + tie * (difference == 0)
    m, n = wins.shape
    return wins.mean(axis=1).var(ddof=1) / m + wins.mean(axis=0).var(ddof=1) / n


@pytest.mark.parametrize(("ties", "tie"), [("mid", 0.5), ("strict", 0.0)])
def test_the_standard_error_is_that_of_all_pairs(binormal, ties, tie):
    y, scores = binormal[0], binormal[1].round(0)
    interval = auc_interval(y, scores, ties=ties)
    assert interval.auc == pytest.approx(auc(y, scores, ties=ties))
    assert interval.standard_error == pytest.approx(np.sqrt(delong_by_pairs(y, scores, tie)))


def test_normal_bounds_are_as_defined(binormal):
    y, scores = binormal
    plain = auc_interval(y, scores, method="delong", confidence=0.9)
    margin = norm.ppf(0.95) * plain.standard_error
    assert (plain.lower, plain.upper) == pytest.approx((plain.auc - margin, plain.auc + margin))
    moved = auc_interval(y, scores, confidence=0.9)
    odds = np.log(moved.auc / (1 - moved.auc))
    width = margin / (moved.auc * (1 - moved.auc))
    expected = 1 / (1 + np.exp(-odds + width)), 1 / (1 + np.exp(-odds - width))
    assert (moved.lower, moved.upper) == pytest.approx(expected)
    assert moved.method == "logit"


@given(tied, st.sampled_from(METHODS), st.sampled_from(["mid", "strict"]))
def test_every_interval_has_width_and_stays_within_zero_and_one(rows, method, ties):
    y, scores = zip(*rows, strict=True)
    interval = auc_interval(y, scores, method=method, ties=ties, n_resamples=50, random_state=0)
    assert 0 <= interval.lower <= interval.upper <= 1
    if method not in ("percentile", "bca"):
        assert interval.lower < interval.upper
        assert interval.lower <= interval.auc <= interval.upper


@pytest.mark.parametrize("method", METHODS)
def test_perfect_separation_gives_newcombe_s_interval_and_says_so(method):
    y, scores = [0] * 10 + [1] * 10, np.arange(20)
    perfect = auc_interval(y, scores, method=method)
    assert (perfect.method, perfect.upper, perfect.standard_error) == ("newcombe", 1.0, 0.0)
    assert perfect.lower == pytest.approx(0.80, abs=0.001)
    reverse = auc_interval(y, -scores, method=method)
    assert (reverse.auc, reverse.lower) == (0.0, 0.0)
    assert reverse.upper == pytest.approx(1 - perfect.lower)


def test_a_class_of_one_row_and_constant_scores_have_no_variance():
    one = auc_interval([0, 0, 0, 1], [1, 2, 4, 3])
    assert one.method == "newcombe"
    assert np.isnan(one.standard_error)
    constant = auc_interval([0] * 7 + [1] * 3, [1 / 3] * 10)
    assert (constant.auc, constant.method) == (0.5, "newcombe")
    assert constant.lower < 0.35


@given(st.floats(0.001, 0.999), st.integers(1, 200), st.integers(1, 200))
def test_newcombe_s_bounds_are_one_standard_error_of_their_own_away(area, m, n):
    for bound, side in zip(newcombe_bounds(area, m, n, 0.95), (1, -1), strict=True):
        assert side * (area - bound) > 0
        assert side * (area - bound) == pytest.approx(
            norm.ppf(0.975) * np.sqrt(model_variance(bound, m, n)), rel=1e-5
        )


def test_the_model_variance_is_hanley_and_mcneil_s_for_equal_classes():
    a, n = 0.8, 30
    q1, q2 = a / (2 - a), 2 * a**2 / (1 + a)
    expected = (a * (1 - a) + (n - 1) * (q1 - a**2) + (n - 1) * (q2 - a**2)) / n**2
    assert model_variance(a, n, n) == pytest.approx(expected)


def test_bootstrap_bounds_agree_with_scipy_s(binormal):
    y, scores = binormal[0], binormal[1].round(1)
    samples = scores[y == 1], scores[y == 0]

    def statistic(positive, negative):
        return np.mean((positive[:, None] > negative) + 0.5 * (positive[:, None] == negative))

    for ours, theirs in (("percentile", "percentile"), ("bca", "BCa")):
        interval = auc_interval(y, scores, method=ours, n_resamples=20_000, random_state=0)
        reference = bootstrap(
            samples, statistic, method=theirs, n_resamples=2000, vectorized=False, rng=1
        ).confidence_interval
        # Three standard errors of a 2.5% quantile from 2000 draws.
        noise = 3 * interval.standard_error * np.sqrt(0.025 * 0.975 / 2000) / norm.pdf(1.96)
        assert interval.lower == pytest.approx(reference.low, abs=noise)
        assert interval.upper == pytest.approx(reference.high, abs=noise)


def test_half_of_the_draws_equal_to_the_estimate_count_as_below():
    draws = np.repeat([-1.0, 0.0, 1.0], [250, 500, 250])
    lower, upper = bca_bounds(draws, 0.0, np.array([-1.0, 1.0]), 0.6)
    assert (lower, upper) == (-1.0, 1.0)
    one_sided, _ = bca_bounds(draws, -1.0, np.array([-1.0, 1.0]), 0.6)
    assert one_sided == -1.0


def test_bca_bends_the_quantiles_by_the_skewness_of_the_influence():
    draws = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    influence = np.array([-1.0, -1.0, 2.0])
    acceleration = 6 / (6 * 6**1.5)
    bounds = bca_bounds(draws, 0.0, influence, 0.9)
    expected = [z / (1 - acceleration * z) for z in norm.ppf([0.05, 0.95])]
    assert bounds == pytest.approx(tuple(expected), abs=1e-3)


def test_bca_stays_finite_when_all_draws_lie_on_one_side():
    lower, upper = bca_bounds(np.linspace(0.8, 0.9, 50), 0.95, np.array([-1.0, 1.0]), 0.95)
    assert (lower, upper) == pytest.approx((0.9, 0.9), abs=1e-3)


def test_bca_corrects_for_skewness(rng):
    y = np.repeat([0, 1], [15, 15])
    scores = rng.normal(size=30) + 2.2 * y
    percentile, bca = (
        auc_interval(y, scores, method=m, n_resamples=5000, random_state=0)
        for m in ("percentile", "bca")
    )
    assert percentile.auc > 0.9
    assert bca.lower < percentile.lower - 0.005


def test_the_bootstrap_is_seeded_and_counts_its_resamples(binormal):
    y, scores = binormal

    def bounds(**options):
        interval = auc_interval(y, scores, method="percentile", **options)
        return interval.lower, interval.upper

    assert bounds(random_state=3) == bounds(random_state=3)
    assert bounds(random_state=3) != bounds(random_state=4)
    assert bounds(random_state=3) != bounds(random_state=3, n_resamples=500)


def test_strict_ties_are_resampled_strictly():
    y, scores = np.repeat([0, 1], 20), np.tile([0, 0, 1, 2], 10)
    mid, strict = (
        auc_interval(y, scores, method="percentile", ties=t, random_state=0)
        for t in ("mid", "strict")
    )
    assert strict.lower < strict.auc == 0.3125 < strict.upper < mid.upper - 0.1
    assert mid.lower < mid.auc == 0.5 < mid.upper


def test_intervals_cover_as_often_as_they_say():
    truth, hits = ndtr(1.5 / np.sqrt(2)), {"logit": 0, "newcombe": 0}
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], [30, 20])
    for _ in range(600):
        scores = rng.normal(size=50) + 1.5 * y
        for method in hits:
            interval = auc_interval(y, scores, method=method)
            hits[method] += interval.lower <= truth <= interval.upper
    for count in hits.values():
        assert binomtest(count, 600, 0.95).pvalue > 0.001


def test_printing_gives_estimate_and_bounds():
    interval = auc_interval([0] * 5 + [1] * 5, [1, 2, 3, 4, 7, 5, 6, 8, 9, 10], confidence=0.9)
    assert str(interval) == f"0.920 (90% {interval.lower:.3f} to {interval.upper:.3f})"


def test_the_positive_label_reaches_the_interval(binormal):
    y, scores = binormal
    first, second = (auc_interval(y, scores, pos_label=label) for label in (1, 0))
    assert first.auc == pytest.approx(roc_auc_score(y, scores))
    assert (second.lower, second.upper) == pytest.approx((1 - first.upper, 1 - first.lower))


def test_wilson_s_bounds_are_scipy_s():
    lower, upper = wilson_bounds(np.array([0, 3, 17, 20]) / 20, 20, 0.9)
    for k, low, high in zip((0, 3, 17, 20), lower, upper, strict=True):
        reference = binomtest(k, 20).proportion_ci(0.9, method="wilson")
        assert (low, high) == pytest.approx((reference.low, reference.high), abs=1e-12)


def test_the_band_holds_the_curve_and_narrows_with_confidence(binormal):
    y, scores = binormal
    points = roc_points(y, scores)
    wide, narrow = (roc_band(y, scores, confidence=c, n_points=51) for c in (0.95, 0.5))
    last = np.searchsorted(points.fpr, wide.fpr, side="right") - 1
    curve = points.tpr[last]
    assert (wide.lower <= curve).all()
    assert (curve <= wide.upper).all()
    assert (wide.lower <= narrow.lower).all()
    assert (wide.upper >= narrow.upper).all()
    assert np.mean(wide.upper - wide.lower) > 1.3 * np.mean(narrow.upper - narrow.lower)
    assert (wide.confidence, len(wide.fpr)) == (0.95, 51)
    turned = roc_band(y, -scores, pos_label=0, n_points=51)
    assert turned.lower[25] > 0.6


def test_the_band_of_separated_classes_has_the_width_of_two_independent_shares():
    band = roc_band([0] * 20 + [1] * 20, np.arange(40), confidence=0.9, n_points=1001)
    (low,), (high,) = (side for side in wilson_bounds(np.array([1.0]), 20, np.sqrt(0.9)))
    assert high == 1
    # The negatives' rate may be as high as 1 - low, and the positives' as low as low.
    np.testing.assert_allclose(band.lower[band.fpr < 1 - low - 1e-9], 0)
    np.testing.assert_allclose(band.lower[(band.fpr > 1 - low) & (band.fpr < 1)], low)
    np.testing.assert_array_equal(band.upper, 1)


def test_the_band_covers_the_true_curve_at_each_point():
    rng, hits = np.random.default_rng(8), 0
    y = np.repeat([0, 1], [60, 40])
    truth = norm.sf(norm.isf(0.2) - 1.2)
    for _ in range(300):
        band = roc_band(y, rng.normal(size=100) + 1.2 * y, n_points=6)
        hits += band.lower[1] <= truth <= band.upper[1]
    assert hits / 300 >= 0.95


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auc_interval([0, 1], [1, 2], method="wald"), "got 'wald'"),
        (
            lambda: auc_interval([0, 1], [1, 2], confidence=95),
            "confidence must lie between 0 and 1",
        ),
        (
            lambda: auc_interval([0, 0, 1, 1], [1, 3, 2, 4], method="bca", n_resamples=0),
            "n_resamples must be at least 1",
        ),
        (lambda: roc_band([0, 1], [1, 2], confidence=1), "confidence must lie between 0 and 1"),
        (lambda: roc_band([0, 1], [1, 2], n_points=1), "n_points must be at least 2, got 1"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
