"""Method trees in words: "the mean of the steps from 25 % to 50 % of the series"."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from parsimon.features.series.trees import MethodTree, TreeStep

_FRACTIONS = {
    1.0: "the whole",
    0.5: "half",
    0.25: "a quarter",
    0.2: "a fifth",
    0.125: "an eighth",
    0.1: "a tenth",
    0.0625: "a sixteenth",
    0.05: "a twentieth",
    0.01: "a hundredth",
}

# What a transformation that leaves the axis of time, or adds along it, makes.
_SHORT = {
    "spectrum": "spectrum",
    "phase": "phases",
    "correlation": "correlation with itself",
    "cosine": "cosine transformation",
    "cumulative": "running sum",
}


@dataclass(frozen=True)
class _Said:
    """What a chain has made so far: "{noun} {where}", such as "the steps of the series".

    noun: What the values are; nothing while they are those of `whole` themselves.
    where: The part that is looked at; nothing for all of it.
    whole: What it is a part of; nothing inside windows.
    is_spectrum: Whether positions are frequencies.
    """

    noun: str = ""
    where: str = ""
    whole: str = "the series"
    is_spectrum: bool = False

    def located(self) -> str:
        """Return the place, and nothing for a whole window."""
        return self.where or (f"of {self.whole}" if self.whole else "")

    def called(self) -> str:
        """Return the values as the object of a sentence."""
        if not self.noun and not self.where:
            return self.whole or "the values"
        return f"{self.noun or self.plain} {self.located()}".strip()

    @property
    def plain(self) -> str:
        """What values are called that no step has changed."""
        return "the strength" if self.is_spectrum else "the values"


def tree_words(tree: MethodTree, channels: Sequence[str] = ()) -> str:
    """Return a tree in words.

    Parameters
    ----------
    tree : MethodTree
    channels : sequence of str
        What the channels are called, such as "temperature"; by their numbers if not given.

    Returns
    -------
    str

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree_words(parse_tree("correlation > place_of_maximum"))
    'the lag of the highest correlation of the series with itself'
    """
    said, steps = _begin(tree, channels)
    return _chain_words(steps, said)


def _begin(tree: MethodTree, channels: Sequence[str]) -> tuple[_Said, Sequence[TreeStep]]:
    """Return the series, or the channel that a tree names, and the steps that follow."""
    if tree.steps[0].name != "channel":
        return _Said(), tree.steps
    number = int(tree.steps[0].options[0])
    whole = channels[number] if number < len(channels) else f"channel {number}"
    return _Said(whole=whole), tree.steps[1:]


def seen_words(tree: MethodTree, channels: Sequence[str] = ()) -> str:
    """Return what the last function of a tree sees: "the steps", "the spectrum of the series"."""
    said, steps = _begin(tree, channels)
    for each in steps[:-1]:
        if each.name != "interval":
            said = _window_words(each, said) if each.inside else _transform_words(each, said)
    return said.noun or said.whole


def step_words(each: TreeStep) -> str:
    """Return what one step makes, in a few words, such as "steps" or "spectrum"."""
    if each.name == "interval":
        return " to ".join(_percent(value) for value in each.options)
    if each.name == "segments":
        return f"in each {_segment(each)}"
    if each.name == "windows":
        return f"in windows of {_share(each.options[0])}"
    if each.name in _SHORT:
        return _SHORT[each.name]
    return _noun(each, "").removeprefix("the ")


def _segment(each: TreeStep) -> str:
    return "rise and fall" if each.options[0] == "direction" else "stretch of one level"


def _chain_words(steps: Sequence[TreeStep], said: _Said) -> str:
    for each in steps:
        if each.method.kind == "function":
            return _function_words(each, said)
        said = _window_words(each, said) if each.inside else _transform_words(each, said)
    return said.called()


def _window_words(each: TreeStep, said: _Said) -> _Said:
    inner = _chain_words(each.inside, _Said(whole=""))
    if each.name == "segments":
        return _Said(noun=f"{inner} in each {_segment(each)}", whole=said.called())
    share, overlap = each.options
    laps = f" that overlap {overlap:g}-fold" if overlap > 1 else ""
    windows = f"in windows of {_share(share)} of {said.called()}{laps}"
    return _Said(noun=f"{inner} {windows}", whole="")


def _transform_words(each: TreeStep, said: _Said) -> _Said:
    """Return what a transformation makes of what was said."""
    name, options = each.name, each.options
    if name == "interval":
        begin, end = (_percent(value) for value in options)
        whole = said.called() if said.where else said.whole or "the window"
        return replace(said, where=f"from {begin} to {end} of {whole}", whole=whole)
    if name in ("spectrum", "phase", "correlation", "cosine", "cumulative"):
        called = said.called()
        whole = {
            "spectrum": f"the spectrum of {called}",
            "phase": f"the phases of {called}",
            "correlation": f"the correlation of {called} with itself",
            "cosine": f"the cosine transformation of {called}",
            "cumulative": f"the running sum of {called} less its mean",
        }[name]
        return _Said(whole=whole, is_spectrum=name == "spectrum")
    return replace(said, noun=_noun(each, said.noun, said.plain))


def _noun(each: TreeStep, noun: str, plain: str = "the values") -> str:
    """Return what the values are called after a transformation that keeps the axis."""
    name, options = each.name, each.options
    of = f" of {noun}" if noun else ""
    values = noun or plain
    has_lag = "lag" in each.method.options and options[0] > 0
    over = f" over {_percent(options[0])} of the length" if has_lag else ""
    return {
        "difference": lambda: f"the steps{over}{of}",
        "bend": lambda: f"the bend{over}{of}",
        "haar": lambda: f"the wavelets of level {options[0]}{of}",
        "angles": lambda: f"the angles in phase space{over}{of}",
        "distances": lambda: f"the distances in phase space{over}{of}",
        "moving_average": lambda: f"{values} averaged over {_percent(options[0])} of the length",
        "exponential_smoothing": lambda: f"{values} smoothed by {options[0]:g}",
        "band": lambda: f"{values} filtered to {options[0]:g} to {options[1]:g} cycles a step",
        "trim": lambda: f"{values} without the extreme {_percent(options[0])}",
        "weights": lambda: f"{values} under {options[0]} weights",
        "standardise": lambda: f"the standardised {values.removeprefix('the ')}",
        "absolute": lambda: f"the size of {values}",
        "logarithm": lambda: f"the log {values.removeprefix('the ')}",
        "bands": lambda: f"the {options[1]} {options[0]} bands{of}",
        "mismatch": lambda: f"the mismatch with a shape of {len(options[0])} points{of}",
    }[name]()


def _function_words(each: TreeStep, said: _Said) -> str:
    """Return a function of what was said."""
    name, options = each.name, each.options
    is_lag = said.whole.startswith("the correlation") and not said.noun
    if not said.noun and name in ("place_of_maximum", "place_of_minimum"):
        extreme = name.removeprefix("place_of_")
        if said.is_spectrum:
            strength = {"maximum": "strongest", "minimum": "weakest"}[extreme]
            of = said.where or said.whole.removeprefix("the spectrum ")
            return f"the {strength} frequency {of}".removesuffix(" of the values")
        if is_lag and not said.where:
            high = {"maximum": "highest", "minimum": "lowest"}[extreme]
            return f"the lag of the {high} {said.whole.removeprefix('the ')}"
    if name == "peak":
        rank = {1: "", 2: "second ", 3: "third "}.get(options[0], f"{options[0]}th ")
        phrase = f"the {options[1]} of the {rank}highest peak"
    elif name == "item":
        phrase = f"value {options[0]}"
    else:
        phrase = each.method.words
    if said.noun or (said.is_spectrum and said.where):
        return f"{phrase} of {said.noun or said.plain} {said.located()}".strip()
    return f"{phrase} {said.located()}".strip()


def _share(share: float) -> str:
    return _FRACTIONS.get(round(share, 6), _percent(share))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
