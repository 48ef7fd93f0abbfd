"""Measurements against peers and against the sources' published tables."""
