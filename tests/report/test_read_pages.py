"""Finished pages of thirty tables contradict neither themselves nor their findings.

And the checker that reads them finds every fault that is planted.
"""

import re
from dataclasses import fields, is_dataclass, replace
from functools import cache

import pytest
from tools import read_pages
from tools.page_checks import chosen, disagreements, figures
from tools.page_text import Page

from parsimon.report.document import Document, KeyFigures
from parsimon.report.findings import Treatment
from parsimon.statistician import analyse, gallery
from tests.report import page_tables


@cache
def page(name: str) -> Page:
    make, options = page_tables.TABLES[name]
    target = page_tables.TARGETS.get(name, "y")
    with pytest.MonkeyPatch.context() as patch:
        # Texts are read here: figures are drawn, but not written as SVG.
        patch.setattr(gallery, "svg", lambda *_, **__: "<svg/>")
        return Page.of(analyse(make(), target, name="rows", n_jobs=1, **options).findings)


@pytest.mark.parametrize("name", page_tables.TABLES)
def test_no_page_contradicts_itself(name):
    assert disagreements(page(name)) == []


def test_figures_are_read_where_they_stand():
    """Where sentences change, the patterns of `tools.page_checks` must follow."""
    read = {
        "two classes, formula": {"error of {}": 4, "error of guessing": 4, "bits of {}": 1},
        "a number, formula": {"miss of {}": 4, "miss of guessing": 4, "explained by {}": 3},
        "a rare class": {"log loss of {}": 2, "AUC": 2, "balanced error": 2, "rows used": 3},
        "a number of noise": {"miss of {}": 3, "columns used": 2, "columns": 3, "rows": 2},
        "three classes": {"error of {}": 3, "error of guessing": 3},
    }
    for name, least in read.items():
        found = [one.name for one in figures(page(name))]
        counts = {one: found.count(one.format(chosen(page(name).findings))) for one in least}
        assert all(counts[one] >= times for one, times in least.items()), (name, counts)
    signs = [one for one in figures(page("a number, formula")) if one.name.startswith("signs")]
    assert len(signs) == 2


def edited(value, pattern, new):
    """Return a document with a text in another's place, wherever it stands."""
    if isinstance(value, str):
        return re.sub(pattern, new, value)
    if isinstance(value, tuple):
        return tuple(edited(one, pattern, new) for one in value)
    if is_dataclass(value):
        found = {one.name: edited(getattr(value, one.name), pattern, new) for one in fields(value)}
        return replace(value, **found)
    return value


def planted(name, pattern, new) -> list[str]:
    """Return what the checker says of a page with another text in some place."""
    known = page(name)
    document = edited(known.document, pattern, new)
    assert document != known.document, "there is no such text"
    return disagreements(Page(known.findings, document))


def large(name, label, value) -> list[str]:
    """Return what the checker says if a figure that is shown large is another."""
    known = page(name)

    def changed(one):
        return replace(one, value=value) if one.label == label else one

    lead = tuple(
        KeyFigures(tuple(map(changed, one.items))) if isinstance(one, KeyFigures) else one
        for one in known.document.lead
    )
    assert lead != known.document.lead
    return disagreements(Page(known.findings, replace(known.document, lead=lead)))


@pytest.mark.parametrize(
    ("name", "label", "value"),
    [
        ("two classes", "honest error", "99.9 %"),
        ("two classes", "guessing’s error", "1.1 %"),
        ("a rare class", "AUC", "0.123"),
        ("a rare class", "balanced error", "1.2 %"),
        ("a number", "typical miss", "77.7"),
        ("a number", "guessing’s miss", "77.7"),
        ("a number", "of the variance explained", "12.3 %"),
        ("a number", "rows × columns", "91 × 3"),
        ("a number", "rows × columns", "90 × 4"),
        ("three classes", "honest error", "99.9 %"),
    ],
)
def test_a_changed_figure_is_found(name, label, value):
    assert large(name, label, value)


