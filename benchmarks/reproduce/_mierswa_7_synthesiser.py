"""Synthetic music: pieces of a genre, and pieces that a listener likes or does not.

A surrogate: the recordings of Mierswa (2009, section 7.4) cannot be had, and nothing here is a
recording. Each piece is played from a few hidden numbers (`_Piece`): tempo, drums, swing, voice and
so on. A genre is where these numbers lie, and a taste is a rule on them. Read `make_genres`, then
`_play`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive, did_you_mean
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError


class _Piece(NamedTuple):
    """What is hidden behind a piece; all but tempo and attack are between 0 and 1.

    tempo: Beats a minute. attack: Seconds until a note is there.
    drums, bass, guitar, voice: How loud each is; the guitar is electric and distorted.
    even: How many beats have a bass drum: four to the bar at 1.
    swing: How late every second quaver comes. sway: How freely a hand plays: timing, vibrato.
    bright: How much of high partials. speech: Spoken rather than sung.
    swell: How much loudness comes and goes. loud: How much it is compressed.
    """

    tempo: float
    drums: float
    even: float
    swing: float
    sway: float
    bright: float
    attack: float
    guitar: float
    voice: float
    speech: float
    bass: float
    swell: float
    loud: float


_LEAST = np.array([50.0, 0, 0, 0, 0, 0, 0.003, 0, 0, 0, 0, 0, 0])
_MOST = np.array([180.0, 1, 1, 1, 1, 1, 0.15, 1, 1, 1, 1, 1, 1])
# Where the numbers of a genre lie: means, then standard deviations, in the order of `_Piece`.
_GENRES: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "classic": (
        (85, 0.02, 0.0, 0.0, 0.75, 0.35, 0.07, 0.0, 0.1, 0.0, 0.3, 0.7, 0.2),
        (25, 0.05, 0.1, 0.05, 0.15, 0.15, 0.02, 0.02, 0.1, 0.05, 0.15, 0.2, 0.15),
    ),
    "pop": (
        (115, 0.55, 0.45, 0.1, 0.4, 0.55, 0.02, 0.3, 0.6, 0.15, 0.5, 0.3, 0.6),
        (15, 0.18, 0.25, 0.1, 0.15, 0.15, 0.01, 0.2, 0.2, 0.12, 0.15, 0.2, 0.15),
    ),
    "techno": (
        (132, 0.65, 0.9, 0.03, 0.12, 0.6, 0.01, 0.08, 0.25, 0.1, 0.6, 0.25, 0.65),
        (10, 0.15, 0.12, 0.04, 0.1, 0.15, 0.005, 0.1, 0.2, 0.12, 0.15, 0.2, 0.15),
    ),
    "hiphop": (
        (98, 0.6, 0.3, 0.3, 0.35, 0.45, 0.02, 0.15, 0.65, 0.55, 0.62, 0.25, 0.62),
        (12, 0.18, 0.25, 0.18, 0.15, 0.15, 0.01, 0.15, 0.2, 0.25, 0.15, 0.2, 0.15),
    ),
    "rock": (
        (125, 0.65, 0.4, 0.05, 0.45, 0.65, 0.012, 0.8, 0.45, 0.15, 0.5, 0.25, 0.7),
        (15, 0.15, 0.25, 0.06, 0.15, 0.15, 0.006, 0.12, 0.2, 0.12, 0.15, 0.2, 0.12),
    ),
    "jazz": (
        (120, 0.35, 0.1, 0.75, 0.65, 0.4, 0.03, 0.05, 0.3, 0.1, 0.55, 0.45, 0.4),
        (30, 0.18, 0.15, 0.2, 0.15, 0.15, 0.015, 0.08, 0.2, 0.12, 0.15, 0.2, 0.15),
    ),
}
# Semitones above the key: a scale of five notes, and the chords of half of all songs.
_SCALE = np.array([0, 2, 4, 7, 9, 12, 14, 16])
_CHORDS = np.array([[0, 4, 7], [9, 12, 16], [5, 9, 12], [7, 11, 14]])
_SIXTEENTHS = 16
# Records that the fourth listener has, and how far a record's pieces differ from each other.
_N_RECORDS, _WITHIN = 6, 0.7
# How sure a taste is: the deviation of its noise, in units of the rule.
_MOOD = 0.3


def make_genres(
    n: int = 40,
    *,
    genres: Sequence[str] = ("classic", "pop"),
    seconds: float = 1.0,
    rate: int = 4000,
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Play pieces of synthetic music, a surrogate for recordings of genres.

    Drums, bass, chords, a melody, a voice and a distorted guitar are played from hidden numbers,
    whose ranges differ between genres and overlap: classic and pop are far from each other, hiphop
    and pop near. An excerpt begins anywhere in a bar. The recordings of Mierswa (2009, section
    7.4.1) are not public; figures on these pieces are not comparable to those printed there.

    Parameters
    ----------
    n : int
        Pieces, the genres in turn.
    genres : sequence of str
        Some of "classic", "pop", "techno", "hiphop", "rock", "jazz".
    seconds : float
        Of a piece.
    rate : int
        Samples a second; half of it is the highest frequency.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, seconds * rate)
        From -1 to 1; `write_wav` makes files of them that can be heard.
    y : ndarray of shape (n,)
        Places in `genres`.

    Examples
    --------
    >>> from benchmarks.reproduce._mierswa_7_synthesiser import make_genres
    >>> X, y = make_genres(6, genres=["techno", "hiphop"], random_state=0)
    >>> X.shape, y.tolist()
    ((6, 4000), [0, 1, 0, 1, 0, 1])
    """
    check_count("n", n)
    times = _times(seconds, rate)
    if isinstance(genres, str) or not genres:
        raise InvalidInputError(f"genres must be a list of names, got {genres!r}.")
    names = [_checked_genre(genre) for genre in genres]
    rng = generator(random_state)
    y = np.arange(n) % len(names)
    X = np.stack([_play(_drawn(names[code], rng), times, rng) for code in y])
    return X, y.astype(np.intp)


