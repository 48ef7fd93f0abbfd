"""Tables that those who know nothing once passed: made-up results that must miss their bars now."""

import numpy as np
import pytest
from benchmarks.reproduce import (
    _fearn_simulation,
    autogpc,
    clark_3,
    clark_4,
    clark_5,
    mierswa_4_rvm,
    mierswa_6,
)
from benchmarks.reproduce._clark_chains import BEST, at_random
from benchmarks.reproduce._clark_planted import in_common
from benchmarks.reproduce._clark_tables import RVM

REGRESSION, CLASSIFICATION = "RVM regression", "RVM classification"


def chains_of(test, n=12, width=0.002):
    """Return chains of Ripley whose ways have these test areas, apart by some width."""
    own = np.linspace(-width, width, n)
    return [
        {
            "areas": {way: [0.94, 0.94, area + shift, 0.95, 100] for way, area in test.items()},
            "single": [0.70, 0.79],
            "distinct": 700,
        }
        for shift in own
    ]


AREAS = {
    "chain average": 0.965,
    "top 68 by training AUC": 0.952,
    "top 199 by training AUC": 0.959,
    REGRESSION: 0.964,
    CLASSIFICATION: 0.889,
    at_random(REGRESSION): 0.950,
    at_random(CLASSIFICATION): 0.950,
    BEST: 0.80,
}


@pytest.fixture
def line(monkeypatch):
    monkeypatch.setattr(clark_5, "logistic_area", lambda *_: 0.90)


def chain_rows(areas, **options):
    found = [{"chains": chains_of(areas, **options), "n_lost": 0, "acceptance": 0.2, "r_hat": 1.1}]
    return clark_5.chain_rows(clark_5.RIPLEY, 0.3, found)


@pytest.mark.usefixtures("line")
def test_a_printed_chain_must_be_among_ours_and_the_widest_do_not_have_it_for_the_asking():
    assert all(row.ok for row in chain_rows(AREAS))
    # Chains of 0.90 whose upper end is the printed 0.965, or which are far below it.
    low = AREAS | {"chain average": 0.90}
    missed = {row.case.split(", ")[-1] for row in chain_rows(low) if not row.ok}
    assert "chain average" in missed
    (wide,) = [
        row for row in chain_rows(low, width=0.07) if row.case.endswith("chains, chain average")
    ]
    # Logistic regression lies between such chains as well, so that they show nothing.
    assert (wide.bar, "logistic regression" in wide.note) == (None, True)


@pytest.mark.usefixtures("line")
def test_pruning_is_beside_as_many_members_by_lot_and_fewer_members_are_no_promise():
    rows = [row for row in chain_rows(AREAS) if row.metric.startswith("mean test AUC")]
    assert [row.verdict for row in rows] == ["", "yes", "yes"]
    assert not any("members of" in row.metric for row in chain_rows(AREAS) if row.bar)
    idle = AREAS | {REGRESSION: 0.950, CLASSIFICATION: 0.950}
    rows = [row for row in chain_rows(idle) if row.metric.startswith("mean test AUC")]
    assert [row.verdict for row in rows] == ["", "NO", "NO"]


@pytest.mark.parametrize("name", mierswa_4_rvm.TABLE)
def test_who_guesses_passes_no_set_of_the_relevance_vector_machine(name, monkeypatch):
    """The larger class was within two deviations of five of the eight printed errors."""
    printed = mierswa_4_rvm.TABLE[name]
    constant = printed.error + printed.deviation
    monkeypatch.setattr(mierswa_4_rvm, "plain_errors", lambda _: {"constant": constant})
    found = mierswa_4_rvm.Measured(constant + np.linspace(-0.1, 0.1, 10), np.ones(10), 1.0)
    error = mierswa_4_rvm.set_rows(name, "classification", found, promised=True)[0]
    assert (error.ok, error.passed_by) == (False, ())


def func6_results(error, floor=0.02):
    plain = {name: {"error": 900.0, "peak": 900.0} for name in ("constant", "guess")}
    return [
        {"error": error, "peak": error, "seconds": 1.0, "floor": floor, "formula": "x1",
         "plain": plain, "printed": {"5": 500.0}}
    ]  # fmt: skip


