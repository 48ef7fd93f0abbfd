import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main


@pytest.fixture
def genes(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 320)), columns=[f"g{k}" for k in range(320)])
    frame["ill"] = np.repeat(["no", "yes"], 15)
    frame["g7"] += 3.0 * (frame["ill"] == "yes")
    frame["age"] = rng.normal(50, 10, size=30)
    frame["site"] = "north"
    frame.loc[3, "g9"] = np.nan
    path = tmp_path / "genes.csv"
    frame.to_csv(path, index=False)
    return path


def run(*words):
    return CliRunner().invoke(main, list(map(str, words)))


def test_a_page_says_which_columns_come_back(genes, tmp_path):
    page = tmp_path / "page.html"
    words = ["--splits", "10", "--fixed", "age", "--out", page, "--json", "--jobs", "1"]
    result = run("select-features", genes, "--target", "ill", *words)
    assert result.exit_code == 0, result.output
    assert "1 column came back" in result.stdout
    text = page.read_text()
    assert "g7" in text
    marks = re.findall(r'\sid="([^"]+)"', text)
    assert len(marks) == len(set(marks))
    found = json.loads(page.with_suffix(".json").read_text())
    assert found["format"] == "parsimon-wide-findings"
    assert found["columns"][0]["name"] == "g7"
    assert found["columns"][0]["permuted"] <= 0.01
    assert found["screened"] == []
    assert found["table"]["fixed"] == ["age"]
    assert found["table"]["n_filled"] == 1
    assert "site" in found["table"]["left_out"]


def test_report_sends_wide_tables_on_and_says_so(genes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--target", "ill", "--out", "page.html", "--jobs", "1"]
    result = run("report", genes, *words)
    assert result.exit_code == 0, result.output
    assert "select-features" in result.stderr
    assert "came back" in result.stdout


def test_what_cannot_be_done_is_said(genes):
    result = run("select-features", genes, "--target", "ill", "--fixed", "sex")
    assert result.exit_code == 1
    assert "no column 'sex'" in result.stderr
    result = run("select-features", genes, "--target", "ill", "--splits", "0")
    assert "at least 1" in result.stderr
