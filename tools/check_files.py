"""Fail if a file is very large, or a text does not end with exactly one newline.

    python -m tools.check_files FILE ...

Run before each commit; see ``.pre-commit-config.yaml``.
"""

import sys
from pathlib import Path

LARGEST = 300_000


def complaint(path: Path) -> str:
    """Return what is wrong with a file, or nothing."""
    content = path.read_bytes()
    if len(content) > LARGEST:
        return f"{path} has {len(content):,} bytes; at most {LARGEST:,} belong in the repository."
    is_text = b"\0" not in content
    if is_text and content and (not content.endswith(b"\n") or content.endswith(b"\n\n")):
        return f"{path} must end with exactly one newline."
    return ""


def main() -> None:
    """Print what is wrong with the files that were named, and exit with 1 if anything is."""
    found = [complaint(Path(name)) for name in sys.argv[1:] if Path(name).is_file()]
    if any(found):
        sys.exit("\n".join(filter(None, found)))


if __name__ == "__main__":
    main()
