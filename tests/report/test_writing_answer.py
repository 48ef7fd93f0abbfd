"""The first screen: one sentence, four figures, a picture, and three lists."""

import math
from dataclasses import replace

import pytest

from parsimon.report.document import Figure, KeyFigures, Listings, Strong
from parsimon.report.findings import ComparedModel, Interval, ModelComparison, Treatment
from parsimon.report.markdown import to_markdown
from parsimon.report.sections import write
from parsimon.report.sections._models import explained_share
from parsimon.report.sections.table.scope import misses
from tests.report import reading, samples
from tests.report.samples import interval

NAN = math.nan
THIN = "\u202f"


def lead(found) -> str:
    return reading.lead(found).replace(THIN, " ")


def trust(found) -> str:
    return reading.text(found, "checking").replace(THIN, " ")


def key_figures(found) -> list[tuple[str, str, str]]:
    [block] = [one for one in write(found).lead if isinstance(one, KeyFigures)]
    return [
        tuple(part.replace(THIN, " ") for part in (one.value, one.label, one.detail))
        for one in block.items
    ]


def lists(found) -> dict[str, list[str]]:
    document = write(found)
    [block] = [one for one in document.lead if isinstance(one, Listings)]
    return {
        one.title: [
            reading.plain(item, document.numbers()).replace(THIN, " ") for item in one.bullets.items
        ]
        for one in block.items
    }


def honest(found, **changes):
    return reading.with_study(found, honest=replace(found.studies[0].honest, **changes))


def test_the_first_screen_in_its_order():
    document = write(samples.findings())
    kinds = [type(block).__name__ for block in document.lead]
    assert kinds == ["Paragraph", "KeyFigures", "Figure", "Listings"]
    assert lead(samples.findings()).split("\n")[0] == (
        "plasma glucose and age separate “diabetic” from “not diabetic”, beyond doubt. On rows "
        "never seen the model is wrong in 23.3 % of cases (95 % interval 20.7 to 25.9 %); guessing "
        "is wrong in 34.4 %."
    )


def test_the_lists():
    assert lists(samples.findings()) == {
        "What is certain": [
            "plasma glucose matters (more than 99.9 %), and diabetes follows plasma glucose in a "
            "curve (98.2 %).",
            "age matters (99.1 %).",
        ],
        "What is suggested": [
            "pedigree matters (87.2 %).",
            "pedigree and age interact (64.1 %).",
        ],
        "What to doubt": [
            "1 other column: neither shown to matter beside these nor shown not to.",
            "What predicts need not be a cause.",
        ],
    }


def test_key_figures_of_classes():
    assert key_figures(samples.findings()) == [
        ("23.3 %", "honest error", "20.7 to 25.9 %, on new rows"),
        ("34.4 %", "guessing’s error", "calling every row “not diabetic”"),
        ("0.834", "AUC (guessing: 0.5)", "0.803 to 0.865"),
        ("724 × 8", "rows × columns", "3 of 8 columns used"),
    ]


def test_a_number_speaks_in_units_of_the_target():
    assert key_figures(samples.regression()) == [
        ("54.1", "typical miss", "root mean square; 51.6 to 57.0, on new rows"),
        ("76.5", "guessing’s miss", "always the mean"),
        ("50.0 %", "of the variance explained", "44.0 to 56.0 %"),
        ("724 × 8", "rows × columns", "3 of 8 columns used"),
    ]
    said = lead(samples.regression())
    assert said.startswith(
        "plasma glucose and age predict progression, beyond doubt. On rows never seen the model "
        "is off by 54.1 on average (root mean square, 95 % interval 51.6 to 57.0); "
        "50.0 % of the variance is explained. Predicting the mean is off by 76.5."
    )
    assert "error of" not in to_markdown(write(samples.regression()))


def test_shares_of_the_variance_become_misses():
    found = samples.regression().studies[0].honest
    assert misses(found, found.baseline_error.estimate) == pytest.approx(54.1 / math.sqrt(0.5))
    assert misses(found, found.error.estimate) == pytest.approx(54.1)
    share = explained_share(found.error)
    assert (share.estimate, share.low, share.high) == pytest.approx((0.5, 0.44, 0.56))
    perfect = replace(found, error=interval(0.0, 0.0), root_mean_square=0.0)
    assert math.isnan(misses(perfect, perfect.baseline_error.estimate))
    page = to_markdown(write(reading.with_study(samples.regression(), honest=perfect)))
    assert "is off by 0 on average (root mean square); 100" in page


