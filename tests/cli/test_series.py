import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main

QUICK = ("--fast", "--outer", "2", "--max-features", "2", "--jobs", "1")


def run(*words):
    return CliRunner().invoke(main, list(map(str, words)))


def waves(n=32, length=20, seed=0):
    """Series of which the second half of the rows has a bump, one a row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, length))
    X[n // 2 :, 5:10] += 3.0
    frame = pd.DataFrame(X, columns=[f"h{k}" for k in range(length)])
    return frame.assign(sea=np.repeat(["calm", "storm"], n // 2))


def melted(frame, names):
    """The same series, one row a measurement, in any order."""
    values = frame.drop(columns="sea")
    rows = values.set_axis(range(values.shape[1]), axis=1).assign(buoy=names, sea=frame["sea"])
    rows = rows.melt(["buoy", "sea"], var_name="hour", value_name="height")
    order = np.random.default_rng(1).permutation(len(rows))
    # The first row of each series stays in front, so that series keep their order.
    first = rows.index[rows["hour"] == 0]
    return pd.concat([rows.loc[first], rows.loc[[k for k in order if k not in set(first)]]])


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    waves().to_csv(folder / "waves.csv", index=False)
    outputs = ["--json", "--markdown", "--features", folder / "features.csv", "--out", folder]
    result = run("series", folder / "waves.csv", "--target", "sea", *QUICK, *outputs)
    assert result.exit_code == 0, result.output
    return folder, result


def test_a_page_says_which_features_separate_the_classes(wide):
    folder, result = wide
    first = result.stdout.splitlines()[0]
    assert re.match(r"(One|Two) features? of a series separates? “calm” from “storm”\. ", first)
    assert "95\u202f% interval" in first
    assert "guessing" in first
    assert "best plain method" in first
    page = (folder / "waves-series.html").read_text()
    assert len(page) < 500_000
    marks = re.findall(r'\sid="([^"]+)"', page)
    assert len(marks) == len(set(marks))
    for title in ("The features", "What each feature buys", "Beside plain methods", "The series"):
        assert title in page
    assert "most typical series of each class" in page


def test_the_findings_have_front_features_and_all_methods(wide):
    found = json.loads((wide[0] / "waves-series.json").read_text())
    assert found["format"] == "parsimon-series-findings"
    names = {one["name"] for one in found["comparison"]["models"]}
    plain = {"nearest series", "linear model of all values", "plain summaries", "guessing"}
    assert names == {"few features", *plain}
    (chosen,) = [one for one in found["front"]["sizes"] if one["chosen"]]
    assert chosen["size"] == len(found["features"]) <= 2
    assert chosen["features"] == [one["tree"] for one in found["features"]]
    # Where the bump is.
    first = found["features"][0]
    assert first["begin"] < 0.5 < first["end"] + 0.25
    assert {name for name, _ in first["medians"]} == {"calm", "storm"}


def test_the_features_of_each_series_are_a_plain_table(wide):
    table = pd.read_csv(wide[0] / "features.csv")
    found = json.loads((wide[0] / "waves-series.json").read_text())
    assert list(table) == ["sea", *(one["words"] for one in found["features"])]
    assert len(table) == 32
    medians = table.groupby("sea").median().iloc[:, 0]
    assert medians.to_dict() == pytest.approx(dict(found["features"][0]["medians"]))


def test_a_saved_model_predicts_new_rows(wide, tmp_path):
    waves(seed=5).drop(columns="sea").to_csv(tmp_path / "new.csv", index=False)
    model = wide[0] / "waves-model.skops"
    result = run("predict", model, tmp_path / "new.csv", "--out", tmp_path / "told.csv")
    assert result.exit_code == 0, result.output
    told = pd.read_csv(tmp_path / "told.csv")
    assert (told["predicted sea"] == waves()["sea"]).mean() > 0.85
    assert "h0" in told
    chances = told[["probability of calm", "probability of storm"]]
    assert chances.sum(axis=1).to_numpy() == pytest.approx(np.ones(32))
    result = run("predict", model, tmp_path / "new.csv", "--explain")
    assert result.exit_code == 1
    assert "no single column contributes" in result.stderr
    assert result.stderr.count("\n") == 1
    waves().drop(columns=["h7", "sea"]).to_csv(tmp_path / "short.csv", index=False)
    assert "no column 'h7'" in run("predict", model, tmp_path / "short.csv").stderr


def test_one_row_a_measurement_gives_the_same_result(wide, tmp_path):
    names = [f"buoy {k}" for k in range(32)]
    melted(waves(), names).to_csv(tmp_path / "rows.csv", index=False)
    columns = ["--id", "buoy", "--time", "hour", "--value", "height", "--target", "sea"]
    page = tmp_path / "page.html"
    result = run("series", tmp_path / "rows.csv", *columns, *QUICK, "--out", page, "--json")
    assert result.exit_code == 0, result.output
    found, other = (
        json.loads(path.read_text())
        for path in (tmp_path / "page.json", wide[0] / "waves-series.json")
    )
    for part in ("features", "front", "comparison", "sizes"):
        assert found[part] == other[part]
    assert found["table"]["is_long"]
    new = melted(waves(seed=5), names).drop(columns="sea")
    new.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", tmp_path / "page-model.skops", tmp_path / "new.csv")
    told = pd.read_csv(pd.io.common.StringIO(result.stdout))
    assert list(told["buoy"]) == names
    assert (told["predicted sea"] == waves()["sea"]).mean() > 0.85


def test_two_channels_at_dates_tell_a_number(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for plot in range(24):
        growth = rng.uniform(1, 5)
        days = np.cumsum(rng.choice([1, 1, 1, 3], 9))
        for day in days:
            date = pd.Timestamp("2026-03-01") + pd.Timedelta(days=int(day))
            rain = growth + 0.2 * rng.normal()
            rows.append((f"plot {plot}", date.date(), rng.normal(), rain, round(growth, 3)))
    names = ["plot", "day", "warmth", "rain", "growth"]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "plots.csv", index=False)
    columns = ["--id", "plot", "--time", "day", "--value", "warmth", "--value", "rain"]
    given = ["series", tmp_path / "plots.csv", *columns, "--target", "growth"]
    result = run(*given, *QUICK, "--out", tmp_path, "--json", "--markdown")
    assert result.exit_code == 0, result.output
    assert re.search("explains? .* of the variance", result.stdout)
    found = json.loads((tmp_path / "plots-series.json").read_text())
    assert found["table"]["channels"] == ["warmth", "rain"]
    assert found["table"]["n_uneven"] >= 18
    assert "of rain" in found["features"][0]["words"]
    assert "not evenly spaced" in (tmp_path / "plots-series.md").read_text()
    result = run("predict", tmp_path / "plots-model.skops", tmp_path / "plots.csv")
    told = pd.read_csv(pd.io.common.StringIO(result.stdout))
    assert list(told) == ["plot", "predicted growth", "sd of growth"]


def test_a_file_of_the_archive_has_no_header_and_the_class_first(tmp_path):
    frame = waves()
    frame.insert(0, "label", frame.pop("sea").map({"calm": 1, "storm": 2}))
    frame.to_csv(tmp_path / "waves.tsv", sep="\t", header=False, index=False)
    result = run("series", tmp_path / "waves.tsv", *QUICK, "--outer", "0", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "names no columns" in result.stderr
    assert re.search("separates? “1” from “2”", result.stdout)
    for name, part in (("all", frame), ("values", frame.drop(columns="label"))):
        part.to_csv(tmp_path / f"{name}.tsv", sep="\t", header=False, index=False)
        given = [tmp_path / "waves-model.skops", tmp_path / f"{name}.tsv"]
        told = pd.read_csv(pd.io.common.StringIO(run("predict", *given).stdout))
        assert (told["predicted class"] == frame["label"]).mean() > 0.85


def test_a_ts_file_is_read_and_one_with_channels_is_not(tmp_path):
    frame = waves()
    rows = [
        ",".join(map(str, row)) + ":" + kind
        for row, kind in zip(frame.drop(columns="sea").to_numpy(), frame["sea"], strict=True)
    ]
    rows[3] = rows[3].replace(",", ",?,", 1)
    head = ["# about", "@problemName waves", "@classLabel true calm storm", "@data"]
    (tmp_path / "waves.ts").write_text("\n".join([*head, *rows]))
    result = run("series", tmp_path / "waves.ts", *QUICK, "--outer", "0", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "“calm” from “storm”" in result.stdout
    told = run("predict", tmp_path / "waves-model.skops", tmp_path / "waves.ts")
    assert told.stdout.splitlines()[0].startswith("class,1,2,")
    (tmp_path / "two.ts").write_text("@data\n1,2:3,4:calm\n")
    result = run("series", tmp_path / "two.ts")
    assert (result.exit_code, "Line 2 of" in result.stderr) == (1, True)
    assert "2 channels, where one channel and a class must be" in result.stderr


def test_names_from_the_table_are_never_markup(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    frame = waves(20, 8).rename(columns={"sea": f"{evil} & $x$", "h3": "</script><b>"})
    frame[f"{evil} & $x$"] = np.repeat(["<b>calm</b>", "a|b `c`"], 10)
    frame["note"] = "<i>text</i>"
    frame.to_csv(tmp_path / "waves.csv", index=False)
    given = ["series", tmp_path / "waves.csv", "--target", f"{evil} & $x$", *QUICK]
    result = run(*given, "--outer", "0", "--out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "page.html").read_text()
    assert "<img" not in text
    assert "<b>calm" not in text
    assert "<i>text" not in text
    assert "&lt;b&gt;calm&lt;/b&gt;" in text


def long(n=12, length=6):
    frame = waves(n, length)
    return melted(frame, [f"buoy {k}" for k in range(n)]).reset_index(drop=True)


def changed(**cells):
    frame = long()
    for name, (row, value) in cells.items():
        frame[name] = frame[name].astype(object)
        frame.loc[row, name] = value
    return frame


WRONG = {
    "a mistyped column": (long(), {"--value": "heigth"}, "Did you mean 'height'"),
    "two rows at one time": (
        pd.concat([long(), long().iloc[[7]]]),
        {},
        r"The series 'buoy 7' has two rows at hour 0",
    ),
    "two targets": (changed(sea=(0, "storm")), {}, "has more than one sea: storm, calm"),
    "few series": (long(4), {}, "There are 4 series with values and a target; at least 10"),
    "one class": (long().assign(sea="calm"), {}, "has only one class, 'calm'"),
    "no time": (changed(hour=(3, None)), {}, "1 row has no time in 'hour'"),
    "text as time": (long().assign(hour="noon"), {}, "must be numbers or dates, got 'noon'"),
    "text as value": (long().assign(height="high"), {}, "holds 'high', where numbers are needed"),
    "no id": (long(), {"--id": None}, "say with --id which column tells the series apart"),
    "a column twice": (long(), {"--value": "hour"}, "'hour' is named twice"),
    "constant series": (long().assign(height=1.0), {}, "All series are alike"),
    "a wrong rule": (long(), {"--choose": "best"}, "best needs a column, as in best:error"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_written(what, tmp_path):
    frame, others, sentence = WRONG[what]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    usual = {"--id": "buoy", "--time": "hour", "--value": "height", "--target": "sea"}
    words = [word for pair in (usual | others).items() if pair[1] for word in pair]
    result = run("series", tmp_path / "rows.csv", *words, *QUICK, "--out", tmp_path, "--quiet")
    assert result.exit_code == 1
    assert re.search(sentence, result.stderr), result.stderr
    assert result.stderr.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]


def test_a_table_that_may_be_long_says_how_to_name_its_columns(tmp_path):
    long().to_csv(tmp_path / "rows.csv", index=False)
    result = run("series", tmp_path / "rows.csv", "--id", "buoy", "--target", "sea")
    assert "name its values with --value" in result.stderr
    result = run("series", tmp_path / "rows.csv", "--target", "sea", "--features", "x.txt")
    assert "must end in .csv" in result.stderr
    assert "Name the column to predict" in run("series", tmp_path / "rows.csv").stderr
