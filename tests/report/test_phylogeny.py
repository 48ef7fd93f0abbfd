"""The page about a trait: what it says for which findings, and what it does with hostile names."""

import json
import re
from dataclasses import fields, replace

import pytest

from parsimon.report.data import to_json
from parsimon.report.document import Table
from parsimon.report.findings import Interval, ModelComparison
from parsimon.report.findings.trait_findings import Feature, LeftOut, RootFinding
from parsimon.report.html import to_html
from parsimon.report.markdown import to_markdown
from parsimon.report.sections import summary_lines, write
from parsimon.report.typst import to_pdf
from tests.report import trait_samples as samples
from tests.report.reading import figures, rows, tables, texts
from tests.report.test_writing_series import model
from tests.report.trait_samples import said


def test_the_page_has_its_sections_in_order():
    assert [section.title for section in write(samples.findings()).sections] == [
        "How length follows the tree",
        "Which features explain length",
        "How well unseen clades are predicted",
        "Ancestors",
        "Species without a value",
        "The species, the tree, and what was done to them",
        "The same in Python",
        "Methods",
    ]


def test_both_regressions_and_all_models_are_two_tables():
    models = (model("PhyRVM", "phylo", 0.1, best=True), model("guessing", "guessing", 1.0))
    compared = ModelComparison(models=models, metric="variance left")
    document = write(replace(samples.findings(), comparison=compared))
    called = document.numbers()
    assert called["table-regressions"] != called["table-models"]
    anchors = [block.anchor for block in document.blocks() if isinstance(block, Table)]
    assert len(set(anchors)) == len(anchors)


def test_without_features_and_predictions_their_sections_are_missing():
    titles = [section.title for section in write(samples.tree_alone()).sections]
    assert "Which features explain length" not in titles
    assert "Species without a value" not in titles
    text = said(samples.tree_alone())
    assert "so that the tree alone can explain it" in text
    assert "the tree alone is off by 0.300" in text
    assert "PhyRVM" not in text


def test_every_picture_is_shown_once():
    found = samples.findings()
    shown = [one.picture.name for one in figures(write(found))]
    assert sorted(shown) == sorted(samples.PICTURES)


def test_without_pictures_the_text_mentions_none():
    assert "Figure" not in said(samples.findings(pictures=()))


@pytest.mark.parametrize(
    ("share", "p", "K_p", "words"),
    [
        (0.95, 0.001, 0.001, "follows the tree closely:"),
        (0.7, 0.001, 0.001, "follows the tree in good part:"),
        (0.2, 0.04, 0.04, "follows the tree weakly:"),
        (0.95, 0.06, 0.06, "shows no sure sign of following the tree:"),
        (0.95, 0.06, 0.001, "follows the tree by Blomberg's K, but not surely by lambda:"),
        (0.95, 0.001, 0.06, "follows the tree closely by lambda, but not surely by Blomberg's K:"),
    ],
)
def test_signal_is_named_by_both_tests(share, p, K_p, words):
    best = Interval(estimate=share, low=0.6 * share, high=min(1.0, 2 * share))
    signal = samples.signal(pagel_lambda=best, lambda_p_value=p, K_p_value=K_p)
    text = said(samples.findings(signal=signal))
    assert f"The trait length {words}" in text
    assert ("one alone is weak evidence" in text) == ((p < 0.05) != (K_p < 0.05))
    assert ("a weak signal may have been missed" in text) == (min(p, K_p) > 0.05)


@pytest.mark.parametrize("ends", [(0.95, 0.1, 1.0), (0.2, 0.01, 0.95)])
def test_a_signal_of_any_strength_is_not_graded(ends):
    best = Interval(estimate=ends[0], low=ends[1], high=ends[2])
    signal = samples.signal(pagel_lambda=best, lambda_p_value=0.01, K_p_value=0.01)
    text = said(samples.findings(signal=signal))
    assert "The trait length follows the tree (how closely is open):" in text
    assert "how much of it the tree says is open." in text


@pytest.mark.parametrize(
    ("K", "p", "words"),
    [
        (2.0, 0.01, "even more alike than Brownian motion"),
        (1.0, 0.01, "about as alike as Brownian motion"),
        (0.3, 0.01, "alike, though less than Brownian motion"),
        (2.0, 0.2, "relatives are not surely more alike than shuffled values"),
    ],
)
def test_blomberg_is_put_in_words(K, p, words):
    assert words in said(samples.findings(signal=samples.signal(K=K, K_p_value=p)))


