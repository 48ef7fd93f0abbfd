"""Progress in a file: lines, not a bar."""

from parsimon import _progress
from parsimon._progress import Progress


def test_a_log_gets_a_line_now_and_then_and_at_the_end(capsys, monkeypatch):
    moments = iter([0.0, 4.0, 12.0, 17.0, 21.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(moments))
    with Progress("fitting", total=3, verbose=True) as progress:
        progress.update(1, note="first")
        progress.update(2, note="second")
        progress.update(3)
    assert capsys.readouterr().err.splitlines() == [
        "fitting (12 s): 2/3 second, about 6 s left",
        "fitting (21 s): 3/3",
    ]
