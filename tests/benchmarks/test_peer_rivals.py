"""Comparisons with peers that one who knows nothing cannot pass: by few vectors, by genes that
always come back, by intervals of everything, by saying the base rate."""

import numpy as np
import pytest
from benchmarks.peers import calibration, coverage, genes, rvm


@pytest.mark.parametrize(("accuracy", "verdicts"), [(0.90, ["yes", "yes"]), (0.60, ["NO", "NO"])])
def test_few_vectors_count_only_with_the_accuracy(accuracy, verdicts, monkeypatch):
    plain = {"constant": 0.5, "guess": 0.5, "logistic regression": 0.7}
    monkeypatch.setattr(rvm, "plain_accuracies", lambda *_: plain)
    fits = [rvm.Comparison(500, (1.0, 10.0), (-150.0, -150.0), (accuracy, 0.9), (1, 20), 0.0)] * 3
    right, vectors = rvm._rows_of(fits)[2:]
    assert [right.verdict, vectors.verdict] == verdicts
    assert set(vectors.rivals.values()) == {500.0}


def test_genes_that_always_come_back_are_nothing_without_the_area():
    def verdict(area, jaccard):
        figures = {
            "ours-5": genes.Figures(area, 5.0, jaccard),
            "ours-10": genes.Figures(area, 10.0, jaccard),
            "anova-5": genes.Figures(0.90, 5.0, 0.2),
        }
        (row,) = [row for row in genes.table_rows("golub", figures) if "Jaccard" in row.metric]
        return row.verdict

    assert [verdict(0.98, 0.3), verdict(0.98, 0.2), verdict(0.50, 1.0)] == ["yes", "NO", "NO"]


def test_intervals_of_everything_are_as_wrong_as_those_of_nothing():
    def rows(share):
        cases = [
            coverage.Case(
                "kind", 3 + 2 * (k % 2), k < share, True, 0.1, True, 0.3, True, True, True
            )
            for k in range(100)
        ]
        return coverage.judged("error", cases, quick=False)

    def verdicts(share):
        return [row.verdict for row in rows(share) if row.bar is not None]

    assert verdicts(95) == ["yes"] * 3
    assert verdicts(0) == verdicts(50) == verdicts(100) == ["NO"] * 3


def test_the_base_rate_is_no_better_than_itself_and_holds_no_set():
    base, better, worse = ({"excess": excess, "excess_error": 0.01} for excess in (0.0, -0.2, 0.2))
    assert calibration._held([base, base, base]) == 0
    assert calibration._held([better, base, base]) == 3
    assert calibration._held([better, base, worse]) == 2
    np.testing.assert_allclose(calibration._even("iris"), np.log(3))
