"""More than two classes, and the sentences for the terminal."""

import math
from dataclasses import replace

import pytest

from parsimon.report.document import KeyFigures
from parsimon.report.sections import summary_lines, write
from tests.report import reading, samples
from tests.report.samples import interval

THIN = "\u202f"


def lead(found) -> str:
    return reading.lead(found).replace(THIN, " ")


def joint(**changes):
    found = samples.three_classes()
    return replace(found, joint=replace(found.joint, **changes))


def lines(found) -> list[str]:
    return [line.replace(THIN, " ") for line in summary_lines(found)]


def test_all_classes_together():
    assert lead(samples.three_classes()).split("\n") == [
        "plasma glucose and age predict diabetes, beyond doubt. On rows never seen, the most "
        "probable of three classes is wrong in 4.0 % of cases (95 % interval 1.0 to 7.0 %); "
        "guessing is wrong in 66.7 %. The commonest slip was to call “versicolor” “virginica”, "
        "3 times.",
        "plasma glucose matters (more than 99.9 %).",
        "age matters (99.1 %).",
        "pedigree matters (87.2 %).",
        "pedigree and age interact (64.1 %).",
        "What predicts need not be a cause.",
    ]
    kinds = [type(one).__name__ for one in write(samples.three_classes()).lead]
    assert kinds == ["Paragraph", "KeyFigures", "Table", "Figure", "Listings"]


def test_a_short_part_on_each_class():
    section = reading.section(samples.three_classes(), "classes")
    assert [one.title for one in section.sections] == [
        f"“{name}” against all others" for name in ("setosa", "versicolor", "virginica")
    ]
    said = reading.text(samples.three_classes(), "study-2-class").replace(THIN, " ")
    assert said.split("\n") == [
        "plasma glucose matters (more than 99.9 %); age matters (99.1 %); pedigree matters (87.2 %"
        "); pedigree and age interact (64.1 %).",
    ]


def test_left_out_rows_are_called_optimistic():
    said = lead(joint(source="leave-one-out"))
    assert "With each row left out in turn, the most probable" in said
    assert "This is a little optimistic, since the models were chosen with all rows." in said


def test_slips():
    assert "No class was taken for another." in lead(
        joint(confusion=((50, 0, 0), (0, 50, 0), (0, 0, 50)))
    )
    assert "call “setosa” “virginica”, once." in lead(
        joint(confusion=((49, 0, 1), (0, 50, 0), (0, 0, 50)))
    )


def test_no_joint_error():
    found = replace(samples.three_classes(), joint=None)
    found = reading.with_run(found, skipped=("outer folds",))
    assert (
        "beyond doubt. How well it does on new rows was not measured, because the outer folds were "
        "skipped."
    ) in lead(found)


def test_classes_of_which_nothing_is_shown():
    found = samples.three_classes()
    assert lead(replace(found, claims=())).startswith("Something here certainly predicts diabetes;")
    unproved = [
        replace(one, honest=replace(one.honest, gain=interval(0.0, 0.1))) for one in found.studies
    ]
    found = replace(found, claims=(), studies=tuple(unproved))
    assert lead(found).startswith("These rows do not show that any column predicts diabetes.")
    nothing = replace(found.studies[0], claims=(), structure_found=False)
    found = replace(found, studies=(nothing, *found.studies[1:]))
    assert reading.text(found, "study-1-class") == ""
    assert reading.text(found, "study-2-class")
    perhaps = replace(found, claims=samples.claims()[3:4])
    assert lead(perhaps).startswith("Nothing predicts diabetes beyond doubt; pedigree may.")
    assert lines(found)[1] == "These rows do not show that any column predicts diabetes."


def test_confusion_and_overview():
    tables = reading.tables(write(samples.three_classes()))
    assert reading.rows(tables["table-joint"])[1] == ["versicolor", "0", "47", "3"]
    assert [cell.strong for cell in tables["table-joint"].rows[1]] == [False, False, True, False]
    row = reading.rows(tables["table-classes"])[0]
    assert row == [
        *("setosa", "249", f"23.3{THIN}%", f"34.4{THIN}%"),
        *("plasma glucose, age", "pedigree, pedigree with age"),
    ]


def test_overview_without_structure_or_honest_error():
    found = samples.three_classes()
    study = replace(found.studies[0], honest=None, structure_found=False, claims=())
    tables = reading.tables(write(replace(found, studies=(study, *found.studies[1:]))))
    row = reading.rows(tables["table-classes"])[0]
    assert row[2:] == ["–", f"34.4{THIN}%", "–", "–"]