def test_a_number_that_is_not_predicted():
    found = honest(samples.regression(), error=interval(1.02, 0.05), gain=interval(-0.02, 0.05))
    said = lead(found)
    assert "none of the variance is explained. Predicting the mean is off by" in said
    assert ", and a gain over that is not proved." in said
    assert "102" not in said


def test_key_figures_without_an_honest_error():
    assert key_figures(samples.fast())[:3] == [
        ("22.4 %", "optimistic error", "no honest error was measured"),
        ("34.4 %", "guessing’s error", "calling every row “not diabetic”"),
        ("0.700", "AUC (guessing: 0.5)", "0.670 to 0.730, leave-one-out"),
    ]
    number = reading.with_study(samples.regression(), honest=None)
    assert [one[1] for one in key_figures(number)] == [
        "of the variance explained (optimistic)",
        "rows × columns",
    ]


def test_guessing_calls_every_row_the_commoner_class_only_if_its_error_is_the_share_of_the_other():
    few = reading.with_study(samples.no_structure(), honest=None, n_positive=2, n_negative=3)
    baseline = replace(few.studies[0].baseline, error=0.5833)
    few = reading.with_study(few, baseline=baseline)
    assert ("40.0 %", "guessing’s error", "calling every row “not diabetic”") in key_figures(few)
    even = reading.with_study(samples.findings(), n_positive=362, n_negative=363)
    known = even.studies[0].honest
    even = reading.with_study(even, honest=replace(known, baseline_error=interval(0.512, 0.02)))
    said = ("51.2 %", "guessing’s error", "calling each row what most other rows are")
    assert said in key_figures(even)


def test_key_figures_without_structure_or_curve():
    found = reading.with_study(samples.no_structure(), honest=None)
    found = reading.with_study(found, checks=replace(found.studies[0].checks, roc=None))
    assert key_figures(found) == [
        ("34.4 %", "guessing’s error", "calling every row “not diabetic”"),
        ("724 × 8", "rows × columns", "no column is used"),
    ]


def test_no_honest_error_is_said_plainly():
    assert (
        "How well it does on new rows was not measured, because the outer folds were skipped; on "
        "its own folds it is wrong in 22.4 % (guessing is wrong in 34.4 %), which is optimistic."
    ) in lead(samples.fast())
    assert lists(samples.fast())["What to doubt"][0] == (
        "No honest error was measured and no other model asked, because the outer folds were "
        "skipped: expect more errors on new rows. Run it with --outer 5 and without --fast to "
        "measure one."
    )
    unfinished = lead(reading.with_run(samples.fast(), skipped=()))
    assert "because fewer than two outer folds were finished" in unfinished
    assert "--fast" not in unfinished
    number = lead(reading.with_study(samples.regression(), honest=None))
    assert "on its own folds it explains 77.6 % of the variance, which is optimistic." in number
    assert "expect worse on new rows." in number


def test_what_is_only_suggested_is_not_the_answer():
    found = reading.with_study(samples.findings(), claims=samples.claims()[3:])
    unproved = honest(found, gain=interval(0.01, 0.02))
    assert lead(unproved).startswith(
        "Nothing separates “diabetic” from “not diabetic” beyond doubt; pedigree and age may "
        "separate them."
    )
    assert lists(unproved)["What is certain"] == ["Nothing."]
    number = reading.with_study(samples.regression(), claims=samples.claims()[3:4])
    number = honest(number, gain=interval(0.01, 0.02))
    assert lead(number).startswith(
        "Nothing predicts progression beyond doubt; pedigree may predict it."
    )


def test_where_new_rows_are_predicted_something_does_it():
    found = reading.with_study(samples.findings(), claims=samples.claims()[3:])
    assert lead(found).startswith(
        "Something here certainly separates “diabetic” from “not diabetic”; pedigree and age may, "
        "but no column is certain."
    )
    assert lists(found)["What is certain"] == [
        "Something here predicts diabetes: new rows are predicted better than by guessing."
    ]
    none = reading.with_study(samples.regression(), claims=())
    assert lead(none).startswith("Something here certainly predicts progression; which is not")
    assert "Nothing" not in lists(none)["What is certain"]


