"""How findings came about, as any report says it: facts, options, versions, how to repeat it."""

from parsimon.report.document import Block, Code
from parsimon.report.findings import RunFindings
from parsimon.report.sections._blocks import paragraph
from parsimon.report.sections._phrases import clean, joined

_FINGERPRINT = 16


def run_facts(run: RunFindings) -> tuple[tuple[str, str], ...]:
    """Return how the findings came about, for the lines of a front page."""
    lines = [
        ("Seed", str(run.seed)),
        ("Version", f"Parsimon {run.version}"),
        ("Date", run.date),
    ]
    if run.command:
        lines.append(("Command", run.command))
    lines.append(("Fingerprint", f"SHA-256 {run.fingerprint[:_FINGERPRINT]}…"))
    return tuple(lines)


def options(run: RunFindings) -> str:
    """Return what was asked for; nothing if that is not known."""
    said = "; ".join(f"{clean(name)} {clean(value)}" for name, value in run.options)
    return f"Options: {said}." if said else ""


def software(run: RunFindings) -> str:
    """Return what computed the findings."""
    versions = [f"{clean(name)} {clean(version)}" for name, version in run.libraries]
    return f"{joined([f'Parsimon {run.version}', *versions])}."


def again(run: RunFindings, given: str = "table", cells: str = "the table") -> tuple[Block, ...]:
    """Return how to make the same report of what was given."""
    if not run.command:
        return ()
    far = " where the machine gets as far in that time" * ("--time-limit" in run.command)
    same = f"The same {given}, seed and version give the same report{far}: "
    return (
        paragraph(
            (same, Code(run.command), "."),
            f"SHA-256 of {cells}: {run.fingerprint}.",
        ),
    )
