"""`parsimon phylo`: what is read, what is written where, and what each mistake is told."""

import inspect
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.report import trait_samples as samples

from parsimon._writing import write_file
from parsimon.cli import main
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import brownian_traits, read_tree, yule_tree
from parsimon.statistician.finished_work import FinishedWork

PACKAGE = import_module("parsimon.statistician")
REAL = inspect.signature(PACKAGE.analyse_traits)
TREE = "((A:1,B:1):1,(C:1,D:1):1);"
OPTIONS = (
    "rows.csv --tree tree.nwk --target y --tip tip --model pgls --keep x,z --drop w --folds 4 "
    "--seed 9 --jobs 2 --quiet"
)


class FakeAnalysis:
    """Findings made by hand, written as what each file is."""

    findings = samples.findings()

    def to_html(self, path):
        write_file(path, "page")

    def to_pdf(self, path):
        write_file(path, "pdf")

    def to_json(self, path):
        write_file(path, "data")

    def to_markdown(self, path):
        write_file(path, "markdown")

    def save(self, path):
        write_file(path, "model")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARSIMON_DATA", raising=False)
    Path("tree.nwk").write_text(TREE)
    rows = {"tip": list("ABCD"), "x": [1, 2, 3, 5], "y": [1.0, 2.0, 4.0, 3.0]}
    pd.DataFrame(rows | {"z": [4, 3, 5, 1], "w": [1, 0, 0, 1]}).to_csv("rows.csv", index=False)
    return tmp_path


@pytest.fixture
def calls(folder, monkeypatch):
    """Keep what `analyse_traits` is called with, and compute nothing."""
    made = []

    def analyse_traits(table, tree, target, **options):
        made.append({"table": table, "tree": tree, "target": target, **options})
        return FakeAnalysis()

    monkeypatch.setattr(PACKAGE, "analyse_traits", analyse_traits)
    return made


def run(*arguments):
    return CliRunner().invoke(main, ["phylo", *arguments])


def usual(*more):
    return run("rows.csv", "--tree", "tree.nwk", "--target", "y", *more)


def made():
    inputs = {"rows.csv", "tree.nwk"}
    return {path.name: path for path in Path().iterdir() if path.name not in inputs}


def failed(result, message, code=1):
    assert result.exit_code == code, result.output
    assert re.search(message, result.stderr), result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


def test_options_reach_the_analysis(calls):
    result = run(*OPTIONS.split())
    assert result.exit_code == 0, result.output
    (call,) = calls
    expected = {
        "target": "y",
        "name": "rows",
        "tip": "tip",
        "model": "pgls",
        "features": ["x", "z"],
        "drop": ["w"],
        "folds": 4,
        "seed": 9,
        "n_jobs": 2,
        "verbose": False,
    }
    assert {name: call[name] for name in expected} == expected
    assert call["tree"] == read_tree(TREE)
    assert call["table"].shape == (4, 5)
    assert call["command"] == (
        "parsimon phylo rows.csv --target y --keep x,z --drop w --tree tree.nwk --tip tip "
        "--model pgls --folds 4 --seed 9"
    )


def test_defaults_are_those_of_the_analysis(calls):
    assert usual().exit_code == 0
    real = REAL.parameters
    (call,) = calls
    for name in ("tip", "model", "features", "folds", "seed", "n_jobs"):
        assert call[name] == real[name].default, name
    assert tuple(call["drop"]) == real["drop"].default
    assert set(call) <= set(real)
    assert call["command"] == "parsimon phylo rows.csv --target y --tree tree.nwk --seed 0"


def test_columns_may_be_given_one_by_one_and_have_commas(calls):
    frame = pd.read_csv("rows.csv").rename(columns={"z": "z, wide"})
    frame.to_csv("rows.csv", index=False)
    usual("--keep", "x", "--keep", "z, wide")
    assert calls[0]["features"] == ["x", "z, wide"]


def test_no_features_at_all(calls):
    usual("--keep", "")
    assert calls[0]["features"] == []


def test_lengths_that_are_missing_can_be_given(calls):
    Path("tree.nwk").write_text("((A,B),(C,D:3));")
    failed(usual(), "5 of 6 branches have no length")
    assert usual("--default-length", "2").exit_code == 0
    assert sorted(calls[0]["tree"].length) == [0, 2, 2, 2, 2, 2, 3]
    assert "--default-length 2 " in calls[0]["command"]


