"""The front page, how to use the model, methods and references."""

from dataclasses import replace

import pytest

from parsimon.report.findings import ComparedModel, ModelComparison, RecommendedModel
from parsimon.report.sections import write
from parsimon.report.sections.table.methods import cited
from parsimon.structures.claims import CERTAIN
from tests.report import reading, samples
from tests.report.samples import interval

THIN = "\u202f"


def text(found, anchor: str) -> str:
    return reading.text(found, anchor).replace(THIN, " ")


def searching(found, **changes):
    return reading.with_study(found, search=replace(found.studies[0].search, **changes))


def test_title_and_facts():
    document = write(samples.findings())
    assert document.title == "What predicts diabetes in pima"
    assert document.subtitle == "A report written by Parsimon 0.0.0 on 2026-01-31"
    assert document.facts == (), "Methods says the seed, the versions and the time"


def test_the_golden_table():
    assert text(samples.findings(), "table").split("\n") == [
        "The table pima has 768 rows and, beside diabetes, 8 columns; 724 of the rows could be "
        "used. In the column diabetes, 249 rows (34.4 %) are “diabetic” and 475 (65.6 %) “not "
        "diabetic”. 47 cells are missing.",
        "44 rows have no value of the target and were left out.",
        "3 missing cells of body mass index were filled with the median of its column, 32.3.",
        "One column holds categories and became variables that are 0 or 1, one for each level: "
        "colour (3 levels).",
        "One column holds one value only and was left out: hospital (“A”).",
    ]


def test_an_untouched_table():
    found = reading.with_table(samples.findings(), treatments=(), n_missing=0, n_rows=724)
    said = text(found, "table")
    assert said.startswith(
        "The table pima has 724 rows and, beside diabetes, 8 columns. In the column"
    )
    assert said.endswith("No cell is missing. Nothing had to be done to the table.")
    assert text(reading.with_table(found, n_missing=1), "table").endswith("1 cell is missing.")


def test_questions_of_other_targets():
    assert "The question is what predicts progression, a number." in text(
        samples.regression(), "table"
    )
    assert (
        "The column diabetes has three classes; for each of them the question is what separates "
        "it from the others: “setosa” 50 (33.33 %), “versicolor” 50 (33.33 %) and “virginica” 50 "
        "(33.33 %)."
    ) in text(samples.three_classes(), "table")


def test_one_of_many_classes():
    """A class asked for by name stands against all others together."""
    found = samples.three_classes()
    found = replace(found, studies=found.studies[:1], joint=None)
    said = text(found, "table")
    assert "249 rows (166.0 %) are “setosa” and 475 (316.7 %) the other classes." in said


def test_the_table_and_the_methods_are_folded():
    folded = [one.anchor for one in write(samples.findings()).sections if one.folded]
    assert folded == ["table", "methods"]
    other = RecommendedModel(name="random forest", columns=())
    found = replace(samples.findings(), recommended=other)
    folded = [one.anchor for one in write(found).sections if one.folded]
    assert folded == ["kernels", "table", "methods"]


def test_the_golden_use():
    assert text(samples.findings(), "use").split("\n") == [
        "parsimon predict MODEL.skops TABLE predicts the class and the probabilities of new rows "
        "with the saved model and warns of values beyond those seen; --explain says why. In "
        'Python: parsimon.statistician.load_model("MODEL.skops").predict_proba(table).',
        "It calls a row “diabetic” from a probability of one half on. If missing one row of "
        "“diabetic” costs as much as several false alarms, call rows “diabetic” at a lower one.",
    ]


def test_the_snippet_names_what_exists():
    from parsimon.statistician.saving import load_model

    assert callable(load_model)


