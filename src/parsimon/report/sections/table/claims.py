"""What is claimed: what is beyond doubt, what is a suggestion, and which picture shows it.

Everything that a report says about what matters is worded here, from the claims of a study, so that
no section says more than another.
"""

from collections.abc import Iterable, Sequence

from parsimon.report.document import Figure, Inline, Strong
from parsimon.report.findings.shared_findings import EffectFinding
from parsimon.report.sections._blocks import Sentence
from parsimon.report.sections._phrases import DASH, clean, count, joined, named, opened, percent
from parsimon.report.sections.table.scope import Scope
from parsimon.structures import Claim
from parsimon.structures.claims import CERTAIN, SUGGESTED

Claims = Sequence[Claim]
_NEVER_ALL = 1 - 1e-9
_MOST_SUBJECTS = 8


def certain(claims: Claims) -> tuple[Claim, ...]:
    """Return the claims that are beyond doubt."""
    return tuple(claim for claim in claims if claim.certain)


def suggested(claims: Claims) -> tuple[Claim, ...]:
    """Return the claims that are more probable than not, and no more."""
    return tuple(claim for claim in claims if not claim.certain and claim.probability >= SUGGESTED)


def sure_percent(probability: float) -> str:
    """Return a probability in percent; nothing is said to be wholly certain."""
    return percent(min(probability, _NEVER_ALL))


def chance(claim: Claim) -> str:
    """Return the probability of a claim in percent."""
    return sure_percent(claim.probability)


def list_claims(claims: Claims) -> str:
    """Return claims with their probabilities in a row; their words may hold "and"."""
    return "; ".join(f"{clean(claim.words)} ({chance(claim)})" for claim in claims)


def shape_claim(scope: Scope, column: str) -> Claim | None:
    """Return what is claimed of the way in which the target follows a column, if anything."""
    claim = _find(scope, "shape", {column})
    return claim if is_claimed(claim) else None


def column_claim(scope: Scope, column: str) -> Claim | None:
    """Return what is claimed of a column: whether it matters at all."""
    return _find(scope, "variable", {column})


def stand_ins(scope: Scope, column: str) -> tuple[str, ...]:
    """Return the columns that a column may stand for: one of them all matters, beyond doubt."""
    sets = [claim for claim in certain(scope.study.claims) if claim.kind == "set"]
    found = next((claim.variables for claim in sets if column in claim.variables), ())
    return tuple(name for name in found if name != column)


def interaction_claim(scope: Scope, names: Iterable[str]) -> Claim | None:
    """Return what is claimed of an interaction of the columns that variables come from."""
    return _find(scope, "interaction", set(map(scope.column, names)))


def _find(scope: Scope, kind: str, columns: set[str]) -> Claim | None:
    """Return the claim of a kind about exactly these columns."""
    found = (claim for claim in scope.study.claims if claim.kind == kind)
    return next((claim for claim in found if set(claim.variables) == columns), None)


def is_claimed(claim: Claim | None) -> bool:
    """Return whether a claim is said at all, as certain or as a suggestion."""
    return claim is not None and (claim.certain or claim.probability >= SUGGESTED)


def claimed_columns(claims: Claims) -> tuple[str, ...]:
    """Return the columns that claims are about, each once."""
    return tuple(dict.fromkeys(name for claim in claims for name in claim.variables))


def columns_of(claims: Claims) -> tuple[str, ...]:
    """Return the columns that are claimed to matter, the surest first: by name, or in a set."""
    found = [claim for claim in claims if claim.kind in ("variable", "set")]
    found.sort(key=lambda claim: (claim.kind == "set", -claim.probability))
    return claimed_columns(found)


def subjects(claims: Claims) -> tuple[str, ...]:
    """Return who matters, for a sentence: names, sets of which one does, or just something."""
    named_ones = [claim for claim in claims if claim.kind in ("variable", "interaction")]
    sets = [f"at least one of {named(claim.variables)}" for claim in claims if claim.kind == "set"]
    some = ["something"] if any(claim.kind == "any" for claim in claims) else []
    return (*map(clean, claimed_columns(named_ones)), *sets, *some)


