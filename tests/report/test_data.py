"""Findings as JSON: complete, valid everywhere, and the same each time."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from parsimon.report.data import as_data, to_json
from parsimon.report.findings import Findings, ModelFinding, Study
from tests.report import samples


@pytest.mark.parametrize(
    "make",
    [
        samples.findings,
        samples.hostile,
        samples.no_structure,
        samples.fast,
        samples.three_classes,
        samples.regression,
        samples.rare,
    ],
)
def test_every_kind_of_findings_is_valid_json(make):
    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(to_json(make()), parse_constant=refuse)
    assert data["format"] == "parsimon-findings"
    assert data["format_version"] == 3


def test_every_field_is_there_in_its_order():
    data = json.loads(to_json(samples.findings()))
    assert list(data)[2:] == [field.name for field in fields(Findings)]
    assert list(data["studies"][0]) == [field.name for field in fields(Study)]
    assert list(data["studies"][0]["front"][1]) == [field.name for field in fields(ModelFinding)]


def test_values_are_those_of_the_findings():
    found = samples.findings()
    data = json.loads(to_json(found))
    assert data["table"]["classes"] == [["not diabetic", 475], ["diabetic", 249]]
    assert data["studies"][0]["honest"]["error"]["low"] == found.studies[0].honest.error.low
    assert data["joint"] is None


def test_claims_are_there_for_each_question_and_for_all():
    data = json.loads(to_json(samples.findings()))
    first = {
        "kind": "variable",
        "variables": ["plasma glucose"],
        "probability": 0.99996,
        "certain": True,
        "words": "plasma glucose matters",
        "shape": "",
    }
    assert data["claims"][0] == first
    assert data["claims"] == data["studies"][0]["claims"]
    assert [one["certain"] for one in data["claims"]] == [True, True, True, False, False]
    assert json.loads(to_json(samples.no_structure()))["claims"] == []


def test_numbers_that_do_not_exist_are_null():
    data = json.loads(to_json(samples.findings()))
    assert data["studies"][0]["honest"]["root_mean_square"] is None
    assert as_data((float("inf"), -float("inf"), float("nan"), 1.5)) == [None, None, None, 1.5]


def test_numpy_numbers_become_numbers():
    values = as_data((np.float64(0.5), np.int64(3), np.bool_(True), np.float64("nan")))
    assert values == [0.5, 3, True, None]
    assert [type(value) for value in values[:3]] == [float, int, bool]


def test_pictures_have_their_drawing_only_when_asked_for():
    found = samples.findings()
    short, full = (json.loads(to_json(found, pictures=wish)) for wish in (False, True))
    assert list(short["pictures"][0]) == ["name", "caption", "title"]
    assert full["pictures"][0]["svg"] == found.pictures[0].svg


def test_letters_stay_letters():
    assert "возраст" in to_json(samples.hostile())


def test_the_same_findings_give_the_same_text():
    assert to_json(samples.findings()) == to_json(samples.findings())


def test_what_has_no_form_is_refused():
    found = samples.findings()
    broken = replace(found, table=replace(found.table, name={"a"}))
    with pytest.raises(TypeError, match="A set has no form in JSON"):
        to_json(broken)
