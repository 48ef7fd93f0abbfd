"""What is said about calibration, ranking, coverage, rows and stability."""

import math
from dataclasses import replace

import pytest

from parsimon.report.findings import CalibrationBin, Roc
from parsimon.report.markdown import to_markdown
from parsimon.report.sections import write
from parsimon.report.sections.table.checking import (
    cheapest_threshold,
    coverage_sentence,
    operating_point,
)
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
        "The numbers of this section rest on rows that were new: each was predicted by a search "
        "that had not seen it.",
        "The probabilities are neither too bold nor too timid (calibration slope 0.94, where 1 is "
        "right). Where the model says 50 %, “diabetic” occurs in 50.7 % of cases (calibration "
        "intercept 0.03, where 0 is right). In 5 of 5 groups of rows with alike predictions, the "
        "95 % interval of the observed share includes the prediction. The Brier score, the mean "
        "squared distance between probability and outcome, is 0.157; predicting the share of "
        "“diabetic” for every row would give 0.226. Figure 7 compares what was predicted with "
        "what was seen.",
        "The area under the ROC curve is 0.700 (95 % interval 0.670 to 0.730): the chance that a "
        "row of “diabetic” gets a higher probability than a row of “not diabetic”. Guessing gives "
        "0.5. Figure 8 shows the ROC curve. Points below the hull of the curve are never the best "
        "choice, whatever errors cost.",
        "If rows are called “diabetic” from a probability of 0.50 on, 164 of 249 such rows are "
        "found (65.9 %), and 238 of 475 other rows are false alarms (50.1 %). Table 4 has the "
        "counts.",
        "Row 126 is the most surprising: the table says “diabetic”, and the final model with that "
        "row left out gives “diabetic” a probability of 2.0 %. Such rows may be slips of entry, "
        "or cases that the variables do not explain. Table 5 lists 3 rows; rows are counted from "
        "1, below the header.",
        "The fit leans most on the rows in Table 6: without one of them the fitted function would "
        "change more than without any row that is not listed. If one of them is wrong, mend it "
        "and run the report again.",
    ]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "leave-one-out",
            "the structure was chosen with that row in view. They flatter the model a",
        ),
        (
            "training rows",
            "the rows that the model was fitted to, because a sparse model allows no",
        ),
    ],
)
def test_sources(source, said):
    assert said in text(checks(samples.findings(), source=source), "checking")


def test_training_rows_are_not_called_left_out():
    said = text(checks(samples.findings(), source="training rows"), "rows")
    assert "and the model that was fitted to them gives “diabetic”" in said


@pytest.mark.parametrize(
    ("slope", "said"),
    [
        (0.5, "The probabilities are too bold: high ones are too high and low ones too low"),
        (1.5, "The probabilities are too timid: high ones could be higher and low ones lower"),
        (-0.2, "The probabilities point the wrong way"),
        (1.0, "The probabilities are neither too bold nor too timid"),
    ],
)
def test_calibration_slopes(slope, said):
    found = checks(samples.findings(), calibration_slope=slope)
    assert text(found, "calibration").startswith(f"{said} (calibration slope")


def test_calibration_intercept_as_a_share():
    found = checks(samples.findings(), calibration_intercept=math.log(3))
    assert "Where the model says 50 %, “diabetic” occurs in 75.0 % of cases" in text(
        found, "calibration"
    )


def test_no_line_of_calibration():
    found = checks(samples.findings(), calibration_slope=None, calibration_intercept=None)
    said = text(found, "calibration")
    assert said.startswith("Too little varies here to fit a line of calibration. In 5 of 5")
    without = checks(found, calibration=())
    assert text(without, "calibration") == ""


def test_groups_that_miss_are_counted():
    far = CalibrationBin(predicted=0.9, observed=interval(0.2, 0.05), n_rows=10)
    found = samples.findings()
    bins = (*found.studies[0].checks.calibration, far)
    assert "In 5 of 6 groups" in text(checks(found, calibration=bins), "calibration")