def test_every_format_is_written_beside_the_page(calls):
    assert usual("--pdf", "--json", "--markdown").exit_code == 0
    assert {name: path.read_text() for name, path in made().items()} == {
        "rows-phylo.html": "page",
        "rows-phylo.pdf": "pdf",
        "rows-phylo.json": "data",
        "rows-phylo.md": "markdown",
        "rows-model.skops": "model",
    }


@pytest.mark.parametrize(
    ("out", "names"),
    [
        ("first.html", {"first.html", "first.json", "first-model.skops"}),
        ("first", {"first.html", "first.json", "first-model.skops"}),
        ("v1.2", {"v1.2.html", "v1.2.json", "v1.2-model.skops"}),
        ("", {"rows-phylo.html", "rows-phylo.json", "rows-model.skops"}),
    ],
)
def test_out_names_the_page_or_a_folder(out, names, calls, folder):
    (folder / "a").mkdir()
    assert usual("--out", f"a/{out}", "--json").exit_code == 0
    assert {path.name for path in (folder / "a").iterdir()} == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rows.csv --tree tree.nwk", "Name the column to predict with --target; the columns are"),
        ("rows.csv --tree tree.nwk --target q", "no column 'q'; its columns are tip, x, y, z, w"),
        ("none.csv --tree tree.nwk --target y", r"none\.csv does not exist"),
        ("rows.csv --tree none.nwk --target y", r"tree file 'none\.nwk' cannot be read"),
        ("rows.csv --tree rows.csv --target y", "This is no tree: it begins with 'tip,x,y"),
        ("rows.csv --tree . --target y", "cannot be read: Is a directory"),
        ("rows.csv --tree tree.nwk --target y --out no/a.html", "folder no does not exist"),
        ("rows.csv --tree tree.nwk --target y --out a.pdf", r"give a\.html, and --pdf writes"),
        ("rows.csv --tree tree.nwk --target y --out a.skops", r"not a\.skops; give a\.html\."),
    ],
)
def test_mistakes_are_one_line_before_anything_is_computed(arguments, message, calls):
    failed(run(*arguments.split()), message)
    assert not calls
    assert not made()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--tip", "x"), "4 of 4 names are not tips of the tree"),
        (("--keep", "nope"), "'nope' is no column"),
        (("--folds", "1"), "folds must be 0"),
        (("--keep", "tip"), "cannot be a feature"),
    ],
)
def test_mistakes_of_the_analysis_are_one_line(more, message, folder):
    failed(usual("--quiet", *more), message)
    assert not made()


@pytest.mark.parametrize(
    ("target", "message"),
    [(list("abab"), "holds text"), ([0, 1, 0, 1], "are classes"), ([2] * 4, "nothing to explain")],
)
def test_targets_that_are_no_traits_are_one_line(target, message, folder):
    pd.read_csv("rows.csv").assign(y=target).to_csv("rows.csv", index=False)
    failed(usual("--quiet"), message)
    assert not made()


def test_a_tree_is_required(calls):
    failed(run("rows.csv", "--target", "y"), r"Name the file of the tree with --tree\.")
    assert not calls


def test_a_data_set_knows_its_tips_and_its_tree(calls, folder, monkeypatch):
    data = folder / "data"
    data.mkdir()
    Path("rows.csv").rename(data / "mine.csv")
    (data / "mine.nwk").write_text(TREE)
    monkeypatch.setenv("PARSIMON_DATA", str(data))
    assert run("mine", "--target", "y").exit_code == 0
    (call,) = calls
    assert call["tree"] == read_tree(TREE)
    assert call["table"]["tip"].tolist() == list("ABCD")
    assert call["command"] == "parsimon phylo mine --target y --seed 0"
    other = "((A:2,B:2):1,(C:1,D:1):1);"
    Path("other.nwk").write_text(other)
    assert run("mine", "--target", "y", "--tree", "other.nwk").exit_code == 0
    assert calls[1]["tree"] == read_tree(other)


def test_an_unknown_model_is_a_usage_error(folder):
    result = usual("--model", "ols")
    assert result.exit_code == 2
    assert "ols" in result.stderr


