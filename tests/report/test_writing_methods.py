"""The front page, how to use the model, methods and references."""

from dataclasses import replace

import pytest

from parsimon.report.document import Bullets
from parsimon.report.findings import Variable
from parsimon.report.sections import write
from parsimon.report.sections.table.methods import cited, references
from parsimon.structures.claims import CERTAIN
from tests.report import reading, samples

THIN = "\u202f"


def text(found, anchor: str) -> str:
    return reading.text(found, anchor).replace(THIN, " ")


def lead(found) -> list[str]:
    document = write(found)
    return [
        reading.plain(one, document.numbers()).replace(THIN, " ")
        for one in reading.paragraphs(document.lead)
    ]


def searching(found, **changes):
    return reading.with_study(found, search=replace(found.studies[0].search, **changes))


def test_title_and_facts():
    document = write(samples.findings())
    assert document.title == "What predicts diabetes in pima"
    assert document.subtitle == "A report written by Parsimon 0.0.0 on 2026-01-31"
    assert dict(document.facts) == {
        "Rows": "724 used of 768",
        "Columns": "9, of which one is predicted",
        "Variables": "4",
        "Target": "diabetes (two classes)",
        "Classes": f"“not diabetic” 475 (65.61{THIN}%) and “diabetic” 249 (34.39{THIN}%)",
        "Missing cells": "47",
        "Seed": "0",
        "Version": "Parsimon 0.0.0",
        "Date": "2026-01-31",
        "Time taken": "1 minute and 1 second",
        "Command": "parsimon report pima --seed 0",
        "Fingerprint": "SHA-256 c0ffeec0ffeec0ff…",
    }


def test_facts_of_a_number_and_of_a_whole_table():
    found = reading.with_table(samples.regression(), n_rows=724)
    facts = dict(write(reading.with_run(found, command="")).facts)
    assert facts["Rows"] == "724"
    assert facts["Target"] == "progression (a number)"
    assert "Classes" not in facts
    assert "Command" not in facts


def test_the_golden_lead():
    assert lead(samples.findings()) == [
        "The table pima has 768 rows and 9 columns; 724 of the rows could be used. The question is "
        "what tells “diabetic” (249 rows, 34.4 %) from “not diabetic” (475 rows, 65.6 %) in the "
        "column diabetes. Four variables may be used for it: plasma glucose, body mass index, "
        "pedigree and age.",
        "What was done to the table. 47 cells are missing.",
        "44 rows have no value of the target and were left out.",
        "3 missing cells of body mass index were filled with 32.3, the median of the others.",
        "One column holds categories and became variables that are 0 or 1, one for each level: "
        "colour (3 levels).",
        "One column holds one value only and was left out: hospital (“A”).",
    ]


def test_an_untouched_table():
    found = reading.with_table(samples.findings(), treatments=(), n_missing=0, n_rows=724)
    first, second = lead(found)
    assert first.startswith("The table pima has 724 rows and 9 columns. The question")
    assert second == "No cell is missing. Nothing had to be done to the table."
    assert lead(reading.with_table(found, n_missing=1))[1] == "1 cell is missing."


def test_questions_of_other_targets():
    assert "The question is what predicts progression, a number." in lead(samples.regression())[0]
    assert (
        "The column diabetes has three classes; for each of them the question is what tells it "
        "from the others."
    ) in lead(samples.three_classes())[0]


def test_one_or_no_variable():
    found = samples.findings()
    one = reading.with_table(found, variables=found.table.variables[:1])
    assert "One variable may be used for it: plasma glucose." in lead(one)[0]
    assert "may be used" not in lead(reading.with_table(found, variables=()))[0]


def test_one_of_many_classes():
    """A class asked for by name stands against all others together."""
    found = samples.three_classes()
    found = replace(found, studies=found.studies[:1], joint=None)
    assert "what tells “setosa” (249 rows, " in lead(found)[0]
    assert "from the other classes (475 rows" in lead(found)[0]


def test_the_golden_use():
    assert text(samples.findings(), "use").split("\n") == [
        "The fitted model is saved beside this report; below it is called MODEL.skops. parsimon "
        "predict MODEL.skops TABLE predicts the class and the probabilities for a table of new "
        "rows with the same columns. Empty cells, text and dates are treated as they were here. "
        "In Python:",
        "from parsimon.statistician import load_model",
        'model = load_model("MODEL.skops")',
        "model.predict_proba(table)",
        "By itself the model calls a row “diabetic” from a probability of one half on, which is "
        "right if both kinds of error cost the same. If missing one row of “diabetic” costs as "
        "much as c false alarms, call rows “diabetic” from 1/(1 + c) on. Table 8 shows what that "
        "does; it presumes that the probabilities are right (section 5.1).",
        "The model has seen plasma glucose from 44 to 199, pedigree from 0.08 to 2.42 and age from "
        "21 to 81. Beyond these ranges it knows nothing, and its predictions there are guesses.",
    ]