ONE_OF = samples.claim(
    "set", ("age", "pedigree"), 0.997, "at least one of age and pedigree matters"
)


def test_columns_that_stand_for_each_other_are_the_answer_together():
    found = reading.with_study(samples.findings(), claims=(ONE_OF,))
    assert lead(found).startswith(
        "At least one of age and pedigree separates “diabetic” from “not diabetic”, beyond doubt."
    )
    assert lists(found)["What is certain"] == ["At least one of age and pedigree matters (99.7 %)."]
    assert "The model does without" not in lead(found)
    with_more = reading.with_study(samples.findings(), claims=(samples.claims()[0], ONE_OF))
    assert lead(with_more).startswith(
        "plasma glucose and at least one of age and pedigree separate"
    )
    matters = reading.text(found, "variables").replace(THIN, " ")
    assert "These rows do not show whether it is age that matters or pedigree." in matters
    doubtful = honest(found, gain=interval(0.01, 0.02))
    assert "beyond doubt that at least one of age and pedigree matters, but" in trust(doubtful)


def test_that_something_matters_is_said_where_no_more_is_known():
    some = samples.claim("any", (), 0.98, "something here predicts diabetes")
    found = reading.with_study(samples.findings(), claims=(some, samples.claims()[3]))
    found = honest(found, gain=interval(0.01, 0.02))
    assert lead(found).startswith(
        "Something here certainly separates “diabetic” from “not diabetic”; pedigree may, but no"
    )
    assert lists(found)["What is certain"] == ["Something here predicts diabetes (98.0 %)."]


def test_a_sample_says_how_many_rows_were_looked_at():
    found = reading.with_study(samples.findings(), n_claim_rows=500, claims=samples.claims()[:1])
    assert (
        "3 other columns: neither shown by the 500 of 724 rows that were looked at to matter beside"
    ) in lead(found)
    page = to_markdown(write(found)).replace(THIN, " ")
    assert "The 500 of 724 rows that were looked at do not show" in page
    assert "Claims rest on the 500 of 724 rows that were looked at, drawn at random." in page
    assert "These rows do not show" not in page
    assert "these rows do not show" not in page


def test_no_claim_is_the_answer_too():
    said = lists(samples.no_structure())
    assert lead(samples.no_structure()).startswith(
        "These rows do not show that any column predicts diabetes."
    )
    assert said["What is certain"] == ["Nothing."]
    assert said["What is suggested"] == ["Nothing further."]
    assert said["What to doubt"][-1] == (
        "This does not prove that there is nothing: more rows would help most."
    )


def test_nothing_on_the_page_is_stronger_than_no_claim():
    found = honest(samples.no_structure(), gain=interval(0.0, 0.0))
    page = to_markdown(write(found)).split("Methods")[0]
    for word in ("evidence", "beyond doubt", "suggestion"):
        assert word not in page
    assert "There is no gain over guessing." in trust(found)


def test_only_certain_claims_are_set_strong():
    document = write(reading.with_study(samples.findings(), claims=samples.claims()[3:]))
    strong = {
        part.text
        for paragraph in reading.paragraphs(tuple(reading.blocks(document)))
        for part in paragraph.parts
        if isinstance(part, Strong)
    }
    assert {one for one in strong if "matters" in one or "interact" in one} == set()


def test_a_model_with_more_or_less_than_is_claimed():
    found = reading.with_study(samples.findings(), claims=samples.claims()[:1])
    assert (
        "3 other columns: neither shown to matter beside these nor shown not to; the model uses "
        "pedigree and age."
    ) in lead(found)
    other = samples.claim("variable", ("body mass index",), 0.7, "body mass index matters")
    found = reading.with_study(samples.findings(), claims=(*samples.claims(), other))
    assert "The model does without body mass index." in lead(found)


def test_nothing_is_wholly_certain():
    sure = replace(samples.claims()[0], probability=1.0)
    found = reading.with_study(samples.findings(), claims=(sure,))
    assert "plasma glucose matters (more than 99.9 %)." in lead(found)