def test_thresholds_for_costs():
    table = reading.tables(write(samples.findings()))["table-costs"]
    assert [row[:2] for row in reading.rows(table)] == [
        ["1 false alarm", "0.50"],
        ["5 false alarms", "0.17"],
        ["10 false alarms", "0.09"],
    ]
    found = [cell.order for cell in (row[2] for row in table.rows)]
    assert found == sorted(found), "the dearer a miss, the more must be found"
    assert [cell.replace(THIN, " ") for cell in reading.rows(table)[0][2:]] == [
        *("65.9 %", "59.8 to 71.5 %", "85", "238"),
        *("50.1 %", "45.6 to 54.6 %"),
    ]


def test_use_of_a_number():
    said = text(samples.regression(), "use")
    assert "predicts progression of new rows" in said
    assert 'load_model("MODEL.skops").predict(table)' in said
    assert "threshold" not in said


def test_use_without_structure():
    assert text(samples.no_structure(), "use").startswith(
        "These rows do not show that any column predicts it, so that the saved model is a "
        "constant: for every row it predicts the shares of the classes."
    )
    assert "table-costs" not in reading.tables(write(samples.no_structure()))
    number = reading.with_study(samples.regression(), structure_found=False)
    assert "for every row it predicts the mean." in text(number, "use")


def test_a_model_to_use_that_guesses_is_a_constant():
    def model(name, family, *, recommended):
        return ComparedModel(
            name=name,
            family=family,
            words=name,
            error=interval(0.3, 0.02),
            log_loss=0.6,
            difference=interval(0.0, 0.01),
            variables=1,
            size=4.0,
            size_words="1 variable, 1 number",
            seconds=1.0,
            is_best=not recommended,
            is_level=True,
            recommended=recommended,
            key=family,
        )

    models = (
        model("kernel search", "gp", recommended=False),
        model("guessing", "guessing", recommended=True),
    )
    found = replace(samples.findings(), comparison=ModelComparison(models=models, metric="error"))
    assert text(found, "use").startswith(
        "No model is shown to predict better than guessing, so that the saved model is a constant: "
    )
    assert "table-costs" not in reading.tables(write(found))
    assert text(found, "rows") == ""
    assert "for every row. The curves are of what these rows support" in text(found, "models")


def test_the_golden_methods():
    assert text(samples.findings(), "methods").split("\n") == [
        "The kernel search fits a Gaussian process (Rasmussen and Williams 2006) by expectation "
        "propagation (Minka 2001): a score, turned into a probability by a probit function. It "
        "joins (Duvenaud et al. 2013; He 2016) smooth functions (SE) of single columns by sum or "
        "product, at most four, keeping the best two of each size, by cross-validated error on 5 "
        "folds. Its model is plasma glucose alone, plus an interaction of pedigree and age; its "
        "log Bayes factor against a constant is 36.0.",
        "A claim’s probability is that of all structures tried which hold it, weighed by evidence "
        f"and by a prior on size: from {100 * CERTAIN:.0f} % on it is certain, from one half on "
        "suggested. A line is straight in the score, not in the probability. What the outer folds "
        "do not bear out is only suggested. Looked for are lines, curves and waves along each "
        "column, interactions of two columns, and of up to 100 columns products of three; not "
        "interactions of four or more, nor effects of the order of the rows.",
        "For the honest error everything, from filling cells on, is done again without the rows "
        "that are then predicted (Bates et al. 2023). A rise or fall is as sure as the sign of the "
        "average slope.",
        "Seed 0; Parsimon 0.0.0 and numpy 2.0.0.",
        "The same table, seed and version give the same report: parsimon report pima --seed 0. "
        "SHA-256 of the table: " + "c0ffee" * 10 + ".",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inference": "Laplace's method"}, "by Laplace's method (Williams and Barber 1998):"),
        ({"inference": "a new method"}, "by a new method:"),
        (
            {"base": ("se", "per", "lin")},
            "smooth functions (SE), periodic functions (PER) and "
            "straight lines (LIN) of single columns",
        ),
        (
            {"base": ("matern", "rq")},
            "rougher functions (Matérn) and functions with several scales",
        ),
        ({"base": ("strange",)}, "He 2016) strange of single columns by sum"),
        ({"guide": "cv_logloss"}, "by cross-validated log loss on"),
        ({"guide": "loo_logloss"}, "by leave-one-out log loss on"),
        ({"guide": "nlml"}, "by negative log marginal likelihood on"),
        ({"guide": "bic"}, "by Bayesian information criterion on"),
        ({"guide": "other"}, "by other on"),
        ({"depth": 1}, "of single columns that are more probable than not, judged by"),
        ({"stopped_by": "time_limit"}, "judged 72 kernels on all 724 rows until the time was up."),
        ({"stopped_by": "interrupt"}, "judged 72 kernels on all 724 rows until it was interrupted"),
        ({"n_rows": 500}, "judged 72 kernels on 500 searched rows."),
    ],
)
def test_how_the_search_went(changes, said):
    assert said in text(searching(samples.findings(), **changes), "methods")


