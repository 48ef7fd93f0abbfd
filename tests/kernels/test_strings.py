import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Spectrum

words = st.lists(st.text("ACGT", max_size=9), min_size=1, max_size=6)


def occurrences(string, piece):
    return sum(string[i : i + len(piece)] == piece for i in range(len(string)))


@given(words, words)
def test_similarity_is_the_inner_product_of_counts(left, right):
    alphabet = list("ACGT")
    pieces = alphabet + [a + b for a in alphabet for b in alphabet]
    counts = [
        np.array([[occurrences(s, p) for p in pieces] for s in side]) for side in (left, right)
    ]
    np.testing.assert_array_equal(Spectrum().gram(left, right), counts[0] @ counts[1].T)
    np.testing.assert_array_equal(Spectrum().diagonal(left), (counts[0] ** 2).sum(axis=1))


@given(words)
def test_normalised_similarities_are_cosines(strings):
    plain, cosine = Spectrum().gram(strings), Spectrum(normalise=True).gram(strings)
    sizes = np.sqrt(np.diagonal(plain))
    expected = plain / np.maximum(np.outer(sizes, sizes), 1)
    np.testing.assert_allclose(cosine, expected, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(cosine), Spectrum(normalise=True).diagonal(strings))
    assert np.linalg.eigvalsh(cosine).min() > -1e-9


def test_twenty_features_of_a_window_of_dna():
    rng = np.random.default_rng(0)
    windows = ["".join(rng.choice(list("ACGT"), 3)) for _ in range(400)]
    counts, pieces = Spectrum().count(windows)
    assert counts.shape == (400, 20)
    assert len(pieces) == 20
    np.testing.assert_array_equal(counts @ counts.T, Spectrum().gram(windows))


def test_several_windows_add_up():
    rows = np.array([["ACG", "TTT"], ["ACT", "TTA"]], dtype=object)
    both = Spectrum().gram(rows)
    np.testing.assert_array_equal(both, Spectrum().gram(rows[:, 0]) + Spectrum().gram(rows[:, 1]))


def test_what_is_no_string_is_refused():
    with pytest.raises(InvalidInputError, match="compares strings, but 1 of 2 cells"):
        Spectrum().gram(["AC", 3])
    with pytest.raises(InvalidInputError, match="lengths must be an integer of at least 1"):
        Spectrum(lengths=0)
    with pytest.raises(InvalidInputError, match="at least one length"):
        Spectrum(lengths=())
    with pytest.raises(InvalidInputError, match="2 columns of strings and Y has 1"):
        Spectrum().gram([["A", "C"]], ["A"])