def certain_words(scope: Scope) -> str:
    """Return who matters beyond doubt, with a verb; empty if nothing does."""
    sure = subjects(certain(scope.study.claims))
    verb = "matters" if len(sure) == 1 else "matter"
    return f"{joined(sure, _MOST_SUBJECTS)} {verb}" if sure else ""


def headline(scope: Scope, claims: Claims, verbs: tuple[str, str, str], *, proved: bool) -> str:
    """Return who predicts, as surely as it is claimed; empty if nothing says so.

    verbs: For one, for several and after "may", with what they predict. `proved` says whether new
    rows are predicted better than by guessing, so that something matters, whatever is claimed.
    """
    one, many, plain = verbs
    sure = subjects([claim for claim in certain(claims) if claim.kind != "any"])
    perhaps = joined(subjects(suggested(claims)), _MOST_SUBJECTS)
    if sure:
        text = f"{joined(sure, _MOST_SUBJECTS)} {one if len(sure) == 1 else many}, beyond doubt."
        return opened(text) if text.startswith("at least one of ") else text
    if proved or certain(claims):
        which = f"{perhaps} may, but no column is certain" if perhaps else "which is not shown"
        return f"Something here certainly {one}; {which}."
    return f"Nothing {one} beyond doubt; {perhaps} may{plain}." if perhaps else nothing_shown(scope)


def beats_guessing(scope: Scope) -> bool:
    """Return whether new rows are surely predicted better than by guessing."""
    honest = scope.study.honest
    if honest is None or scope.guesses:
        return False
    return any(gain is not None and gain.low > 0 for gain in (honest.gain, honest.log_loss_gain))


def brief(claims: Claims, nothing: str = DASH) -> str:
    """Return what claims are about, for a cell: names, pairs of them, and sets."""
    return ", ".join(about(claim) for claim in claims if claim.kind != "shape") or nothing


def about(claim: Claim) -> str:
    """Return what a claim is about: a name, a pair, a set, or something."""
    link = " or " if claim.kind == "set" else " with "
    return link.join(map(clean, claim.variables)) or "something"


def held_back(scope: Scope, claim: Claim) -> str:
    """Return what keeps a probable suggestion from being certain; empty for any other."""
    if claim.certain or claim.probability < CERTAIN or scope.study.honest is None:
        return ""
    return "; parts of the table do not bear it out"


def _with_shapes(claims: Claims) -> list[list[Claim]]:
    """Return claims in groups: a variable with its shape, if both are there, others alone."""
    groups: dict[tuple[str, ...], list[Claim]] = {}
    for claim in sorted(claims, key=lambda claim: claim.kind == "shape"):
        alone = claim.kind in ("variable", "shape")
        key = claim.variables if alone else (claim.kind, *claim.variables)
        groups.setdefault(key, []).append(claim)
    return list(groups.values())


def certainties(claims: Claims) -> tuple[Sentence, ...]:
    """Return what is beyond doubt, a variable with its shape, each with its probability."""
    sentences = []
    for group in _with_shapes(certain(claims)):
        parts: list[Inline] = []
        for claim in group:
            parts += [", and " if parts else "", Strong(_begin(claim)), f" ({chance(claim)})"]
        sentences.append((*parts, "."))
    return tuple(sentences)


def _begin(claim: Claim) -> str:
    """Return a claim that begins a sentence: with a capital letter unless a name comes first."""
    words = clean(claim.words)
    return opened(words) if claim.kind in ("set", "any") else words


def suggestions(claims: Claims, *, parts: bool) -> tuple[Sentence, ...]:
    """Return suggestions; what keeps a probable one from being certain is said.

    `parts` says whether parts of the table were looked at.
    """
    why = ", but parts of the table do not bear it out" if parts else ""
    return tuple(
        ", and ".join(
            f"{_begin(claim)} ({chance(claim)}{why if claim.probability >= CERTAIN else ''})"
            for claim in group
        )
        + "."
        for group in _with_shapes(suggested(claims))
    )


