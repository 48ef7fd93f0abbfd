"""What smaller and larger models do."""

import math
from dataclasses import replace

import pytest

from tests.report import reading, samples

THIN = "\u202f"


def text(found) -> str:
    return reading.text(found, "trade-off").replace(THIN, " ")


def test_the_golden_trade_off():
    assert text(samples.findings()) == (
        "On the folds of the search, the best model with one term is wrong in 25.0 %, two terms "
        "23.9 % and three terms 22.4 %. After one term (plasma glucose alone) a further term buys "
        "less. The two further terms of this report’s model lower the error by 2.6 percentage "
        "points more. Compare these figures only with each other."
    )


def test_a_number_explains():
    assert text(samples.regression()).startswith(
        "On the folds of the search, the best model with one term explains 75.0 % of the variance, "
        "two terms 76.1 % and three terms 77.6 %."
    )


@pytest.mark.parametrize(
    ("knee", "chosen", "said"),
    [
        (3, 3, "Larger models than that of this report buy less."),
        (0, 3, "No term buys much for its size."),
        (
            2,
            3,
            "The one further term of this report’s model lowers the error by 1.5 percentage "
            "points more.",
        ),
        (
            2,
            1,
            "Up to two terms the error still falls, but these rows do not show that more than this "
            "report’s model matters.",
        ),
    ],
)
def test_where_the_knee_is(knee, chosen, said):
    found = samples.findings()
    model = found.studies[0].front[chosen]
    assert said in text(reading.with_study(found, knee=knee, chosen=chosen, model=model))


def test_models_that_tie_are_told_once():
    found = samples.findings()
    one, two, three, four = found.studies[0].front
    tied = (one, two, three, replace(three, words="another"), four)
    assert (
        "one term is wrong in 25.0 %, two terms 23.9 % (two models tie) and three terms 22.4 %."
    ) in text(reading.with_study(found, front=tied, chosen=4))


def test_a_model_that_is_not_the_best_of_its_size():
    found = samples.findings()
    one, two, three, four = found.studies[0].front
    chosen = replace(four, error=0.26, expression="chosen")
    said = text(reading.with_study(found, front=(one, two, three, chosen), model=chosen))
    assert (
        "two terms 23.9 %. The model of this report, with three terms, is wrong in 26.0 %." in said
    )
    assert "The two further terms of this report’s model lower the error no further" in said


def test_an_error_that_rises_is_not_said_to_fall():
    """Of a rare class the share of wrong answers may rise with what is found."""
    found = samples.findings()
    one, two, three, four = found.studies[0].front
    worse = tuple(replace(each, error=0.35 + k / 100) for k, each in enumerate((two, three, four)))
    said = text(reading.with_study(found, front=(one, *worse), model=worse[2]))
    assert said.startswith(
        "No model of any size does better than guessing, which is wrong in 34.4 %, on the folds "
        "of the search."
    )
    half = text(reading.with_study(found, front=(one, worse[0], three, four)))
    assert half.startswith(
        "On the folds of the search, the best model with two terms is wrong in 23.9 % and three "
        "terms 22.4 %."
    )


def test_a_knee_without_error_is_not_spoken_of():
    found = samples.findings()
    front = found.studies[0].front
    front = (front[0], replace(front[1], error=math.nan), *front[2:])
    said = text(reading.with_study(found, front=front))
    assert "buys less" not in said
    assert "with two terms is wrong in 23.9 % and three terms 22.4 %." in said


def test_a_front_of_chance_or_of_a_rare_class_is_called_so():
    found = reading.with_study(samples.findings(), claims=())
    assert "22.4 %. These rows do not show that this is more than chance." in text(found)
    front = tuple(replace(one, error=one.error / 20) for one in samples.rare().studies[0].front)
    rare = reading.with_study(samples.rare(), front=front, model=front[3], baseline=front[0])
    assert "With so rare a class this says little." in text(rare)


def test_nothing_was_cross_validated():
    found = samples.findings()
    blind = replace(found.studies[0].baseline, error=math.nan)
    assert "were not compared: none was cross-validated" in text(
        reading.with_study(found, baseline=blind)
    )
