"""A moment of a run: all that decides how it goes on, and its way to a checkpoint and back."""

from pathlib import Path
from typing import Any, Generic, NamedTuple

import numpy as np

from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array
from parsimon.exceptions import CheckpointError
from parsimon.pareto.checkpoint import (
    Checkpoint,
    check_settings,
    read_checkpoint,
    write_checkpoint,
)
from parsimon.pareto.search import S, Search


class Moment(NamedTuple, Generic[S]):
    """The state after a generation, with the generator, the stall count and the history.

    `trail` may hold a row too many after an interruption; the first ``n_iter + 1`` count.
    """

    state: S
    rng_state: Any
    mark: Array
    n_stalled: int
    trail: list[list[float]]


def save_moment(
    checkpoint: Checkpoint,
    moment: Moment[S],
    *,
    settings: dict[str, str],
    seed: np.random.SeedSequence,
) -> None:
    """Write a moment to the checkpoint's file."""
    entropy, spawn_key = _seed_parts(seed)
    header = {
        "settings": {**settings, "label": checkpoint.label},
        "entropy": entropy,
        "spawn_key": spawn_key,
        "rng": moment.rng_state,
        "n_stalled": moment.n_stalled,
    }
    arrays = {f"state_{name}": array for name, array in moment.state.to_arrays().items()}
    arrays["trail"] = np.array(moment.trail[: moment.state.n_iter + 1])
    arrays["mark"] = moment.mark
    write_checkpoint(checkpoint.path, header, arrays)


def load_moment(
    checkpoint: Checkpoint, search: Search[S], *, settings: dict[str, str], random_state: Seed
) -> tuple[Moment[S] | None, np.random.SeedSequence]:
    """Return the moment to resume from, if any, and the seed of the run."""
    path = Path(checkpoint.path)
    if not path.parent.is_dir():
        raise CheckpointError(f"The folder {path.parent} of the checkpoint does not exist.")
    seed = seed_sequence(random_state)
    if not checkpoint.resume or not path.exists():
        return None, seed
    header, arrays = read_checkpoint(path)
    check_settings(path, header["settings"], {**settings, "label": checkpoint.label})
    stored = header["entropy"], header["spawn_key"]
    if random_state is None:
        seed = np.random.SeedSequence(stored[0], spawn_key=tuple(stored[1]))
    elif _seed_parts(seed) != stored:
        raise CheckpointError(
            f"{path} was written with another random_state; give the same one, or none."
        )
    trail, mark = arrays.pop("trail").tolist(), arrays.pop("mark")
    state = search.restore({name.removeprefix("state_"): a for name, a in arrays.items()})
    return Moment(state, header["rng"], mark, header["n_stalled"], trail), seed


def _seed_parts(seed: np.random.SeedSequence) -> tuple[Any, list[int]]:
    """Return entropy and spawn key as JSON holds them."""
    entropy = np.asarray(seed.entropy, dtype=object).tolist()
    plain = [int(part) for part in entropy] if isinstance(entropy, list) else int(entropy)
    return plain, [int(key) for key in seed.spawn_key]