def test_few_species_are_warned_of():
    assert "can hardly separate" in said(samples.findings(signal=samples.signal(n_species=12)))
    assert "can hardly separate" not in said(samples.findings())


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ((), "PhyRVM keeps none of the two features"),
        (("head",), r"PhyRVM keeps one of the two features: head \(\+0.300\)"),
        (("head", "tail"), "PhyRVM keeps both features: head"),
    ],
)
def test_what_phyrvm_keeps(weights, words):
    kept = tuple(samples.weight(name) for name in weights)
    assert re.search(words, said(samples.findings(phyrvm=samples.phyrvm(weights=kept))))


def test_a_choice_that_depends_on_folds_is_said():
    def text(*counts):
        kept = tuple(samples.weight(n, k) for n, k in zip(("head", "tail"), counts, strict=False))
        return said(samples.findings(phyrvm=samples.phyrvm(weights=kept)))

    assert "It is kept whichever fold of clades is left out" in text(5)
    assert "It is kept in three of five folds" in text(3)
    assert "Both are kept whichever fold" in text(5, 5)
    assert "Whichever fold of clades is left out, head is kept" in text(5, 2)
    none = text(4, 2)
    assert "None of them is kept in all five folds: the choice depends on which fold" in none
    assert "whichever clade" not in none


def test_counts_of_folds_that_phyrvm_failed_in_are_not_shown():
    own = samples.error(failures=(("phyrvm", "It failed."),))
    error = replace(own, clades=(*own.clades[:3], samples.judged("pgls", 0.2)))
    found = samples.findings(model="pgls", error=error)
    assert "How steadily it is kept is not known: PhyRVM could not be fitted" in said(found)
    assert "folds of whole clades." not in said(found).split("The tree was cut")[0]

    def headings(one):
        return [heading.title for heading in tables(write(one))["table-features"].headings]

    assert "Kept" not in headings(found)
    assert "Kept" in headings(samples.findings())


def test_many_features_for_few_species_are_warned_of():
    kept = tuple(samples.weight(f"x{k}") for k in range(12))
    found = samples.findings(phyrvm=samples.phyrvm(weights=kept))
    assert "PhyRVM keeps 12 features for 40 species" in said(found)
    few = samples.findings(phyrvm=samples.phyrvm(weights=kept[:9]))
    assert "may follow chance" not in said(few)


def test_features_that_may_be_the_target_are_warned_of():
    one = said(samples.findings(table=samples.table(alike=("head",))))
    assert "head is nearly a linear function of length. Is it another form of it" in one
    two = said(samples.findings(table=samples.table(alike=("head", "tail"))))
    assert "head and tail are nearly linear functions of length. Are they another form" in two
    assert "nearly" not in said(samples.findings())


def test_pgls_in_words():
    assert "In PGLS one of two features is clear of zero" in said(samples.findings())
    unclear = samples.pgls(coefficients=(samples.coefficient("a", 0.2),) * 2)
    assert "finds no feature that is clear of zero" in said(samples.findings(pgls=unclear))
    single = samples.pgls(coefficients=(samples.coefficient("a", 0.2),))
    assert "PGLS gives a no clear weight: 0.280" in said(samples.findings(pgls=single))
    failed = samples.findings(pgls=None, pgls_failure="Too few species.")
    assert "PGLS could not be fitted: Too few species." in said(failed)


@pytest.mark.parametrize(
    ("n", "lacking", "words"),
    [
        (1, 0, "1 species of the table has no length; it is predicted from"),
        (2, 0, "2 species of the table have no length; each is predicted from"),
        (1, 1, "2 species of the table have no length. One is predicted from"),
        (1, 1, "One lacks features too and is not predicted."),
        (3, 2, "Three are each predicted from"),
        (3, 2, "Two lack features too and are not predicted."),
    ],
)
def test_species_that_cannot_be_predicted_are_counted(n, lacking, words):
    table = samples.table(n_unpredictable=lacking)
    found = samples.findings(table=table, predictions=samples.findings().predictions * n)
    assert words in said(found)
    assert "may be predicted better than" in said(found)


def test_the_terminal_counts_species_that_cannot_be_predicted():
    found = samples.findings(table=samples.table(n_unpredictable=2))
    assert summary_lines(found)[-1] == "1 of 3 species without length was predicted."


