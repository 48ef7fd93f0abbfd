"""What every page has: an outline, a first screen, how it came about, and the works it cites."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from parsimon.report.document import (
    Block,
    Code,
    Figure,
    KeyFigure,
    KeyFigures,
    Listing,
    Listings,
    Section,
    Strong,
)
from parsimon.report.findings import RunFindings
from parsimon.report.sections._blocks import Sentence, bullets, paragraph
from parsimon.report.sections._phrases import clean, joined

NOT_A_CAUSE = "What predicts need not be a cause."
TIME_ENDED = "Time ended the search before it was through."
_FINGERPRINT = 16


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The parts of a report, each a function of its findings.

    title: Of the page.
    kind: What the page is, before "a report written by"; empty for a plain report.
    lead: The first screen.
    sections: Those below it, in order.
    summary: The report in a few plain sentences.
    works: Short names of the works that it cites.
    facts: Lines for the end, before those about the run: what is said, and its value. None of
        either if this is None.
    """

    title: Callable[[Any], str]
    kind: Callable[[Any], str]
    lead: Callable[[Any], tuple[Block, ...]]
    sections: Callable[[Any], Iterable[Section]]
    summary: Callable[[Any], tuple[str, ...]]
    works: Callable[[Any], Iterable[str]]
    facts: Callable[[Any], list[tuple[str, str]]] | None = None


def first_screen(
    answer: str,
    how_well: Iterable[Sentence],
    figures: Iterable[KeyFigure],
    picture: tuple[Figure, ...],
    lists: Listings,
) -> tuple[Block, ...]:
    """Return the answer in a sentence with how well it does, figures, a picture, and lists."""
    return (paragraph((Strong(answer),), *how_well), KeyFigures(tuple(figures)), *picture, lists)


def sure_and_unsure(
    certain: Iterable[Sentence], suggested: Iterable[Sentence], doubts: Iterable[Sentence]
) -> Listings:
    """Return what is certain, what is suggested and what to doubt; the first two may be nothing."""
    lists: dict[str, tuple[Sentence, ...]] = {
        "What is certain": tuple(one for one in certain if one) or ("Nothing.",),
        "What is suggested": tuple(one for one in suggested if one) or ("Nothing further.",),
        "What to doubt": tuple(doubts),
    }
    return Listings(tuple(Listing(title, bullets(*said)) for title, said in lists.items()))


def run_facts(run: RunFindings) -> tuple[tuple[str, str], ...]:
    """Return how the findings came about, for the lines of a front page."""
    return (
        ("Seed", str(run.seed)),
        ("Version", f"Parsimon {run.version}"),
        ("Date", run.date),
        *((("Command", run.command),) if run.command else ()),
        ("Fingerprint", f"SHA-256 {run.fingerprint[:_FINGERPRINT]}…"),
    )


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


def how_found(run: RunFindings, *blocks: Block) -> Section:
    """Return the section about how everything was found, to which options and versions belong."""
    own = paragraph(options(run), software(run))
    return Section("methods", "How this was found", (*blocks, own, *again(run)), folded=True)


