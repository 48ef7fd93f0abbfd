"""How chains walk: numbers of chains and steps, tolerances, proposals."""

from dataclasses import dataclass, replace

from parsimon._checks import check_count, check_positive, check_probability
from parsimon.exceptions import InvalidInputError

# Steps between two looks at the chains: ladder, adaptation, checkpoint and clock.
CHUNK = 100


@dataclass(frozen=True)
class ChainOptions:
    """How the chains of `ABCClassifier` walk.

    Parameters
    ----------
    tolerance : float, optional
        Greatest error of a kept rule. Without it chains go down until the best error hardly
        changes for 1000 steps, and the tolerance is that error and `slack` of its standard errors:
        what cannot be told from the best is kept.
    slack : float
        Standard errors above the best error, where no tolerance is given. The best of thousands
        of rules is lucky, and chains mix the better the more they may keep.
    n_chains, n_samples, burn_in, thin : int
        Chains, steps recorded of each, steps before that at the last tolerance (half of
        `n_samples` if None), and of how many one is kept (a fiftieth of `n_samples` if None). A
        move that is refused repeats the state.
    start_tolerance : float
        Chains start at a draw from the prior with no greater error, or at the best of many.
    n_levels, n_accepted : int
        Rungs of the ladder from there to `tolerance`, and accepted moves before each next one. A
        move to a lower error is always within.
    proposal : float, optional
        Standard deviation of a step in every parameter, fixed; 0.05 in the source. None adapts
        size and shape until the burn-in ends.
    redraw : float
        Share of proposals that draw one parameter anew from its prior; 0 in the source.
    patience : int
        Steps of the descent. Chains that are above a given tolerance after it and the burn-in keep
        the error they have as tolerance, and a warning says how many they are; without a given
        tolerance they begin their burn-in where others stand.
    max_r_hat : float, optional
        Where R-hat of the errors or of the votes is above it after `n_samples` steps, all of them
        count as burn-in, and twice as many are recorded after a burn-in of twice the length, at
        twice the `thin`. Without a given tolerance `slack` is then greater by one: the tolerance
        is about the tightest at which chains agree. None records once.
    n_doublings : int
        How many times at most; a warning says where that was not enough.
    """

    tolerance: float | None = None
    slack: float = 3.0
    n_chains: int = 32
    n_samples: int = 1000
    burn_in: int | None = None
    thin: int | None = None
    start_tolerance: float = 0.5
    n_levels: int = 7
    n_accepted: int = 100
    proposal: float | None = None
    redraw: float = 0.1
    patience: int = 5000
    max_r_hat: float | None = 1.1
    n_doublings: int = 3

    def __post_init__(self) -> None:
        for name in ("n_levels", "n_accepted", "n_chains", "n_samples", "patience"):
            check_count(name, getattr(self, name))
        check_count("n_doublings", self.n_doublings, least=0)
        for name, least in (("burn_in", 0), ("thin", 1)):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least=least)
        for name in ("start_tolerance", "slack"):
            check_positive(name, getattr(self, name))
        for name in ("tolerance", "proposal", "max_r_hat"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        check_probability("redraw", self.redraw)
        if self.stride > self.n_samples:
            raise InvalidInputError(
                f"thin is {self.thin}, more than the {self.n_samples} samples of a chain."
            )

    @property
    def n_before(self) -> int:
        """Steps at the last tolerance before any is recorded."""
        return self.n_samples // 2 if self.burn_in is None else self.burn_in

    @property
    def stride(self) -> int:
        """Of how many recorded steps one is kept."""
        return max(1, self.n_samples // 50) if self.thin is None else self.thin

    @property
    def n_kept(self) -> int:
        """Parameter vectors kept of each chain."""
        return self.n_samples // self.stride

    def doubled(self, times: int) -> "ChainOptions":
        """Return the options for steps that were doubled some times, and are not again."""
        factor = 1 << times
        return replace(
            self,
            n_samples=self.n_samples * factor,
            burn_in=self.n_before * factor,
            thin=self.stride * factor,
            max_r_hat=None,
        )