def test_no_brier_score_no_picture_no_hull():
    found = checks(samples.findings(), brier=None, calibration_picture="", hull=(), calibration=())
    assert "Brier" not in text(found, "calibration")
    assert "Figure" not in text(found, "calibration")
    assert "groups" not in text(found, "calibration")
    assert "hull" not in text(found, "roc")


def test_the_confusion_table():
    table = reading.tables(write(samples.findings()))["table-confusion"]
    assert [heading.title for heading in table.headings] == [
        "In the table",
        "Called “diabetic”",
        "Called “not diabetic”",
    ]
    assert reading.rows(table) == [["“diabetic”", "164", "85"], ["“not diabetic”", "238", "237"]]


def test_the_confusion_table_against_several_classes():
    table = reading.tables(write(samples.three_classes()))["study-2-table-confusion"]
    assert table.headings[2].title == "Called another class"
    assert reading.rows(table)[1][0] == "another class"


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
    [(0.5, (18, 2, 9, 21)), (0.6, (10, 10, 3, 27)), (0.0, (20, 0, 30, 0)), (0.99, (0, 20, 0, 30))],
)
def test_operating_points(threshold, counts):
    point = operating_point(curve(), threshold)
    assert (point.found, point.missed, point.false_alarms, point.passed) == counts


def test_the_threshold_of_least_cost_has_least_cost():
    for cost in (0.2, 1.0, 3.0, 10.0):
        threshold = cheapest_threshold(cost)
        for probability in (0.02, 0.1, 0.3, 0.5, 0.8):
            calling, waiting = 1 - probability, cost * probability
            assert (probability > threshold) == (calling < waiting)


def test_no_curve():
    found = checks(samples.findings(), roc=None)
    assert text(found, "roc") == ""
    assert "table-costs" not in reading.tables(write(found))


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        (0.94, "hold 94.0 % of the rows: they are about right."),
        (0.8, "hold 80.0 % of the rows: they are too narrow."),
        (1.0, "hold 100 % of the rows: they are wider than they need be."),
    ],
)
def test_coverage(coverage, said):
    assert coverage_sentence(coverage).replace(THIN, " ").endswith(said)


def test_checks_of_a_number():
    assert text(samples.regression(), "residuals") == (
        "The 95 % intervals of the predictions hold 94.7 % of the rows: they are about right. On "
        "new rows the predictions miss by 54.1 (root mean square of the residuals, in the unit of "
        "progression)."
    )
    found = checks(samples.regression(), coverage=None, calibration_picture="study-1-calibration")
    found = reading.with_study(found, honest=None)
    assert text(found, "residuals") == (
        "The coverage of the intervals was not measured. Figure 7 compares what was predicted "
        "with what was seen."
    )


def test_a_surprising_number():
    found = samples.regression()
    row = replace(found.studies[0].checks.surprising[0], label="310", probability=151.3, score=3.42)
    found = checks(found, surprising=(row,), influential=(row,))
    assert text(found, "rows").split("\n") == [
        "The table has 310 in row 126, where the final model with that row left out predicts "
        "151.3: 3.4 standard deviations off, the farthest of all rows. Such rows may be slips of "
        "entry, or cases that the variables do not explain. Table 4 has its values; rows are "
        "counted from 1, below the header.",
        "The fit leans most on the row in Table 5: without it the fitted function would change "
        "more than without any row that is not listed. If it is wrong, mend it and run the report "
        "again.",
    ]
    table = reading.tables(write(found))["table-surprising"]
    assert reading.rows(table) == [["126", "310", "151.3", "3.42", "88", "23"]]
    assert [one.title for one in table.headings][:4] == [
        "Row",
        "progression",
        "Predicted",
        "Off by",
    ]


def test_the_table_of_surprising_rows():
    table = reading.tables(write(samples.findings()))["table-surprising"]
    assert [one.title for one in table.headings] == [
        *("Row", "diabetes", "Probability", "Surprise", "plasma glucose", "age"),
    ]
    assert reading.rows(table)[0] == ["126", "diabetic", f"2.00{THIN}%", "5.60", "88", "23"]
    assert table.note == ""