def test_without_typst_pdf_is_refused_before_anything_is_computed(calls, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    failed(usual("--pdf"), r"pip install 'parsimon\[pdf\]'")
    assert not calls


@pytest.mark.parametrize("stage", ["analyse_traits", "to_html", "to_json"])
def test_ctrl_c_is_one_line_and_leaves_nothing(stage, calls, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    owner = PACKAGE if stage == "analyse_traits" else FakeAnalysis
    monkeypatch.setattr(owner, stage, stop)
    failed(usual("--json"), r"^Stopped; nothing was written\.$", code=130)
    assert not made()


def test_a_failing_writer_leaves_the_old_files(calls, monkeypatch):
    Path("rows-phylo.html").write_text("old")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(FakeAnalysis, "to_json", full)
    failed(usual("--json"), "No space left")
    assert {name: path.read_text() for name, path in made().items()} == {"rows-phylo.html": "old"}


def test_an_error_of_the_analysis_is_one_line(calls, monkeypatch):
    def refuse(*_, **__):
        raise InvalidInputError("Two rows are too few.")

    monkeypatch.setattr(PACKAGE, "analyse_traits", refuse)
    failed(usual(), r"^Error: Two rows are too few\.$")


def test_the_summary_says_what_was_found_and_where_it_is(calls):
    result = usual("--json")
    assert "All 40 rows of lizards are species of the tree." in result.stdout
    assert re.search(r"Report +rows-phylo\.html +\(0 kB\)", result.stdout)
    assert re.search(r"Findings +rows-phylo\.json", result.stdout)


def test_quiet_says_nothing(calls):
    assert usual("--quiet").output == ""


def test_a_small_tree_from_end_to_end(folder):
    tree = yule_tree(16, random_state=3)
    tree.write(folder / "tree.nwk.gz")
    frame = brownian_traits(tree, 2, random_state=3).rename(columns={"trait1": "leg <cm>"})
    noise = np.random.default_rng(0).normal(size=16)
    frame["mass"] = 3 * frame["leg <cm>"] + 0.1 * noise
    frame.loc["t3", "mass"] = np.nan
    frame.rename_axis("species").reset_index().to_csv("rows.csv", index=False)
    arguments = "rows.csv --tree tree.nwk.gz --target mass --folds 2 --pdf --json --markdown"
    result = run(*arguments.split())
    assert result.exit_code == 0, result.output
    assert "leg <cm>" in result.stdout
    assert "Analysing" in result.stderr
    page = Path("rows-phylo.html").read_text()
    assert "leg &lt;cm&gt;" in page
    assert "parsimon phylo rows.csv --target mass --tree tree.nwk.gz --folds 2 --seed 0" in page
    assert Path("rows-phylo.pdf").read_bytes().startswith(b"%PDF-")
    assert "leg" in Path("rows-phylo.md").read_text()
    found = json.loads(Path("rows-phylo.json").read_text())
    assert found["phyrvm"]["weights"][0]["feature"] == "leg <cm>"
    assert found["error"]["n_folds"] == 2
    assert [one["tip"] for one in found["predictions"]] == ["t3"]
    assert len(found["ancestors"]) == 15
    names = {one["name"] for one in found["comparison"]["models"]}
    assert {"PhyRVM", "PGLS", "tree alone", "linear model", "random forest"} <= names
    assert "Which model to use" in page
    predicted = CliRunner().invoke(main, ["predict", "rows-model.skops", "rows.csv", "--explain"])
    assert predicted.exit_code == 0, predicted.output
    assert "predicted mass" in predicted.stdout
    explained = CliRunner().invoke(main, ["explain", "rows-model.skops", "rows.csv"])
    assert explained.exit_code == 0, explained.output
    assert "Row 1: mass is about" in explained.stdout


def test_a_resumed_report_has_the_same_bytes(folder, monkeypatch):
    tree = yule_tree(16, random_state=3)
    tree.write(folder / "tree.nwk")
    brownian_traits(tree, 2, random_state=3).rename_axis("tip").to_csv("rows.csv")
    words = (
        "report rows.csv --tree tree.nwk --target trait1 --folds 2 --json --rivals tree --jobs 1"
    )
    whole = CliRunner().invoke(main, [*words.split(), "--out", "whole.html"])
    assert whole.exit_code == 0, whole.output
    resumed = [*words.split(), "--resume", "--out", "resumed.html"]
    write = FinishedWork.write

    def killed(self, stage, place, result):
        write(self, stage, place, result)
        if stage == "compare":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FinishedWork, "write", killed)
        stopped = CliRunner().invoke(main, resumed)
    assert stopped.exit_code == 130
    assert "the same command goes on from here" in stopped.stderr
    assert {path.name for path in Path("resumed.resume").iterdir()} >= {"compare_0_0.done"}
    again = CliRunner().invoke(main, resumed)
    assert again.exit_code == 0, (again.output, again.exception)
    assert not Path("resumed.resume").exists()
    assert Path("resumed.json").read_bytes() == Path("whole.json").read_bytes()


def test_a_mostly_empty_column_of_tiny_numbers_is_no_traceback(folder):
    tree = yule_tree(12, random_state=0)
    tree.write("tree.nwk")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"tip": tree.tip_names, "x": rng.normal(size=12), "y": rng.normal(size=12)})
    rows["rare"] = np.where(np.arange(12) < 5, 1e-200 * rng.normal(size=12), np.nan)
    rows.to_csv("rows.csv", index=False)
    result = usual("--keep", "x,rare", "--folds", "0", "--jobs", "1", "--quiet")
    assert result.exit_code == 1
    assert "Column 'rare' of X varies by only" in result.stderr
    assert result.stderr.strip().count("\n") == 0