def test_a_miss_that_a_few_rows_make_is_not_all_that_is_said():
    assert "A few rows" not in lead(samples.regression())
    half = Interval(estimate=21.3, low=18.2, high=25.1)
    said = lead(honest(samples.regression(), median_miss=half))
    assert (
        "A few rows make most of this miss, so that its interval may be too short; half of the "
        "rows are missed by less than 21.3 (95 % interval 18.2 to 25.1)." in said
    )


def pictured(found) -> list[str]:
    return [one.picture.name for one in write(found).lead if isinstance(one, Figure)]


def test_the_picture_is_that_of_the_strongest_claim():
    assert pictured(samples.findings()) == ["study-1-effect-1"]
    sure = samples.claim("interaction", ("pedigree", "age"), 0.99, "pedigree and age interact")
    found = reading.with_study(samples.findings(), claims=(sure, *samples.claims()))
    assert pictured(found) == ["study-1-effect-4"]
    assert pictured(samples.no_structure()) == ["data"]
    wide = reading.with_table(samples.no_structure(), picture="")
    assert pictured(wide) == ["study-1-effect-1"]
    assert pictured(replace(samples.findings(), pictures=())) == []


def test_of_columns_that_stand_for_each_other_the_likelier_one_is_drawn():
    glucose, age, *others = samples.findings().studies[0].effects
    drawn = (glucose, replace(age, picture="study-1-effect-4"), *others)
    both = ("plasma glucose", "age")
    one_of_them = samples.claim("set", both, 0.99, "one of plasma glucose and age matters")
    found = reading.with_study(samples.findings(), effects=drawn, claims=(one_of_them,))
    assert pictured(found) == ["study-1-effect-1"]  # has the least error alone
    likelier = samples.claim("variable", ("age",), 0.7, "age matters")
    found = reading.with_study(found, claims=(one_of_them, likelier))
    assert pictured(found) == ["study-1-effect-4"]


def compared(found, **options) -> str:
    return lead(replace(found, comparison=compare(found, **options)))


def compare(found, *, error: float, level: bool, ours_level: bool = True) -> ModelComparison:
    def model(name, family, own, is_level):
        return ComparedModel(
            name=name,
            family=family,
            words=name,
            error=interval(own, 0.02),
            log_loss=0.4,
            difference=interval(0.0, 0.01),
            variables=3,
            size=10.0,
            size_words="",
            seconds=1.0,
            is_best=own == min(error, found.studies[0].honest.error.estimate),
            is_level=is_level,
            recommended=name == "kernels",
            key=family,
        )

    own = found.studies[0].honest.error.estimate
    models = [
        model("kernels", "gp", own, ours_level),
        model("logistic regression", "rival", error, level),
    ]
    return ModelComparison(models=tuple(models), metric="error")


def test_the_best_rival_stands_in_the_answer():
    found = samples.findings()
    assert (
        "Its best rival, the logistic regression, is wrong in 22.0 %, which is no clear difference."
    ) in compared(found, error=0.22, level=True)
    assert "is wrong in 18.0 %, which is better." in compared(
        found, error=0.18, level=True, ours_level=False
    )
    assert "is wrong in 30.0 %, which is worse." in compared(found, error=0.30, level=False)
    assert "rival" not in lead(found)
    # Where a class is rare the log loss is compared, and the word follows it: less is better.
    known = compare(samples.rare(), error=0.02, level=True, ours_level=False)
    ours, rival = known.models
    for less, word in ((0.258, "better"), (0.353, "worse")):
        models = (replace(ours, log_loss=0.293), replace(rival, log_loss=less))
        other = replace(known, models=models, metric="log loss")
        said = f"has a log loss of {less}, not 0.293, which is {word}."
        assert said in lead(replace(samples.rare(), comparison=other))
    # What is the same when it is rounded is said once.
    models = (replace(ours, log_loss=0.2931), replace(rival, log_loss=0.2929))
    other = replace(known, models=models, metric="log loss")
    assert "regression, has a log loss of 0.293 as well." in lead(
        replace(samples.rare(), comparison=other)
    )
    number = compared(samples.regression(), error=0.5, level=True)
    assert "the logistic regression, is off by 54.1, which is no clear difference." in number