def test_the_snippet_names_what_exists():
    from parsimon.statistician.saving import load_model

    assert callable(load_model)


def test_thresholds_for_costs():
    table = reading.tables(write(samples.findings()))["table-costs"]
    assert [row[:2] for row in reading.rows(table)] == [
        ["0.2 false alarms", "0.83"],
        ["1 false alarm", "0.50"],
        ["2 false alarms", "0.33"],
        ["5 false alarms", "0.17"],
        ["10 false alarms", "0.09"],
    ]
    found = [cell.order for cell in (row[2] for row in table.rows)]
    assert found == sorted(found), "the dearer a miss, the more must be found"
    assert reading.rows(table)[1][2:] == [f"65.86{THIN}%", f"50.11{THIN}%", "85", "238"]


def test_thresholds_without_calibration():
    found = samples.findings()
    checks = replace(found.studies[0].checks, calibration=(), calibration_slope=None)
    said = text(reading.with_study(found, checks=checks), "use")
    assert "one half on. Table 8 shows what other thresholds do." in said


def test_use_of_a_number():
    said = text(samples.regression(), "use")
    assert "predicts progression for a table" in said
    assert "model.predict(table)" in said
    assert "threshold" not in said


def test_use_without_structure():
    assert text(samples.no_structure(), "use").startswith(
        "These rows do not show that any column predicts it, so that the saved model is a "
        "constant: for every row it predicts the shares of the classes."
    )
    assert "table-costs" not in reading.tables(write(samples.no_structure()))
    number = reading.with_study(samples.regression(), structure_found=False)
    assert "for every row it predicts the mean." in text(number, "use")


def test_ranges_of_one_variable_and_of_none():
    found = samples.findings()
    model = replace(found.studies[0].model, variables=("age",))
    said = text(reading.with_study(found, model=model), "use")
    assert "The model has seen age from 21 to 81. Beyond this range it knows nothing" in said
    smoker = Variable(
        name="age", column="age", kind="indicator", minimum=0, maximum=1, mean=0.5, deviation=0.5
    )
    found = reading.with_table(reading.with_study(found, model=model), variables=(smoker,))
    assert "The model has seen" not in text(found, "use")


def test_many_ranges_are_cut():
    found = samples.findings()
    first = found.table.variables[0]
    names = tuple(f"x{k}" for k in range(23))
    found = reading.with_table(
        found, variables=tuple(replace(first, name=name, column=name) for name in names)
    )
    found = reading.with_study(found, model=replace(found.studies[0].model, variables=names))
    assert "x19 from 44 to 199, and three more variables." in text(found, "use")


def test_the_golden_methods():
    assert text(samples.findings(), "methods").split("\n") == [
        "A Gaussian process (Rasmussen and Williams 2006) gives each row a latent score, and a "
        "probit function turns the score into a probability. Its posterior is approximated by "
        "expectation propagation (Minka 2001). The kernel says what kind of function is expected: "
        "a sum lets each part act by itself, a product lets variables act together. "
        "Hyperparameters are those of greatest marginal likelihood.",
        "The structure was found by a search over kernels (Duvenaud et al. 2013; He 2016): it "
        "starts with smooth functions (SE) of single variables and joins further ones by sum or "
        "product, at most four in all, keeping the best two of each size. It minimised the "
        "cross-validated error, with 5 folds that all kernels shared.",
        "What is claimed has a probability: that of all structures tried which hold it, each "
        "weighed by its evidence and by a prior that pays for its size and for the number of "
        f"others of that size. From {100 * CERTAIN:.0f} % on it is called beyond doubt, from one "
        "half on a suggestion, and below that it is not said. Two variables interact only if "
        "products of them win against sums. What the outer folds do not bear out is called a "
        "suggestion, however probable. The structure that is described holds the variables and "
        "interactions that are more probable than not.",
        "The honest error comes from outer folds: everything, from filling cells to the search, is "
        "done again without the rows that are then predicted. Intervals come from the losses of "
        "these rows one by one, wider than if the rows were independent, since they have helped to "
        "fit each other's models (Bates et al. 2023). A log Bayes factor (Kass and Raftery 1995) "
        "is a difference of log evidence. How surely a function rises or falls is the posterior "
        "probability of the sign of its average slope along the ranks of the rows; a turn is said "
        "if 95 of 100 posterior draws make it. Curves and their hull follow Fawcett (2006), the "
        "interval of their area DeLong et al. (1988) on the logit scale, and slope and intercept "
        "of calibration Cox (1958).",
        "The search judged 72 kernels on all 724 rows, cross-validated 24 of them, and ended "
        "because the greatest number of terms was reached. Figure 9 shows its course.",
        "Options: depth 4; beam 2; outer 5. It was computed by Parsimon 0.0.0 with numpy 2.0.0.",
        "The same table, seed and version give the same report: parsimon report pima --seed 0. "
        "The cells of the table have the SHA-256 fingerprint " + "c0ffee" * 10 + ".",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inference": "Laplace's method"}, "by Laplace's method (Williams and Barber 1998)."),
        ({"inference": "a new method"}, "by a new method. The kernel"),
        (
            {"base": ("se", "per", "lin")},
            "smooth functions (SE), periodic functions (PER) and "
            "straight lines (LIN) of single variables",
        ),
        (
            {"base": ("matern", "rq")},
            "rougher functions (Matérn) and functions with several scales",
        ),
        ({"base": ("strange",)}, "it starts with strange of single variables"),
        ({"guide": "cv_logloss"}, "It minimised the cross-validated log loss,"),
        ({"guide": "loo_logloss"}, "It minimised the leave-one-out log loss,"),
        ({"guide": "nlml"}, "It minimised the negative log marginal likelihood,"),
        ({"guide": "bic"}, "It minimised the Bayesian information criterion,"),
        ({"guide": "other"}, "It minimised the other,"),
        ({"stopped_by": "no_improvement"}, "ended because no larger structure was better."),
        ({"stopped_by": "exhausted"}, "ended because there was nothing left to try."),
        ({"stopped_by": "time_limit"}, "ended because the time was up."),
        ({"stopped_by": "interrupt"}, "ended because it was interrupted."),
        ({"stopped_by": "a storm"}, "ended because of this: a storm."),
        ({"n_rows": 500}, "judged 72 kernels on 500 searched rows,"),
    ],
)
def test_how_the_search_went(changes, said):
    assert said in text(searching(samples.findings(), **changes), "methods")