def test_report_with_a_tree_is_the_same(calls):
    words = ["report", "rows.csv", "--tree", "tree.nwk", "--target", "y", "--folds", "3"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert usual("--folds", "3").exit_code == 0
    ours, theirs = calls
    assert ours.pop("command") == (
        "parsimon report rows.csv --target y --seed 0 --tree tree.nwk --folds 3"
    )
    theirs.pop("command")
    pd.testing.assert_frame_equal(ours.pop("table"), theirs.pop("table"))
    assert ours == theirs
    assert "rows-report.html" in made()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--tip", "tip"], "--tip is for related species; add --tree FILE"),
        (["--folds", "3"], "--folds is for related species"),
        (["--tree", "tree.nwk", "--outer", "3"], "--outer does not go with --tree"),
        (["--tree", "tree.nwk", "--depth", "2"], "--depth does not go with --tree"),
    ],
)
def test_options_that_do_not_go_together_are_told(more, message):
    result = CliRunner().invoke(main, ["report", "rows.csv", "--target", "y", *more])
    failed(result, message)


@pytest.mark.parametrize("command", [["report"], ["phylo"]])
def test_a_time_limit_goes_with_a_tree(tmp_path, monkeypatch, command):
    calls = []

    def analysed(*_, **options):
        calls.append(options["time_limit"])
        raise InvalidInputError("enough")

    monkeypatch.setattr("parsimon.statistician.analyse_traits", analysed)
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("tip,x,y\na,1,2\nb,2,3\nc,3,5\n")
    Path("tree.nwk").write_text("((a:1,b:1):1,c:2);")
    words = ["rows.csv", "--target", "y", "--tree", "tree.nwk", "--time-limit", "9"]
    failed(CliRunner().invoke(main, [*command, *words]), "enough")
    assert 8 < calls[0] <= 9


def test_words_and_holes_reach_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    tree = yule_tree(50, random_state=3)
    table = brownian_traits(tree, 2, random_state=3)
    mode = np.where(rng.random(50) < 0.5, "eggs", "young")
    table["heat"] = table["trait1"] + 2.5 * (mode == "young") + 0.1 * rng.normal(size=50)
    table["mode"] = mode
    table.iloc[:6, 1] = np.nan
    table.iloc[4:9, 2] = np.nan
    table.rename_axis("tip").to_csv("rows.csv")
    Path("tree.nwk").write_text(tree.write())
    words = "report rows.csv --tree tree.nwk --target heat --json --folds 2 --jobs 1 --rivals none"
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 0, result.output
    found = json.loads(Path("rows-report.json").read_text())
    p_values = {one["feature"]: one["p_value"] for one in found["pgls"]["coefficients"]}
    assert p_values["mode = young"] < 1e-6
    assert "mode = young" in [one["feature"] for one in found["phyrvm"]["weights"]]
    assert found["table"]["n_fitted"] == 45
    assert len(found["predictions"]) == 5
    page = Path("rows-report.html").read_text()
    assert "The words of mode are features too" in page
    assert "6 species lack a feature; they stay in" in page
    assert "Dempster" in page