def nothing_shown(scope: Scope) -> str:
    """Return the headline of a table without claims."""
    return opened(f"{scope.rows_seen} do not show that any column predicts {scope.target}.")


def claim_lines(scope: Scope, claims: Claims, *, proved: bool) -> tuple[str, ...]:
    """Return what is beyond doubt and what is suggested as plain lines, or that nothing is.

    `proved` says whether new rows are predicted better than by guessing.
    """
    sure, perhaps = certain(claims), suggested(claims)
    first = f"Beyond doubt: {list_claims(sure)}." if sure else "Nothing is beyond doubt."
    if proved and not sure:
        first = f"Something here certainly predicts {scope.target}; which column is not certain."
    elif not sure and not perhaps:
        first = nothing_shown(scope)
    return (first, f"Suggestions, not certain: {list_claims(perhaps)}." if perhaps else "")


def pairs_sentence(scope: Scope) -> str:
    """Return that not all pairs were looked at; empty if they were."""
    search = scope.study.search
    if search is None or search.n_pairs_seen >= search.n_pairs:
        return ""
    return (
        f"The time allowed a look at {search.n_pairs_seen:,} of {count(search.n_pairs, 'pair')} of "
        "variables only; an interaction of the others may have been missed."
    )


def beyond_claims(scope: Scope) -> tuple[str, ...]:
    """Say where the model to use and the claims are not about the same columns."""
    claimed = claimed_columns(scope.claimed)
    if scope.guesses:
        return ()
    more = [name for name in scope.used if name not in claimed]
    spared = [
        claim
        for claim in scope.claimed
        if claim.kind != "set" or not any(name in scope.used for name in claim.variables)
    ]
    less = [name for name in claimed_columns(spared) if name not in scope.used]
    return (
        f"The model uses {named(more)}, not shown to matter." if more and not claimed else "",
        f"The model does without {named(less)}." if less else "",
    )


def effect_of(scope: Scope, columns: Iterable[str]) -> EffectFinding | None:
    """Return how the target goes with columns, if it was looked at."""
    wanted = set(columns)
    return next((effect for effect in scope.study.effects if set(effect.columns) == wanted), None)


def effect_figures(scope: Scope, columns: Iterable[str]) -> tuple[Figure, ...]:
    """Return the picture of columns together: a curve, levels, a surface."""
    found = effect_of(scope, columns)
    return () if found is None else scope.figures(found.picture)


def strongest_picture(scopes: tuple[Scope, ...]) -> tuple[Figure, ...]:
    """Return the picture of the strongest claim; of the plain data if nothing is claimed."""
    for wanted in (certain, suggested):
        for scope in scopes:
            found = _claimed_picture(scope, wanted(scope.study.claims))
            if found:
                return found
    first = scopes[0]
    drawn = [effect.picture for effect in first.study.effects if effect.picture]
    return first.figures(first.findings.table.picture or next(iter(drawn), ""))


def _claimed_picture(scope: Scope, claims: tuple[Claim, ...]) -> tuple[Figure, ...]:
    joins = [claim.variables for claim in claims if claim.kind == "interaction"]
    alone = sorted(columns_of(claims), key=lambda name: _rank(scope, name))
    for columns in (*joins, *((name,) for name in alone)):
        found = effect_figures(scope, columns)
        if found:
            return found
    return ()


def _rank(scope: Scope, column: str) -> tuple[bool, float]:
    """Return what sorts columns: claimed alone before in a set only, then by the error alone."""
    claimed = any(
        claim.kind == "variable" and claim.variables == (column,) for claim in scope.study.claims
    )
    errors = (
        judged.model.error
        for judged in scope.study.variables
        if scope.column(judged.variable.name) == column
    )
    return not claimed, min(errors, default=float("inf"))