def test_wide_rows_are_cut():
    found = samples.findings()
    values = tuple((f"x{k}", str(k)) for k in range(9))
    first, second, _ = found.studies[0].checks.surprising
    rows = (replace(first, values=values), replace(second, values=()))
    table = reading.tables(write(checks(found, surprising=rows)))["table-surprising"]
    assert [one.title for one in table.headings][4:] == [f"x{k}" for k in range(6)]
    assert table.note == "3 further variables of the model not shown."
    assert reading.rows(table)[1][4:] == ["–"] * 6


def test_no_rows_no_section():
    found = checks(samples.findings(), surprising=(), influential=())
    assert text(found, "rows") == ""


def test_the_golden_stability():
    assert text(samples.findings(), "stability").split("\n") == [
        "The whole search was run again 5 times, each time without a part of the rows, and then "
        "tested on that part. Table 7 lists what it found. The error outside ranged from 22.0 % "
        "to 26.0 %. Inside, the searches believed 22.5 % on average, which was 0.8 percentage "
        "points too optimistic.",
        "Of what is beyond doubt, plasma glucose and age came back on all 5 parts. Of the "
        "suggestions, pedigree came back on all 5 parts. The structure of the whole table was "
        "found again on every part.",
    ]


def test_the_table_of_folds():
    table = reading.tables(write(samples.findings()))["table-folds"]
    assert reading.rows(table)[4] == [
        *("5", "579", "145", f"26.00{THIN}%", f"34.40{THIN}%", f"22.50{THIN}%"),
        "plasma glucose alone, plus an interaction of pedigree and age",
    ]


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
            "parts. Of the suggestions, pedigree came back on none of 2 parts. The whole",
        ),
        (
            ((GLUCOSE, "b"), (GLUCOSE, "b", "c"), ()),
            "Of what is beyond doubt, plasma glucose came back on 2 of 3 parts and age on none of "
            "3 parts. Of the suggestions, pedigree came back on none of 3 parts. Not claimed, but "
            "used on some parts, were b (2 of 3) and c (1 of 3).",
        ),
    ],
)
def test_on_how_many_parts_claims_came_back(variables, said):
    assert said in text(folds(*variables), "stability")


def test_what_parts_claim_counts_more_than_what_they_use():
    found = folds((GLUCOSE, AGE, PEDIGREE), (GLUCOSE, AGE, PEDIGREE), (GLUCOSE, AGE, PEDIGREE))
    product = samples.claim("interaction", (AGE, PEDIGREE), 0.9, "age and pedigree interact")
    first, *others = found.studies[0].honest.folds
    first = replace(first, claims=(*samples.claims()[:3:2], product))
    others = [replace(one, claims=samples.claims()[:1]) for one in others]
    said = text(honest(found, folds=(first, *others)), "stability")
    assert "plasma glucose came back on all 3 parts and age on none of 3 parts." in said
    assert "pedigree with age came back on 1 of 3 parts and pedigree on none of 3 parts." in said
    assert (
        "Of the shapes, that diabetes follows plasma glucose in a curve came back on 1 of 3 parts."
    ) in said


def test_a_level_of_a_part_belongs_to_its_column():
    found = folds(("ward = north",), ("ward = other",), ("ward is missing",))
    ward = replace(found.table.variables[0], name="ward = south", column="ward", kind="indicator")
    found = reading.with_table(found, variables=(ward, *found.table.variables))
    found = reading.with_study(
        found, claims=(samples.claim("variable", ("ward",), 0.99, "ward matters"),)
    )
    assert "Of what is beyond doubt, ward came back on all 3 parts." in text(found, "stability")