def test_a_rare_class_leads_with_figures_that_suit_it():
    assert key_figures(samples.rare()) == [
        ("0.834", "AUC", "0.803 to 0.865, on new rows"),
        ("12.0 %", "average precision", "4.0 to 20.0 %; guessing has 2.0 %"),
        ("26.0 %", "balanced error", "16.0 to 36.0 %; guessing has 50 %"),
        ("70.0 %", "of “diabetic” found", "45.0 to 95.0 %; 5.8 % of calls are right"),
    ]
    assert (
        "“diabetic” is rare; of two new rows, one of “diabetic” and one of “not diabetic”, the "
        "model gives the first the higher probability in 83.4 % of cases (95 % interval 80.3 to "
        "86.5 %), where guessing has 50 %."
    ) in lead(samples.rare())
    assert trust(samples.rare()).split("\n")[0] == (
        "“diabetic” is rare (10 of 510 rows, 2.0 %): calling every row “not diabetic” is wrong in "
        "2.0 % only, so that the share of wrong answers says little here. On rows never seen, rows "
        "were called “diabetic” from a probability of 2.0 % on, their share among all: the "
        "balanced error, in which both classes weigh the same, is 26.0 % (95 % interval 16.0 to "
        "36.0 %), and guessing has 50 %. It found 70.0 % of the rows of “diabetic” (recall, 95 % "
        "interval 45.0 to 95.0 %); of the 120 rows that it called so, 5.8 % are “diabetic” "
        "(precision, 95 % interval 2.8 to 8.8 %). Over all thresholds the precision is 12.0 % on "
        "average (average precision, 95 % interval 4.0 to 20.0 %); guessing has 2.0 %. The "
        "probabilities are better than guessing (log loss 0.081 against 0.097 for guessing; 95 % "
        "interval of the gain 0.007 to 0.025). From a probability of one half on, no row is called "
        "“diabetic”, and 2.0 % of all are wrong."
    )


@pytest.mark.parametrize(
    ("gain", "claims", "said"),
    [
        (
            interval(0.01, 0.02),
            1,
            "The rows show beyond doubt that plasma glucose matters, but do not prove that this "
            "gives better probabilities than guessing on new rows (log loss",
        ),
        (interval(0.01, 0.02), 0, "The probabilities are not proved to be better (log loss"),
        (interval(-0.03, 0.02), 0, "The probabilities are worse than guessing (log loss"),
        (
            interval(0.03, 0.02),
            0,
            "for guessing; 95 % interval of the gain 0.010 to 0.050). Which column it is",
        ),
    ],
)
def test_the_log_loss_of_a_rare_class_is_in_step_with_the_claims(gain, claims, said):
    found = honest(samples.rare(), log_loss_gain=gain)
    found = reading.with_study(found, claims=samples.claims()[:claims])
    assert said in trust(found)
    proved = gain.low > 0
    assert ("Better probabilities than guessing’s are not proved." in lead(found)) != proved


def test_a_rare_rest():
    """If the class asked for is the common one, what is found of it is no feat."""
    found = reading.with_study(samples.rare(), n_positive=500, n_negative=10)
    assert "“not diabetic” is rare (10 of 510 rows, 2.0 %): calling every row “diabetic”" in (
        trust(found)
    )
    assert "recall" not in trust(found)
    assert len(key_figures(found)) == 3


