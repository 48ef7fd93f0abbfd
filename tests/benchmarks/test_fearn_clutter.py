import numpy as np
import pytest
from benchmarks.reproduce import _fearn_clutter as clutter
from benchmarks.reproduce._fearn_clutter_rows import cell, evidence_rows, generator_rows, table_rows


@pytest.fixture(scope="module")
def readings():
    """The reading that agrees, and the problem as it is stated, with as many samples as printed."""
    jobs = [job for job in clutter.generators(quick=True) if job.generated == job.fitted]
    jobs = [job for job in jobs if (job.design == "mixture") == (job.generated == 10)]
    return {job: clutter.generated(job) for job in jobs}


def test_printed_rows_are_those_of_the_weighted_sum_and_not_of_the_mixture(readings):
    rows = generator_rows(readings)
    agreeing = [row for row in rows if "2 standard errors" in row.metric]
    assert len(agreeing) == 8
    assert all(row.ours < row.peer < row.rivals["constant: the true mean"] for row in agreeing)
    (other,) = (row for row in rows if row.case.startswith("Which generator"))
    assert other.ok
    assert other.ours < 2
    assert other.peer > 4


def test_a_cell_has_every_method_and_its_samples_in_order():
    jobs = [clutter.Samples("mixture", 20, 0.2, first) for first in (10, 0)]
    found = {job: clutter.work(job) for job in jobs}
    means = cell(found, "mixture", 20, 0.2, clutter.EP)
    X = clutter.rows_of("mixture", 20, 0.2, 3)
    assert len(means) == 2 * clutter.BLOCK
    assert means[3] == clutter.fit(X, 0.2).mean_[0]
    (row,) = evidence_rows(found)
    assert row.ours < 0.01
    weighted = clutter.Samples("weighted_sum", 20, 0.2, 0)
    rows = table_rows({jobs[1]: found[jobs[1]], weighted: clutter.work(weighted)})
    assert {row.case for row in rows} == {"Table 3.1, n 20, w 0.2"}
    assert len(rows) == 6


def test_samples_of_a_cell_are_independent_of_those_of_another():
    one, other = (clutter.rows_of("mixture", 200, weight, 0) for weight in (0.2, 0.25))
    assert not np.isin(one, other).any()
