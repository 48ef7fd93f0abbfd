"""What is said about calibration, thresholds, coverage, rows and stability."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from parsimon.report.document import Figure
from parsimon.report.findings import Checks, Roc
from parsimon.report.markdown import to_markdown
from parsimon.report.sections import write
from parsimon.report.sections.table.checking import (
    coverage_sentence,
    least_cost_threshold,
    operating_point,
)
from parsimon.report.sections.table.rows import _grouped
from parsimon.statistician.families.family import OwnPredictions
from parsimon.statistician.measure import _coverage
from tests.report import reading, samples
from tests.report.samples import interval

THIN = "\u202f"


def text(found, anchor: str) -> str:
    return reading.text(found, anchor).replace(THIN, " ")


def checks(found, **changes):
    return reading.with_study(found, checks=replace(found.studies[0].checks, **changes))


def honest(found, **changes):
    return reading.with_study(found, honest=replace(found.studies[0].honest, **changes))


def test_the_golden_checks():
    assert text(samples.findings(), "checking").split("\n") == [
        "On rows never seen the probabilities are not shown to be too bold or too timid "
        "(calibration slope 0.94, 95 % interval 0.77 to 1.11, where 1 is right).",
        "Fitted again to 5 parts of the table, it was wrong in 22.0 % to 26.0 % of the rest. Of "
        "what is beyond doubt, plasma glucose and age came back on all 5 parts. Of the "
        "suggestions, pedigree came back on all 5 parts. The same model was found on every part.",
    ]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("leave-one-out", "but the model was chosen with all rows in view, which flatters it a"),
        ("training rows", "rest on the rows that the model was fitted to, which flatters it."),
    ],
)
def test_sources(source, said):
    assert said in text(checks(samples.findings(), source=source), "checking")


def test_training_rows_are_not_called_left_out():
    said = text(checks(samples.findings(), source="training rows"), "rows")
    assert "Rows 126, 7 and 502 surprise the model most" in said
    assert "502, predicted without them, surprise" in text(samples.findings(), "rows")


BOLD = "too bold: high ones are too high and low ones too low"
TIMID = "too timid: high ones could be higher and low ones lower"


@pytest.mark.parametrize(
    ("slope", "half", "said"),
    [
        (0.5, 0.3, f"are {BOLD}"),
        (1.5, 0.3, f"are {TIMID}"),
        (0.95, 0.03, f"are a little {BOLD}"),
        (1.06, 0.03, f"are a little {TIMID}"),
        (-0.4, 0.2, "point the wrong way"),
        (-0.2, 0.6, f"are {BOLD}"),
        (1.0, 0.1, "are not shown to be too bold or too timid"),
        (0.6, 0.5, "are not shown to be too bold or too timid"),
        (2.0, 1.5, "are not shown to be too bold or too timid"),
    ],
)
def test_words_for_slopes_need_an_interval_without_one(slope, half, said):
    sure = interval(slope, half)
    found = checks(samples.findings(), calibration_slope=slope, slope_interval=sure)
    assert f"he probabilities {said} (calibration slope" in text(found, "checking")
    lead = reading.lead(found).replace(THIN, " ")
    if "not shown" in said:
        assert "probabilities are" not in lead
    else:
        assert f"The probabilities {said.split(':')[0]}." in lead


def test_no_line_of_calibration():
    found = checks(samples.findings(), calibration_slope=None, calibration_intercept=None)
    assert "Too little varies here to judge the probabilities." in text(found, "checking")
    assert "Too little" not in text(checks(found, calibration=()), "checking")


def curve() -> Roc:
    return Roc(
        fpr=(0.0, 0.1, 0.3, 1.0),
        tpr=(0.0, 0.5, 0.9, 1.0),
        thresholds=(1.0, 0.62, 0.48, 0.01),
        n_positive=20,
        n_negative=30,
        auc=interval(0.8, 0.1),
    )


@pytest.mark.parametrize(
    ("threshold", "counts"),
    [
        (0.5, (10, 10, 3, 27)),
        (0.48, (18, 2, 9, 21)),
        (0.7, (0, 20, 0, 30)),
        (0.0, (20, 0, 30, 0)),
        (1.0, (0, 20, 0, 30)),
    ],
)
def test_operating_points_call_rows_from_a_threshold_on(threshold, counts):
    point = operating_point(curve(), threshold)
    assert tuple(point) == counts


def test_the_threshold_of_least_cost_has_least_cost():
    for cost in (0.2, 1.0, 3.0, 10.0):
        threshold = least_cost_threshold(cost)
        for probability in (0.02, 0.1, 0.3, 0.5, 0.8):
            calling, waiting = 1 - probability, cost * probability
            assert (probability > threshold) == (calling < waiting)


def test_no_curve():
    found = checks(samples.findings(), roc=None)
    assert "false alarms" not in text(found, "checking")
    assert "table-costs" not in reading.tables(write(found))


@pytest.mark.parametrize(
    ("coverage", "n", "said"),
    [
        (0.94, 400, "91.2 to 96.1 %), which is in keeping with 95 %."),
        (0.8, 400, "75.7 to 83.8 %): they are too narrow."),
        (0.8, 10, "44.4 to 97.5 %), which is in keeping with 95 %."),
        (1.0, 60, "94.0 to 100.0 %), which is in keeping with 95 %."),
        (1.0, 400, "99.1 to 100.0 %): they are wider than they need be."),
        (0.93, 4000, "92.2 to 93.8 %): they are a little too narrow."),
    ],
)
def test_words_for_intervals_need_a_share_that_is_surely_off(coverage, n, said):
    assert of_intervals(round(coverage * n), n).endswith(said)


def of_intervals(inside, n):
    """Return what is said of intervals that hold so many of n rows."""
    y, said = np.where(np.arange(n) < inside, 0.0, 3.0), np.zeros(n)
    own = OwnPredictions(value=said, deviation=np.ones(n), source="leave-one-out")
    found = Checks(source="outer folds", **_coverage(y, own))
    return coverage_sentence(found).replace(THIN, " ")


@pytest.mark.parametrize("n", [8, 20, 60, 150])
def test_right_intervals_are_called_wrong_in_at_most_one_of_twenty_tables(n):
    doubted = [k for k in range(n + 1) if "in keeping" not in of_intervals(k, n)]
    assert binom.pmf(doubted, n, 0.95).sum() <= 0.05


def test_thresholds_on_new_rows_have_intervals():
    found = checks(samples.findings(), roc=curve())
    table = reading.tables(write(found))["table-costs"]
    titles = [one.title.replace(THIN, " ") for one in table.headings]
    assert titles[2:4] == ["Share found", "95 % interval"]
    assert titles[-2:] == ["Their share", "95 % interval"]
    # 10 of 20 found and 3 of 30 called falsely at one half; all and all from 1/11 on.
    first, last = ([cell.replace(THIN, " ") for cell in row] for row in reading.rows(table)[::2])
    assert first[2:] == [
        *("50.0 %", "29.9 to 70.1 %", "10", "3"),
        *("10.0 %", "3.5 to 25.6 %"),
    ]
    assert last[2:4] == ["90.0 %", "69.9 to 97.2 %"]
    flattered = checks(found, source="training rows")
    table = reading.tables(write(flattered))["table-costs"]
    assert len(table.headings) == 6


def test_checks_of_a_number():
    said = text(samples.regression(), "checking").split("\n")
    assert said[0] == (
        "The 95 % intervals of the predictions hold 94.7 % of the rows (95 % interval of that "
        "share 92.7 to 96.7 %), which is in keeping with 95 %."
    )
    assert "it explained 74.0 % to 78.0 % of the variance of the rest." in said[1]
    # Each part beside its own variance: nine tenths left of a calm one, a half of a wild one.
    honest = samples.regression().studies[0].honest
    calm, wild, *others = honest.folds
    calm = replace(calm, error=0.18, baseline_error=0.2)
    wild = replace(wild, error=1.5, baseline_error=3.0)
    own = replace(honest, folds=(calm, wild, *others))
    said = text(reading.with_study(samples.regression(), honest=own), "checking")
    assert "it explained 10.0 % to 76.0 % of the variance of the rest." in said
    found = reading.with_study(checks(samples.regression(), coverage=None), honest=None)
    assert "The coverage of the intervals was not measured." in text(found, "checking")


def test_a_surprising_number():
    found = samples.regression()
    row = replace(found.studies[0].checks.surprising[0], label="310", probability=151.3, score=3.42)
    found = checks(found, surprising=(row,), influential=(row,))
    assert text(found, "rows").split("\n")[1:] == [
        "Row 126, predicted without it, surprises the model most: slips of entry, or cases that "
        "the columns do not explain. Rows are counted from 1, below the header.",
        "The model leans most on row 126.",
    ]


def test_surprising_rows():
    assert text(samples.findings(), "rows").split("\n")[1:] == [
        "Rows 126, 7 and 502, predicted without them, surprise the model most: slips of entry, or "
        "cases that the columns do not explain. Rows are counted from 1, below the header.",
        "The model leans most on rows 126, 7 and 502.",
    ]


def test_what_speaks_for_and_against():
    table = reading.tables(write(samples.findings()))["table-rows"]
    assert [one.title.replace(THIN, " ") for one in table.headings] == [
        "",
        "Row 12, rightly called: truly “diabetic”, 61.0 % predicted for “diabetic”",
        "Row 40, borderline: truly “diabetic”, 34.0 % predicted for “diabetic”",
        "Row 126, surprising: truly “diabetic”, 2.0 % predicted for “diabetic”",
    ]
    assert reading.rows(table) == [
        ["the average row", "−0.40", "−0.40", "−0.40"],
        ["plasma glucose", "88: +0.81", "88: +0.20", "88: −0.81"],
        ["pedigree with age", "88, 88: −0.32", "88, 88: −0.08", "88, 88: +0.32"],
        ["in all", "0.09", "−0.28", "−0.89"],
    ]
    number = reading.tables(write(samples.regression()))["table-rows"]
    assert reading.rows(number)[-1][1] == "150"
    assert number.headings[1].title == "Row 12, typical: 151 in truth, predicted 150"
    assert [_grouped(one) for one in ("2443", "12345.50", "-2443", "0.1234", "1e5", "")] == [
        "2,443", "12,345.50", "-2443", "0.1234", "1e5", ""
    ]  # fmt: skip


def test_rows_that_are_drawn_are_figures_with_short_captions():
    found = samples.findings()
    drawn = samples.picture("row-1")
    explained = tuple(replace(one, picture="row-1") for one in found.studies[0].explained[:1])
    found = replace(
        reading.with_study(found, explained=explained), pictures=(*found.pictures, drawn)
    )
    section = reading.section(found, "rows")
    assert "table-rows" not in reading.tables(write(found))
    (figure,) = [one for one in section.blocks if isinstance(one, Figure)]
    assert figure.picture.caption.replace(THIN, " ") == (
        "Row 12, rightly called: truly “diabetic”, 61.0 % predicted for “diabetic”."
    )
    assert text(found, "rows").startswith(
        "Bars to the right speak for “diabetic”, to the left against; they add up, from the "
        "average row on, and with a sum below zero “diabetic” is the less probable."
    )
    rare = reading.with_study(
        found,
        n_positive=10,
        n_negative=90,
        explained=tuple(replace(one, probability=0.155) for one in explained),
    )
    (figure,) = [one for one in reading.section(rare, "rows").blocks if isinstance(one, Figure)]
    assert figure.picture.caption.startswith("Row 12, rightly suspected: truly “diabetic”, 15.5")
    assert "“Diabetic” is rare" not in text(found, "rows")
    assert "is rare: a row is suspected from 10.0 % on, its share among all." in text(rare, "rows")
    number = samples.regression()
    explained = tuple(replace(one, picture="row-1") for one in number.studies[0].explained[:1])
    number = replace(
        reading.with_study(number, explained=explained), pictures=(*number.pictures, drawn)
    )
    assert "bars say what the cells of a row add to it, in the unit of progression." in text(
        number, "rows"
    )


def test_rows_without_parts_are_only_named():
    found = reading.with_study(samples.findings(), explained=())
    assert "table-rows" not in reading.tables(write(found))
    assert reading.section(found, "rows").title == "Rows worth a look"


def test_no_rows_no_section():
    found = checks(samples.findings(), surprising=(), influential=())
    assert text(reading.with_study(found, explained=()), "rows") == ""
    assert text(samples.no_structure(), "rows") == ""


def folds(*variables: tuple[str, ...], words: str = "other"):
    found = samples.findings()
    one = found.studies[0].honest.folds[0]
    made = tuple(replace(one, variables=names, words=words) for names in variables)
    return honest(found, folds=made, n_planned=len(made))


GLUCOSE, _, PEDIGREE, AGE = samples.NAMES


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            ((GLUCOSE, AGE), (AGE,)),
            "Of what is beyond doubt, age came back on both parts and plasma glucose on 1 of 2 "
            "parts. Of the suggestions, pedigree came back on none of 2 parts. The very",
        ),
        (
            ((GLUCOSE, "b"), (GLUCOSE, "b", "c"), ()),
            "Of what is beyond doubt, plasma glucose came back on 2 of 3 parts and age on none of "
            "3 parts. Of the suggestions, pedigree came back on none of 3 parts.",
        ),
    ],
)
def test_on_how_many_parts_claims_came_back(variables, said):
    assert said in text(folds(*variables), "checking")


def test_nothing_came_back_where_nobody_looked():
    found = folds((GLUCOSE,), (GLUCOSE,))
    first, other = (replace(one, claims=None) for one in found.studies[0].honest.folds)
    assert "beyond doubt" not in text(honest(found, folds=(first, other)), "checking")
    known = replace(other, claims=tuple(found.studies[0].claims))
    assert "came back on all 1 parts" in text(honest(found, folds=(first, known)), "checking")


def test_what_parts_claim_counts_more_than_what_they_use():
    found = folds((GLUCOSE, AGE, PEDIGREE), (GLUCOSE, AGE, PEDIGREE), (GLUCOSE, AGE, PEDIGREE))
    product = samples.claim("interaction", (AGE, PEDIGREE), 0.9, "age and pedigree interact")
    first, *others = found.studies[0].honest.folds
    first = replace(first, claims=(*samples.claims()[:3:2], product))
    others = [replace(one, claims=samples.claims()[:1]) for one in others]
    said = text(honest(found, folds=(first, *others)), "checking")
    assert "plasma glucose came back on all 3 parts and age on none of 3 parts." in said
    assert "pedigree with age came back on 1 of 3 parts and pedigree on none of 3 parts." in said


def test_a_level_of_a_part_belongs_to_its_column():
    found = folds(("ward = north",), ("ward = other",), ("ward is missing",))
    ward = replace(found.table.variables[0], name="ward = south", column="ward", kind="indicator")
    found = reading.with_table(found, variables=(ward, *found.table.variables))
    found = reading.with_study(
        found, claims=(samples.claim("variable", ("ward",), 0.99, "ward matters"),)
    )
    assert "Of what is beyond doubt, ward came back on all 3 parts." in text(found, "checking")


def test_a_claim_that_parts_do_not_bear_out_is_said_so_everywhere():
    found = folds((AGE,), (AGE,))
    held = replace(samples.claims()[0], certain=False)
    found = reading.with_study(found, claims=(held,))
    told = reading.lead(found).replace(THIN, " ")
    assert (
        "plasma glucose matters (more than 99.9 %, but parts of the table do not bear it out)."
    ) in told
    assert told.startswith(
        "Something here certainly separates “diabetic” from “not diabetic”; plasma"
    )
    assert "Of the suggestions, plasma glucose came back on none of 2 parts." in text(
        found, "checking"
    )
    assert "beyond doubt" not in text(found, "variables")


def test_how_often_the_structure_is_found_again():
    said = text(folds((), ()), "checking")
    assert "was found on no part: rely on what came back, not on its form." in said
    mixed = folds(("a",), ("a",), ("a",))
    model = mixed.studies[0].model
    first, *others = mixed.studies[0].honest.folds
    mixed = honest(mixed, folds=(replace(first, words=f" {model.words} "), *others))
    assert "The very model was found on 1 of 3 parts." in text(mixed, "checking")


def test_a_constant_has_nothing_to_check():
    assert (
        "The model is a constant: all rows get the same probability, and there is nothing to check."
    ) in text(samples.no_structure(), "checking")
    number = reading.with_study(samples.regression(), structure_found=False)
    assert "all rows get the same number" in text(number, "checking")


def test_a_rare_class_is_called_from_its_share_on():
    said = text(samples.rare(), "use")
    assert (
        "With so uneven classes few rows get there or nearly all do; from 2.0 % on, the share of "
        "“diabetic”, both classes weigh the same (--threshold 0.02)."
    ) in said
    table = reading.tables(write(samples.rare()))["table-costs"]
    assert reading.rows(table)[-1][:2] == ["50 false alarms", "0.02"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a constant",) * 5, "On every part the search found nothing either."),
        (("x",) * 5, "On every part the search did find something, although it found nothing"),
        (
            ("a constant", "x", "x", "x", "x"),
            "On 1 of 5 parts the search found nothing either.",
        ),
    ],
)
def test_how_often_nothing_is_found_again(words, said):
    found = samples.no_structure()
    old = found.studies[0].honest.folds
    new = tuple(replace(fold, words=one) for fold, one in zip(old, words, strict=True))
    assert said in text(honest(found, folds=new), "checking")


def test_folds_that_are_missing():
    found = honest(samples.findings(), n_planned=6)
    assert "1 of 6 planned folds is missing from these figures." in text(found, "checking")
    failures = ("No memory.", "one\nclass", "third", "fourth")
    found = honest(samples.findings(), n_planned=9, failures=failures)
    assert (
        "4 of 9 planned folds are missing from these figures. The reasons given: No memory; one "
        "class; third."
    ) in text(found, "checking")
    assert "planned" not in text(samples.findings(), "checking")


def test_unknown_stability():
    assert text(samples.fast(), "checking").endswith(
        "Parts of the table were not looked at, because the outer folds were skipped."
    )


def test_a_table_that_is_too_small_for_outer_folds_is_told_so():
    found = samples.fast()
    small = replace(found, run=replace(found.run, skipped=(), too_few_rows=True))
    text = to_markdown(write(small))
    assert "because the table has too few rows for outer folds." in text
    assert "--outer 5" not in text
