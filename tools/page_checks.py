"""What must hold on every page: one figure under one name, and words that agree with numbers.

`disagreements` reads a finished page. `FIGURES` says where figures stand and what they are called;
each function of `CHECKS` is about one kind of words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from parsimon.report.findings import ComparedModel, Findings
from parsimon.report.sections.table.methods import cited
from tools.page_text import FIRST_SCREEN, TERMINAL, Page

_N = r"(-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"
_P = rf"(?:more than |less than )?{_N} %"
_GUESSING = "guessing"
_FORMULA = "short formula"
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Figure:
    """A number as it stands on the page, what it is called, and where."""

    name: str
    text: str
    where: str

    @property
    def value(self) -> float:
        """The number; a share for a percentage."""
        number = float(_bare(self.text))
        return number / 100 if self.text.endswith("%") else number

    @property
    def reach(self) -> float:
        """Half a unit of the last digit."""
        bare = _bare(self.text).partition("e")
        places = len(bare[0].partition(".")[2])
        power = int(bare[2] or 0) - places
        return 0.5 * 10.0 ** (power - 2 * self.text.endswith("%"))

    def equals(self, other: "Figure") -> bool:
        """Return whether two figures can be the same number, rounded."""
        alike = self.text.endswith("%") == other.text.endswith("%")
        # Of as many digits they are the same; a share and its percentage may be rounded apart.
        reach = 0.0 if alike and self.reach == other.reach else 2 * max(self.reach, other.reach)
        return abs(self.value - other.value) <= reach + 1e-9


def _bare(text: str) -> str:
    found = re.search(_N, text)
    return (found[0] if found else "nan").replace(",", "")


def disagreements(page: Page) -> list[str]:
    """Return every figure that differs from another of its name, and every word that is wrong."""
    return [*_unequal(figures(page)), *(said for check in CHECKS for said in check(page))]


def _unequal(found: Iterable[Figure]) -> Iterator[str]:
    groups: dict[str, list[Figure]] = {}
    for one in found:
        groups.setdefault(one.name, []).append(one)
    for name, group in groups.items():
        for other in group[1:]:
            if not other.equals(group[0]):
                first = f"{group[0].text} ({group[0].where})"
                yield f"{name}: {first} and {other.text} ({other.where})"


def chosen(findings: Findings) -> str:
    """Return the name of the model to use, as the table of models has it."""
    if findings.comparison is not None:
        return findings.comparison.recommended.name
    return "the model"


# Patterns, and what their groups are called; {use} is the model to use, {best} the best one.
FIGURES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"never seen .+ is off by {_N} on average \(root mean", ("miss of {use}",)),
    (rf"; ({_P}) of the variance is explained", ("explained by {use}", "")),
    (rf"Predicting the mean is off by {_N}", ("miss of guessing",)),
    (rf"always predicting the mean is off by {_N}", ("miss of guessing",)),
    (rf"(?:model|use,) is wrong in ({_P}) of cases", ("error of {use}", "")),
    (rf"most probable of .+? is wrong in ({_P}) of cases", ("error of {use}", "")),
    (rf"calling every row .+? is wrong in ({_P})", ("error of guessing", "")),
    (rf"; guessing is wrong in ({_P})", ("error of guessing", "")),
    (rf"log loss of {_N}, not {_N}", ("", "log loss of {use}")),
    (rf"log loss (?:of|is) {_N} as well", ("log loss of {use}",)),
    (rf"It is off by {_N} as well on average", ("miss of {use}",)),
    (rf"\(log loss {_N} against {_N} for", ("log loss of {use}", "log loss of guessing")),
    (rf": log loss {_N} against {_N} for", ("log loss of {use}", "log loss of guessing")),
    (rf"classes weigh the same, is ({_P})", ("balanced error", "")),
    (rf"It found ({_P}) of the rows of", ("share found", "")),
    (rf"that it called so, ({_P}) are", ("precision", "")),
    (rf"the precision is ({_P}) on average", ("average precision", "")),
    (rf"higher probability in ({_P}) of cases", ("AUC", "")),
    (rf"[Tt]he gain over guessing is ({_P}) of the variance", ("explained by {use}", "")),
    (
        rf"off by {_N} instead of {_N} on average, (?:but|and) takes {_N} bits instead of {_N}",
        ("miss of {use}", "miss of {best}", "bits of {use}", "bits of {best}"),
    ),
    (rf"(?:but|and) (?:it )?takes {_N} bits instead of {_N}", ("bits of {use}", "bits of {best}")),
    (rf"Its log loss is {_N} instead of {_N}", ("log loss of {use}", "log loss of {best}")),
    (rf"[Cc]alibration slope {_N}", ("calibration slope",)),
    (rf"Fitted again to {_N} parts", ("parts",)),
    (rf"came back on (?:all |[\dno]+ of ){_N} parts", ("parts",)),
    (rf"The table .+? has {_N} rows? and, beside .+?, {_N} columns?", ("rows", "columns")),
    (rf"{_N} of the rows could be used", ("rows used",)),
    (rf"is rare \({_N} of {_N} rows", ("", "rows used")),
    (rf"whole search was wrong in ({_P})", ("error of short formula", "")),
    (rf"whole search was wrong in {_P} \(log loss {_N}", ("", "log loss of short formula")),
    (rf"missed rows that it had not seen by {_N} on", ("miss of short formula",)),
    (rf"guessing ({_P})(?: \(log loss|\.$)", ("error of guessing", "")),
    (rf"guessing {_P} \(log loss {_N}\)", ("", "log loss of guessing")),
    (rf" and guessing {_N}\.", ("miss of guessing",)),
    (rf"linear model of all columns ({_P})", ("error of linear model", "")),
    (rf"linear model of all columns {_N}(?! %|[\d.])", ("miss of linear model",)),
    (rf"boosting of all columns ({_P})", ("error of gradient boosting", "")),
    (rf"boosting of all columns {_N}(?! %|[\d.])", ("miss of gradient boosting",)),
)
_KEYS = {
    "honest error": "error of {use}",
    "guessing’s error": "error of guessing",
    "typical miss": "miss of {use}",
    "guessing’s miss": "miss of guessing",
    "of the variance explained": "explained by {use}",
    "AUC": "AUC",
    "AUC (guessing: 0.5)": "AUC",
    "average precision": "average precision",
    "balanced error": "balanced error",
}
_CELLS = {
    "Wrong": "error of {}",
    "Typical miss": "miss of {}",
    "Explains": "explained by {}",
    "Log loss": "log loss of {}",
    "Bits": "bits of {}",
}


def figures(page: Page) -> list[Figure]:
    """Return every figure of a page that has a name."""
    return [
        *_said_figures(page),
        *_rival_figures(page),
        *_large_figures(page),
        *_model_figures(page),
        *_size_figures(page),
        *_formula_figures(page),
    ]


def _said_figures(page: Page) -> Iterator[Figure]:
    known = page.findings.comparison
    names = {"use": chosen(page.findings), "best": known.best.name if known else ""}
    for pattern, called in FIGURES:
        for where, match in page.find(pattern):
            for text, name in zip(match.groups(), called, strict=False):
                if name and text:
                    yield Figure(name.format(**names), text, where)


def _rival_figures(page: Page) -> Iterator[Figure]:
    for where, match in page.find(_RIVAL):
        name, wrong, off, loss = match.group("name", "wrong", "off", "loss")
        kinds = {"error": wrong and f"{wrong} %", "miss": off, "log loss": loss}
        for kind, text in kinds.items():
            if text:
                yield Figure(f"{kind} of {name}", text, where)


def _large_figures(page: Page) -> Iterator[Figure]:
    use = chosen(page.findings)
    for label, one in page.key_figures.items():
        name = _KEYS.get(label) or ("share found" if label.endswith("found") else "")
        if name and re.match(_N, one.value):
            yield Figure(name.format(use=use), one.value, f"large, {label}")
        right = re.search(rf"({_P}) of calls are right", one.detail)
        if right:
            yield Figure("precision", right[1], f"large, {label}")


def _model_figures(page: Page) -> Iterator[Figure]:
    for row in page.tables.get("table-models", ()):
        name = row["Model"].removesuffix(" (use this)")
        for heading, called in _CELLS.items():
            if re.match(rf"(?:more than |less than )?{_N}", row.get(heading, "")):
                yield Figure(called.format(name), row[heading], "table of models")


def _size_figures(page: Page) -> Iterator[Figure]:
    """Yield counts of rows and columns; those used are of the model to use."""
    table = page.findings.table
    yield Figure("rows", str(table.n_rows), "findings")
    yield Figure("rows used", str(table.n_rows_used), "findings")
    yield Figure("columns", str(table.n_columns - 1), "findings")
    honest = page.findings.studies[0].honest
    if honest is not None:
        yield Figure("parts", str(len(honest.folds)), "findings")
    one = page.key_figures.get("rows × columns")
    if one is not None:
        rows, columns = one.value.split(" × ")
        yield Figure("rows used", rows, "large, rows × columns")
        yield Figure("columns", columns, "large, rows × columns")
        used = re.match(rf"{_N} of {_N} columns? used", one.detail)
        yield Figure("columns used", used[1] if used else "0", "large, rows × columns")
        yield Figure("columns", used[2] if used else columns, "large, rows × columns")
    for row in page.tables.get("table-models", ()):
        if "(use this)" in row["Model"]:
            yield Figure("columns used", row["Made of"].partition(" ")[0], "table of models")


def _formula_figures(page: Page) -> Iterator[Figure]:
    for row in page.tables.get("table-models", ()):
        signs = re.search(rf"formula of {_N} signs?", row["Made of"])
        if signs and row["Model"].startswith(_FORMULA):
            yield Figure("signs of the formula", signs[1], "table of models")
    for row in page.tables.get("front-formulas", ()):
        if row["*"]:
            yield Figure("signs of the formula", row["Signs"], "table of formulas")


_RIVAL = (
    r"Its best rival, (?:the )?(?P<name>.+?), (?:is wrong in (?:more than |less than )?"
    rf"(?P<wrong>{_N}) %|is off by (?P<off>{_N})|has a log loss of (?P<loss>{_N}), not "
    rf"(?P<own>{_N})), which (?P<word>[a-z ]+)"
)


def _models(page: Page) -> dict[str, ComparedModel]:
    found = page.findings.comparison
    return {} if found is None else {one.name: one for one in found.models}


def check_rival(page: Page) -> Iterator[str]:
    """Check that a rival called better has a lesser figure than the model to use."""
    known = {one.name: one.value for one in figures(page) if one.where == "table of models"}
    use = chosen(page.findings)
    for where, match in page.find(_RIVAL):
        kind = "log loss" if match["loss"] else "miss" if match["off"] else "error"
        own = float(match["own"]) if match["own"] else known.get(f"{kind} of {use}", 0.0)
        text = match["loss"] or match["off"] or match["wrong"]
        other = float(_bare(text)) / (100 if match["wrong"] else 1)
        wrong = {"is better": other > own, "is worse": other < own}.get(match["word"], False)
        if wrong:
            yield f"{where}: {match[0]}, beside {own:g}"


def check_order_of_models(page: Page) -> Iterator[str]:
    """Check that the best comes first, and who is said to be level with it."""
    found, rows = page.findings.comparison, page.tables.get("table-models", [])
    if found is None or not rows:
        return
    heading = {"error": "Wrong", "log loss": "Log loss"}.get(found.metric, "Typical miss")
    values = [Figure("", row[heading], "").value for row in rows if re.match(_N, row[heading])]
    if any(later < earlier - 1e-9 for earlier, later in pairwise(values)):
        yield f"table of models: {heading} is not in order, {values}"
    level = sum(_holds_zero(row["Worse than the best by"]) for row in rows[1:])
    for where, match in page.find(r"; (\w+) others cannot be told from it"):
        if _number(match[1]) != level:
            yield f"{where}: {match[0]}, but {level} intervals of the table hold zero"
    for where, match in page.find(r"; (?:all others are|the other is) worse"):
        if level:
            yield f"{where}: {match[0]}, but {level} intervals of the table hold zero"
    for where, match in page.find(r"Of (\w+) models on rows that none had seen"):
        if _number(match[1]) != len(rows):
            yield f"{where}: {match[0]}, but the table has {len(rows)}"


def _holds_zero(cell: str) -> bool:
    low = re.match(_N, cell)
    return low is not None and float(low[0].replace(",", "")) <= 0


def _number(word: str) -> int:
    return _WORDS.index(word) if word in _WORDS else int(word.replace(",", ""))


def check_simpler(page: Page) -> Iterator[str]:
    """Check that what is called simpler takes fewer bits."""
    for where, match in page.find(rf"but (?:it )?takes {_N} bits instead of {_N}"):
        own, best = (float(text.replace(",", "")) for text in match.groups())
        if own >= best:
            yield f"{where}: {match[0]}"
    models = _models(page)
    none_is = r"cannot be told from it, and (?:none of them is|it is not) simpler"
    for where, match in page.find(none_is):
        own = models[chosen(page.findings)].size
        less = [name for name, one in models.items() if one.is_level and one.size < own - 0.5]
        if less:
            yield f"{where}: {match[0]}, but {', '.join(less)} takes fewer bits"


def check_gain(page: Page) -> Iterator[str]:
    """Check what is said of the interval of a gain."""
    interval = rf"interval(?: of the gain,)? {_N} to {_N}"
    for where, match in page.find(rf"gain over guessing is [^;]+?\(95 % {interval}\)"):
        if float(match[1]) <= 0:
            yield f"{where}: a gain is claimed, but {match[0]}"
    words = r",? (includes zero|is below zero throughout)"
    for where, match in page.find(rf"{interval},{words}"):
        low, high = float(match[1]), float(match[2])
        true = low <= 0 <= high if match[3] == "includes zero" else high < 0
        if not true:
            yield f"{where}: {match[0]}"


def check_gain_of_answers(page: Page) -> Iterator[str]:
    """Check a gain in wrong answers against the two errors that it lies between."""
    known = {one.name: one.value for one in figures(page)}
    use, guess = known.get(f"error of {chosen(page.findings)}"), known.get("error of guessing")
    if use is None or guess is None:
        return
    for where, match in page.find(rf"gain over guessing is {_N} percentage points"):
        if abs(100 * (guess - use) - float(match[1])) > 0.16:
            yield f"{where}: {match[0]}, but {guess:.1%} less {use:.1%}"
    for where, match in page.find(rf"guessing is wrong in {_P}, which is better"):
        if guess > use:
            yield f"{where}: {match[0]}, but the model is wrong in {use:.1%}"


_LOSSES = rf"log loss {_N} against {_N} for guessing"


def check_probabilities(page: Page) -> Iterator[str]:
    """Check that better probabilities have a lesser log loss, and the words for slopes."""
    for words, better in (
        ("are better than guessing", True),
        ("are better all the same:", True),
        ("are worse than guessing", False),
    ):
        for where, match in page.find(rf"probabilities {words} \(?{_LOSSES}"):
            if (float(match[1]) < float(match[2])) != better:
                yield f"{where}: {match[0]}"
    slopes = {
        "too bold": lambda slope: 0 < slope < 1,
        "too timid": lambda slope: slope > 1,
        "the wrong way": lambda slope: slope <= 0,
    }
    for where, match in page.find(
        r"(?<!neither )(?<!nor )(?<!to be )(?<!bold or )"
        rf"(too bold|too timid|the wrong way)[^(.]*\([^()]*?slope {_N}"
    ):
        if not slopes[match[1]](float(match[2])):
            yield f"{where}: {match[0]}"
    for where, match in page.find(rf"intervals of the predictions hold {_P} of the rows: (.+?)\."):
        if ("narrow" in match[2] and float(match[1]) >= 95) or (
            "wider" in match[2] and float(match[1]) <= 95
        ):
            yield f"{where}: {match[0]}"


def check_parts(page: Page) -> Iterator[str]:
    """Check the least and the most of parts of the table, each beside its own variance."""
    found = page.findings
    honest = found.studies[0].honest
    if honest is None:
        return
    shares = [one.error for one in honest.folds]
    if found.table.task == "regression":
        left = [one.error / (one.baseline_error or 1.0) for one in honest.folds]
        shares = [max(0.0, 1 - one) for one in left]
    pattern = (
        rf"it (?:explained|was wrong in) ({_P})(?: to ({_P}))? of (?:the variance of )?the rest"
    )
    for where, match in page.find(pattern):
        ends = [Figure("", text, where) for text in (match[1], match[3] or match[1])]
        for end, share in zip(ends, (min(shares), max(shares)), strict=True):
            near = end.text.startswith("less than") and share < end.value
            if not near and abs(end.value - share) > end.reach + 1e-9:
                yield f"{where}: {match[0]}, but {end.text} should be {share:.1%}"


def check_claims(page: Page) -> Iterator[str]:
    """Check that a claim has one probability wherever it stands."""
    of_class = {f"“{one.positive}” against all others": one.claims for one in page.findings.studies}
    places = {where for where, _ in page.passages}
    for place in places:
        for claim in of_class.get(place, page.findings.claims):
            # The last of columns of which one matters is claimed by its set alone.
            words = rf"(?<!\w)(?<! and ){re.escape(claim.words)},?(?: beyond doubt)? \(({_P})\)"
            for where, match in page.find(words):
                said, known = Figure("", match[1], where), min(claim.probability, 1 - 1e-9)
                if where == place and abs(said.value - known) > said.reach + 1e-3:
                    yield f"{where}: {match[0]}, but its probability is {known:.3f}"


def check_certainty(page: Page) -> Iterator[str]:
    """Check that nothing is said to be beyond doubt only where nothing is."""
    sure = [one.words for one in page.findings.claims if one.certain and one.kind != "shape"]
    listed = page.lists.get("What is certain", ())
    if ("Nothing." in listed) and sure:
        yield f"What is certain: {listed}, but {sure} are certain"
    if sure and not all(
        any(words in one or words in one.lower() for one in listed) for words in sure
    ):
        yield f"What is certain: {listed} lacks some of {sure}"
    for where, match in page.find(
        r"Nothing (?:predicts|separates) .+? beyond doubt|Nothing is beyond"
    ):
        if sure and where in (FIRST_SCREEN, TERMINAL):
            yield f"{where}: {match[0]}, but {sure[0]} is certain"


def check_interactions(page: Page) -> Iterator[str]:
    """Check that nothing is said to interact only where no interaction is claimed."""
    claimed = [one for one in page.findings.claims if one.kind == "interaction"]
    claimed = [one for one in claimed if one.certain or one.probability >= 0.5]
    for where, match in page.find(r"do not show that any two columns interact|find no interaction"):
        if claimed and len(page.findings.studies) == 1:
            yield f"{where}: {match[0]}, but {claimed[0].words}"


def check_left_out(page: Page) -> Iterator[str]:
    """Check that what is said to be left out is not on the page."""
    measured = "honest error" in page.key_figures or "typical miss" in page.key_figures
    missing = r"hence no honest error and|No honest error was measured|was not measured, because"
    for where, match in page.find(missing):
        if measured:
            yield f"{where}: {match[0]}, but the page has an honest error"
    for where, match in page.find(r"left out .*comparison of interactions with sums"):
        if page.says("If their effects only added up"):
            yield f"{where}: {match[0]}, but they are compared"
        if not any("×" in one.model.expression for one in page.findings.studies):
            yield f"{where}: {match[0]}, but there is no product"
    for where, match in page.find(r"Left out to save time: (.+)\."):
        claimed = any(one.kind == "interaction" for one in page.findings.claims)
        if claimed and re.search(r"\binteractions(?! beside)", match[1]):
            yield f"{where}: {match[0]}, but interactions are claimed"


def check_constant(page: Page) -> Iterator[str]:
    """Check that a constant uses no column, and that what uses none is called one."""
    size = page.key_figures.get("rows × columns")
    if page.says("The model is a constant|saved model is a constant"):
        guesses = chosen(page.findings) == _GUESSING
        if guesses and size is not None and "no column" not in size.detail:
            yield f"The model is a constant, but {size.detail}"
    elif size is not None and "no column" in size.detail:
        yield f"{size.detail}, but the model is not said to be a constant"


def check_table(page: Page) -> Iterator[str]:
    """Check that rows of classes add up, what is missing, and that repeated rows surprise."""
    table = page.findings.table
    counts = rf"In the column .+?, {_N} rows? \({_P}\) are .+? and {_N} \({_P}\)"
    for where, match in page.find(counts):
        rows = int(match[1].replace(",", "")) + int(match[3].replace(",", ""))
        if rows != table.n_rows_used:
            yield f"{where}: {match[0]}, but {table.n_rows_used} rows are used"
    if page.says("No cell is missing") and (table.n_missing or page.says(r"\d missing cells?")):
        yield "No cell is missing, but cells are filled"
    if page.says("Nothing had to be done to the table") and any(
        one.kind != "rows_sampled" for one in table.treatments
    ):
        yield "Nothing had to be done to the table, but something was"
    for where, match in page.find(rf"{_N} rows? repeats? "):
        cells = _combinations(page.findings)
        if cells is not None and cells < table.n_rows_used:
            yield f"{where}: {match[0]}, but only {cells} rows can differ"


def _combinations(findings: Findings) -> int | None:
    """Return how many different rows there can be; None if a column is a number."""
    levels = Counter(one.column for one in findings.table.variables)
    if findings.table.task == "regression":
        return None
    if any(one.kind != "indicator" for one in findings.table.variables):
        return None
    n = len(findings.table.classes)
    for count in levels.values():
        n *= count + 1
    return n


def check_mistakes(page: Page) -> Iterator[str]:
    """Check that who is mistaken for whom adds up to the error."""
    rows = page.tables.get("table-joint", [])
    if not rows:
        return
    names = [key for key in rows[0] if key not in ("Truly / called", "*")]
    counts = [[int(row[name].replace(",", "")) for name in names] for row in rows]
    total, right = sum(map(sum, counts)), sum(row[k] for k, row in enumerate(counts))
    use = chosen(page.findings)
    for one in figures(page):
        if one.name == f"error of {use}" and abs(one.value - 1 + right / total) > one.reach + 1e-9:
            yield f"{one.where}: {one.text}, but {total - right} of {total} rows are mistaken"
    most = max(n for k, row in enumerate(counts) for place, n in enumerate(row) if place != k)
    for where, match in page.find(r"The commonest slip was .+?, (once|[\d,]+ times)\."):
        times = 1 if match[1] == "once" else int(match[1].split()[0].replace(",", ""))
        if times != most:
            yield f"{where}: {match[0]}, but the most in the table is {most}"


def check_order_of_levels(page: Page) -> Iterator[str]:
    """Check that levels come with the most first."""
    for where, match in page.find(r"(?:[Mm]ean|[Ss]hare of) .+? \(rows\): (.+)"):
        shown = re.findall(rf"{_N}(?: %)? for ", match[1])
        values = [float(text.replace(",", "")) for text in shown]
        if values != sorted(values, reverse=True):
            yield f"{where}: {match[0]}"


def check_formula(page: Page) -> Iterator[str]:
    """Check that the formula in the text, in the table and in the findings is one."""
    front = page.findings.formulas
    if front is None:
        return
    strong = [row["Formula"] for row in page.tables["front-formulas"] if row["*"]]
    for where, match in page.find(r"Chosen: .+? as (.+?); the shortest"):
        for formula in strong:
            if formula.removesuffix(" ∞") != match[1]:
                yield f"{where}: {match[1]}, but the table has {formula}"
    n = len(front.chosen.features)
    for where, match in page.find(r"The chosen formula has (\w+) features?"):
        if _number(match[1]) != n:
            yield f"{where}: {match[0]}, but it has {n}"


def check_repetition(page: Page) -> Iterator[str]:
    """Check that no sentence stands twice on a page."""
    found: Counter[str] = Counter()
    for where, text in page.passages:
        if where == TERMINAL or where.endswith("against all others"):
            continue
        for sentence in set(re.split(r"(?<=[.]) (?=[A-Z“0-9])", text)):
            # What is said of "it" is said of each column anew.
            if len(sentence.split()) > 5 and not re.search(r"\b[Ii]t\b", sentence):
                found[sentence] += 1
    yield from (f"said {times} times: {text}" for text, times in found.items() if times > 1)


def check_rows(page: Page) -> Iterator[str]:
    """Check that a row called surprising is missed, and that one rightly called is called."""
    pattern = rf"(surprising|rightly called): truly (“.+?”), {_P} predicted for (“.+?”)"
    for where, match in page.find(pattern):
        is_right = (match[2] == match[4]) == (float(match[3]) >= 50)
        if is_right == (match[1] == "surprising") and not page.says("is rare: a row is suspected"):
            yield f"{where}: {match[0]}"


def check_works(page: Page) -> Iterator[str]:
    """Check that every work that is cited is among the references."""
    known = cited(page.findings)
    for where, match in page.find(r"(?:[A-Z][a-z]+ (?:et al\.|and [A-Z][a-z]+)|He) (?:19|20)\d\d"):
        if match[0] not in known:
            yield f"{where}: {match[0]} is not among the references"


def check_numbers(page: Page) -> Iterator[str]:
    """Check that no figure is one that no reader understands."""
    for where, match in page.find(r"(?<![\w“])(nan|inf|None)(?![\w”])"):
        if match[0] not in "".join(page.findings.table.target):
            yield f"{where}: {match[0]}"


CHECKS: tuple[Callable[[Page], Iterator[str]], ...] = (
    check_rival,
    check_order_of_models,
    check_simpler,
    check_gain,
    check_gain_of_answers,
    check_probabilities,
    check_parts,
    check_claims,
    check_certainty,
    check_interactions,
    check_left_out,
    check_constant,
    check_table,
    check_mistakes,
    check_order_of_levels,
    check_formula,
    check_repetition,
    check_rows,
    check_works,
    check_numbers,
)
