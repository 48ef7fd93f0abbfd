"""Which variables, shapes and interactions a table supports, each with a probability."""

from parsimon.structures.claims import Claim

__all__ = ["Claim"]
