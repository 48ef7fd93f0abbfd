"""WAV files: what every depth of bits means, channels, rates, folders, and what is refused."""

import struct
import wave

import numpy as np
import pytest
from scipy.io import wavfile

from parsimon.datasets import load_sounds, read_wav, write_wav
from parsimon.exceptions import InvalidInputError
from parsimon.features.series import SeriesTable

TONE = 0.5 * np.sin(2 * np.pi * 100 * np.arange(4000) / 8000)


def written(path, width, frames, channels=1, rate=8000):
    """Write frames of so many bytes by the standard library."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return path


def frames_of(values, width):
    """Return numbers from -1 to 1 as bytes: 8 bits have no sign, all others do."""
    whole = np.round(values * (2 ** (8 * width - 1) - 1)).astype(int)
    if width == 1:
        return bytes((whole + 128).tolist())
    return b"".join(struct.pack("<i", one)[:width] for one in whole.tolist())


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_depth_of_bits_gives_the_same_numbers(width, tmp_path):
    values, rate = read_wav(written(tmp_path / "tone.wav", width, frames_of(TONE, width)))
    assert rate == 8000
    np.testing.assert_allclose(values, TONE, atol=2.0 ** (2 - 8 * width))


def test_samples_of_floating_point_stay_as_they_are(tmp_path):
    wavfile.write(tmp_path / "tone.wav", 8000, TONE.astype(np.float32))
    np.testing.assert_array_equal(read_wav(tmp_path / "tone.wav")[0], TONE.astype(np.float32))


def test_channels_are_averaged(tmp_path):
    both = np.column_stack([TONE, np.zeros_like(TONE)]).ravel()
    path = written(tmp_path / "stereo.wav", 2, frames_of(both, 2), channels=2)
    np.testing.assert_allclose(read_wav(path)[0], TONE / 2, atol=1e-4)


def test_a_lower_rate_keeps_the_tone_and_drops_what_it_cannot_hold(tmp_path):
    high = 0.3 * np.sin(2 * np.pi * 3000 * np.arange(4000) / 8000)
    write_wav(tmp_path / "tone.wav", TONE + high, 8000)
    values, rate = read_wav(tmp_path / "tone.wav", rate=2000)
    assert (len(values), rate) == (1000, 2000)
    np.testing.assert_allclose(values[50:-50], TONE[::4][50:-50], atol=5e-3)


def test_seconds_keep_the_middle(tmp_path):
    write_wav(tmp_path / "ramp.wav", np.linspace(-1, 1, 8001), 8000)
    values, _ = read_wav(tmp_path / "ramp.wav", seconds=0.25)
    assert len(values) == 2000
    assert abs(values.mean()) < 1e-3
    assert len(read_wav(tmp_path / "ramp.wav", seconds=99)[0]) == 8001


def test_what_is_written_is_read_again(tmp_path):
    noise = np.random.default_rng(0).uniform(-1, 1, 4000)
    write_wav(tmp_path / "noise.wav", noise, 4000)
    values, rate = read_wav(tmp_path / "noise.wav")
    assert rate == 4000
    np.testing.assert_allclose(values, noise, atol=1e-4)


def folder_of(tmp_path, names, rate=8000):
    for length, name in enumerate(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_wav(tmp_path / name, TONE[: 1000 + length], rate)
    return tmp_path


def test_sub_folders_are_classes_and_series_are_as_long_as_their_files(tmp_path):
    sounds = load_sounds(folder_of(tmp_path, ["jazz/b.wav", "rock/a.WAV", "jazz/a.wav"]))
    assert sounds.filenames == ["jazz/a.wav", "jazz/b.wav", "rock/a.WAV"]
    assert sounds.target.tolist() == ["jazz", "jazz", "rock"]
    assert sounds.target_names.tolist() == ["jazz", "rock"]
    table = SeriesTable(sounds.data)
    assert table.lengths.tolist() == [1002, 1000, 1001]


def test_a_file_of_labels_says_which_files_and_classes(tmp_path):
    folder = folder_of(tmp_path, ["a.wav", "b.wav", "c.wav"])
    (folder / "labels.csv").write_text("file,label\nc.wav,1\na.wav,0\n")
    sounds = load_sounds(folder, labels=folder / "labels.csv", rate=4000)
    assert (sounds.filenames, sounds.target.tolist()) == (["c.wav", "a.wav"], ["1", "0"])
    assert (sounds.rate, len(sounds.data[1])) == (4000, 500)
    assert load_sounds(folder, labels={"b.wav": "x"}).target.tolist() == ["x"]


def test_without_sub_folders_or_labels_there_is_no_target(tmp_path):
    sounds = load_sounds(folder_of(tmp_path, ["a.wav"]))
    assert (sounds.target, sounds.target_names, sounds.rate) == (None, None, 8000)


@pytest.mark.parametrize(
    "content",
    [b"", b"not a sound", b"RIFF", b"RIFF\x24\0\0\0WAVE", b"RIFF\x24\0\0\0WAVEfmt \x10\0"],
)
def test_what_is_no_wav_file_is_named(content, tmp_path):
    (tmp_path / "broken.wav").write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"broken\.wav cannot be read"):
        read_wav(tmp_path / "broken.wav")


def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"nothing\.wav cannot be read as a WAV.*No such file"
    ):
        read_wav(tmp_path / "nothing.wav")
    with pytest.raises(InvalidInputError, match="has no samples"):
        read_wav(written(tmp_path / "empty.wav", 2, b""))
    with pytest.raises(InvalidInputError, match="is not a folder"):
        load_sounds(tmp_path / "nowhere")
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidInputError, match="holds no WAV file"):
        load_sounds(tmp_path / "none")
    with pytest.raises(InvalidInputError, match="rate must be an integer"):
        write_wav(tmp_path / "a.wav", TONE, 0)


def test_folders_that_do_not_fit_say_why(tmp_path):
    folder = folder_of(tmp_path, ["a.wav", "slow/b.wav"])
    with pytest.raises(InvalidInputError, match=r"WAV files of its own \(a\.wav\)"):
        load_sounds(folder)
    with pytest.raises(InvalidInputError, match=r"does not hold z\.wav"):
        load_sounds(folder, labels={"z.wav": 1})
    (folder / "labels.csv").write_text("name,label\na.wav,1\n")
    with pytest.raises(InvalidInputError, match="columns file and label, has name, label"):
        load_sounds(folder, labels=folder / "labels.csv")
    with pytest.raises(InvalidInputError, match=r"no\.csv is not a file"):
        load_sounds(folder, labels=folder / "no.csv")
    with pytest.raises(InvalidInputError, match=r"a\.wav has no label"):
        load_sounds(folder, labels={"a.wav": ""})
    write_wav(folder / "c.wav", TONE, 4000)
    with pytest.raises(InvalidInputError, match=r"4000, 8000 samples a second.*rate=4000"):
        load_sounds(folder, labels={"a.wav": 1, "c.wav": 2})