EXPECTED = "Row 1, surprising: truly “no”, 1.0 % predicted for “yes”"
PLANTED = (
    ("a number", r"\d of 3 columns used", "2 of 3 columns used"),
    ("a number", r"has 90 rows", "has 89 rows"),
    ("two classes", r"\d+ rows? \(([\d.]+)", r"7 rows (\1"),
    ("two classes", r"Fitted again to 2", "Fitted again to 3"),
    ("two classes", r"was wrong in [\d.]+", "was wrong in 1.1"),
    ("a number", r"it explained [\d.]+", "it explained 1.1"),
    ("wide", r"gain over guessing is [\d.]+", "gain over guessing is 99.9"),
    ("a number, formula", r"formula of \d+ signs?", "formula of 99 signs"),
    ("a number, formula", r"and guessing [\d.]+\.", "and guessing 77.7."),
    ("a number, formula", r"chosen formula has one feature", "chosen formula has 7 features"),
    ("two classes of noise", r"no column is used", "2 of 3 columns used"),
    ("a rare class", r"probabilities are better than", "probabilities are worse than"),
    ("a rare class", r"log loss [\d.]+ against", "log loss 9.999 against"),
    ("levels alone, like titanic", r"(No cell is missing)", r"7 missing cells. \1"),
    ("a product", r"(how the expected y)", r"they do not show that any two columns interact: \1"),
    ("a number", r"^ \((?:more than )?[\d.]+\u202f%\)", " (61.2 %)"),
    ("a number", r"(The question is)", r"No honest error was measured. \1"),
    ("three classes", r"(commonest slip was to .+), \d+ times", r"\1, 99 times"),
    ("a number", r"(What each further .+ buys on)", r"\1 nan"),
    ("a number", r"(No cell is missing\.)", r"\1 Rows are counted from 1, below the header."),
    ("two classes", r"(No cell is missing\.)", rf"\1 {EXPECTED}"),
    ("two classes", r"rightly called: truly “yes”, [\d.]+", "rightly called: truly “yes”, 38.0"),
    ("a number", r"He 2016", "Hu et al. 2016"),
    ("a number", r"instead of [\d.]+ on average", "instead of 77.7 on average"),
    ("a number", r"takes [\d,]+ bits", "takes 9,999 bits"),
    ("a number", r"; [^;]+ cannot be told from it", "; all others are worse"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "pattern", "new"), PLANTED)
def test_a_changed_text_is_found(name, pattern, new):
    assert planted(name, pattern, new)


def test_a_harmless_text_is_no_fault():
    assert planted("a number", r"need not be a cause", "may be no cause") == []


def test_of_a_better_and_a_worse_rival_one_is_found():
    for name in ("two classes", "a number", "a rare class"):
        rival = r"which (?:is|cannot) [a-z ]+\."
        words = [planted(name, rival, f"which is {word}.") for word in ("better", "worse")]
        assert [bool(one) for one in words].count(True) == 1, name


def test_the_order_of_models_and_who_is_level_are_checked():
    known = page("a number")
    comparison = known.findings.comparison
    turned = replace(comparison, models=comparison.models[::-1])
    found = disagreements(Page.of(replace(known.findings, comparison=turned)))
    assert any("not in order" in one for one in found)
    assert planted("a number", r"Of \w+ models", "Of nine models")


def said(findings) -> str:
    return "\n".join(disagreements(Page.of(findings)))


def test_figures_of_a_model_that_is_not_to_be_used_are_found():
    known = page("two classes of noise").findings
    assert chosen(known) == "guessing"
    other = replace(known.recommended, columns=("x0",))
    found = said(replace(known, recommended=other))
    assert "The model is a constant, but 1 of 3 columns used" in found
    assert "columns used: 1" in found
    worse = replace(
        known.studies[0].honest, error=replace(known.studies[0].honest.error, estimate=0.99)
    )
    studies = (replace(known.studies[0], honest=worse),)
    found = said(replace(known, recommended=other, studies=studies))
    assert "error of guessing: 99.0 %" in found


def test_another_formula_than_the_one_that_predicts_is_found():
    known = page("a number, formula").findings
    models = tuple(
        replace(one, size_words="1 variable, a formula of 99 signs, 2 numbers")
        if one.key == "formula"
        else one
        for one in known.comparison.models
    )
    found = said(replace(known, comparison=replace(known.comparison, models=models)))
    assert "signs of the formula: 99" in found


def test_what_was_not_left_out_is_found():
    known = page("two classes, fast").findings
    run = replace(known.run, skipped=("outer folds", "interactions beside sums"))
    found = said(replace(known, run=run))
    assert "but the page has an honest error" in found
    assert "but there is no product" in found


def test_unsurprising_repetitions_are_found():
    known = page("levels alone, like titanic").findings
    table = known.table
    repeated = replace(
        table, treatments=(*table.treatments, Treatment(kind="rows_duplicated", count=130))
    )
    assert "130 rows repeat" in said(replace(known, table=repeated))


def test_certain_claims_under_nothing_are_found():
    known = page("a number").findings
    assert known.claims[0].certain
    (study,) = known.studies
    found = said(replace(known, studies=(replace(study, claims=()),)))
    assert "What is certain" in found


def test_named_tables_are_read_by_the_command(capsys):
    wrong = read_pages.read_page("iris:species", fast=True)
    assert wrong == []
    assert re.search(r"iris:species: \d+ figures read, 0 disagreements", capsys.readouterr().out)


def test_a_document_is_read_as_a_whole():
    known = page("a number")
    assert isinstance(known.document, Document)
    assert known.lists["What to doubt"]
    assert known.tables["table-models"][0]["Model"]