def test_a_rare_class_that_was_measured_by_its_error_only():
    found = honest(samples.rare(), at_base_rate=None)
    assert key_figures(found)[0][1] == "honest error"


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (
            interval(0.05, 0.06),
            "The gain over guessing is 5.0 percentage points; the 95 % interval of the gain, "
            "−1.0 to 11.0, includes zero, so that these rows do not prove a gain.",
        ),
        (
            interval(0.0, 0.02),
            "There is no gain over guessing; the 95 % interval of the gain, −2.0 to 2.0, "
            "includes zero, so that these rows do not prove a gain.",
        ),
        (
            interval(-0.04, 0.02),
            "There is no gain over guessing: the error is 4.0 percentage points higher; the "
            "95 % interval of the gain, −6.0 to −2.0, is below zero throughout.",
        ),
        (
            interval(0.075, 1.65),
            "The gain over guessing is 7.5 percentage points; the 95 % interval of the gain, "
            "−100.0 to 100.0, includes zero, so that these rows do not prove a gain.",
        ),
        (
            interval(0.05, 0.04),
            "(95 % interval 1.0 to 9.0). Which column it is owed to is not shown.",
        ),
    ],
)
def test_whether_the_gain_is_sure(gain, said):
    found = honest(reading.with_study(samples.findings(), claims=()), gain=gain)
    assert said in trust(found)
    doubted = "not proved" in lead(found) or "worse than guessing" in lead(found)
    assert doubted == (gain.low <= 0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "The rows show beyond doubt that plasma glucose and age matter, but do not prove that "
            "this gives fewer wrong answers: the gain over guessing is 5.0 percentage points; "
            "the 95 % interval of the gain, −1.0 to 11.0, includes zero. The probabilities are "
            "better all the same: log loss 0.479 against 0.644 for guessing.",
        ),
        (
            {"log_loss_gain": interval(0.01, 0.02)},
            "Nor are better probabilities proved: log loss 0.479 against 0.644 for guessing.",
        ),
        ({"log_loss": NAN}, "11.0, includes zero.\n"),
    ],
)
def test_claims_and_a_gain_that_is_not_sure_are_one_sentence(changes, said):
    found = honest(samples.findings(), gain=interval(0.05, 0.06), **changes)
    assert said in trust(found)
    assert "guessing is wrong in 34.4 %, and a gain over that is not proved." in lead(found)
    assert "That the model gives fewer wrong answers than guessing is not proved." in lead(found)


def test_a_gain_that_several_columns_could_bring():
    """Petal length and width both tell setosa: either may do, so neither is certain."""
    found = reading.with_study(samples.findings(), claims=samples.claims()[3:])
    assert "(95 % interval 8.1 to 14.1). Which column it is owed to is not certain." in trust(found)
    found = reading.with_study(samples.rare(), claims=samples.claims()[3:])
    assert "Which column it is owed to is not certain." in trust(found)


def test_claims_and_the_error_of_a_number():
    found = honest(samples.regression(), gain=interval(0.05, 0.06))
    assert (
        "do not prove that this gives a smaller error: the gain over guessing is 5.0 % of the "
        "variance;"
    ) in trust(found)


def test_intervals_of_errors_stay_between_nothing_and_all():
    found = honest(samples.findings(), error=interval(0.03, 0.05))
    assert "is wrong in 3.0 % of cases (95 % interval 0.0 to 8.0 %)" in lead(found)


def test_guessing_calls_the_larger_class():
    found = reading.with_study(samples.findings(), n_positive=475, n_negative=249)
    assert key_figures(found)[1][2] == "calling every row “diabetic”"


def test_models_that_did_not_answer_for_one_reason_are_told_together():
    classes, slow = "it answers questions of classes only", "it takes too long"
    known = compare(samples.findings(), error=0.3, level=False)
    known = replace(known, left_out=(("machine", classes), ("other", classes), ("third", slow)))
    page = to_markdown(write(replace(samples.findings(), comparison=known)))
    assert (
        "Not among them: the machine and the other, since each of them answers questions of "
        "classes only. Not among them: the third, since it takes too long."
    ) in page


def test_names_of_models_take_an_article_only_where_english_does():
    known = compare(samples.findings(), error=0.3, level=False)
    why = "it takes too long"
    known = replace(known, left_out=(("gradient boosting", why), ("random forest", why)))
    page = to_markdown(write(replace(samples.findings(), comparison=known)))
    assert "Not among them: gradient boosting and the random forest, since each" in page


def test_where_no_model_is_level_with_the_best_all_others_are_worse():
    known = compare(samples.findings(), error=0.3, level=False)
    page = to_markdown(write(replace(samples.findings(), comparison=known)))
    assert "; the other is worse." in page
    third = replace(known.models[1], name="random forest")
    known = replace(known, models=(*known.models, third))
    page = to_markdown(write(replace(samples.findings(), comparison=known)))
    assert "; all others are worse." in page


def test_levels_that_were_left_out_though_they_come_back_are_a_doubt():
    found = samples.findings()
    for n_levels, is_doubt in ((40, True), (found.table.n_rows_used - 1, False)):
        left = Treatment(kind="column_names", column="town", count=n_levels)
        known = reading.with_table(found, treatments=(left,))
        doubts = " ".join(lists(known)["What to doubt"])
        assert ("left out: town" in doubts) is is_doubt
        assert to_markdown(write(known)).count("left out: town") == 1
