"""Rows of the benchmarks of constructed features, from results that are made up."""

import numpy as np
import pytest
import sklearn
from benchmarks.peers import _features_construction as construction
from benchmarks.reproduce import mierswa_6


def results(names, *, ours, peer):
    found = {}
    for name in names:
        for noise in (0.0, construction.NOISE):
            found[name, noise, "ours"] = {"error": ours, "seconds": 1.0, "nodes": 9}
            found[name, noise, "operon"] = {
                "errors": {"operon, least error": peer, "operon, its own choice": 2 * peer},
                "nodes": {"operon, least error": 9, "operon, its own choice": 3},
                "seconds": 10.0,
            }
    return found


@pytest.mark.parametrize(("ours", "ok"), [(1e-8, True), (0.1, False)])
def test_what_was_promised_of_all_formulas_is_judged(ours, ok):
    names = tuple(construction.LAWS)
    rows = construction._summary(results(names, ours=ours, peer=0.01), names, ["operon"])
    by_metric = {row.metric: row for row in rows}
    found = by_metric["1 - R2 below 1e-6, at most 20 nodes, chosen by default; wished"]
    assert found.ok is ok
    assert by_metric["median seconds; operon"].ok
    best = next(row for row in rows if row.note == "best peer")
    assert best.metric.endswith("operon, least error")
    assert best.ok is ok


def test_a_peers_results_rest_on_its_version_and_call(monkeypatch):
    version = construction.peer_version("lasso")
    assert version.startswith(sklearn.__version__)
    monkeypatch.setitem(
        construction.PEERS, "lasso", construction.PEERS["lasso"]._replace(fit=construction._gplearn)
    )
    assert construction.peer_version("lasso") != version


def test_rows_are_the_same_for_every_method():
    law = construction.LAWS["lens"]
    X, y, X_test, truth = construction._drawn(law, 0.05)
    again = construction._drawn(law, 0.05)
    np.testing.assert_array_equal(y, again[1])
    assert X.shape == (500, 3)
    assert X_test.shape == (1000, 3)
    clean = law.compute(dict(zip(law.ranges, X.T, strict=True)))
    assert np.std(y - clean) == pytest.approx(0.05 * truth.std(), rel=0.15)


def test_the_printed_sets_have_the_errors_that_were_measured_for_them():
    errors = [
        np.median([mierswa_6.printed_error(powers, *mierswa_6.func6(seed)) for seed in range(20)])
        for powers in mierswa_6.TABLE_6_2
    ]
    expected = [16253, 4621, 2794, 2789, 1509]
    np.testing.assert_allclose(errors, expected, rtol=0.05)


def test_a_front_that_misses_a_size_fails():
    found = [
        {
            "errors": dict.fromkeys("12345", 1.0),
            "printed": dict.fromkeys("12345", 2.0),
            "sets": dict.fromkeys("12345", "x1"),
            "sizes": [1, 2, 3, 5],
            "uses_noise": False,
            "plain": {"constant": {"error": 9.0, "peak": 9.0}},
        }
    ]
    rows = mierswa_6.front_rows("from columns", found, promised=True)
    assert [row.ok for row in rows] == [True] * 5 + [False, True]
