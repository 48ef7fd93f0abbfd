"""Errors and warnings that say what was seen and what to do.

Every error of the package is a `ParsimonError`; each is also the built-in error a Python
programmer would expect, so that `except ValueError` works as usual. The command line prints the
message of a `ParsimonError` as one line and exits with code 1.
"""


class ParsimonError(Exception):
    """Base of every error that Parsimon raises on purpose."""


class InvalidInputError(ParsimonError, ValueError):
    """Data or an option that cannot be used; the message says what to change."""


class BadRowError(InvalidInputError):
    """A row that cannot be used; the message names it by its place in the table.

    before, after: What is said before and after the place.
    row: Counted from 0.
    """

    def __init__(self, before: str, row: int, after: str) -> None:
        super().__init__(before, row, after)
        self.before, self.row, self.after = before, row, after

    def __str__(self) -> str:
        return self.at(f"data row {self.row + 1}")

    def at(self, place: str) -> str:
        """Return the message with another name for the place, such as a line of a file."""
        return f"{self.before}{place}{self.after}"


class EmptyFrontError(ParsimonError, ValueError):
    """A choice was asked of a front without solutions."""


class DatasetNotFoundError(ParsimonError, LookupError):
    """No data set of that name can be loaded here."""


class MissingDependencyError(ParsimonError, ImportError):
    """An optional package is needed; the message names the extra that installs it."""


class OutputError(ParsimonError, OSError):
    """A file could not be written; the message names it, and nothing half-written is left."""


class CheckpointError(ParsimonError, ValueError):
    """A checkpoint file does not belong to the run that wants to resume from it."""


class CheckpointWarning(UserWarning):
    """A checkpoint cannot be used or written; its work is done again, or goes on without it."""


class ConstantPredictionWarning(UserWarning):
    """Nothing that a search found beats one prediction for every row, so that is what is used."""


class InvertedPredictionWarning(UserWarning):
    """A model gets more of its own training rows wrong than right, so that guessing is better."""


class InterruptWarning(UserWarning):
    """Ctrl-C ended a fit or a search early; what it returns is the best so far."""


class ScalingWarning(UserWarning):
    """Numbers whose units hide what is to be learnt: columns, or a target, far from the others."""


class SkippedCaseWarning(UserWarning):
    """A case in a folder that others write to cannot be read; it is named and left out."""
