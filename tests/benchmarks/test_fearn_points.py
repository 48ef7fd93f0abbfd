"""Reproduction of Fearn's chapter 4: what its columns say, and the printed evidence."""

import numpy as np
import pytest
from benchmarks.reproduce import _fearn_chromosomes, fearn_4
from benchmarks.reproduce._fearn_choice import CORRECTED, LITERAL, Tried, chosen, figures
from benchmarks.reproduce._fearn_linear import both_classes, printed_evidence
from scipy.special import log_ndtr

from parsimon.bpm import gamma_ep


def design_and_labels():
    rng = np.random.default_rng(1)
    x = rng.normal(size=10)
    return np.column_stack([np.ones(10), x]), np.where(x > 0.2, 1.0, -1.0)


@pytest.mark.parametrize("gamma", [-1.0, 0.3])
def test_the_printed_evidence_sums_squares_of_the_reused_means(gamma):
    """Both forms by their formulas: Fearn (2021), equations 4.24 to 4.26, in units of the noise."""
    design, y = design_and_labels()
    found = gamma_ep(design, y, gamma=gamma, max_passes=5)
    v, alpha = 1 / found.precision, found.alpha
    reused = v * (found.shift + gamma * alpha)
    spread = found.cavity_variance - 1.0
    scales = log_ndtr(found.cavity_mean / np.sqrt(found.cavity_variance))
    scales += 0.5 * np.log1p(spread / v) + alpha**2 * (spread - gamma * v) ** 2 / (2 * (spread + v))
    inner = found.mean @ np.linalg.solve(found.covariance, found.mean)
    half = 0.5 * np.linalg.slogdet(found.covariance)[1]
    corrected = half + 0.5 * (inner - np.sum((reused - gamma * v * alpha) ** 2 / v)) + scales.sum()
    printed = half + 0.5 * (inner - np.sum(reused**2 / v)) + scales.sum()
    assert printed_evidence(found, gamma) - found.log_evidence == pytest.approx(
        printed - corrected, rel=1e-6
    )
    if gamma == -1.0:
        assert found.log_evidence == pytest.approx(corrected, abs=2e-3)


def test_both_classes_stay():
    push, y = np.array([0.5, 0.1, 0.01, 0.02]), np.array([1.0, 1.0, -1.0, -1.0])
    assert both_classes(push, 0.2, y).tolist() == [0, 3]


def test_the_printed_columns_give_the_printed_means_and_unpaired_p_values():
    found = _fearn_chromosomes.printed_rows()
    assert all(row.ok for row in found)
    tests = [row for row in found if row.metric.startswith("p-value")]
    assert [round(row.ours, 3) for row in tests] == [0.245, 0.963, 0.944, 0.078]
    assert "paired 0.0067" in tests[0].note


def test_the_chromosome_left_out_says_nothing_of_how_the_others_are_scaled_and_counted():
    from parsimon.datasets import make_variants

    variants = make_variants(4, 24, random_state=0)
    words, seen = variants.columns["spectrum"], variants.chromosome != 2
    other = variants.table.copy()
    numbers = other.columns.difference(words)
    other.loc[~seen, numbers] = 100.0 + 7.0 * other.loc[~seen, numbers]
    other.loc[~seen, words] = "A" * 40
    tables = []
    for table in (variants.table, other):
        standard = _fearn_chromosomes._standard(table, words, seen)
        tables.append(_fearn_chromosomes._counted(standard, words, seen)[seen])
    np.testing.assert_array_equal(tables[0].to_numpy(), tables[1].to_numpy())
    assert tables[0].columns.tolist() == tables[1].columns.tolist()
    np.testing.assert_allclose(tables[0][numbers].mean(), 0.0, atol=1e-12)


def test_an_error_that_logistic_regression_has_too_has_no_bar(monkeypatch):
    from benchmarks.reproduce import _fearn_splits
    from benchmarks.reproduce._fearn_tables import Figure

    ours, printed = np.linspace(0.14, 0.18, 50), Figure(0.16, 0.03)

    def row(rival):
        monkeypatch.setattr(_fearn_splits, "plain_errors", lambda *_: {"logistic": rival})
        return _fearn_splits.error_row("Heart", "case", ours, printed, is_described=True)

    assert (row(0.3).ok, row(0.3).bar) == (True, 1.0)
    assert row(0.161).bar is None
    assert "met by logistic" in row(0.161).note


def test_the_corrected_evidence_is_that_of_quadrature_and_the_printed_is_not():
    first, second, above, _ = fearn_4.evidence_rows()
    assert first.ok
    assert second.ours > 1.0
    assert above.ours > 5


def test_literal_is_one_setting_for_all_splits_and_corrected_one_for_each():
    """Ties by the mean evidence, where it is finite, or by the validation rows' probability."""
    nan = float("nan")
    first = [Tried(0.1, -0.5, nan, (0.3,)), Tried(0.2, -0.4, 1.0, (0.2,))]
    second = [Tried(0.3, -0.5, nan, (0.5,)), Tried(0.2, -0.4, 2.0, (0.4,))]
    assert chosen([first, second], LITERAL).tolist() == [1, 1]
    assert chosen([first, second], CORRECTED).tolist() == [0, 1]
    assert figures([first, second], CORRECTED).tolist() == [[0.3], [0.4]]
    unknown = [[one._replace(evidence=nan) for one in split] for split in (first, second)]
    assert chosen(unknown, LITERAL).tolist() == [0, 0]
    tied = [[Tried(0.1, -0.5, 0.0, ()), Tried(0.1, -0.4, 0.0, ())]]
    assert chosen(tied, CORRECTED).tolist() == [1]