def test_methods_of_a_number():
    said = text(samples.regression(), "methods")
    assert "2006): an unknown function of the columns plus noise." in said
    assert "straight in the score" not in said


def test_methods_of_several_classes():
    said = text(samples.three_classes(), "methods")
    assert "Each of three classes has a model of its own against all others;" in said


def test_what_was_skipped():
    found = reading.with_run(samples.fast(), skipped=("outer folds", "restarts", "tea"))
    assert (
        "To save time the run left out the outer folds (hence no honest error and nothing about "
        "stability), further starts of the fits and tea."
    ) in text(found, "methods")
    assert "For the honest error" not in text(found, "methods")


def test_a_run_without_options_command_and_libraries():
    found = reading.with_run(samples.findings(), options=(), command="", libraries=())
    said = text(found, "methods")
    assert said.endswith("Seed 0; Parsimon 0.0.0.")


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
    said = "one standard error of the least cross-validated error (Breiman et al. 1984), and is not"
    assert said in text(found, "methods")
    assert "Breiman et al. 1984" in cited(found)


def test_the_rule_of_least_error_is_said():
    found = reading.chosen_by(samples.findings(), "least-error")
    assert (
        "Its model is that of the least cross-validated error, and is not a claim in itself."
        in text(found, "methods")
    )
    assert "Breiman et al. 1984" not in cited(found)


@pytest.mark.parametrize("name", ["findings", "fast", "regression", "three_classes"])
def test_every_work_is_cited_in_the_text(name):
    """Each reference is mentioned, with its year in brackets or inside them."""
    found = getattr(samples, name)()
    said = text(found, "methods").replace("(", "").replace(")", "")
    for short, full in write(found).references:
        assert short in said
        assert full.endswith(".")


def test_the_source_of_honest_errors_is_cited_whichever_model_is_measured():
    own = RecommendedModel(name="random forest", columns=())
    found = replace(samples.findings(), recommended=own)
    assert "(Bates et al. 2023)" in text(found, "methods")
    assert "Bates et al. 2023" in cited(found)


def test_why_a_probable_claim_is_only_suggested_is_said_whatever_was_measured():
    known = reading.with_study(samples.findings(), honest=None)
    said = "What the outer folds do not bear out is only suggested."
    assert said not in text(known, "methods")
    first, *others = known.studies[0].claims
    doubted = (replace(first, probability=0.999, certain=False), *others)
    assert said in text(reading.with_study(known, claims=doubted), "methods")


def test_with_a_time_limit_the_same_report_needs_a_machine_as_fast():
    found = reading.with_run(samples.findings(), command="parsimon report pima --time-limit 120")
    said = "give the same report where the machine gets as far in that time: parsimon report pima"
    assert said in text(found, "methods")


def test_references_are_in_order():
    names = [full for _, full in write(samples.findings()).references]
    assert names == sorted(names)
    laplace = searching(samples.findings(), inference="Laplace's method")
    assert "Minka 2001" not in cited(laplace)
    assert "Bates et al. 2023" not in cited(samples.fast())
