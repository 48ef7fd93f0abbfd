"""The simulator of alerts: what it draws and what its rule says."""

import numpy as np
import pytest

from parsimon.datasets import make_alerts, sound_alerts
from parsimon.exceptions import InvalidInputError
from parsimon.roc import auc


def test_the_same_seed_gives_the_same_rows():
    ours, theirs = make_alerts(50, random_state=3), make_alerts(50, random_state=3)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])


def test_a_wider_alert_sounds_wherever_a_narrower_one_does():
    X, _ = make_alerts(300, random_state=0)
    narrow, wide = sound_alerts([[60, 2, 8], [90, 3, 10]], X)
    assert not (narrow & ~wide).any()
    assert narrow.sum() < wide.sum()
    np.testing.assert_array_equal(sound_alerts([60, 2, 8], X), narrow)


def test_the_alert_knows_much_but_not_all():
    X, y = make_alerts(3000, random_state=0)
    area = auc(y, sound_alerts([120, 3, 10], X).astype(float))
    assert 0.8 < area < 0.97


def test_wrong_shapes_are_refused():
    with pytest.raises(InvalidInputError, match="3 settings and rows of 6"):
        sound_alerts([1, 2], np.zeros((3, 6)))
