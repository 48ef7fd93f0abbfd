"""What a killed analysis leaves behind is taken up only if it is whole and its own."""

import hashlib
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from parsimon.exceptions import CheckpointWarning, InvalidInputError
from parsimon.statistician.finished_work import FinishedWork, forget_work, own_secret, work_key


@dataclass
class _Options:
    seed: int = 0
    n_jobs: int = 1
    rivals: Any = "all"


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (-1, 0), {"value": np.arange(3.0)})
    again = FinishedWork(tmp_path / "work", "key").read("search", [(-1, 0), (0, 0)])
    assert list(again) == [(-1, 0)]
    np.testing.assert_array_equal(again[-1, 0]["value"], [0.0, 1.0, 2.0])
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["search_-1_0.done"]


def test_a_first_value_stays(tmp_path: Path) -> None:
    assert FinishedWork(tmp_path / "work", "key").once("date", lambda: "Monday") == "Monday"
    assert FinishedWork(tmp_path / "work", "key").once("date", lambda: "Tuesday") == "Monday"
    assert FinishedWork().once("date", lambda: "Tuesday") == "Tuesday"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content[:-1], "is damaged"),
        (lambda content: content[:-1] + b"!", "is damaged"),
        (lambda _: b"", "is not a file of finished work"),
        (lambda _: b"\xff\x00\n", "is not a file of finished work"),
        (lambda content: content.replace(b" key ", b" other "), "belongs to another table"),
        (lambda content: content.replace(b"work-2", b"work-1"), "by an earlier version"),
    ],
)
def test_damaged_and_foreign_files_are_ignored(tmp_path: Path, change: Any, reason: str) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (0,), [1, 2, 3])
    path = tmp_path / "work" / "search_0.done"
    path.write_bytes(change(path.read_bytes()))
    with pytest.warns(CheckpointWarning, match=reason):
        assert kept.read("search", [(0,)]) == {}


class _Planted:
    """Runs code when it is unpickled, as a file from somebody's archive may."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.trace),)


def _sign_with_another_key(folder: Path, content: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep something the way another user would, who knows all but this user's key."""
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder.with_name("theirs")))
        FinishedWork(folder, "key").write("search", (0,), content)
        FinishedWork(folder, "key").write("search", (1,), content)


def test_a_planted_pickle_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace"
    _sign_with_another_key(tmp_path / "work", _Planted(trace), monkeypatch)
    kept = FinishedWork(tmp_path / "work", "key")
    with pytest.warns(CheckpointWarning, match="was not kept by you on this computer") as told:
        assert kept.read("search", [(0,), (1,)]) == {}
    assert len(told) == 1
    assert not trace.exists()
    pickle.loads(pickle.dumps(_Planted(trace)))
    assert trace.exists()


def test_a_bare_pickle_is_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    kept = FinishedWork(tmp_path / "work", "key")
    content = pickle.dumps(_Planted(trace))
    digest = hashlib.sha256(content).hexdigest()
    for about in (
        f"parsimon-finished-work-1 key {digest}",
        f"parsimon-finished-work-2 key {digest} 0",
    ):
        (tmp_path / "work" / "search_0.done").write_bytes(f"{about}\n".encode() + content)
        with pytest.warns(CheckpointWarning, match="such files are ignored"):
            assert kept.read("search", [(0,)]) == {}
    assert not trace.exists()


def test_finished_work_does_not_pass_for_that_of_another_place(tmp_path: Path) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (0,), "first")
    (tmp_path / "work" / "search_0.done").rename(tmp_path / "work" / "search_1.done")
    with pytest.warns(CheckpointWarning, match="was not kept by you"):
        assert kept.read("search", [(1,)]) == {}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner")
def test_what_others_could_have_written_is_not_read(tmp_path: Path) -> None:
    for mode in (0o777, 0o770, 0o702):
        folder = tmp_path / f"open-{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        with pytest.raises(InvalidInputError, match="Others may write to"):
            FinishedWork(folder, "key")
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (0,), 1)
    (tmp_path / "work" / "search_0.done").chmod(0o666)
    with pytest.warns(CheckpointWarning, match="others may write to it"):
        assert kept.read("search", [(0,)]) == {}


