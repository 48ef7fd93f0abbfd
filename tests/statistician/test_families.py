"""The one seam: what a family must bring, that all are equals, and what a report loads."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from parsimon.exceptions import InvalidInputError
from parsimon.statistician.asked_table import read_question
from parsimon.statistician.comparison import compare_on_folds
from parsimon.statistician.families._size import ModelSize
from parsimon.statistician.families.family import Family, Fitted, Prediction
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.families.registered import NAMES, OURS, RIVALS, family_called
from parsimon.statistician.final_fits import FinalFits
from parsimon.statistician.folds import plan_folds, run_folds


def rows(n=60):
    rng = np.random.default_rng(0)
    dose = rng.uniform(0, 10, n)
    ill = np.where(dose + rng.normal(size=n) > 6, "yes", "no")
    return pd.DataFrame({"dose": dose, "noise": rng.normal(size=n), "ill": ill})


NEAREST = Family(
    name="nearest rows",
    key="nearest-rows",
    kind="own",
    words="what most of the five nearest rows are",
    make=lambda _: KNeighborsClassifier(),
)


@pytest.fixture(scope="module")
def asked():
    return read_question(rows(), "ill", positive=None, task="auto")


def folds_of(asked, *families, **options):
    parts = plan_folds(asked.questions[0], 3, np.random.SeedSequence(0))
    return run_folds(families, asked.questions, parts, np.random.SeedSequence(1), **options), parts


def test_a_family_is_a_name_and_a_way_to_make_an_estimator(asked):
    parts = plan_folds(asked.questions[0], 3, np.random.SeedSequence(0))
    found = compare_on_folds((GUESSING, NEAREST), asked, parts, np.random.SeedSequence(1))
    row = next(one for one in found.comparison.models if one.name == "nearest rows")
    assert row.recommended
    fits = FinalFits.of(asked, (GUESSING, NEAREST), 0, found.whole)
    model = fits.demanded("nearest rows", row)
    assert (model.predict(rows()) == rows()["ill"]).mean() > 0.8


def test_all_families_predict_the_same_rows_of_each_fold(asked):
    (answers, whole), parts = folds_of(asked, GUESSING, NEAREST)
    assert whole == {}
    for one, part in zip(answers, parts, strict=True):
        np.testing.assert_array_equal(one.test, part.test)
        assert set(one.told) == {"guessing", "nearest rows"}
        assert all(told.value.shape == (len(part.test), 2) for told in one.told.values())


def test_a_family_that_cannot_be_fitted_fails_alone(asked):
    def broken(setting):
        raise np.linalg.LinAlgError("singular")

    bad = Family(name="bad", key="bad", kind="own", words="", make=broken)
    unfit = Family(
        name="unfit",
        key="unfit",
        kind="own",
        words="",
        make=broken,
        refuses=lambda setting: "" if setting.is_number else "it answers for numbers only.",
    )
    (answers, _), _ = folds_of(asked, GUESSING, bad, unfit)
    reasons = {"bad": "singular", "unfit": "it answers for numbers only"}
    assert [one.failures for one in answers] == [reasons] * 3
    assert all(set(one.told) == {"guessing"} for one in answers)


@dataclass(frozen=True, kw_only=True)
class Searching(Family):
    """A family that searches the table itself beside its folds."""

    searches = True

    def fit(self, seen, seed, *, time_limit=None):
        share = float(np.mean(seen.values)) + 1e-9 * seed.generate_state(1)[0] / 2**32
        return Share(seen=seen, models=(share,))


@dataclass(frozen=True, eq=False, kw_only=True)
class Share(Fitted):
    only_calls = False
    size = ModelSize((), 1.0, "1 number")

    def predict(self, X, n_classes):
        share = np.full(len(X), self.models[0])
        return Prediction(np.column_stack([1 - share, share]), np.full(len(X), np.nan))


def test_a_search_that_joins_changes_nobody_elses_chance(asked):
    forest = next(one for one in RIVALS if one.key == "forest")
    (alone, _), _ = folds_of(asked, GUESSING, forest)
    search = Searching(name="search", key="search", kind="own", words="", make=None)
    seed = np.random.SeedSequence(5)
    (beside, whole), _ = folds_of(asked, GUESSING, search, forest, whole=[(search, seed)])
    for one, other in zip(alone, beside, strict=True):
        name = forest.name
        np.testing.assert_array_equal(one.told[name].value, other.told[name].value)
    assert whole["search"].models[0] == pytest.approx(np.mean(asked.questions[0].values))


def test_names_are_registered_once():
    assert list(NAMES) == [one.key for one in (*OURS, *RIVALS)]
    assert len(set(NAMES)) == len(NAMES)
    for one in (*OURS, *RIVALS):
        assert family_called(one.key) is one
        assert family_called(one.name.upper()) is one
    with pytest.raises(InvalidInputError, match="There is no family 'oracle'; the families are gp"):
        family_called("oracle")


def test_a_report_about_a_table_loads_nothing_about_trees(tmp_path):
    code = f"""
import sys
import numpy as np, pandas as pd
from parsimon.statistician import analyse
rng = np.random.default_rng(0)
x = rng.normal(size=40)
table = pd.DataFrame({{"x": x, "y": np.where(x + rng.normal(size=40) > 0, "a", "b")}})
found = analyse(table, "y", depth=1, fast=True, n_jobs=1)
found.to_html({str(tmp_path / "page.html")!r})
found.to_json({str(tmp_path / "page.json")!r})
bad = [name for name in sys.modules if name.startswith("parsimon") and
       ("phylo" in name or "trait" in name)]
assert not bad, bad
from parsimon.statistician import TraitAnalysis, analyse_traits
assert "parsimon.phylo" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