def test_methods_of_a_number():
    said = text(samples.regression(), "methods")
    assert (
        "models progression as an unknown function of the variables plus noise, and the posterior "
        "is exact."
    ) in said
    assert "Fawcett" not in said


def test_methods_of_several_classes():
    said = text(samples.three_classes(), "methods")
    assert "Each of three classes has a model of its own against all others;" in said
    assert said.count("The search for “") == 3


def test_what_was_skipped():
    found = reading.with_run(samples.fast(), skipped=("outer folds", "restarts", "tea"))
    assert (
        "To save time the run left out the outer folds (hence no honest error and nothing about "
        "stability), further starts of the fits and tea."
    ) in text(found, "methods")
    assert "honest error comes from" not in text(found, "methods")


def test_a_run_without_options_command_and_libraries():
    found = reading.with_run(samples.findings(), options=(), command="", libraries=())
    said = text(found, "methods")
    assert said.endswith("It was computed by Parsimon 0.0.0.")
    assert "Options" not in said


def test_a_sparse_model_is_said_and_cited():
    found = samples.findings()
    checks = replace(found.studies[0].checks, source="training rows")
    found = reading.with_study(found, checks=checks)
    assert "uses inducing points (Hensman et al. 2015)." in text(found, "methods")
    assert "Hensman et al. 2015" in cited(found)
    named = searching(samples.findings(), inference="sparse variational inference")
    assert "Hensman et al. 2015" in cited(named)
    assert "Hensman et al. 2015" not in cited(samples.findings())


def test_the_one_standard_error_rule_is_said_and_cited():
    found = reading.chosen_by(samples.findings(), "one-se")
    said = "one standard error of the least cross-validated error (Breiman et al. 1984)."
    assert said in text(found, "methods")
    assert "Breiman et al. 1984" in cited(found)


def test_the_rule_of_least_error_is_said():
    found = reading.chosen_by(samples.findings(), "least-error")
    assert "described is that of the least cross-validated error." in text(found, "methods")
    assert "Breiman et al. 1984" not in cited(found)


@pytest.mark.parametrize("name", ["findings", "fast", "regression", "three_classes"])
def test_every_work_is_cited_in_the_text(name):
    """Each reference is mentioned, with its year in brackets or inside them."""
    found = getattr(samples, name)()
    said = text(found, "methods").replace("(", "").replace(")", "")
    for short, full in references(found):
        assert short in said
        assert full.endswith(".")


def test_references_are_in_order():
    names = [full for _, full in references(samples.findings())]
    assert names == sorted(names)
    laplace = searching(samples.findings(), inference="Laplace's method")
    assert "Minka 2001" not in cited(laplace)
    assert "Bates et al. 2023" not in cited(samples.fast())


def test_three_lines_of_python():
    section = reading.section(samples.findings(), "use")
    assert [len(one.items) for one in section.blocks if isinstance(one, Bullets)] == [3]
