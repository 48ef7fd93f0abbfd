"""The code that a page about a trait shows: it runs as printed, and makes the page again."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parsimon.phylo import brownian_traits, yule_tree
from parsimon.report import Readable
from parsimon.report.data import as_data
from parsimon.report.document import Code
from parsimon.report.sections import write
from parsimon.statistician import TraitAnalysis, analyse_traits
from parsimon.statistician import traits as analyse
from parsimon.statistician.analysis import Analysis
from tests.report import trait_samples as samples
from tests.report.reading import paragraphs

TREE = yule_tree(24, random_state=5)


@pytest.fixture(scope="module")
def table():
    made = brownian_traits(TREE, 3, random_state=5).rename(columns={"trait3": "nothing"})
    noise = np.random.default_rng(0).normal(size=24)
    made["size"] = 3 + 2 * made["trait1"] - made["trait2"] + 0.3 * noise
    made.iloc[[3, 17], made.columns.get_loc("size")] = np.nan
    return made


@pytest.fixture(autouse=True)
def plain(monkeypatch, tmp_path):
    """Draw nothing, and leave pages in a folder of their own."""
    monkeypatch.setattr(analyse, "draw_figures", lambda findings, _: findings)
    monkeypatch.chdir(tmp_path)


def lines_of(document):
    section = next(one for one in document.sections if one.anchor == "python")
    parts = [part for one in paragraphs(section.blocks) for part in one.parts]
    return [part.text for part in parts if isinstance(part, Code)]


def run_code(document, table, tree):
    """Run the lines of code that a page shows, as they are."""
    lines = lines_of(document)
    names = {"table": table, "tree": tree}
    exec("\n".join(lines), names)
    return names, lines


@pytest.mark.parametrize("model", ["phyrvm", "pgls"])
def test_the_code_of_the_page_makes_the_page(model, table):
    rows = table.rename_axis("sp").reset_index().assign(copy=lambda one: 2 * one["trait1"])
    rows = rows.rename(columns={"trait1": "leg 'left'"}).iloc[:20]
    asked = {"tip": "sp", "drop": ["nothing"], "folds": 2, "seed": 7, "name": "mine"}
    asked["rivals"] = "linear" if model == "phyrvm" else ["tree", "linear"]
    first = analyse_traits(rows, TREE, "size", model=model, **asked)
    assert first.findings.table.redundant
    names, lines = run_code(first.document, rows, TREE)
    found = names["analysis"].findings
    unlike = replace(found.run, seconds=first.findings.run.seconds)
    assert as_data(replace(found, run=unlike)) == as_data(first.findings)
    assert names["rmse"] == pytest.approx(found.error.of(model).rmse.estimate, rel=1e-4)
    assert Path("page.html").exists()
    assert "folds=2, seed=7" in lines[1]


def test_many_features_are_penalised_and_the_page_says_so(table):
    noise = np.random.default_rng(1).normal(size=(24, 30))
    wide = table.assign(**{f"x{i}": column for i, column in enumerate(noise.T)})
    first = analyse_traits(wide, TREE, "size", folds=0)
    assert first.findings.phyrvm.prior == "smooth"
    assert len(first.findings.phyrvm.weights) < 10
    names, lines = run_code(first.document, wide, TREE)
    assert any("PhyRVM(tree)" in line for line in lines)
    assert names["phyrvm"][-1].log_evidence_ == pytest.approx(first.findings.phyrvm.log_evidence)
    text = first.to_markdown("page.md").read_text()
    assert "a penalty for degrees of freedom is added" in text
    assert "Smooth relevance vector machine" in text
    narrow = analyse_traits(table, TREE, "size", folds=0)
    assert narrow.findings.phyrvm.prior == "priced"
    text = narrow.to_markdown("other.md").read_text()
    assert "penalty for degrees" not in text
    assert "adds less than 2 to the logarithm of the evidence is left out" in text


def test_the_code_of_a_page_about_the_tree_alone(table):
    first = analyse_traits(table, TREE, "size", features=[], folds=0)
    names, lines = run_code(first.document, table, TREE)
    assert names["analysis"].findings.model == "relatives"
    assert "features=[], folds=0, seed=0" in lines[1]
    assert ("features", "none") in first.findings.run.options


def test_the_code_names_features_that_were_asked_for(table):
    first = analyse_traits(table, TREE, "size", features=["trait2", "trait1"], folds=0)
    names, _ = run_code(first.document, table, TREE)
    assert list(names["X"]) == ["trait2", "trait1"]
    assert "rmse" not in names


def test_code_with_hostile_names_is_code_with_the_same_names():
    call = ast.parse("\n".join(lines_of(write(samples.hostile())))).body[1].value
    assert call.args[2].value == samples.HOSTILE
    assert {one.arg: one.value.value for one in call.keywords}["name"] == samples.HOSTILE


def test_both_analyses_write_files_in_one_way():
    for one in (Analysis, TraitAnalysis):
        assert issubclass(one, Readable)
        assert not {"to_html", "to_pdf", "to_json", "to_markdown", "document"} & set(vars(one))
