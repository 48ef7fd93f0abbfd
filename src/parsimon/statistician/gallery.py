"""Drawings of a report, kept as pictures under the name of what they show."""

from dataclasses import dataclass, field
from typing import Any

from parsimon.report.figures import caption, label, svg
from parsimon.report.findings import Picture


def picture_of(name: str, axes: Any, title: str, *, more: str = "") -> Picture:
    """Return a drawing as a picture of the findings, and close its figure."""
    import matplotlib.pyplot as plt

    first = axes.flat[0] if hasattr(axes, "flat") else axes
    short = label(title, 160).replace(r"\$", "$")
    drawn = Picture(
        name=name,
        svg=svg(first.figure, salt=name, title=short),
        caption=caption(axes) + more,
        title=short,
    )
    plt.close(first.figure)
    return drawn


@dataclass(frozen=True, eq=False)
class Gallery:
    """The figures of one question, kept as they are drawn; `key` sets them apart from others."""

    key: str
    pictures: list[Picture] = field(default_factory=list)

    def hang(self, part: str, axes: Any, title: str, *, more: str = "") -> str:
        """Keep a drawing under the name of a part of the study; return its name."""
        name = f"{self.key}-{part}"
        self.pictures.append(picture_of(name, axes, title, more=more))
        return name
