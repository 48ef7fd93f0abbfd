"""The table of planted bugs keeps up with the code: texts are found, tests exist."""

import pytest
from tools.plant_bugs import planted_text
from tools.planted_bugs import BUGS
from tools.scratch_source import ROOT


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.file}: {bug.old[:40]}")
def test_a_planted_bug_finds_its_text_once_and_its_tests(bug):
    text = planted_text(bug)
    assert text is not None, "the old text does not occur exactly once"
    assert bug.old != bug.new
    compile(text, bug.file, "exec")
    for test in bug.tests:
        file, name = test.split("::")
        assert f"def {name.split('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")
