"""Synthetic music: the same piece for the same seed, and genres and tastes that can be heard."""

import numpy as np
import pytest
from benchmarks.reproduce._mierswa_7_synthesiser import make_genres, make_listener

from parsimon.exceptions import InvalidInputError
from parsimon.features.series import parse_tree, tree_values


def test_the_first_pieces_are_the_same_however_many_are_asked_for():
    few, many = make_genres(4, random_state=3)[0], make_genres(7, random_state=3)[0]
    np.testing.assert_array_equal(few, many[:4])


def test_length_is_seconds_times_rate_and_no_sample_is_beyond_one():
    X, y = make_genres(12, genres=["techno", "rock", "jazz"], seconds=0.5, rate=8000)
    assert X.shape == (12, 4000)
    assert y.tolist() == [0, 1, 2] * 4
    assert np.abs(X).max() <= 1.0


def test_classic_is_quieter_and_smoother_than_pop():
    X, y = make_genres(40, random_state=0)
    # How much angles in phase space vary: Mierswa (2009), section 7.2.1.3.
    volume, angles = tree_values([parse_tree("volume"), parse_tree("angles > deviation")], X).T
    for feature in (volume, angles):
        assert feature[y == 0].mean() < feature[y == 1].mean() - feature[y == 1].std()


def test_the_bass_drum_of_techno_keeps_the_beat():
    X, y = make_genres(40, genres=["techno", "pop"], seconds=4.0, rate=2000, random_state=0)
    # Loudness of low tones, how alike it is half a second later or so.
    low = np.abs(np.apply_along_axis(np.convolve, 1, X, np.ones(20) / 20, "same"))
    low -= low.mean(axis=1, keepdims=True)
    alike = [max(np.corrcoef(x[:-lag], x[lag:])[0, 1] for lag in range(800, 1100, 10)) for x in low]
    alike = np.array(alike)
    assert np.median(alike[y == 0]) > np.median(alike[y == 1])


@pytest.mark.parametrize("listener", [1, 2, 3, 4])
def test_liked_and_other_pieces_come_in_turn(listener):
    X, y = make_listener(6, listener, seconds=0.2, random_state=0)
    assert X.shape == (6, 800)
    assert y.tolist() == [1, 0, 1, 0, 1, 0]


def test_a_high_rate_gives_the_same_music_with_more_of_it():
    # Above 2 kHz there is something, as hats and partials have it.
    X, _ = make_genres(2, genres=["pop"], seconds=2.0, rate=16000, random_state=0)
    spectrum = np.abs(np.fft.rfft(X, axis=1)) ** 2
    share = spectrum[:, 4000:].sum(axis=1) / spectrum.sum(axis=1)
    assert ((share > 1e-4) & (share < 0.3)).all()


def test_wrong_names_and_numbers_get_a_sentence():
    with pytest.raises(InvalidInputError, match=r"no genre 'tekno'\. Did you mean 'techno'\?"):
        make_genres(2, genres=["tekno"])
    with pytest.raises(InvalidInputError, match="genres must be a list"):
        make_genres(2, genres="pop")
    with pytest.raises(InvalidInputError, match="listener must be 1 or 2 or 3 or 4, got 5"):
        make_listener(2, 5)
    with pytest.raises(InvalidInputError, match="rate must be an integer of at least 500"):
        make_genres(2, rate=100)
