"""Sounds as series: read WAV files, one or a folder of them, and write them.

`load_sounds` gives what `parsimon.features.series` takes: one series a file, of unequal lengths.
"""

import csv
import struct
import warnings
from collections.abc import Mapping
from math import gcd
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from parsimon._checks import check_count, check_positive, finite_vector, shorten
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError

AnyPath = str | PathLike[str]
_ENDINGS = (".wav", ".wave")


def read_wav(
    path: AnyPath, *, rate: int | None = None, seconds: float | None = None
) -> tuple[Array, int]:
    """Read a WAV file as one series.

    Samples of 8, 16, 24 or 32 bits or of floating point become numbers from -1 to 1; channels
    are averaged.

    Parameters
    ----------
    path : str or Path
    rate : int, optional
        Samples a second to have; the file's own if not given. Resampled by polyphase filtering,
        which takes away what a lower rate cannot hold.
    seconds : float, optional
        Keep so much of the middle; all if the file is shorter.

    Returns
    -------
    values : ndarray of shape (length,)
    rate : int
        Samples a second.

    Raises
    ------
    InvalidInputError
        If the file is not there, is no WAV file that can be read, or is silent for want of samples.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "tone.wav"
    >>> write_wav(path, np.sin(2 * np.pi * 440 * np.arange(8000) / 8000), 8000)
    >>> values, rate = read_wav(path, rate=4000, seconds=0.5)
    >>> values.shape, rate
    ((2000,), 4000)
    """
    from scipy.io import wavfile

    file = Path(path)
    try:
        with warnings.catch_warnings():
            # Chunks with the name of an artist are passed over without a word.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            own, samples = wavfile.read(file)
    except (OSError, ValueError, struct.error, UnboundLocalError) as error:
        # SciPy's last one: a file without its first chunk.
        raise InvalidInputError(
            f"{file} cannot be read as a WAV file ({type(error).__name__}: {error})."
        ) from error
    if samples.size == 0:
        raise InvalidInputError(f"{file} has no samples; record it again or leave it out.")
    values = _scale(samples)
    values = values.mean(axis=1) if values.ndim > 1 else values
    if seconds is not None:
        values = _middle(values, round(check_positive("seconds", seconds) * own))
    if rate is None or check_count("rate", rate) == own:
        return values, int(own)
    return _resample(values, int(own), int(rate)), int(rate)


def write_wav(path: AnyPath, values: Any, rate: int) -> None:
    """Write one series as a WAV file of 16 bits, to listen to.

    Parameters
    ----------
    path : str or Path
    values : array-like of shape (length,)
        From -1 to 1; what is beyond is cut off.
    rate : int
        Samples a second.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(4000) / 4000)
    >>> write_wav(Path(mkdtemp()) / "tone.wav", tone, 4000)
    """
    from scipy.io import wavfile

    series = finite_vector(values)
    samples = np.round(np.clip(series, -1.0, 1.0) * 32767.0).astype(np.int16)
    wavfile.write(Path(path), check_count("rate", rate), samples)


def load_sounds(
    folder: AnyPath,
    *,
    labels: AnyPath | Mapping[str, Any] | None = None,
    rate: int | None = None,
    seconds: float | None = None,
) -> Any:
    """Read the WAV files of a folder: series of unequal lengths, and their classes.

    Without `labels`, the files of each sub-folder are a class of its name; where there are no
    sub-folders there is no target.

    Parameters
    ----------
    folder : str or Path
    labels : str, Path or mapping, optional
        A CSV file with columns ``file`` and ``label`` (names as in the folder), or the same as a
        mapping. Only the files it names are read.
    rate : int, optional
        Samples a second of all series. Needed if those of the files differ.
    seconds : float, optional
        Keep so much of the middle of each.

    Returns
    -------
    sklearn.utils.Bunch
        ``data``
            List of ndarray of shape (length,), which `parsimon.features.series.SeriesTable` reads.
        ``target``, ``target_names``
            ndarray of labels and their sorted classes; None without.
        ``filenames``, ``rate``
            Names within the folder; samples a second.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> for name in ("low", "high"):
    ...     (folder / name).mkdir()
    ...     write_wav(folder / name / "1.wav", np.sin(np.arange(800.0) / len(name)), 8000)
    >>> sounds = load_sounds(folder)
    >>> sounds.target.tolist(), [len(one) for one in sounds.data], sounds.rate
    (['high', 'low'], [800, 800], 8000)
    """
    from sklearn.utils import Bunch

    place = Path(folder)
    if not place.is_dir():
        raise InvalidInputError(f"{place} is not a folder; give the one that holds the WAV files.")
    files = _from_sub_folders(place) if labels is None else _from_labels(place, labels)
    if not files:
        raise InvalidInputError(f"{place} holds no WAV file, nor do its sub-folders.")
    read = [read_wav(place / name, rate=rate, seconds=seconds) for name in files]
    rates = sorted({own for _, own in read})
    if len(rates) > 1:
        raise InvalidInputError(
            f"The files of {place} have {shorten(rates)} samples a second; give one rate to "
            f"bring all to, such as rate={rates[0]}."
        )
    target = None if None in files.values() else np.array(list(files.values()))
    return Bunch(
        data=[values for values, _ in read],
        target=target,
        target_names=None if target is None else np.unique(target),
        filenames=list(files),
        rate=rates[0],
    )


def _scale(samples: AnyArray) -> Array:
    """Return samples as numbers from -1 to 1; SciPy has 24 bits as the upper ones of 32."""
    if samples.dtype.kind == "f":
        return samples.astype(np.float64)
    half = 2.0 ** (8 * samples.dtype.itemsize - 1)
    shifted = samples.astype(np.float64) - (half if samples.dtype.kind == "u" else 0.0)
    return shifted / half


def _middle(values: Array, length: int) -> Array:
    begin = max(0, (len(values) - length) // 2)
    return values[begin : begin + max(1, length)]


def _resample(values: Array, own: int, rate: int) -> Array:
    from scipy.signal import resample_poly

    common = gcd(own, rate)
    return resample_poly(values, rate // common, own // common)


def _from_sub_folders(place: Path) -> dict[str, str | None]:
    """Return file names with their classes; None where there are no sub-folders with files."""
    inside = {
        f"{sub.name}/{name}": sub.name
        for sub in sorted(place.iterdir())
        if sub.is_dir()
        for name in _wav_names(sub)
    }
    loose = _wav_names(place)
    if inside and loose:
        raise InvalidInputError(
            f"{place} has WAV files of its own ({shorten(loose)}) beside those of sub-folders: "
            f"move them into one, or give labels."
        )
    return dict(inside) if inside else dict.fromkeys(loose)


def _wav_names(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir() if file.suffix.lower() in _ENDINGS)


def _from_labels(place: Path, labels: AnyPath | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(labels, Mapping):
        if not Path(labels).is_file():
            raise InvalidInputError(f"{labels} is not a file; give the one that holds the labels.")
        lines = csv.DictReader(Path(labels).read_text(encoding="utf-8-sig").splitlines())
        columns = list(lines.fieldnames or ())
        if not {"file", "label"} <= set(columns):
            seen = shorten(columns)
            raise InvalidInputError(f"{labels} must have the columns file and label, has {seen}.")
        labels = {row["file"]: row["label"] for row in lines}
    absent = [name for name in labels if not (place / name).is_file()]
    if absent:
        raise InvalidInputError(f"{place} does not hold {shorten(absent)}, which has a label.")
    without = [name for name, label in labels.items() if label in (None, "")]
    if without:
        raise InvalidInputError(f"{shorten(without)} has no label; give one or leave it out.")
    return dict(labels)