def test_a_claim_that_parts_do_not_bear_out_is_said_so_everywhere():
    found = folds((AGE,), (AGE,))
    held = replace(samples.claims()[0], certain=False)
    found = reading.with_study(found, claims=(held,))
    assert (
        "plasma glucose matters (more than 99.9 % on all rows, but parts of the table do not bear "
        "it out: section 6)."
    ) in text(found, "summary")
    assert (
        "a suggestion that plasma glucose matters (probability more than 99.9 % beside the other "
        "columns); parts of the table do not bear it out."
    ) in text(found, "variables")
    assert "Of the suggestions, plasma glucose came back on none of 2 parts." in text(
        found, "stability"
    )
    assert "beyond doubt" not in text(found, "variables")


def test_how_often_the_structure_is_found_again():
    said = text(folds((), ()), "stability")
    assert "was found on no part: rely on what came back, not on the form." in said
    mixed = folds(("a",), ("a",), ("a",))
    model = mixed.studies[0].model
    first, *others = mixed.studies[0].honest.folds
    mixed = honest(mixed, folds=(replace(first, words=f" {model.words} "), *others))
    assert "was found again on 1 of 3 parts." in text(mixed, "stability")


def test_a_constant_has_nothing_to_check():
    assert text(samples.no_structure(), "checking") == (
        "The model is a constant: all rows get the same probability, and there is nothing to check."
    )
    number = reading.with_study(samples.regression(), structure_found=False)
    assert "all rows get the same number" in text(number, "checking")


def test_a_rare_class_is_called_from_its_share_on():
    assert (
        "If rows are called “diabetic” from a probability of 0.02 on, 9 of 10 such rows are found "
        "(90.0 %), and 400 of 500 other rows are false alarms (80.0 %). Of the 409 rows that are "
        "called so, 2.2 % are “diabetic” (precision). Table 4 has the counts."
    ) in text(samples.rare(), "roc")
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
        (("a constant",) * 5, "On every part the search found no structure either."),
        (("x",) * 5, "On every part the search did find a structure, although it found none"),
        (
            ("a constant", "x", "x", "x", "x"),
            "On 1 of 5 parts the search found no structure either.",
        ),
    ],
)
def test_how_often_nothing_is_found_again(words, said):
    found = samples.no_structure()
    old = found.studies[0].honest.folds
    new = tuple(replace(fold, words=one) for fold, one in zip(old, words, strict=True))
    assert said in text(honest(found, folds=new), "stability")


@pytest.mark.parametrize(
    ("believed", "said"),
    [
        (0.2534, "which was 2.0 percentage points too pessimistic."),
        (0.2334, "believed 23.3 % on average, as much as the error outside."),
    ],
)
def test_what_the_searches_believed(believed, said):
    assert said in text(honest(samples.findings(), guide_error=believed), "stability")


def test_a_belief_that_is_not_known():
    assert "believed" not in text(honest(samples.findings(), guide_error=math.nan), "stability")


def test_folds_that_are_missing():
    found = honest(samples.findings(), n_planned=6)
    assert "1 of 6 planned folds is missing from these figures." in text(found, "stability")
    failures = ("No memory.", "one\nclass", "third", "fourth")
    found = honest(samples.findings(), n_planned=9, failures=failures)
    assert (
        "4 of 9 planned folds are missing from these figures. The reasons given: No memory; one "
        "class; third."
    ) in text(found, "stability")
    assert "planned" not in text(samples.findings(), "stability")


def test_unknown_stability():
    assert text(samples.fast(), "stability") == (
        "Nothing can be said about stability, because the outer folds were skipped. Run it with "
        "--outer 5 and without --fast to see whether the same structure is found on parts of the "
        "table."
    )
    found = reading.with_run(samples.fast(), skipped=())
    assert text(found, "stability") == (
        "Nothing can be said about stability, because fewer than two outer folds were finished."
    )


def test_a_table_that_is_too_small_for_outer_folds_is_told_so():
    found = samples.fast()
    small = replace(found, run=replace(found.run, skipped=(), too_few_rows=True))
    text = to_markdown(write(small))
    assert "because the table has too few rows for outer folds." in text
    assert "--outer 5" not in text