def test_the_golden_lines():
    assert lines(samples.findings()) == [
        "pima: 724 of 768 rows, 8 columns, target diabetes: “not diabetic” 475, “diabetic” 249.",
        "Beyond doubt: plasma glucose matters (more than 99.9 %); age matters (99.1 %); diabetes "
        "follows plasma glucose in a curve (98.2 %).",
        "Suggestions, not certain: pedigree matters (87.2 %); pedigree and age interact (64.1 %).",
        "Structure: plasma glucose alone, plus an interaction of pedigree and age.",
        "On rows never seen the model is wrong in 23.3 % of cases (95 % interval 20.7 to 25.9 %); "
        "guessing is wrong in 34.4 %. On its own folds the search believed 22.4 %, which is too "
        "good to be quoted.",
        "The gain over guessing is 11.1 percentage points (95 % interval 8.1 to 14.1).",
        "After one term (plasma glucose alone) a further one buys less.",
        "On rows never seen the probabilities are not shown to be too bold or too timid "
        "(calibration slope 0.94, 95 % interval 0.77 to 1.11, where 1 is right).",
        "Of what is beyond doubt, plasma glucose and age came back on all 5 parts. Of the "
        "suggestions, pedigree came back on all 5 parts.",
    ]


def test_lines_without_an_honest_error():
    found = lines(samples.fast())
    assert found[4:6] == [
        "No honest error was measured; on its own folds the search is wrong in 22.4 %, which is "
        "optimistic.",
        "Guessing is wrong in 34.4 %.",
    ]
    assert found[-1] == "Left out to save time: outer folds, interactions."


def test_lines_have_the_first_screen_s_error_of_guessing():
    few = samples.fast()
    study = replace(few.studies[0], n_positive=2, n_negative=3)
    few = replace(few, studies=(study,))
    assert "Guessing is wrong in 40.0 %." in lines(few)
    [figures] = [block for block in write(few).lead if isinstance(block, KeyFigures)]
    assert "40.0\u202f%" in [figure.value for figure in figures.items]


def test_lines_without_structure():
    found = reading.with_study(samples.no_structure(), honest=None)
    assert lines(found)[1:4] == [
        "These rows do not show that any column predicts diabetes.",
        "The search tried 72 kernels on all 724 rows; none is shown to be better than a constant.",
        "No honest error was measured.",
    ]


def test_lines_with_suggestions_only():
    found = reading.with_study(samples.findings(), claims=samples.claims()[3:])
    assert lines(found)[1:3] == [
        "Something here certainly predicts diabetes; which column is not certain.",
        "Suggestions, not certain: pedigree matters (87.2 %); pedigree and age interact (64.1 %).",
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("one-se", "Structure, the simplest within one standard error of the least cross-valid"),
        ("least_error", "Structure, that of the least cross-validated error: plasma"),
    ],
)
def test_lines_say_which_rule_chose(rule, said):
    found = reading.chosen_by(samples.findings(), rule)
    assert lines(found)[3].startswith(said)


def test_lines_of_a_number():
    found = lines(samples.regression())
    assert found[0] == "pima: 724 of 768 rows, 8 columns, target progression."
    assert found[7].startswith("The 95 % intervals of the predictions hold 94.7 %")
    study = samples.regression().studies[0]
    unknown = reading.with_study(samples.regression(), checks=replace(study.checks, coverage=None))
    assert len(lines(unknown)) == len(found) - 1


def test_lines_of_a_whole_table():
    found = reading.with_table(samples.findings(), n_rows=724)
    assert lines(found)[0].startswith("pima: 724 rows, 8 columns")


def test_lines_leave_out_what_was_not_measured():
    found = samples.fast()
    study = found.studies[0]
    blind = replace(study.baseline, error=math.nan)
    variables = tuple(
        replace(one, model=replace(one.model, error=math.nan)) for one in study.variables
    )
    found = reading.with_study(found, baseline=blind, variables=variables)
    said = " ".join(lines(found))
    assert "Guessing" not in said
    assert "single variables" not in said


def test_lines_of_several_classes():
    assert lines(samples.three_classes())[1:5] == [
        "Beyond doubt: plasma glucose matters (more than 99.9 %); age matters (99.1 %).",
        "Suggestions, not certain: pedigree matters (87.2 %); pedigree and age interact (64.1 %).",
        "On rows never seen, the most probable of three classes is wrong in 4.0 % of cases (95 % "
        "interval 1.0 to 7.0 %); guessing is wrong in 66.7 %. The commonest slip was to call "
        "“versicolor” “virginica”, 3 times.",
        "“setosa” against all others: plasma glucose, age beyond doubt; honest error 23.3 %.",
    ]


@pytest.mark.parametrize("n", [5, 12])
def test_lines_of_many_classes(n):
    found = samples.three_classes()
    studies = tuple(
        replace(found.studies[0], positive=f"c{k}", honest=None, claims=()) for k in range(n)
    )
    classes = tuple((f"c{k}", 10) for k in range(n))
    found = replace(found, studies=studies, joint=None, claims=())
    said = lines(reading.with_table(found, classes=classes))
    assert said[0].endswith("“c0” 10, “c1” 10, “c2” 10, “c3” 10, ….")
    assert said[1] == "These rows do not show that any column predicts diabetes."
    assert said[2] == "No honest error was measured for all classes together."
    assert said[3] == "“c0” against all others: nothing beyond doubt."
    further = "1 further class" if n == 5 else "8 further classes"
    assert said[-1] == f"The report has {further}."
