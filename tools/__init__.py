"""Scripts for those who work on Parsimon; no part of the package."""