def test_links_are_not_followed(tmp_path: Path) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (0,), 1)
    (tmp_path / "linked").symlink_to(tmp_path / "work")
    with pytest.raises(InvalidInputError, match="is a link"):
        FinishedWork(tmp_path / "linked", "key")
    forget_work(tmp_path / "linked")
    (tmp_path / "work" / "search_0.done").rename(tmp_path / "elsewhere")
    (tmp_path / "work" / "search_0.done").symlink_to(tmp_path / "elsewhere")
    with pytest.warns(CheckpointWarning, match="is a link"):
        assert kept.read("search", [(0,)]) == {}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner")
def test_the_key_is_made_once_for_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    place = tmp_path / "parsimon" / "resume.key"
    assert own_secret() == own_secret() == place.read_bytes()
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [path.name for path in place.parent.iterdir()] == ["resume.key"]
    place.chmod(0o640)
    with pytest.raises(InvalidInputError, match="is not yours alone to read"):
        own_secret()
    place.chmod(0o600)
    place.write_bytes(b"")
    with pytest.raises(InvalidInputError, match="is damaged; remove it"):
        own_secret()


def test_a_key_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parsimon").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(InvalidInputError, match="XDG_CONFIG_HOME"):
        FinishedWork(tmp_path / "work", "key")


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="is a file"):
        FinishedWork(tmp_path / "file", "key")
    with pytest.raises(InvalidInputError, match="does not exist"):
        FinishedWork(tmp_path / "no" / "work", "key")


def test_only_its_own_files_are_removed(tmp_path: Path) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (-1, 0), 1)
    (tmp_path / "work" / ".search_0_0.done.0a1b.part").write_text("")
    (tmp_path / "work" / "thesis.txt").write_text("")
    forget_work(tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["thesis.txt"]
    (tmp_path / "work" / "thesis.txt").unlink()
    forget_work(tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_the_key_holds_what_results_depend_on() -> None:
    table = pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]})
    key = work_key(table, ("y", None, "auto"), _Options())
    assert work_key(table.copy(), ("y", None, "auto"), _Options(n_jobs=2)) == key
    own = [
        _Options(rivals=[LogisticRegression()]),
        _Options(rivals=[LogisticRegression(C=2.0)]),
    ]
    others = [
        work_key(table.assign(x=[1.0, 2.5]), ("y", None, "auto"), _Options()),
        work_key(table.assign(x=[1, 2]), ("y", None, "auto"), _Options()),
        work_key(table, ("x", None, "auto"), _Options()),
        work_key(table, ("y", None, "auto"), _Options(seed=1)),
        *(work_key(table, ("y", None, "auto"), options) for options in own),
    ]
    assert len({key, *others}) == 7


def _some_series(**options):
    from parsimon.statistician import analyse_series

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(24, 12)), columns=[f"t{k}" for k in range(12)])
    frame["kind"] = np.repeat(["flat", "high"], 12)
    frame.iloc[12:, 3:9] += 2.0
    return analyse_series(frame, "kind", outer=2, fast=True, max_features=1, **options)


def _some_columns(**options):
    from parsimon.statistician import select_columns

    return select_columns(_table(), "y", outer=2, **options)


def _many_columns(**options):
    from parsimon.statistician import select_features

    return select_features(_table(n_columns=60), "y", n_splits=4, **options)


def _table(n_columns=4):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, n_columns))
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(n_columns)])
    return frame.assign(y=np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, "yes", "no"))


@pytest.mark.parametrize("analyse", [_some_series, _some_columns, _many_columns])
def test_what_is_finished_of_any_kind_of_data_is_not_done_again(analyse, tmp_path, monkeypatch):
    first = analyse(checkpoint=tmp_path / "work").to_json(tmp_path / "first.json").read_text()

    def refuse(*_, **__):
        raise AssertionError("This was done before.")

    for fitted in ("SeriesExtractor", "StableSelector"):
        monkeypatch.setattr(
            f"parsimon.features.{'series.' * (fitted[1] == 'e')}{fitted}.fit", refuse
        )
    monkeypatch.setattr("parsimon.statistician.families.family.Family.learn", refuse)
    again = analyse(checkpoint=tmp_path / "work").to_json(tmp_path / "again.json").read_text()
    assert again == first
    with pytest.raises(AssertionError, match="done before"):
        analyse(checkpoint=tmp_path / "other")