def make_listener(
    n: int = 40,
    listener: int = 1,
    *,
    seconds: float = 1.0,
    rate: int = 4000,
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Play pieces of synthetic music that a listener likes or does not, a surrogate for people.

    A taste is a rule on the hidden numbers of a piece, with some mood in it. Listener 1 likes rock
    with a loud electric guitar, among pieces of all genres. To listener 2 all is jazz, of which the
    quick with more drums is liked. Listener 3 likes in every genre what is played by hand, with
    sway and swell, and no machine. Listener 4 has six records, each with a sound of its
    own, and likes what has more voice than drums. After Mierswa (2009, section 7.4.2), whose
    listeners' music is not public.

    Parameters
    ----------
    n : int
        Pieces, liked and not liked in turn.
    listener : {1, 2, 3, 4}
    seconds : float
        Of a piece.
    rate : int
        Samples a second.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance. Another seed is another collection of the same listener; the records of
        listener 4 are then others too.

    Returns
    -------
    X : ndarray of shape (n, seconds * rate)
        From -1 to 1.
    y : ndarray of shape (n,)
        1 for liked pieces, else 0.

    Examples
    --------
    >>> from benchmarks.reproduce._mierswa_7_synthesiser import make_listener
    >>> X, y = make_listener(5, listener=2, random_state=0)
    >>> X.shape, y.tolist()
    ((5, 4000), [1, 0, 1, 0, 1])
    """
    check_count("n", n)
    check_choice("listener", listener, (1, 2, 3, 4))
    times = _times(seconds, rate)
    rng = generator(random_state)
    offer = _on_offer(listener, rng)
    y = (np.arange(n) + 1) % 2
    X = np.stack([_play(_matching(offer, bool(liked), rng), times, rng) for liked in y])
    return X, y.astype(np.intp)


def _times(seconds: float, rate: int) -> Array:
    length = round(check_positive("seconds", seconds) * check_count("rate", rate, least=500))
    return np.arange(max(1, length)) / rate


def _checked_genre(genre: str) -> str:
    if genre not in _GENRES:
        raise InvalidInputError(
            f"There is no genre {genre!r}.{did_you_mean(genre, _GENRES)} "
            f"Genres: {', '.join(_GENRES)}."
        )
    return genre


def _drawn(genre: str, rng: np.random.Generator) -> _Piece:
    mean, spread = map(np.array, _GENRES[genre])
    return _piece(mean + spread * rng.standard_normal(len(mean)))


def _piece(numbers: Array) -> _Piece:
    return _Piece(*np.clip(numbers, _LEAST, _MOST).tolist())


# Listeners

_Offer = Callable[[np.random.Generator], tuple[_Piece, float]]


def _matching(offer: _Offer, liked: bool, rng: np.random.Generator) -> _Piece:
    """Return the first piece on offer that is liked, or that is not."""
    while True:
        piece, taste = offer(rng)
        if (taste + _MOOD * rng.standard_normal() > 0) == liked:
            return piece


def _on_offer(listener: int, rng: np.random.Generator) -> _Offer:
    """Return what draws a piece and how much the listener is for it, in deviations or so."""
    if listener == 1:
        return lambda rng: _any_genre(rng, lambda piece: 5.0 * (piece.guitar - 0.6))
    if listener == 2:
        return lambda rng: _jazz(_drawn("jazz", rng))
    if listener == 3:
        return lambda rng: _any_genre(
            rng, lambda piece: 3.0 * (piece.sway - 0.45) + 3.0 * (piece.swell - 0.4)
        )
    records = [_record(rng) for _ in range(_N_RECORDS)]
    return lambda rng: _from_record(records[rng.integers(_N_RECORDS)], rng)


def _any_genre(rng: np.random.Generator, taste: Callable[[_Piece], float]) -> tuple[_Piece, float]:
    piece = _drawn(list(_GENRES)[rng.integers(len(_GENRES))], rng)
    return piece, taste(piece)


def _jazz(piece: _Piece) -> tuple[_Piece, float]:
    return piece, (piece.tempo - 120.0) / 30.0 + (piece.drums - 0.35) / 0.18


def _record(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return where the pieces of a record lie, and how far they differ."""
    mean, spread = map(np.array, _GENRES[list(_GENRES)[rng.integers(len(_GENRES))]])
    return mean + spread * rng.standard_normal(len(mean)), _WITHIN * spread


def _from_record(record: tuple[Array, Array], rng: np.random.Generator) -> tuple[_Piece, float]:
    centre, spread = record
    piece = _piece(centre + spread * rng.standard_normal(len(centre)))
    return piece, (piece.voice - piece.drums) / 0.2


# The band


def _play(piece: _Piece, times: Array, rng: np.random.Generator) -> Array:
    """Return the sound of a piece: (length,) -> (length,)."""
    grid = _grid(piece, times[-1], rng)
    rate = 1.0 / times[1] if len(times) > 1 else 1.0
    key = 110.0 * 2.0 ** (rng.integers(12) / 12.0)
    chord = _CHORDS[rng.integers(len(_CHORDS), size=len(grid) // _SIXTEENTHS + 1)]
    # What each sixteenth has: a chord for a bar.
    bar = np.arange(len(grid)) // _SIXTEENTHS
    sound = 0.3 * _chords(piece, times, grid[::8], key, chord[bar[::8]], rate, rng)
    sound += 0.3 * _melody(piece, times, grid, key, rate, rng)
    roots = key / 2.0 * 2.0 ** (chord[bar[::2], 0] / 12.0)
    sound += 0.9 * piece.bass * _bass(times, grid[::2], roots, rate, rng)
    sound += 0.8 * piece.guitar * _guitar(times, grid[::4], 2.0 * roots[::2], rng)
    sound += 0.9 * piece.voice * _voice(piece, times, grid, key, rate, rng)
    sound += 1.2 * piece.drums * _drums(piece, times, grid, rng)
    return _mastered(piece, sound, times, rng)


def _grid(piece: _Piece, end: float, rng: np.random.Generator) -> Array:
    """Return when the sixteenths are, from a bar before the excerpt until its end."""
    sixteenth = 60.0 / piece.tempo / 4.0
    count = int(np.ceil(end / sixteenth / _SIXTEENTHS) + 2) * _SIXTEENTHS
    at = (np.arange(count) - _SIXTEENTHS * (1.0 + rng.random())) * sixteenth
    late = np.isin(np.arange(count) % 4, (2, 3)) * piece.swing * 0.33 * 2.0 * sixteenth
    return np.sort(at + late + 0.02 * piece.sway * rng.standard_normal(count))


def _since(times: Array, onsets: Array) -> tuple[Array, Indices]:
    """Return seconds since the last onset, and which it was; before the first, the first."""
    which = np.maximum(np.searchsorted(onsets, times, side="right") - 1, 0)
    return np.maximum(times - onsets[which], 0.0), which


def _partials(frequency: Array, rate: float, weights: Sequence[float | Array]) -> Array:
    """Return a tone of several partials; those that the rate cannot hold are silent."""
    turns = 2.0 * np.pi * np.cumsum(frequency) / rate
    # sin (k + 1) t = 2 cos t sin k t - sin (k - 1) t: no sine but the first.
    before, now, twice = np.zeros_like(turns), np.sin(turns), 2.0 * np.cos(turns)
    sound = np.zeros_like(turns)
    highest = frequency.max()
    for order, weight in enumerate(weights, start=1):
        if order * highest >= 0.45 * rate:
            weight = np.where(order * frequency < 0.45 * rate, weight, 0.0)
        sound += weight * now
        before, now = now, twice * now - before
    return sound


def _slope(piece: _Piece, count: int = 6) -> list[float]:
    """Return weights of partials: bright tones have many."""
    return [order ** -(3.0 - 2.2 * piece.bright) for order in range(1, count + 1)]


def _vibrato(piece: _Piece, times: Array, rng: np.random.Generator) -> Array:
    turns = 2.0 * np.pi * (rng.uniform(4.5, 6.5) * times + rng.random())
    wobble: Array = 1.0 + 0.02 * piece.sway * np.sin(turns)
    return wobble


def _chords(
    piece: _Piece,
    times: Array,
    onsets: Array,
    key: float,
    semitones: Array,
    rate: float,
    rng: np.random.Generator,
) -> Array:
    since, which = _since(times, onsets)
    shape = (1.0 - np.exp(-since / piece.attack)) * np.exp(-since / (0.3 + 8.0 * piece.attack))
    wobble = _vibrato(piece, times, rng)
    sound = sum(
        _partials(key * 2.0 ** (voice[which] / 12.0) * wobble, rate, _slope(piece, 4))
        for voice in semitones.T
    )
    chords: Array = shape * sound
    return chords


def _melody(
    piece: _Piece,
    times: Array,
    grid: Array,
    key: float,
    rate: float,
    rng: np.random.Generator,
) -> Array:
    onsets = grid[:: int(rng.choice([2, 4]))]
    notes = _SCALE[rng.integers(len(_SCALE), size=len(onsets))]
    since, which = _since(times, onsets)
    shape = (1.0 - np.exp(-since / piece.attack)) * np.exp(-since / (0.2 + 6.0 * piece.attack))
    frequency = 2.0 * key * 2.0 ** (notes[which] / 12.0) * _vibrato(piece, times, rng)
    return 1.5 * shape * _partials(frequency, rate, _slope(piece))


def _bass(
    times: Array, onsets: Array, roots: Array, rate: float, rng: np.random.Generator
) -> Array:
    played = rng.random(len(onsets)) < 0.6
    played[0] = True
    since, which = _since(times, onsets[played])
    return np.exp(-since / 0.25) * _partials(roots[played][which], rate, (1.0, 0.5, 0.25))


def _guitar(times: Array, onsets: Array, roots: Array, rng: np.random.Generator) -> Array:
    """Return fifths through a distorted amplifier: nearly square waves."""
    since, which = _since(times, onsets)
    turns = 2.0 * np.pi * roots[which] * times + rng.random()
    sound: Array = np.tanh(6.0 * (np.sin(turns) + np.sin(1.5 * turns))) * np.exp(-since / 0.8)
    return sound


def _voice(
    piece: _Piece,
    times: Array,
    grid: Array,
    key: float,
    rate: float,
    rng: np.random.Generator,
) -> Array:
    """Return vowels, each with two formants; spoken ones are short, low, and begin with noise."""
    onsets = grid[:: 2 if piece.speech > 0.5 else 4]
    since, which = _since(times, onsets)
    sung = 2.0 * key * 2.0 ** (_SCALE[rng.integers(5, size=len(onsets))][which] / 12.0)
    spoken = rng.uniform(100.0, 200.0) * (1.0 - 0.3 * np.minimum(since / 0.3, 1.0))
    frequency = sung ** (1.0 - piece.speech) * spoken**piece.speech
    first = rng.uniform(350.0, 800.0, len(onsets))[which]
    second = rng.uniform(900.0, 1700.0, len(onsets))[which]
    vowel = [
        np.exp(-(((order * frequency - first) / 150.0) ** 2))
        + 0.6 * np.exp(-(((order * frequency - second) / 200.0) ** 2))
        for order in range(1, 9)
    ]
    sound = _partials(frequency * _vibrato(piece, times, rng), rate, vowel)
    length = 0.35 - 0.25 * piece.speech
    shape = (1.0 - np.exp(-since / 0.02)) * np.exp(-((since / length) ** 2))
    breath = piece.speech * rng.standard_normal(len(times)) * np.exp(-since / 0.025)
    voice: Array = 1.2 * shape * sound + 0.5 * breath
    return voice


def _drums(piece: _Piece, times: Array, grid: Array, rng: np.random.Generator) -> Array:
    """Return a bass drum, a snare on the second and fourth beat, and a hat on quavers."""
    place = np.arange(len(grid)) % _SIXTEENTHS
    often = np.zeros(_SIXTEENTHS)
    often[[0, 8]], often[[4, 12]] = 1.0, piece.even
    often[[3, 6, 7, 10, 11, 14]] = 0.5 * (1.0 - piece.even)
    pattern = rng.random(_SIXTEENTHS) < often
    since, _ = _since(times, grid[pattern[place]])
    # The skin is struck high and falls to 50 Hz.
    kick = np.sin(2.0 * np.pi * (50.0 * since - 3.0 * np.exp(-since / 0.03))) * np.exp(-since / 0.1)
    noise = rng.standard_normal(len(times))
    snare = noise * np.exp(-_since(times, grid[np.isin(place, (4, 12))])[0] / 0.07)
    hiss = np.diff(noise, prepend=noise[0])
    hat = hiss * np.exp(-_since(times, grid[::2])[0] / 0.025)
    return kick + 0.6 * snare + 0.25 * hat


def _mastered(piece: _Piece, sound: Array, times: Array, rng: np.random.Generator) -> Array:
    """Return the mix as it comes out of a studio: swelling, compressed, at some level."""
    sound = sound / np.sqrt(np.mean(sound**2) + 1e-12)
    turns = 2.0 * np.pi * (rng.uniform(0.3, 0.8) * times + rng.random())
    sound = sound * (1.0 + 0.8 * piece.swell * np.sin(turns))
    drive = 0.2 + 1.2 * piece.loud
    level = (0.1 + 0.5 * piece.loud) * np.exp(0.2 * rng.standard_normal())
    heard: Array = level * np.tanh(drive * sound) / np.tanh(drive)
    heard += 0.003 * rng.standard_normal(len(times))
    return np.clip(heard, -1.0, 1.0)
