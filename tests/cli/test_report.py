"""`parsimon report`: what is read, what is written where, and what each mistake is told."""

import inspect
import io
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.report import samples

from parsimon._writing import write_file
from parsimon.cli import main
from parsimon.datasets import load
from parsimon.exceptions import InvalidInputError

STATISTICIAN = import_module("parsimon.statistician")
REAL = inspect.signature(STATISTICIAN.analyse)


OPTIONS = (
    "patients.csv --target ill --positive yes --task classification --depth 3 --beam 4 "
    "--base se,lin --guide bic --choose least-error --outer 3 --seed 9 --jobs 2 --time-limit 7.5 "
    "--fast --quiet"
)


class FakeAnalysis:
    """Findings made by hand, written as what each file is."""

    findings = samples.findings()

    def _write(self, path, text):
        write_file(path, text)

    def to_html(self, path):
        self._write(path, "page")

    def to_pdf(self, path):
        self._write(path, "pdf")

    def to_json(self, path):
        self._write(path, "data")

    def to_markdown(self, path):
        self._write(path, "markdown")

    def save(self, path):
        self._write(path, "model")


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Run in an empty folder; keep what `analyse` is called with, and compute nothing."""
    made = []

    def analyse(table, target, **options):
        made.append({"table": table, "target": target, **options})
        return FakeAnalysis()

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARSIMON_DATA", raising=False)
    monkeypatch.setattr(STATISTICIAN, "analyse", analyse)
    return made


@pytest.fixture
def csv(tmp_path):
    frame = pd.DataFrame({"age": [31, 42, 53], "ill": ["yes", "no", "no"]})
    frame.to_csv(tmp_path / "patients.csv", index=False)
    return frame


def run(*arguments):
    return CliRunner().invoke(main, ["report", *arguments])


def files(folder="."):
    return {path.name: path.read_text(errors="replace") for path in Path(folder).rglob("*.*")}


def failed(result, message, code=1):
    assert result.exit_code == code, result.output
    assert re.search(message, result.stderr), result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


def test_a_bundled_name_knows_its_target(calls):
    assert run("iris").exit_code == 0
    (call,) = calls
    pd.testing.assert_frame_equal(call["table"], load("iris").frame)
    assert (call["target"], call["name"]) == ("species", "iris")
    assert files() == {"iris-report.html": "page", "iris-model.skops": "model"}


def test_another_target_of_a_bundled_name(calls):
    run("crabs", "--target", "species")
    assert calls[0]["target"] == "species"
    assert "sex" in calls[0]["table"].columns


def test_a_name_of_the_data_folder(calls, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    pd.DataFrame({"a": [1, 2], "target": [3, 4]}).to_csv(folder / "mine.csv", index=False)
    monkeypatch.setenv("PARSIMON_DATA", str(folder))
    assert run("mine").exit_code == 0
    assert (calls[0]["name"], calls[0]["target"]) == ("mine", "target")


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_files_of_every_kind_are_read(ending, calls, csv):
    name = f"my rows.{ending}"
    if ending == "parquet":
        csv.to_parquet(name)
    else:
        csv.to_csv(name, index=False, sep="\t" if ending == "tsv" else ",")
    assert run(name, "--target", "ill").exit_code == 0
    assert calls[0]["name"] == "my rows"
    assert calls[0]["table"].to_dict("list") == csv.to_dict("list")
    assert "my-rows-report.html" in files()


def test_a_file_wins_over_a_data_set_and_says_so(calls, csv):
    csv.to_csv("iris", index=False)
    result = run("iris", "--target", "ill")
    assert len(calls[0]["table"]) == 3
    assert "The file iris is read, not the data set of that name" in result.stderr


def test_options_reach_the_analysis(calls, csv):
    result = run(*OPTIONS.split())
    assert result.exit_code == 0, result.output
    (call,) = calls
    expected = {
        "positive": "yes",
        "task": "classification",
        "depth": 3,
        "beam": 4,
        "base": "se,lin",
        "guide": "bic",
        "choose": "least_error",
        "outer": 3,
        "seed": 9,
        "n_jobs": 2,
        "fast": True,
        "verbose": False,
    }
    assert {name: call[name] for name in expected} == expected
    # What has passed since the command began is taken off.
    assert 7 < call["time_limit"] <= 7.5
    assert call["command"] == (
        "parsimon report patients.csv --target ill --positive yes --task classification --depth 3 "
        "--beam 4 --base se,lin --guide bic --choose least_error --outer 3 --seed 9 "
        "--time-limit 7.5 --fast"
    )


def test_defaults_are_those_of_the_analysis(calls):
    run("iris")
    real = REAL.parameters
    given = {name: value for name, value in calls[0].items() if name in real}
    for name in (
        "positive",
        "task",
        "depth",
        "beam",
        "guide",
        "choose",
        "outer",
        "seed",
        "n_jobs",
        "fast",
    ):
        assert given[name] == real[name].default, name
    assert given["base"] == ",".join(real["base"].default)
    assert set(calls[0]) <= set(real)
    assert given["command"] == "parsimon report iris --target species --seed 0"
    assert given["verbose"] is True


def test_every_format_is_written_beside_the_page(calls):
    assert run("iris", "--pdf", "--json", "--markdown").exit_code == 0
    assert files() == {
        "iris-report.html": "page",
        "iris-report.pdf": "pdf",
        "iris-report.json": "data",
        "iris-report.md": "markdown",
        "iris-model.skops": "model",
    }


@pytest.mark.parametrize(
    ("out", "page", "pdf", "model"),
    [
        ("a/first.html", "first.html", "first.pdf", "first-model.skops"),
        ("a/first.HTM", "first.HTM", "first.pdf", "first-model.skops"),
        ("a/first", "first.html", "first.pdf", "first-model.skops"),
        ("a/v1.2", "v1.2.html", "v1.2.pdf", "v1.2-model.skops"),
        ("a", "iris-report.html", "iris-report.pdf", "iris-model.skops"),
    ],
)
def test_out_names_the_page_or_a_folder(out, page, pdf, model, calls, tmp_path):
    (tmp_path / "a").mkdir()
    assert run("iris", "--out", out, "--pdf").exit_code == 0
    assert set(files("a")) == {page, pdf, model}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["patients.csv"], r"Name the column to predict with --target; the columns are age, ill\."),
        (["patients.csv", "--target", "sick"], "no column 'sick'; its columns are age, ill"),
        (["absent.csv", "--target", "a"], r"absent\.csv does not exist"),
        (["some/where", "--target", "a"], "some/where does not exist"),
        (["irsi"], r"There is no file irsi\. There is no data set called 'irsi'\. Did you mean"),
        (["iris", "--target", "x"], "iris has no column 'x' to predict"),
        (["iris", "--out", "no/such/page.html"], "folder no/such does not exist"),
        (["iris", "--out", "iris.pdf"], r"--out names the page, .* --pdf writes iris\.pdf beside"),
        (["iris", "--out", "model.skops"], r"not model\.skops; give model\.html\."),
        (["."], "is a folder"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_computed(arguments, message, calls, csv):
    failed(run(*arguments), message)
    assert not calls
    assert set(files()) == {"patients.csv"}


def test_a_folder_that_cannot_be_written_is_said(calls, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    failed(run("iris"), "Nothing can be written to the folder")
    assert not calls


def test_a_folder_in_the_place_of_a_file_is_said(calls, tmp_path):
    (tmp_path / "iris-model.skops").mkdir()
    failed(run("iris"), r"iris-model\.skops is a folder")
    assert not calls


def test_without_typst_pdf_is_refused_before_anything_is_computed(calls, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    failed(run("iris", "--pdf"), r"pip install 'parsimon\[pdf\]'")
    assert not calls


def test_an_error_of_the_analysis_is_one_line(calls, monkeypatch):
    def refuse(*_, **__):
        raise InvalidInputError("Two rows are too few.")

    monkeypatch.setattr(STATISTICIAN, "analyse", refuse)
    failed(run("iris"), r"^Error: Two rows are too few\.$")
    assert not files()


@pytest.mark.parametrize("stage", ["analyse", "to_html", "save"])
def test_ctrl_c_is_one_line_and_leaves_nothing(stage, calls, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    owner = STATISTICIAN if stage == "analyse" else FakeAnalysis
    monkeypatch.setattr(owner, stage, stop)
    failed(run("iris"), r"^Stopped; nothing was written\.$", code=130)
    assert not list(Path().iterdir())


def test_a_failing_writer_leaves_the_old_files(calls, monkeypatch):
    Path("iris-report.html").write_text("old")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(FakeAnalysis, "save", full)
    failed(run("iris"), "No space left")
    assert files() == {"iris-report.html": "old"}
    assert [path.name for path in Path().iterdir()] == ["iris-report.html"]


def test_the_summary_says_what_was_found_and_where_it_is(calls, tmp_path):
    (tmp_path / "my files").mkdir()
    result = run("iris", "--out", "my files", "--pdf")
    assert "plasma glucose" in result.stdout
    assert "23.3" in result.stdout
    assert re.search(r"Report +my files/iris-report\.html +\(0 kB\)", result.stdout)
    assert re.search(r"PDF +my files/iris-report\.pdf", result.stdout)
    assert "parsimon predict 'my files/iris-model.skops' NEW_ROWS.csv" in result.stdout


def test_quiet_says_nothing(calls):
    assert run("iris", "--quiet").output == ""


def test_an_unknown_guide_is_a_usage_error(calls):
    result = run("iris", "--guide", "luck")
    assert result.exit_code == 2
    assert "luck" in result.stderr


def test_an_unknown_rule_is_a_usage_error(calls):
    result = run("iris", "--choose", "best")
    assert result.exit_code == 2
    assert "'supported', 'one_se', 'least_error'" in result.stderr


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_small_table_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose <mg>": rng.normal(size=40).round(2), "noise": rng.normal(size=40)})
    frame["state"] = np.where(frame["dose <mg>"] + 0.3 * rng.normal(size=40) > 0, "ill", "well")
    frame.loc[3, "noise"] = np.nan
    frame.to_csv("rows.csv", index=False)
    arguments = "rows.csv --target state --depth 1 --outer 2 --jobs 1 --pdf --json --markdown"
    result = run(*arguments.split())
    assert result.exit_code == 0, result.output
    assert "dose <mg>" in result.stdout
    assert "Looking" in result.stderr
    page = Path("rows-report.html").read_text()
    assert "dose &lt;mg&gt;" in page
    assert "parsimon report rows.csv --target state --depth 1 --outer 2 --seed 0" in page
    assert Path("rows-report.pdf").read_bytes().startswith(b"%PDF-")
    assert "dose" in Path("rows-report.md").read_text()
    found = json.loads(Path("rows-report.json").read_text())
    assert found["studies"][0]["honest"]["n_planned"] == 2
    assert found["studies"][0]["model"]["variables"] == ["dose <mg>"]

    frame.loc[5, "dose <mg>"] = np.nan
    frame.to_csv("new.csv", index=False)
    predicted = CliRunner().invoke(main, ["predict", "rows-model.skops", "new.csv"])
    assert predicted.exit_code == 0, predicted.output
    assert "dose <mg> (1 with " in predicted.stderr
    rows = pd.read_csv(io.StringIO(predicted.stdout))
    assert (rows["predicted state"] == rows["state"]).mean() > 0.8
    called = rows["probability of ill"] > rows["probability of well"]
    assert ((rows["predicted state"] == "ill") == called).all()
