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


def test_a_long_step_is_told_all_the_same(capsys, monkeypatch, clock):
    lines = _progress._Lines("searching", 4)
    lines.start()
    lines._over.set()
    moments = iter([10.0, 20.0, 31.0, 41.0, 62.0])

    def wait(seconds):
        clock.now = next(moments, 99.0)
        return clock.now == 99.0

    clock.now = lines._begin = lines._last = 0.0
    monkeypatch.setattr(lines._over, "wait", wait)
    lines._repeat()
    assert capsys.readouterr().err.splitlines() == [
        "searching (31 s): 0/4",
        "searching (62 s): 0/4",
    ]
