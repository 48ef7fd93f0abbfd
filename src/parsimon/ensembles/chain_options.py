"""How chains walk: numbers of chains and steps, tolerances, proposals."""

from dataclasses import dataclass, replace

from parsimon._checks import check_choice, check_count, check_positive, check_probability
from parsimon.exceptions import InvalidInputError

# Steps between two looks at the chains: ladder, adaptation, checkpoint and clock.
CHUNK, SMC_CHUNK = 100, 10


@dataclass(frozen=True)
class ChainOptions:
    """How chains walk; `ABCClassifier` documents each option."""

    sampler: str = "mcmc"
    tolerance: float | None = None
    start_tolerance: float = 0.5
    n_levels: int = 7
    n_accepted: int = 100
    slack: float = 2.0
    n_chains: int = 8
    n_samples: int = 2000
    burn_in: int = 1000
    thin: int = 20
    proposal: float | None = None
    redraw: float = 0.1
    patience: int = 5000
    max_r_hat: float | None = None
    n_doublings: int = 3

    def __post_init__(self) -> None:
        check_choice("sampler", self.sampler, ("mcmc", "smc"))
        for name in ("n_levels", "n_accepted", "n_chains", "n_samples", "thin", "patience"):
            check_count(name, getattr(self, name))
        for name in ("burn_in", "n_doublings"):
            check_count(name, getattr(self, name), least=0)
        for name in ("start_tolerance", "slack"):
            check_positive(name, getattr(self, name))
        for name in ("tolerance", "proposal", "max_r_hat"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        check_probability("redraw", self.redraw)
        if self.thin > self.n_samples:
            raise InvalidInputError(
                f"thin is {self.thin}, more than the {self.n_samples} samples of a chain."
            )

    @property
    def is_smc(self) -> bool:
        return self.sampler == "smc"

    @property
    def n_kept(self) -> int:
        """Parameter vectors kept of each chain, or particles of each island."""
        return self.n_samples // self.thin

    def doubled(self, times: int) -> "ChainOptions":
        """Return the options for steps that were doubled some times, and are not again."""
        factor = 1 << times
        return replace(
            self,
            n_samples=self.n_samples * factor,
            burn_in=self.burn_in * factor,
            thin=self.thin * factor,
            max_r_hat=None,
        )

    @property
    def n_walkers(self) -> int:
        return self.n_chains * self.n_kept if self.is_smc else self.n_chains

    @property
    def chunk(self) -> int:
        return SMC_CHUNK if self.is_smc else CHUNK
