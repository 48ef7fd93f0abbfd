"""What is the same for every kind of data: columns chosen, options checked, work kept apart."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import brownian_traits, yule_tree
from parsimon.statistician import (
    TraitAnalysis,
    analyse,
    analyse_series,
    analyse_traits,
    select_columns,
    select_features,
)

TREE = yule_tree(24, random_state=2)
PLAIN = {"families": "none", "rivals": "linear,tree", "outer": 2, "n_jobs": 1}


@pytest.fixture(scope="module")
def species():
    made = brownian_traits(TREE, 3, random_state=2)
    noise = 0.3 * np.random.default_rng(0).normal(size=24)
    return made.assign(size=made["trait1"] + noise, mass=made["trait2"] - noise)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "dose_1", "dose_2"])
    return frame.assign(ill=np.where(frame["a"] + 0.3 * rng.normal(size=40) > 0, "yes", "no"))


def as_json(analysis, folder):
    found = json.loads(analysis.to_json(folder / "found.json").read_text())
    found["run"].pop("seconds", None)
    return found


@pytest.mark.parametrize("options", [{"drop": "dose_*"}, {"keep": ["a"]}, {"keep": "1", "drop": 2}])
def test_columns_are_chosen_as_the_commands_choose_them(table, options, tmp_path):
    options = {name: [given] if given == 2 else given for name, given in options.items()}
    found = analyse(table, "ill", **options, **PLAIN)
    assert [one.column for one in found.findings.table.variables] == ["a"]
    said = [one.column for one in found.findings.run.reading if one.kind == "column_unasked"]
    assert said == ["dose_1", "dose_2"]
    plain = as_json(analyse(table[["a", "ill"]], "ill", **PLAIN), tmp_path)
    chosen = as_json(found, tmp_path)
    chosen["run"]["reading"] = plain["run"]["reading"]
    assert chosen == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": "ill"}, "^drop 'ill': that column is needed"),
        ({"keep": "b"}, "^keep 'b' is no column"),
        ({"drop": "1-3"}, "No column is left to predict with"),
        ({"tree": TREE, "depth": 2}, "depth does not go with a tree"),
        ({"tree": TREE, "positive": "yes"}, "positive does not go with a tree"),
        ({"tree": TREE, "families": "none"}, "families does not go with a tree"),
    ],
)
def test_what_cannot_be_chosen_is_refused(table, options, message):
    with pytest.raises(InvalidInputError, match=message):
        analyse(table, "ill", **options)


def test_species_with_a_tree_are_analysed_as_traits(species, tmp_path):
    asked = {"keep": "trait*", "drop": "trait3", "outer": 2, "rivals": "linear"}
    found = analyse(species, "size", tree=TREE, **asked)
    assert isinstance(found, TraitAnalysis)
    options = {"features": ["trait1", "trait2"], "folds": 2, "rivals": "linear"}
    again = analyse_traits(species, TREE, "size", drop=["trait3"], **options)
    assert as_json(found, tmp_path) == as_json(again, tmp_path)


def test_a_fast_look_at_species_has_three_folds(species):
    found = analyse(species, "size", tree=TREE, fast=True, rivals="none")
    assert dict(found.findings.run.options)["folds"] == "3"


def test_work_kept_of_one_trait_is_not_taken_for_that_of_another(species, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    options = {"features": ["trait1"], "folds": 2, "rivals": "none"}
    place = tmp_path / "work"
    analyse_traits(species, TREE, "size", checkpoint=place, **options)
    with pytest.warns(UserWarning, match="belongs to another table, other options"):
        found = analyse_traits(species, TREE, "mass", checkpoint=place, **options)
    alone = analyse_traits(species, TREE, "mass", **options)
    assert as_json(found, tmp_path) == as_json(alone, tmp_path)


def _traits(table, target, **options):
    return analyse_traits(table, TREE, target, **options)


@pytest.mark.parametrize(
    "analyse_kind", [analyse, analyse_series, select_columns, select_features, _traits]
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_every_kind_refuses_what_no_run_can_have(table, analyse_kind, options, message):
    with pytest.raises(InvalidInputError, match=message):
        analyse_kind(table, "ill", **options)


def test_kinds_without_processes_load_none():
    """What searches no kernels need not wait until those who do are imported."""
    code = (
        "import sys\n"
        "from parsimon.statistician import analyse_series, select_columns, select_features\n"
        "print([name for name in sys.modules if name.startswith('parsimon.gp')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
