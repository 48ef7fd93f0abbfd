"""Files are written whole or not at all, under names nobody knows, and never through a link."""

import errno
import os
import stat
import threading

import numpy as np
import pytest

from parsimon import _writing
from parsimon._writing import all_or_none, whole_file, write_file
from parsimon.exceptions import CheckpointWarning, OutputError
from parsimon.features import ClusteringSelector, ParetoSelector
from parsimon.features.series import SeriesExtractor
from parsimon.gp import KernelSearch
from parsimon.pareto import nsga2
from parsimon.pareto.space import Box


@pytest.fixture
def full_disk(monkeypatch):
    """Let the disk be full whenever a file is to be on it."""

    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text("old")
    place.chmod(0o600)
    assert write_file(place, "größer") == place
    assert place.read_bytes() == "größer".encode()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert names(tmp_path) == ["a.txt"]


def _write_and_raise(place, error):
    with whole_file(place) as file:
        file.write(b"new")
        file.flush()
        assert place.read_text() == "old"
        raise error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt("no"), OSError("no")])
def test_whatever_happens_meanwhile_leaves_the_old_file(tmp_path, error):
    place = tmp_path / "a.txt"
    place.write_text("old")
    with pytest.raises((type(error), OutputError), match="no"):
        _write_and_raise(place, error)
    assert (names(tmp_path), place.read_text()) == (["a.txt"], "old")


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "link").symlink_to("precious")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "link").is_symlink()


def test_a_link_at_the_very_name_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(_writing.secrets, "token_hex", lambda _: "guessed")
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".a.txt.guessed.part").symlink_to("precious")
    with pytest.raises(OutputError, match=r"a\.txt could not be written: file exists"):
        write_file(tmp_path / "a.txt", "new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "a.txt").exists()


def test_no_two_writers_share_a_file(tmp_path):
    with whole_file(tmp_path / "fold.1") as one, whole_file(tmp_path / "fold.2") as other:
        with whole_file(tmp_path / "fold.1") as again:
            assert len({one.name, other.name, again.name}) == 3
            assert len(names(tmp_path)) == 3
            again.write(b"last but one")
        one.write(b"one")
        other.write(b"other")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "fold.1": b"one",
        "fold.2": b"other",
    }


def test_a_long_name_is_no_problem(tmp_path):
    write_file(tmp_path / ("é" * 120 + ".csv"), "x")
    assert len(names(tmp_path)) == 1


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path):
    with pytest.raises(OutputError, match=r"The disk is full: .*a\.txt could not be written"):
        write_file(tmp_path / "a.txt", "x")
    assert names(tmp_path) == []


def test_a_limit_of_the_system_names_the_file_and_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    place = tmp_path / "a.txt"
    place.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OutputError, match=r"a\.txt could not be written: file too large"):
            write_file(place, "x" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (names(tmp_path), place.read_text()) == (["a.txt"], "old")


def test_files_that_belong_together_appear_together(tmp_path):
    with all_or_none():
        write_file(tmp_path / "a", "a")
        assert not (tmp_path / "a").exists()
        write_file(tmp_path / "b", "b")
    assert names(tmp_path) == ["a", "b"]


def _write_together(*places):
    with all_or_none():
        for place in places:
            write_file(place, "new")


def test_if_one_cannot_be_written_none_is(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(OutputError, match="no such file"):
        _write_together(tmp_path / "a", tmp_path / "absent" / "b")
    assert (names(tmp_path), (tmp_path / "a").read_text()) == (["a"], "old")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_stays_a_pipe(tmp_path):
    place, read = tmp_path / "pipe", []
    os.mkfifo(place)
    reader = threading.Thread(target=lambda: read.append(place.read_bytes()))
    reader.start()
    write_file(place, "through it")
    reader.join()
    assert read == [b"through it"]
    assert stat.S_ISFIFO(place.stat().st_mode)


def _series():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 20)) + np.repeat([0.0, 2.0], 15)[:, None]
    return X, np.repeat([0, 1], 15)


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    return X, (X[:, 0] > 0).astype(int)


def _front(path):
    space = Box(np.zeros(1), np.ones(1))
    return nsga2(_objectives, space, max_iter=3, checkpoint=path, random_state=0)


def _objectives(x):
    return np.column_stack((x, 1 - x))


SEARCHES = {
    "front": _front,
    "kernels": lambda path: KernelSearch(
        depth=1, base=("se",), checkpoint=path, random_state=0
    ).fit(*_rows()),
    "series": lambda path: SeriesExtractor(max_iter=1, checkpoint=path, random_state=0).fit(
        *_series()
    ),
    "columns": lambda path: ParetoSelector(max_iter=1, checkpoint=path, random_state=0).fit(
        *_rows()
    ),
    "clusters": lambda path: ClusteringSelector(max_iter=1, checkpoint=path, random_state=0).fit(
        _rows()[0]
    ),
}


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_search_goes_on_without_a_checkpoint_if_the_disk_is_full(tmp_path, search):
    with pytest.warns(CheckpointWarning, match=r"The disk is full: .*run\.npz could not be"):
        search(tmp_path / "run.npz")
    assert names(tmp_path) == []


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_checkpoint_touches_no_other_file(tmp_path, search):
    for other in ("run.part", ".run.json.part", ".run.json.1"):
        (tmp_path / other).write_text("precious")
    search(tmp_path / "run.json")
    assert names(tmp_path) == [".run.json.1", ".run.json.part", "run.json", "run.part"]
    assert all(path.read_text() == "precious" for path in tmp_path.glob("*run*[1t]"))
