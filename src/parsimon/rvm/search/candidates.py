"""The entry test: what the search asks of one, whatever is behind it."""

from typing import Protocol

from parsimon._typing import Array, Mask


class EntryTest(Protocol):
    """Decides which operating points may enter the archive; `entry.EntryTest` is one.

    It is asked after plain dominance and can only refuse. It must be a function of its arguments
    (resamples are drawn once, from a seed of its own), so that a resumed search repeats itself.
    """

    def rates(self, correct: Mask) -> Array:
        """Return what is to be compared, shape (c, ...).

        Shapes: correct (c, n).
        """

    def admits(
        self, candidates: Array, complexity: Array, members: Array, member_complexity: Array
    ) -> Mask:
        """Return which candidates may enter, shape (c,).

        Shapes: candidates, members (c, ...), complexity, member_complexity (c,).
        """