_WORKS = {
    "Bates et al. 2023": "Bates, Hastie and Tibshirani (2023). Cross-validation: what does it "
    "estimate and how well does it do it? J. Am. Stat. Assoc. 119:1434–1445.",
    "Blomberg et al. 2003": "Blomberg, Garland and Ives (2003). Testing for phylogenetic signal in "
    "comparative data: behavioral traits are more labile. Evolution 57:717–745.",
    "Breiman et al. 1984": "Breiman, Friedman, Olshen and Stone (1984). Classification and "
    "Regression Trees. Wadsworth.",
    "Clark 2011": "Clark (2011). Multi-Objective ROC Learning for Classification. PhD thesis, "
    "University of Exeter.",
    "Cox 1958": "Cox (1958). Two further applications of a model for binary regression. Biometrika "
    "45:562–565.",
    "DeLong et al. 1988": "DeLong, DeLong and Clarke-Pearson (1988). Comparing the areas under two "
    "or more correlated receiver operating characteristic curves. Biometrics 44:837–845.",
    "Dempster et al. 1977": "Dempster, Laird and Rubin (1977). Maximum likelihood from incomplete "
    "data via the EM algorithm. J. R. Stat. Soc. B 39:1–38.",
    "Duvenaud et al. 2013": "Duvenaud, Lloyd, Grosse, Tenenbaum and Ghahramani (2013). Structure "
    "discovery in nonparametric regression through compositional kernel search. ICML "
    "30:1166–1174.",
    "Fawcett 2006": "Fawcett (2006). An introduction to ROC analysis. Pattern Recogn. Lett. "
    "27:861–874.",
    "Fearn 2021": "Fearn (2021). Novel Methods for Approximate Bayesian Inference of Independent "
    "and Evolutionarily Dependent Data. PhD thesis, University of Bristol.",
    "Felsenstein 1985": "Felsenstein (1985). Phylogenies and the comparative method. Am. Nat. "
    "125:1–15.",
    "Grafen 1989": "Grafen (1989). The phylogenetic regression. Phil. Trans. B 326:119–157.",
    "He 2016": "He (2016). The Automatic Statistician for Classification. Report, University of "
    "Cambridge.",
    "Hensman et al. 2015": "Hensman, Matthews and Ghahramani (2015). Scalable variational Gaussian "
    "process classification. AISTATS 18:351–360.",
    "Holm 1979": "Holm (1979). A simple sequentially rejective multiple test procedure. Scand. J. "
    "Stat. 6:65–70.",
    "Kass and Raftery 1995": "Kass and Raftery (1995). Bayes factors. J. Am. Stat. Assoc. "
    "90:773–795.",
    "Martins and Hansen 1997": "Martins and Hansen (1997). Phylogenies and the comparative method: "
    "a general approach to incorporating phylogenetic information into the analysis of "
    "interspecific data. Am. Nat. 149:646–667.",
    "Meinshausen and Bühlmann 2010": "Meinshausen and Bühlmann (2010). Stability selection. J. R. "
    "Stat. Soc. B 72:417–473.",
    "Mierswa 2009": "Mierswa (2009). Non-Convex and Multi-Objective Optimization in Data Mining. "
    "Dissertation, TU Dortmund.",
    "Minka 2001": "Minka (2001). Expectation propagation for approximate Bayesian inference. UAI "
    "17:362–369.",
    "Nadeau and Bengio 2003": "Nadeau and Bengio (2003). Inference for the generalization error. "
    "Machine Learning 52:239–281.",
    "Nogueira et al. 2018": "Nogueira, Sechidis and Brown (2018). On the stability of feature "
    "selection algorithms. JMLR 18(174):1–54.",
    "Pagel 1999": "Pagel (1999). Inferring the historical patterns of biological evolution. Nature "
    "401:877–884.",
    "Rasmussen and Williams 2006": "Rasmussen and Williams (2006). Gaussian Processes for Machine "
    "Learning. MIT Press.",
    "Roberts et al. 2017": "Roberts et al. (2017). Cross-validation strategies for data with "
    "temporal, spatial, hierarchical, or phylogenetic structure. Ecography 40:913–929.",
    "Sakoe and Chiba 1978": "Sakoe and Chiba (1978). Dynamic programming algorithm optimization "
    "for spoken word recognition. IEEE Trans. Acoust. Speech Signal Process. 26:43–49.",
    "Schmolck and Everson 2007": "Schmolck and Everson (2007). Smooth relevance vector machine: a "
    "smoothness prior extension of the RVM. Machine Learning 68:107–135.",
    "Shah and Samworth 2013": "Shah and Samworth (2013). Variable selection with error control. J. "
    "R. Stat. Soc. B 75:55–80.",
    "Tipping 2001": "Tipping (2001). Sparse Bayesian learning and the relevance vector machine. "
    "JMLR 1:211–244.",
    "Tusher et al. 2001": "Tusher, Tibshirani and Chu (2001). Significance analysis of microarrays "
    "applied to the ionizing radiation response. PNAS 98:5116–5121.",
    "Williams and Barber 1998": "Williams and Barber (1998). Bayesian classification with Gaussian "
    "processes. IEEE PAMI 20:1342–1351.",
}


def in_full(cited: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return works in their order, short and in full, from their short forms."""
    return tuple((short, _WORKS[short]) for short in sorted(cited))