@pytest.mark.parametrize(
    ("own", "signal", "words"),
    [
        ((0.2, 0.1, 0.4), (0.9, 0.7, 1.0), "The features take over a good part"),
        ((0.2, 0.0, 0.8), (0.9, 0.7, 1.0), "The features may take over a good part"),
        ((0.9, 0.7, 1.0), (0.2, 0.1, 0.4), "What the features leave follows the tree more"),
        ((0.9, 0.3, 1.0), (0.2, 0.1, 0.4), "What the features leave may follow the tree more"),
        ((0.9, 0.3, 1.0), (0.8, 0.1, 1.0), "By these estimates the features hardly change"),
    ],
)
def test_what_features_take_over_is_sure_only_if_intervals_are_apart(own, signal, words):
    ends = [Interval(estimate=one[0], low=one[1], high=one[2]) for one in (own, signal)]
    found = samples.findings(
        phyrvm=samples.phyrvm(pagel_lambda=ends[0]), signal=samples.signal(pagel_lambda=ends[1])
    )
    assert words in said(found)


@pytest.mark.parametrize(
    ("failure", "words"),
    [("", "because no folds were asked for"), ("Too few.", "was measured. Too few.")],
)
def test_why_there_is_no_error(failure, words):
    assert words in said(samples.findings(error=None, error_failure=failure))


def test_models_that_could_not_be_judged_are_below_the_table():
    found = samples.findings(error=samples.error(failures=(("pgls", "Too few species."),)))
    assert tables(write(found))["table-errors"].note == "PGLS could not be judged: Too few species."


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("text", "The column a holds text such as “x”."),
        ("date", "The column a holds dates."),
        ("constant", "The column a has the same value in all species: x."),
        ("empty", "The column a is empty."),
        ("mostly_empty", "The column a is more than half empty."),
        ("costly", "with it fewer than half of the species would be complete."),
        ("identifier", "The column a only numbers the rows."),
    ],
)
def test_columns_are_left_out_for_a_reason(reason, words):
    one = LeftOut(column="a", reason=reason, value="x")
    assert words in said(samples.findings(table=samples.table(left_out=(one,))))
    both = (one, replace(one, column="b"))
    assert "The columns a and b " in said(samples.findings(table=samples.table(left_out=both)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"not_in_tree": ("x",)}, "1 row is not a tip of the tree: x."),
        ({"not_in_tree": ("x", "y")}, "2 rows are not tips of the tree: x and y."),
        ({"without_row": ("x",)}, "1 tip of the tree has no row in the table: x."),
        ({"n_unnamed": 2}, "2 rows have no name of a tip."),
        ({"n_measured": 39}, "1 species has no length: it was not fitted but predicted."),
        (
            {"n_measured": 36, "n_unpredictable": 1},
            "4 species have no length: they were not fitted but predicted, except 1 that lacks",
        ),
        ({"n_measured": 36, "n_unpredictable": 4}, "not predicted either, for lack of features"),
        (
            {"n_incomplete": 1, "incomplete": ("x",), "gaps": (("tail", 1),)},
            "1 species lacks a feature and is left out of the regressions",
        ),
        ({"redundant": ("tail",)}, "tail is left out of PGLS"),
        ({"dropped": ("a", "b")}, "The columns a and b were dropped, as asked."),
        ({"n_renamed": 3}, "3 names matched once spaces and underscores were taken for the same"),
        ({"tip": ""}, "by the index of the table"),
        ({"n_in_tree": 38}, "38 of the rows are in the tree"),
    ],
)
def test_what_was_left_out_is_said(changes, words):
    assert words in said(samples.findings(table=samples.table(**changes)))


def test_nothing_left_out_is_said_too():
    assert "Every row, every column and every tip was used." in said(samples.findings())


def test_the_root_is_put_in_words_and_in_a_table():
    text = said(samples.findings())
    assert "The tree puts length of the last common ancestor of these species at 4.00" in text
    assert "From its reconstructed features PhyRVM puts it at 4.20" in text
    assert len(tables(write(samples.findings()))["table-root"].rows) == 3


def test_a_wide_interval_of_the_root_is_called_so():
    wide = (RootFinding(way="lambda", value=samples.around(4.0, 2.0)),)
    assert "The interval is wide beside the species themselves" in said(samples.findings(root=wide))
    assert "The interval is wide" not in said(samples.findings())


