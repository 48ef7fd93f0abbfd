"""Fronts and analyses show themselves in a notebook: light and dark, escaped, self-contained."""

import re
from dataclasses import replace

import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front
from parsimon.report import Readable
from parsimon.report.findings import Findings, Picture
from parsimon.report.notebook import findings_tables
from parsimon.structures import Claim
from tests.report import browser as browsers
from tests.report import samples

_MARKUP = '<img src=x onerror="alert(1)">'


class _Shown(Readable):
    def __init__(self, findings: Findings) -> None:
        self.findings = findings


@pytest.fixture(scope="module")
def findings() -> Findings:
    claim = Claim(
        kind="variable",
        variables=(_MARKUP,),
        probability=0.99,
        certain=True,
        words=f"{_MARKUP} matters",
    )
    return replace(samples.findings(), claims=(claim,))


def _front(n: int = 30) -> Front:
    return Front([[k, 1.0 / (1 + k)] for k in range(n)], [_MARKUP, "error"])


def test_names_are_escaped(findings: Findings) -> None:
    for html in (_front()._repr_html_(), _Shown(findings)._repr_html_()):
        assert _MARKUP not in html
        assert "&lt;img src=x" in html


def test_nothing_is_loaded(findings: Findings) -> None:
    for html in (_front()._repr_html_(), _Shown(findings)._repr_html_()):
        assert not re.search(r"<script|<link|@import|\bsrc=\"", html)
        assert "prefers-color-scheme: dark" in html
        assert "--jp-layout-color0" in html


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_a_front_of_any_length_has_its_rows(n: int) -> None:
    front = _front(n)
    html = front._repr_html_()
    assert f"Front: {n} " in html
    assert html.count("<tr") - (n > 0) == min(n, 20)
    assert ('class="marked"' in html) == (n > 0)


def test_tables_are_data_frames(findings: Findings) -> None:
    tables = findings_tables(findings)
    assert list(tables["claims"]["probability"]) == [0.99]
    study = findings.studies[0]
    assert list(tables["variables"]["variable"]) == [one.variable.name for one in study.variables]
    assert list(tables["front"]["error"]) == [one.error for one in study.front]
    assert tables["front"]["chosen"].tolist().index(True) == study.chosen
    assert "models" not in tables or tables["models"]["recommended"].sum() == 1


def test_a_category_is_one_row_of_the_variables(findings: Findings) -> None:
    first, second, *_ = findings.studies[0].variables
    town = [
        replace(first.variable, name=f"town = {name}", column="town") for name in ("Ulm", "Kiel")
    ]
    levels = (
        replace(first, variable=town[0], in_model=False),
        replace(second, variable=town[1], in_model=True),
    )
    study = replace(findings.studies[0], variables=levels)
    (row,) = findings_tables(replace(findings, studies=(study,)))["variables"].to_dict("records")
    assert (row["variable"], row["level"], row["in_model"]) == ("town", "Ulm", True)


def test_figures_are_found_by_name(findings: Findings) -> None:
    shown = _Shown(findings)
    assert [shown.figure(name).name for name in shown.figures] == list(shown.figures)
    with pytest.raises(InvalidInputError, match="No figure is called 'nothing'"):
        shown.figure("nothing")


def test_two_figures_on_a_page_share_no_names() -> None:
    def drawn(mark: str) -> str:
        svg = f'<svg><path id="a" d="{mark}"/><use xlink:href="#a"/><g clip-path="url(#a)"/></svg>'
        return Picture(name="x", svg=svg, caption="", title="")._repr_html_()

    names = [re.findall(r'(?:id="|#)(p\w+-a)\b', drawn(mark)) for mark in ("M0 0", "M1 1")]
    assert [len(set(found)) for found in names] == [1, 1]
    assert [len(found) for found in names] == [3, 3]
    assert names[0][0] != names[1][0]


@pytest.mark.skipif(browsers.executable() is None, reason="no browser")
def test_letters_stand_out_on_light_and_dark_pages(findings: Findings, tmp_path) -> None:
    page = tmp_path / "page.html"
    shown = _front()._repr_html_() + _Shown(findings)._repr_html_()
    page.write_text(f"<!doctype html><meta charset=utf-8>{shown}", encoding="utf-8")
    lightness = """(() => {
      const own = getComputedStyle(document.querySelector('.parsimon-block'));
      const sum = text => text.match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b);
      return sum(own.color) - sum(own.backgroundColor);
    })()"""
    with browsers.Browser(browsers.executable()) as browser:
        for scheme, sign in (("light", -1), ("dark", 1)):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.call("Emulation.setEmulatedMedia", features=features)
            browser.open(page)
            assert sign * browser.evaluate(lightness) > 450
            assert not browser.dialogs
            assert not browser.exceptions
