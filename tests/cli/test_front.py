import json

import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        return CliRunner().invoke(main, ["front", *map(str, words)])

    return call


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "my results.csv"
    pd.DataFrame(
        {
            "the model": ["a [bold]", "b", "c", "d", "e"],
            "area under curve": [0.90, 0.80, 0.85, 0.70, 0.90],
            "n features": [9, 2, 5, 6, 9],
            "with gap": [1.0, None, 3.0, 4.0, None],
            "words": ["low", "high", "low", "1.5", "2"],
        }
    ).to_csv(path, index=False)
    return path


OBJECTIVES = ("--maximise", "area under curve", "--minimise", "n features")


def test_the_demo_prints_a_front_with_the_chosen_row(run):
    result = run("--demo")
    assert result.exit_code == 0, result.output
    assert "Pareto front: 6 of 262 rows" in result.output
    assert "➜" in result.output
    assert "The knee is solution" in result.output


def test_a_table_with_spaces_and_markup_in_its_cells(run, table):
    result = run(table, *OBJECTIVES)
    assert result.exit_code == 0, result.output
    assert "4 of 5 rows" in result.output
    assert "a [bold]" in result.output
    assert "area under curve ↑" in result.output


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "csv.gz"])
def test_every_format_gives_the_same_front(run, table, ending):
    path = table.parent / f"other.{ending}"
    frame = pd.read_csv(table)
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    result = run(path, *OBJECTIVES, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["rows"] == [0, 4, 2, 1]


def test_json_holds_the_rows_and_the_choice(run, table):
    content = json.loads(run(table, *OBJECTIVES, "--select", "best:n features", "--json").output)
    assert content["chosen_row"]["the model"] == "b"
    assert content["objectives"][0] == {"name": "area under curve", "direction": "maximise"}
    assert content["n_rows"] == 5
    assert len(content["front"]) == 4
    assert content["front"][content["chosen"]] == content["chosen_row"]


def test_conditions_narrow_the_front(run, table):
    options = ("--where", "n features<=5", "--where", "area under curve > 0.1", "--json")
    content = json.loads(run(table, *OBJECTIVES, *options).output)
    assert [row["the model"] for row in content["front"]] == ["c", "b"]


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_pictures_and_tables_are_written(run, table, ending):
    picture, out = table.parent / f"front.{ending}", table.parent / "front.csv"
    result = run(table, *OBJECTIVES, "--plot", picture, "--out", out)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 1000
    assert pd.read_csv(out)["the model"].tolist() == ["a [bold]", "e", "c", "b"]


def test_rows_with_gaps_are_left_out_when_asked(run, table):
    result = run(
        table, "--minimise", "with gap", "--maximise", "area under curve", "--drop-missing"
    )
    assert result.exit_code == 0, result.output
    assert "2 rows without a value in every objective were left out." in result.output


def test_rows_of_json_count_in_the_table_that_was_given(run, table):
    content = json.loads(run(table, "--minimise", "with gap", "--drop-missing", "--json").output)
    assert content["rows"] == [0]
    content = json.loads(run(table, "--maximise", "with gap", "--drop-missing", "--json").output)
    assert content["rows"] == [3]
    assert content["chosen_row"]["the model"] == "d"


def test_long_fronts_are_shortened_but_show_the_choice(run, tmp_path):
    path = tmp_path / "long.csv"
    pd.DataFrame({"x": range(100), "y": range(100, 0, -1)}).to_csv(path, index=False)
    result = run(path, "--minimise", "x", "--minimise", "y", "--select", "57")
    assert "more rows" in result.output
    assert "➜ │ 57" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{folder}/nothing.csv", *OBJECTIVES), "does not exist"),
        (("{folder}", *OBJECTIVES), "is a folder"),
        (("{table}", "--maximise", "auc"), "no column 'auc'; its columns are the model"),
        (
            ("{table}", "--maximise", "words"),
            "holds text, not numbers (first: 'low' in line 2 of",
        ),
        (("{table}", "--maximise", "with gap"), "2 of 5 rows have no value in with gap"),
        (("{table}",), "the numeric columns are area under curve, n features, with gap"),
        (("{table}", "--maximise", "n features", "--minimise", "n features"), "named twice"),
        (("{table}", *OBJECTIVES, "--where", "n features = 5"), "A condition looks like"),
        (("{table}", *OBJECTIVES, "--where", "n features<=x"), "A condition looks like"),
        (("{table}", *OBJECTIVES, "--where", "size<=5"), "no objective 'size'"),
        (("{table}", *OBJECTIVES, "--where", "n features<=0"), "No solution is left"),
        (("{table}", *OBJECTIVES, "--select", "elbow"), "no rule 'elbow'"),
        (("{table}", *OBJECTIVES, "--plot", "{folder}/front.xyz"), "cannot be written as '.xyz'"),
        (("{table}", *OBJECTIVES, "--plot", "{folder}/no/front.svg"), "does not exist"),
        (("{table}", *OBJECTIVES, "--out", "{folder}/no/front.csv"), "does not exist"),
        (("{table}", "--demo"), "not both"),
        ((), "try --demo"),
        (("{folder}/empty.csv", "--maximise", "x"), "is empty"),
        (("{folder}/header.csv", "--maximise", "x"), "has no rows"),
        (("{folder}/gaps.csv", "--maximise", "x", "--drop-missing"), "No row has a value"),
        (("{folder}/bytes.parquet", "--maximise", "x"), "cannot be read"),
        (("{folder}/infinite.csv", "--maximise", "x"), "must be finite"),
        (("{folder}/twins.csv", "--maximise", "x "), "one column, 'y', and no 'x '"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_1(run, table, words, message):
    folder = table.parent
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("x,y\n")
    (folder / "gaps.csv").write_text("x,y\n,1\n,2\n")
    (folder / "bytes.parquet").write_bytes(b"\x00\x01\x02")
    (folder / "infinite.csv").write_text("x,y\ninf,1\n1,2\n")
    (folder / "twins.csv").write_text("y\n1\n")
    before = set(folder.iterdir())
    result = run(*[str(word).format(folder=folder, table=table) for word in words])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert set(folder.iterdir()) == before
