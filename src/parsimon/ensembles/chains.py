"""Approximate Bayesian computation over rules: chains that walk where the error is small.

`abc_sample` runs many chains in step, so that one matrix product judges all their proposals. They
start from the prior, go down a ladder of tolerances, burn in and are then recorded; where they do
not agree, what was recorded is taken for burn-in and twice as many steps follow, at a tolerance of
one standard error more unless it was given.

Every chain has random numbers of its own in every chunk of steps, so that neither the number of
workers nor an interruption changes a bit.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from parsimon._deadline import is_late
from parsimon._parallel import Workers, n_workers
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.ensembles._votes import ErrorOf
from parsimon.ensembles.chain_options import CHUNK, ChainOptions
from parsimon.ensembles.convergence import agreement
from parsimon.ensembles.rules import BoundRule, Labeller
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.run import Ending, OutOfTime, SearchOptions, Standing, run

# Of the prior, to find a start for a walker: how many at once, at least and at most; and how many
# rows they may label in all.
_PRIOR_BLOCK, _PRIOR_LEAST, _PRIOR_MOST = 64, 8, 2560
_PRIOR_ROWS = 1_000_000
_WISHED_ACCEPTANCE = 0.3
# A descent ends after this many chunks in which the best error fell by no more than that.
_IDLE, _NEWS = 10, 0.002
DESCENT, BURN_IN, SAMPLING, DONE = range(4)


@dataclass(frozen=True, eq=False)
class Walk:
    """Where all walkers stand after a chunk; never changed.

    theta (w, p), error and log_prior (w,): The current parameters.
    tolerance (w,), level (w,), n_in_level (w,): The ladder; moves accepted on its present rung.
    log_scale (w,), spread (p,): Of the proposals.
    phase, n_in_phase: What is going on, and for how many chunks.
    best (p,), best_error: The best parameters ever seen.
    n_chunks, n_accepted, n_proposed: So far; the last two count recorded steps alone.
    n_doubled: How many times the steps were doubled.
    samples: Recorded parameters, one array (k, w, p) a chunk; errors: theirs, every step's (c, w).
    n_earlier: Chunks of them that were recorded before the last doubling.
    """

    theta: Array
    error: Array
    log_prior: Array
    tolerance: Array
    level: Indices
    n_in_level: Indices
    log_scale: Array
    spread: Array
    best: Array
    best_error: float
    n_idle: int = 0
    phase: int = DESCENT
    n_in_phase: int = 0
    n_chunks: int = 0
    n_accepted: int = 0
    n_proposed: int = 0
    n_doubled: int = 0
    n_earlier: int = 0
    samples: tuple[Array, ...] = ()
    errors: tuple[Array, ...] = ()


class ABCSamples(NamedTuple):
    """What a run of chains found.

    theta (n_chains, n_kept, p): Recorded parameters.
    errors (n_chains, n_steps): Error at every recorded step.
    tolerances (n_chains,): Greatest error that each chain allowed itself.
    acceptance: Share of proposals taken, over recorded steps.
    n_doubled: How many times the steps were doubled because chains did not agree.
    """

    theta: Array
    errors: Array
    tolerances: Array
    acceptance: float
    best: Array
    best_error: float
    n_iter: int
    stopped_by: str
    n_doubled: int


class _Stretch(NamedTuple):
    """A chunk of steps of some walkers: where they end, and what happened on the way."""

    theta: Array
    error: Array
    log_prior: Array
    accepted: Indices
    best: Array
    best_error: float
    trail: Array
    errors: Array


def abc_sample(
    bound: BoundRule,
    X: Array,
    error: ErrorOf,
    options: ChainOptions,
    limits: SearchOptions,
    n_jobs: int | None = 1,
    data: str = "",
) -> ABCSamples:
    """Sample parameters of a rule whose error is within the tolerance, in proportion to the prior.

    Shapes: X (n, d). `data` tells tables apart in checkpoints; `limits.max_iter` counts chunks.
    """
    if callable(error.kind) and options.tolerance is None:
        raise InvalidInputError("A loss of your own needs a tolerance; give one as a number.")
    with Workers(n_jobs) as workers:
        groups = np.array_split(
            np.arange(options.n_chains), min(n_workers(n_jobs), options.n_chains)
        )
        return run(_AbcProcess(bound, X, error, options, workers, groups, data), limits)


class _AbcProcess:
    """The walk as the common loop wants it."""

    title = "ABC"
    keeps_states = True

    def __init__(
        self,
        bound: BoundRule,
        X: Array,
        error: ErrorOf,
        options: ChainOptions,
        workers: Workers,
        groups: list[Indices],
        data: str,
    ) -> None:
        self.bound, self.X, self.error, self.options = bound, X, error, options
        self.workers, self.groups, self.data = workers, groups, data
        self.labels = bound.labeller(X)
        self.seed = np.random.SeedSequence(0)

    def settings(self) -> dict[str, str]:
        kind = self.error.kind
        name = kind if isinstance(kind, str) else getattr(kind, "__qualname__", type(kind).__name__)
        return {"options": repr(self.options), "error": name, "data": self.data}

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        self.seed = seed
        return np.random.default_rng(seed)

    def _rng(self, walker: int, chunk: int) -> np.random.Generator:
        key = (*self.seed.spawn_key, walker, chunk)
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=key))

    def begin(self, rng: np.random.Generator) -> Walk:  # noqa: ARG002
        options = self.options
        starts = [self._start(self._rng(w, 0)) for w in range(options.n_chains)]
        theta = np.array([start[0] for start in starts])
        error = np.array([start[1] for start in starts])
        w, best = len(theta), int(error.argmin())
        first = np.maximum(options.start_tolerance, options.tolerance or 0.0)
        scale = 0.1 if options.proposal is None else options.proposal
        return Walk(
            theta,
            error,
            self.bound.log_prior(theta),
            np.full(w, first) if options.tolerance is not None else error.copy(),
            np.zeros(w, dtype=np.intp),
            np.zeros(w, dtype=np.intp),
            np.full(w, np.log(scale)),
            self.bound.unit if options.proposal is None else np.ones(theta.shape[1]),
            theta[best],
            float(error[best]),
        )

    def _start(self, rng: np.random.Generator) -> tuple[Array, float]:
        """Return a draw of the prior within the first tolerance, or the best of many draws."""
        found: tuple[Array, float] | None = None
        wished = max(_PRIOR_LEAST, min(_PRIOR_MOST, _PRIOR_ROWS // len(self.X)))
        for first in range(0, wished, _PRIOR_BLOCK):
            theta = self.bound.draw(min(_PRIOR_BLOCK, wished - first), rng)
            errors = self.error(self.labels(theta))
            within = np.flatnonzero(errors <= self.options.start_tolerance)
            place = int(within[0]) if len(within) else int(errors.argmin())
            if found is None or errors[place] < found[1]:
                found = theta[place], float(errors[place])
            if found[1] <= self.options.start_tolerance:
                break
        if found is None or not np.isfinite(found[1]):
            raise InvalidInputError("The error of the rule is not finite; check loss and prior.")
        return found

    def step(self, state: Walk, rng: np.random.Generator, deadline: float | None) -> Walk:  # noqa: ARG002
        chunk = state.n_chunks + 1
        calls = [(*self._call(state, group, chunk), deadline) for group in self.groups]
        if len(calls) == 1:
            parts = [_walk_on(self.labels, *calls[0])]
        else:
            ready = [(self.bound, self.X, *call) for call in calls]
            parts = list(self.workers.map(_walk_on_elsewhere, ready))
        return self._next(replace(state, n_chunks=chunk), _join(parts))

    def _call(self, state: Walk, group: Indices, chunk: int) -> tuple[Any, ...]:
        """Return what a group of walkers needs for a chunk of steps."""
        options = self.options
        chances = [_draw_chances(self.bound, self._rng(w, chunk), options) for w in group.tolist()]
        size = np.exp(state.log_scale[group])[:, None] * state.spread
        standing = state.theta[group], state.error[group], state.log_prior[group]
        steps = _Chances(*(np.stack(part, axis=1) for part in zip(*chances, strict=True)))
        steps = steps._replace(normal=steps.normal * size)
        is_recorded = state.phase == SAMPLING
        every = options.stride << state.n_doubled if is_recorded else CHUNK // 5
        offset = state.n_in_phase * CHUNK if is_recorded else 0
        return self.bound, self.error, standing, state.tolerance[group], steps, every, offset

    def _next(self, state: Walk, part: _Stretch) -> Walk:
        """Return the state after a chunk: the ladder, the adaptation and the record."""
        moved = replace(
            state, theta=part.theta, error=part.error, log_prior=part.log_prior,
            n_in_phase=state.n_in_phase + 1, n_idle=state.n_idle + 1,
        )  # fmt: skip
        if part.best_error < state.best_error:
            news = state.best_error - part.best_error > _NEWS
            moved = replace(moved, best=part.best, best_error=part.best_error)
            moved = replace(moved, n_idle=0) if news else moved
        if state.phase != SAMPLING and self.options.proposal is None:
            moved = _adapt(moved, part, self.bound.unit)
        if state.phase == DESCENT:
            return self._descend(moved, part)
        if state.phase == BURN_IN:
            n_steps = self.options.n_before << state.n_doubled
            done = moved.n_in_phase * CHUNK >= n_steps
            return self._begin_samples(moved) if done else moved
        return self._record(moved, part)

    def _descend(self, state: Walk, part: _Stretch) -> Walk:
        options = self.options
        state = replace(state, n_in_level=state.n_in_level + part.accepted)
        if options.tolerance is None:
            # Half of where the chain was during this chunk lies below its next tolerance.
            middle = np.median(part.errors, axis=0)
            state = replace(state, tolerance=np.maximum(state.error, np.minimum(
                state.tolerance, middle)))  # fmt: skip
        else:
            state = _one_rung_down(state, options)
        late = state.n_chunks * CHUNK >= options.patience
        if options.tolerance is None:
            if state.n_idle < _IDLE and not late:
                return state
            return self._begin_burn_in(state)
        highest = max(float(state.error.max()), float(state.tolerance.max()))
        if highest > options.tolerance and not late:
            return state
        return self._begin_burn_in(state)

    def _begin_burn_in(self, state: Walk) -> Walk:
        """Begin to walk at the last tolerance."""
        options = self.options
        target = options.tolerance
        if target is None:
            target = self._automatic(state)
            state = self._gather(state, target)
        tolerance = np.full(len(state.theta), target)
        state = replace(state, tolerance=tolerance, phase=BURN_IN, n_in_phase=0)
        return state if options.n_before > 0 else self._begin_samples(state)

    def _gather(self, state: Walk, target: float) -> Walk:
        """Put chains that did not arrive where others stand, to part from them in the burn-in."""
        lost, arrived = np.flatnonzero(state.error > target), np.flatnonzero(state.error <= target)
        if not len(lost) or not len(arrived):
            return state
        source = np.arange(len(state.theta))
        source[lost] = self._rng(len(source), state.n_chunks).choice(arrived, size=len(lost))
        theta, error, log_prior = state.theta[source], state.error[source], state.log_prior[source]
        return replace(state, theta=theta, error=error, log_prior=log_prior)

    def _automatic(self, state: Walk) -> float:
        """Return a tolerance that no classifier as good as the best one could miss by chance.

        On few rows that would be any classifier, so that it ends half way to a coin.
        """
        best = self.labels(state.best[None])[0]
        slack = self.options.slack + state.n_doubled
        wished = slack * self.error.standard_error(best)
        most = 0.5 * (self.error.of_a_coin - state.best_error)
        return state.best_error + max(0.0, min(wished, most))

    def _begin_samples(self, state: Walk) -> Walk:
        """Begin to record; chains that are still above the tolerance get one of their own."""
        tolerance = np.maximum(state.tolerance, state.error)
        return replace(state, phase=SAMPLING, n_in_phase=0, tolerance=tolerance)

    def _record(self, state: Walk, part: _Stretch) -> Walk:
        done = state.n_in_phase * CHUNK >= self.options.n_samples << state.n_doubled
        state = replace(
            state,
            samples=(*state.samples, part.trail),
            errors=(*state.errors, part.errors),
            n_accepted=state.n_accepted + int(part.accepted.sum()),
            n_proposed=state.n_proposed + part.errors.size,
        )
        return self._judge(state) if done else state

    def _judge(self, state: Walk) -> Walk:
        """End the walk if chains agree; if not, take what was recorded for burn-in and go on."""
        earlier = state.n_earlier
        state = replace(
            state, samples=state.samples[earlier:], errors=state.errors[earlier:], n_earlier=0
        )
        if state.n_doubled >= self.options.n_doublings or self._agrees(state):
            return replace(state, phase=DONE)
        state = replace(state, n_doubled=state.n_doubled + 1, n_earlier=len(state.samples))
        return self._begin_burn_in(state)

    def _agrees(self, state: Walk) -> bool:
        if self.options.max_r_hat is None:
            return True
        theta = np.swapaxes(np.concatenate(state.samples), 0, 1)
        votes = np.array([self.labels(chain) for chain in theta])
        worst = max(agreement(np.concatenate(state.errors).T, votes)[0].values())
        # A NaN, from chains too short to be judged, is no reason to go on.
        return not worst > self.options.max_r_hat

    def standing(self, state: Walk) -> Standing:
        return Standing(state.n_chunks * CHUNK * len(state.theta))

    def row(self, state: Walk) -> tuple[float, ...]:
        return float(state.error.mean()), float(state.tolerance.max()), float(state.phase)

    def note(self, state: Walk) -> str:
        phase = ("descent", "burn-in", "samples", "done")[state.phase]
        return f"{phase}, error {state.error.mean():.3f}"

    def finished(self, state: Walk) -> str | None:
        return "samples" if state.phase == DONE else None

    def result(self, state: Walk, ending: Ending) -> ABCSamples:
        options = self.options
        trail = (
            np.concatenate(state.samples) if state.samples else np.empty((0, *state.theta.shape))
        )
        # A run that was stopped early has at least where the walkers stand.
        trail = trail if len(trail) else state.theta[None]
        errors = np.concatenate(state.errors) if state.errors else state.error[None]
        theta = np.swapaxes(trail, 0, 1)
        errors = errors.T
        if not state.n_earlier:
            errors = errors[:, : options.n_samples << state.n_doubled]
            theta = theta[:, : options.n_kept]
        return ABCSamples(
            theta,
            errors,
            np.maximum(state.tolerance, errors.max(axis=1)),
            state.n_accepted / max(1, state.n_proposed),
            state.best,
            state.best_error,
            state.n_chunks * CHUNK,
            ending.stopped_by,
            state.n_doubled,
        )

    def to_arrays(self, state: Walk) -> dict[str, AnyArray]:
        arrays = {name: np.asarray(value) for name, value in vars(state).items()
                  if name not in ("samples", "errors")}  # fmt: skip
        w, p = state.theta.shape
        for name, empty in (("samples", np.empty((0, w, p))), ("errors", np.empty((0, w)))):
            parts = getattr(state, name)
            arrays[name] = np.concatenate(parts) if parts else empty
            arrays[f"{name}_lengths"] = np.array([len(part) for part in parts], dtype=np.intp)
        return arrays

    def restore(self, arrays: dict[str, AnyArray]) -> Walk:
        parts: dict[str, Any] = {}
        for name in ("samples", "errors"):
            ends = np.cumsum(arrays.pop(f"{name}_lengths"))
            recorded = arrays.pop(name)
            parts[name] = tuple(np.split(recorded, ends[:-1])) if len(ends) else ()
        plain: dict[str, Any] = {name: a if a.ndim else a.item() for name, a in arrays.items()}
        return Walk(**plain, **parts)


class _Chances(NamedTuple):
    """All chance of a chunk: steps (c, w, p), log uniforms (c, w), and what is drawn anew.

    redrawn (c, w): The coordinate to be drawn from the prior, -1 for a plain step.
    fresh (c, w): Its new value.
    """

    normal: Array
    log_u: Array
    redrawn: Indices
    fresh: Array


def _draw_chances(bound: BoundRule, rng: np.random.Generator, options: ChainOptions) -> _Chances:
    """Return the chance of one walker in a chunk, its steps in units of their size."""
    c, p = CHUNK, bound.n_parameters
    normal, log_u = rng.standard_normal((c, p)), np.log(rng.random(c))
    if options.redraw == 0:
        return _Chances(normal, log_u, np.full(c, -1), np.zeros(c))
    redrawn = np.where(rng.random(c) < options.redraw, rng.integers(p, size=c), -1)
    return _Chances(normal, log_u, redrawn, bound.draw(c, rng)[np.arange(c), redrawn])


def _walk_on_elsewhere(bound: BoundRule, X: Array, *call: Any) -> _Stretch:
    return _walk_on(bound.labeller(X), *call)


def _walk_on(
    labels: Labeller,
    bound: BoundRule,
    error_of: ErrorOf,
    standing: tuple[Array, Array, Array],
    tolerance: Array,
    steps: _Chances,
    every: int,
    offset: int,
    deadline: float | None,
) -> _Stretch:
    """Take a chunk of steps with some walkers, all or none; every `every`-th state is kept.

    A move is taken if its error is within the tolerance, or lower than before, and with the
    probability of Metropolis: the ratio of priors, which a coordinate drawn from its prior cancels.
    """
    theta, error, log_prior = standing
    w, n_steps = len(theta), len(steps.normal)
    accepted, errors, trail = np.zeros(w, dtype=np.intp), np.empty((n_steps, w)), []
    best, best_error = theta[int(error.argmin())], float(error.min())
    for i in range(n_steps):
        if is_late(deadline):
            raise OutOfTime
        proposed, anew = _propose(theta, steps, i)
        proposed = bound.fold(proposed)
        prior = bound.log_prior(proposed)
        found = error_of(labels(proposed))
        likely = anew | (steps.log_u[i] < prior - log_prior)
        taken = (found <= np.maximum(tolerance, error)) & likely
        if taken.any():
            theta = np.where(taken[:, None], proposed, theta)
            error = np.where(taken, found, error)
            log_prior = np.where(taken, prior, log_prior)
            accepted += taken
            least = int(error.argmin())
            if error[least] < best_error:
                best, best_error = theta[least], float(error[least])
        errors[i] = error
        if (offset + i + 1) % every == 0:
            trail.append(theta)
    kept = np.array(trail).reshape(-1, *theta.shape)
    return _Stretch(theta, error, log_prior, accepted, best, best_error, kept, errors)


def _propose(theta: Array, steps: _Chances, i: int) -> tuple[Array, Mask]:
    """Return the proposals of step i, and which of them have a coordinate from the prior."""
    proposed = theta + steps.normal[i]
    is_anew: Mask = steps.redrawn[i] >= 0
    if is_anew.any():
        anew = np.flatnonzero(is_anew)
        proposed[anew] = theta[anew]
        proposed[anew, steps.redrawn[i, anew]] = steps.fresh[i, anew]
    return proposed, is_anew


def _join(parts: list[_Stretch]) -> _Stretch:
    """Return the stretches of groups of walkers as one."""
    if len(parts) == 1:
        return parts[0]
    best = min(range(len(parts)), key=lambda k: parts[k].best_error)
    first = [np.concatenate([part[k] for part in parts]) for k in range(4)]
    trail, errors = (np.concatenate([part[k] for part in parts], axis=1) for k in (6, 7))
    theta, error, log_prior, accepted = first
    best_of = parts[best].best, parts[best].best_error
    return _Stretch(theta, error, log_prior, accepted, *best_of, trail, errors)


def _one_rung_down(state: Walk, options: ChainOptions) -> Walk:
    """Lower the tolerance of chains that have moved often enough on their rung of the ladder."""
    top, bottom = max(options.start_tolerance, options.tolerance or 0.0), options.tolerance
    rungs = np.linspace(top, bottom or 0.0, options.n_levels)
    ready = (state.n_in_level >= options.n_accepted) & (state.error <= state.tolerance)
    level = np.minimum(state.level + ready, options.n_levels - 1)
    n_in_level = np.where(ready, 0, state.n_in_level)
    return replace(state, tolerance=rungs[level], level=level, n_in_level=n_in_level)


def _adapt(state: Walk, part: _Stretch, unit: Array) -> Walk:
    """Return the state with steps that are taken about as often as wished.

    Walkers of one family share the shape of a step: the deviations of all their recent states.
    """
    rate = part.accepted / CHUNK
    log_scale = np.clip(state.log_scale + 0.5 * (rate - _WISHED_ACCEPTANCE), -7.0, 1.0)
    pooled = part.trail.reshape(-1, len(unit))
    if len(pooled) < 10:
        return replace(state, log_scale=log_scale)
    seen = np.clip(pooled.std(axis=0), 0.1 * unit, 10.0 * unit)
    spread = np.exp(0.8 * np.log(state.spread) + 0.2 * np.log(seen))
    return replace(state, log_scale=log_scale, spread=spread)
