"""What holds for every report, whatever was found."""

import re
from dataclasses import replace

import pytest

from parsimon.report.document import Explorer, Paragraph, Reference, Strong
from parsimon.report.findings import Findings
from parsimon.report.sections import summary_lines, write
from tests.report import reading, samples

SAMPLES = ("findings", "hostile", "no_structure", "fast", "three_classes", "regression", "rare")
NAN = float("nan")


def bare() -> Findings:
    """Nothing that may be missing is there."""
    found = samples.fast()
    study = found.studies[0]
    without = replace(
        study,
        structure_found=False,
        model=study.baseline,
        front=(),
        front_variables=(),
        knee=0,
        chosen=0,
        variables=(),
        components=(),
        interactions=(),
        checks=replace(samples.no_structure().studies[0].checks, **_nothing_checked()),
        search=replace(study.search, picture=""),
        front_picture="",
    )
    table = replace(found.table, variables=(), treatments=(), n_missing=0, picture="")
    return Findings(table=table, studies=(without,), run=replace(found.run, command=""))


def _nothing_checked() -> dict:
    empty = dict.fromkeys(("calibration", "hull", "surprising", "influential"), ())
    unknown = dict.fromkeys(("calibration_slope", "calibration_intercept", "brier", "roc"))
    return {**empty, **unknown, "calibration_picture": "", "roc_picture": ""}


def unmeasured() -> Findings:
    """No error was cross-validated."""
    found = samples.findings()
    study = found.studies[0]

    def blind(model):
        return replace(model, error=NAN, standard_error=NAN, log_loss=NAN)

    return reading.with_study(
        found,
        model=blind(study.model),
        baseline=blind(study.baseline),
        front=tuple(map(blind, study.front)),
        front_variables=tuple(map(blind, study.front_variables)),
        variables=tuple(replace(one, model=blind(one.model), ratio=NAN) for one in study.variables),
        components=tuple(
            replace(one, alone=blind(one.alone), cumulative=blind(one.cumulative), gain=NAN)
            for one in study.components
        ),
        interactions=tuple(
            replace(one, additive=blind(one.additive), gain=NAN) for one in study.interactions
        ),
        honest=replace(study.honest, guide_error=NAN),
    )


def own_pictures() -> Findings:
    """Three classes, each with pictures of its own."""
    found = samples.three_classes()
    names = [one.name for one in found.pictures if one.name.startswith("study-1-")]
    more = [
        samples.picture(name.replace("study-1-", f"study-{k}-")) for k in (2, 3) for name in names
    ]
    studies = tuple(_renamed(one, f"study-{k}-") for k, one in enumerate(found.studies, start=1))
    return replace(found, studies=studies, pictures=(*found.pictures, *more))


def _renamed(value, key: str):
    """Return a finding with all names of pictures changed."""
    if isinstance(value, str):
        return value.replace("study-1-", key)
    if isinstance(value, tuple):
        return tuple(_renamed(one, key) for one in value)
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{name: _renamed(getattr(value, name), key) for name in vars(value)})
    return value


MADE = {"bare": bare, "unmeasured": unmeasured, "own_pictures": own_pictures}
EVERY = [*SAMPLES, *MADE]


def made(name: str) -> Findings:
    return MADE[name]() if name in MADE else getattr(samples, name)()


def named_pictures(value) -> set[str]:
    """Return the names of pictures that findings speak of."""
    if isinstance(value, tuple):
        return set().union(*map(named_pictures, value)) if value else set()
    if not hasattr(value, "__dataclass_fields__"):
        return set()
    own = {
        getattr(value, name)
        for name in vars(value)
        if name == "picture" or name.endswith("_picture")
    }
    inner = (named_pictures(getattr(value, name)) for name in vars(value))
    return set().union(own, *inner) - {""}


@pytest.mark.parametrize("name", EVERY)
def test_text_is_clean(name):
    found = made(name)
    for text in (*reading.texts(write(found)), *summary_lines(found)):
        assert not re.search(r"\b(nan|inf)\b", text.lower()), text
        assert not re.search(r"\bNone\b(?! of )", text), text
        assert "  " not in text, text
        assert not re.search(r" [.,;:]", text), text
        assert ".." not in text, text
        assert text.strip() == text, text
        assert not re.search(r"\d %", text), "a number and its sign need a narrow space"


@pytest.mark.parametrize("name", EVERY)
def test_brackets_and_quotation_marks_match(name):
    for text in reading.texts(write(made(name))):
        for opening, closing in ("()", "[]", "“”"):
            assert text.count(opening) == text.count(closing), text


@pytest.mark.parametrize("name", EVERY)
def test_sentences_end(name):
    document = write(made(name))
    for paragraph in reading.paragraphs(tuple(reading.blocks(document))):
        text = reading.plain(paragraph, document.numbers())
        code_alone = len(paragraph.parts) == 1 and not isinstance(paragraph.parts[0], str)
        assert code_alone or text.endswith((".", ":", "?")), text


@pytest.mark.parametrize("name", EVERY)
def test_references_lead_somewhere(name):
    document = write(made(name))
    numbers = document.numbers()
    parts = [
        part
        for paragraph in reading.paragraphs(tuple(reading.blocks(document)))
        for part in paragraph.parts
    ]
    assert all(part.anchor in numbers for part in parts if isinstance(part, Reference))


@pytest.mark.parametrize("name", EVERY)
def test_anchors_are_unique_and_plain(name):
    document = write(made(name))
    found = [one.anchor for one in reading.sections(document)]
    found += [one.anchor for one in reading.figures(document)]
    found += [one.anchor for one in reading.blocks(document) if hasattr(one, "headings")]
    assert len(found) == len(set(found))
    assert all(re.fullmatch(r"[a-z0-9-]+", anchor) for anchor in found)