def test_support_values_are_no_names_of_ancestors():
    found = rows(tables(write(samples.findings()))["table-nodes"])
    assert [row[0] for row in found] == ["all species (the root)", "Iguania", "a and b"]


def test_without_signal_ancestors_are_cautioned():
    def text(high):
        best = Interval(estimate=0.01, low=0.0, high=high)
        return said(samples.findings(signal=samples.signal(pagel_lambda=best)))

    assert "each ancestor is put near the mean of the species. It may be as much as 0.40" in text(
        0.4
    )
    assert "each ancestor is put near the mean of the species." in text(0.02)
    assert "as much as" not in text(0.02)
    assert "says nothing" not in text(0.4)
    assert "is put near the mean" not in said(samples.findings())


def test_ancestors_of_named_clades_are_not_called_those_of_the_largest():
    table = tables(write(samples.findings()))["table-nodes"]
    assert table.caption == "The root, and ancestors of named or large clades."


def test_long_tables_are_cut_and_say_so():
    many = tuple(replace(samples.findings().predictions[0], tip=f"s{k}") for k in range(60))
    table = tables(write(samples.findings(predictions=many)))["table-predictions"]
    assert len(table.rows) == 40
    assert table.note == "20 further species in the findings as data (--json)."


def test_cited_works_are_listed_and_listed_works_are_cited():
    for found in (samples.findings(), samples.tree_alone(), samples.findings(error=None)):
        document = write(found)
        text = said(found)
        for short, _ in document.references:
            name, year = short.rsplit(" ", 1)
            assert f"{name} {year}" in text or f"{name} ({year})" in text, short
        named = set(re.findall(r"([A-Z]\w+(?: et al\.| and [A-Z]\w+)? (?:19|20)\d\d)", text))
        assert named <= {short for short, _ in document.references}


def test_a_fit_that_did_not_converge_is_said():
    found = samples.findings(phyrvm=samples.phyrvm(converged=False))
    assert "stopped before it had converged" in said(found)


def test_the_terminal_gets_plain_lines():
    lines = summary_lines(samples.findings())
    assert lines[0] == "head explains length, and relatives have similar values of length."
    assert lines[1] == (
        "All 40 rows of lizards are species of the tree. Tips by column species, 2 features, "
        "target length."
    )
    assert lines[-1] == "1 species without length was predicted."
    assert all(line and "\n" not in line for line in lines)


def test_json_has_every_field_and_no_drawings():
    found = samples.findings()
    data = json.loads(to_json(found))
    assert data["format"] == "parsimon-trait-findings"
    assert [*data][2:] == [field.name for field in fields(found)]
    assert data["error"]["clades"][0]["coverage"] is None
    assert data["predictions"][0]["observed"] is None
    assert "svg" not in data["pictures"][0]
    assert "svg" in json.loads(to_json(found, pictures=True))["pictures"][0]


def test_hostile_names_are_escaped_on_the_page():
    found = samples.hostile()
    page = to_html(write(found), found)
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;img" in page


def test_hostile_names_are_escaped_in_markdown():
    # Inside code nothing is read as markup.
    text = re.sub("`` .*? ``", "", to_markdown(write(samples.hostile())))
    assert "<img" not in text.replace(r"\<img", "")


def test_hostile_names_make_a_pdf(tmp_path):
    to_pdf(write(samples.hostile()), tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("sample", [samples.findings, samples.tree_alone, samples.hostile])
def test_no_text_is_empty_or_broken(sample):
    for text in texts(write(sample())):
        assert "nan" not in text.lower().split(), text
        assert "None" not in text
        assert "  " not in text.strip()
        assert not re.search(r"\s[.,;:]", text.replace(samples.HOSTILE, "")), text


def test_one_feature_reads_well():
    one = (Feature(name="head", mean=0.0, deviation=1.0, minimum=0.0, maximum=1.0),)
    kept = samples.phyrvm(weights=(samples.weight(),))
    text = said(samples.findings(table=samples.table(features=one), phyrvm=kept))
    assert "One feature may be used for it: head." in text
    assert "PhyRVM keeps the only feature: head (+0.300) for one standard deviation." in text
    none = samples.phyrvm(weights=())
    text = said(samples.findings(table=samples.table(features=one), phyrvm=none))
    assert "PhyRVM does not keep the only feature" in text
