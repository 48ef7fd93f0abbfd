"""What is recommended of a few dozen rows: two classic tables, and a rare class of one column."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from parsimon.report.sections._models import choice_sentences, recommended_line
from parsimon.statistician import compare_models, fit_model, load_model, save_model

# Breaks of warp threads on a loom, nine for each wool and tension (Tippett 1950; R's warpbreaks).
BREAKS = [
    [26, 30, 54, 25, 70, 52, 51, 26, 67, 18, 21, 29, 17, 12, 18, 35, 30, 36],
    [36, 21, 24, 18, 10, 43, 28, 15, 26, 27, 14, 29, 19, 29, 31, 41, 20, 44],
    [42, 26, 19, 16, 39, 28, 21, 39, 29, 20, 21, 24, 17, 13, 15, 15, 16, 28],
]
# Mean grade before, test score and better grade, 18 pupils taught as ever and 14 in a new way
# (Spector and Mazzeo 1980).
GRADES = [
    [266, 289, 328, 292, 400, 286, 276, 287, 303, 392, 263, 332, 357, 326, 353, 274, 275, 283],
    [312, 316, 206, 362, 289, 351, 354, 283, 339, 267, 365, 400, 310, 239],
]
SCORES = [
    [20, 22, 24, 12, 21, 17, 17, 21, 25, 29, 20, 23, 23, 25, 26, 19, 25, 19],
    [23, 25, 22, 28, 14, 26, 24, 27, 17, 24, 21, 23, 21, 19],
]
BETTER = [5, 10, 14, 20, 22, 25, 26, 27, 29, 30, 32]
# People who write with the left hand, among all who clap with the left hand on top, with neither
# and with the right one (R's survey, of the package MASS).
CLAPS = {"left": (9, 38), "neither": (5, 50), "right": (4, 147)}
ALONE = {"families": "none", "rivals": "linear", "n_jobs": 1}


def warpbreaks():
    return pd.DataFrame(
        {
            "breaks": np.concatenate(BREAKS).astype(float),
            "wool": np.repeat(["A", "B"], 27),
            "tension": np.tile(np.repeat(["L", "M", "H"], 9), 2),
        }
    )


def spector():
    return pd.DataFrame(
        {
            "gpa": np.concatenate(GRADES) / 100,
            "tuce": np.concatenate(SCORES),
            "psi": np.repeat([0, 1], [18, 14]),
            "grade": np.where(np.isin(np.arange(1, 33), BETTER), "better", "same"),
        }
    )


def survey():
    rng = np.random.default_rng(2)
    hand = [np.arange(n) < left for left, n in CLAPS.values()]
    table = pd.DataFrame(rng.normal(size=(235, 8)), columns=list("abcdefgh")).assign(
        clap=np.repeat(list(CLAPS), [n for _, n in CLAPS.values()]),
        hand=np.where(np.concatenate(hand), "left", "right"),
    )
    return table.sample(frac=1.0, random_state=0, ignore_index=True)


def test_a_model_that_explains_far_less_is_not_recommended_for_being_smaller():
    asked = {"families": "gp", "rivals": "linear,boosting", "n_jobs": 1}
    found = compare_models(warpbreaks(), "breaks", **asked)
    guess = next(one for one in found.models if one.family == "guessing")
    search = next(one for one in found.models if one.family == "gp")
    assert guess.size < found.recommended.size
    assert 1 - found.recommended.error.estimate > 0.2 > 0.1 > 1 - search.error.estimate
    assert search.worse > 0.25 < guess.worse


def test_a_few_pupils_are_no_reason_to_guess():
    found = compare_models(spector(), "grade", **ALONE)
    assert found.recommended.name == "linear model"
    assert found.recommended.log_loss < next(
        one.log_loss for one in found.models if one.family == "guessing"
    )


def test_guessing_is_out_of_the_question_where_a_column_surely_predicts():
    found = compare_models(survey(), "hand", **{**ALONE, "families": "bpm"})
    guess = next(one for one in found.models if one.family == "guessing")
    assert not guess.recommended
    assert guess.size == min(one.size for one in found.models)
    noise = survey().assign(clap=np.random.default_rng(3).permutation(survey()["clap"]))
    found = compare_models(noise, "hand", **{**ALONE, "families": "bpm"})
    assert found.recommended.family == "guessing"


def test_what_is_too_sure_is_tempered_in_the_comparison_the_file_and_the_sentence(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table["y"] = np.where(table["a"] + rng.normal(size=60) > 0, "yes", "no")
    found = fit_model(table, "y", "boosting", outer=3, n_jobs=1)
    slope = found.compared.slope
    assert 0 < slope < 0.9
    assert found.model.slope == slope
    assert found.compared.log_loss < 0.75
    bold = replace_slope(found.model).predict_proba(table)
    shares = found.model.predict_proba(table)
    odds, before = (np.log(one[:, 1] / one[:, 0]) for one in (shares, bold))
    np.testing.assert_allclose(odds, slope * before, rtol=1e-6)
    parts = found.model.contributions(table.head(5))
    np.testing.assert_allclose(parts.score, odds[:5], rtol=1e-6)
    save_model(found.model, tmp_path / "model.skops")
    assert (load_model(tmp_path / "model.skops").predict_proba(table) == shares).all()
    models = [
        replace(one, recommended=one.name == found.name, is_best=one.name == found.name)
        for one in found.comparison.models
    ]
    said = choice_sentences(replace(found.comparison, models=tuple(models)), 1.0)
    assert f"all log odds are multiplied by {slope:.2f}, and" in str(said)
    # What these few rows show of it is said elsewhere on the page, perhaps that they do not.
    assert "seemed too sure" in str(said)


def replace_slope(model):
    return type(model)(**{**model.get_params(deep=False), "slope": 1.0})


def test_the_line_says_what_much_worse_means():
    found = compare_models(survey(), "hand", **{**ALONE, "families": "bpm"})
    by_size = sorted(found.models, key=lambda one: -one.size)
    models = [
        replace(one, is_best=k == 0, recommended=k == 1, worse=[0.0, 0.12, 0.5][k])
        for k, one in enumerate(by_size)
    ]
    told = replace(found, models=tuple(models))
    assert ": the simplest that is probably not much worse than the best, " in recommended_line(
        told, 1.0
    )
    said = str(choice_sentences(told, 1.0)).replace("\\u202f", " ")
    assert "with a probability of 12.0 % its log loss is over 5 % larger." in said
    assert re.search(r"worse by at most [\d.]+, but it takes \d+ bits instead of \d+;", said)
    small, large = sorted(by_size[:2], key=lambda one: one.size)
    models = (
        replace(small, is_best=True, recommended=False),
        replace(large, is_best=False, recommended=True),
    )
    said = str(choice_sentences(replace(found, models=models), 1.0))
    assert f", and it takes {large.size:,.0f} bits instead of {small.size:,.0f};" in said