@pytest.mark.parametrize("name", EVERY)
def test_no_picture_stands_twice(name):
    found = made(name)
    shown = [one.picture.name for one in reading.figures(write(found))]
    known = {one.name for one in found.pictures}
    assert len(shown) == len(set(shown))
    assert set(shown) <= named_pictures(replace(found, pictures=())) & known


def test_captions_say_a_thing_once():
    found = samples.findings()
    said = " Dots are rows. A band holds 95 %."
    pictures = tuple(replace(one, caption=f"{one.caption}{said}") for one in found.pictures)
    captions = [
        one.picture.caption for one in reading.figures(write(replace(found, pictures=pictures)))
    ]
    assert captions[0].endswith(said)
    assert len(captions) > 3
    assert not any(said in one for one in captions[1:])
    assert all(one.startswith("Caption of") for one in captions)


@pytest.mark.parametrize("name", EVERY)
def test_guide_errors_are_never_called_performance(name):
    for text in reading.texts(write(made(name))):
        assert "performance" not in text.lower(), text


@pytest.mark.parametrize("name", EVERY)
def test_tables_are_rectangular(name):
    for table in reading.tables(write(made(name))).values():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headings)}
        assert all(place < len(table.rows) for place in table.emphasised)


@pytest.mark.parametrize("name", EVERY)
def test_terminal_has_five_to_ten_lines(name):
    lines = summary_lines(made(name))
    assert 5 <= len(lines) <= 10
    assert all(line.endswith(".") for line in lines)


def test_sections_of_two_classes():
    assert [one.title for one in write(samples.findings()).sections] == [
        "What matters, and how",
        "What speaks for and against, row by row",
        "How far to trust it",
        "How to use the model",
        "What the kernel search found",
        "The table, and what was done to it",
        "Methods",
    ]


def test_sections_of_three_classes():
    document = write(samples.three_classes())
    assert [one.title for one in document.sections] == [
        "Class by class",
        "How to use the model",
        "The table, and what was done to it",
        "Methods",
    ]
    assert document.sections[0].sections[1].anchor == "study-2-class"


def test_the_explorer_knows_its_study():
    found = [one for one in reading.blocks(write(samples.findings())) if isinstance(one, Explorer)]
    assert [one.study for one in found] == [0]
    assert [one.fallback.picture.name for one in found] == ["study-1-front"]
    several = reading.blocks(write(own_pictures()))
    assert not any(isinstance(one, Explorer) for one in several)


def test_a_number_has_an_explorer_too():
    assert any(isinstance(one, Explorer) for one in reading.blocks(write(samples.regression())))


def test_texts_of_the_table_stay_as_they_are():
    paragraph = write(samples.hostile()).lead[0]
    assert isinstance(paragraph, Paragraph)
    assert samples.HOSTILE in reading.plain(paragraph, {})


SYMBOLS = ("NLML", "SE(", "SE_", "Φ", "E f", "log Bayes", "kernel", "latent", "hyperparameter")


@pytest.mark.parametrize("name", [name for name in EVERY if name != "hostile"])
def test_symbols_stand_in_the_methods_only(name):
    document = write(made(name))
    said = [reading.plain(one, document.numbers()) for one in reading.paragraphs(document.lead)]
    for section in reading.sections(document):
        if section.anchor != "methods":
            said += [
                reading.plain(one, document.numbers()) for one in reading.paragraphs(section.blocks)
            ]
    for table in reading.tables(document).values():
        said += [one.title + one.help for one in table.headings]
    for symbol in SYMBOLS:
        assert not any(symbol in one for one in said), symbol


WEAKER = [(), samples.claims()[3:], samples.claims()[:1]]


@pytest.mark.parametrize("claims", WEAKER, ids=["nothing", "suggestions", "one"])
@pytest.mark.parametrize("name", SAMPLES)
def test_no_sentence_is_stronger_than_the_claims(name, claims):
    found = made(name)
    names = [one.name for one in found.table.variables]
    known = [one for one in claims if set(one.variables) <= set(names)]
    studies = tuple(replace(one, claims=tuple(known)) for one in found.studies)
    document = write(replace(found, studies=studies, claims=tuple(known)))
    sure = {one.words for one in known if one.certain}
    strong = {
        part.text
        for paragraph in reading.paragraphs(tuple(reading.blocks(document)))
        for part in paragraph.parts
        if isinstance(part, Strong)
    }
    assert {text for text in strong if text.endswith(("matters", "interact", "curve"))} == sure
    said = " ".join(
        reading.plain(one, document.numbers())
        for blocks in (
            document.lead,
            *(one.blocks for one in reading.sections(document) if one.anchor != "methods"),
        )
        for one in reading.paragraphs(blocks)
    )
    # The first sentence names what is certain, and nothing that is not.
    answer = next(part.text for part in document.lead[0].parts if isinstance(part, Strong))
    certain = {column for one in known if one.certain for column in one.variables}
    assert answer.endswith("beyond doubt.") == bool(certain)
    for column in set(names) - certain:
        assert column not in answer or " may" in answer
    for word in ("evidence", "judged by", "best structure", "proves"):
        assert word not in said
    if not sure:
        assert "beyond doubt (" not in said
        assert "is beyond doubt" not in said
        assert "Beyond doubt" not in said
    if not known:
        assert "a suggestion" not in said
        assert "Suggested" not in said
        assert "Alone it predicts" not in said