def test_formulas_beside_machines_are_those_of_the_source_and_the_floor_is_that_of_the_truth():
    machine = "all columns"
    results = {"with abs": func6_results(0.0), machine: func6_results(100.0)}
    rows = mierswa_6.machine_rows(
        results | {"from columns": func6_results(200.0)}, [machine], promised=True
    )
    assert [row.verdict for row in rows if row.bar is not None] == ["NO", "NO"]
    assert [mierswa_6.floor_rows(func6_results(one))[0].ok for one in (0.021, 0.029)] == [
        True,
        False,
    ]
    # What was typed in, 0.03, says nothing where the noise is smaller.
    assert not mierswa_6.floor_rows(func6_results(0.021, floor=0.01))[0].ok


def test_shares_of_the_tree_are_beside_a_guess_and_not_beside_earlier_runs():
    def cells(share):
        methods = (*_fearn_simulation.PRINTED, "PhyRVM, exact evidence", "PhyRVM with defaults",
                   "PGLS, scaled tree", "PGLS, tree as it is")  # fmt: skip
        shares = _fearn_simulation.TRUE_SHARES
        return {
            place: [{method: {"share": share(true)} for method in methods}] * 2
            for place, true in enumerate(shares)
        }

    def verdicts(share):
        rows = _fearn_simulation._distance_rows(cells(share))
        return [row.verdict for row in rows if row.bar is not None]

    assert verdicts(lambda true: true)[1] == "yes"
    assert verdicts(lambda _: 0.5) == ["NO", "NO"]
    assert not hasattr(_fearn_simulation, "_measured_rows")


def test_a_gene_that_is_never_found_is_not_infinitely_better(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(20, 30)), np.repeat([0, 1], 10)
    monkeypatch.setattr(clark_4, "gene_table", lambda _: (X, y))
    monkeypatch.setattr(clark_4, "PUBLISHED", {("alon", "rvm"): {"3": (94, 13)}})
    totals = np.zeros(30, dtype=int)
    totals[10:20] = 5
    names = [str(k + 1) for k in range(30)]
    count, leaders = clark_4.published_rows("alon", "rvm", names, totals, totals, 100)
    assert (count.ours, count.peer, count.ratio) == (0.0, 94.0, 0.0)
    assert (leaders.verdict, leaders.ours) == ("NO", 0)


def test_a_selection_is_judged_by_what_it_shares_with_the_planted_columns():
    """Whoever selects nothing selects nothing false, and who selects all finds all."""
    planted = np.arange(5)
    nothing, everything = np.array([], dtype=int), np.arange(1000)
    assert [in_common(one, planted) for one in (nothing, everything, planted)] == [0, 0.005, 1]
    for kept, verdict in ((planted, "yes"), (planted[:2], "NO"), (nothing, "NO")):
        shares = {"ours": in_common(kept, planted), "everything": in_common(everything, planted)}
        result = {"found": len(kept), "false": 0, "bound": 0.5, "shares": shares}
        row = clark_4.planted_rows([result] * 5, judged=True)[-1]
        assert (row.verdict, row.rivals) == (verdict, {"everything": 0.005})


def test_the_first_column_for_every_set_is_no_find(monkeypatch):
    monkeypatch.setattr(autogpc, "first_variable", lambda _: 1)
    monkeypatch.setattr(autogpc, "greatest_t", lambda _: 2)
    judges = [autogpc.Judge(name, 5, 1, {}) for name in ("Pima", "BUPA")]
    row = autogpc.variables_row(judges)
    assert (row.ours, row.rivals["constant"], row.verdict) == (1, 1, "NO")
    # If the published one is the first of all sets, whoever says so finds them all.
    assert not autogpc.variables_row(judges[:1]).ok


def test_the_printed_machine_has_a_bar_too():
    results = [
        {"choices": {"all": {"train": 92.0, "test": one, "vectors": 5}}, "areas": []}
        for one in np.linspace(60.0, 62.0, 10)
    ]
    cell = clark_3._cell("Banana Subset", RVM, "all", results)
    rival = {"constant": clark_3.Rival(54.0, 0.0, 100.0)}
    assert [row.verdict for row in clark_3.cell_rows(cell, rival)[:2]] == ["NO", "NO"]
