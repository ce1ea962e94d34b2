"""Tasks of sub-models: the samples of units that each is trained on, over all epochs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.shards import Sampling, WorkUnit
from gensim_tfw2v.kernel.tables import UnitTask, unit_key


class SubModelTask(NamedTuple):
    """A sub-model that is to be trained, from its beginning to its end."""

    number: int  # from 0
    sampling: Sampling
    epochs: Sequence[Sequence[UnitTask]]  # of the whole corpus, in the order of each epoch

    def jobs(
        self, threads: int, seed: int, seen: np.ndarray
    ) -> Iterator[tuple[list[WorkUnit], tuple[Any, ...]]]:
        """Units of each job, as reports name them, and what a worker is given of them.

        There is one job at least, if without units: by it a worker takes the sub-model.

        Parameters
        ----------
        threads : int
            Units of a job.
        seed : int
        seen : ndarray [V], int64
            To it is added how often each word stands in the sample, as far as jobs were given.

        Returns
        -------
        iterator of (list of WorkUnit, tuple of Tensor)
            The tensors are entries, keys and alphas, as in `SubModelFunctions`.
        """
        number, sampling = self.number, self.sampling
        nothing: Any = [b""] * threads, [[0, 0]] * threads, [(0.0, 0.0)] * threads
        has_units = False
        for epoch, tasks in enumerate(self.epochs):
            total = len(tasks)
            own = [task for task in tasks if sampling.has_unit(number, task.unit.index, total)]
            for first in range(0, len(own), threads):
                part = own[first : first + threads]
                entries, keys, named = [], [], []
                for unit in (task.unit for task in part):
                    sample = sampling.of(unit.read(), number, unit.index, epoch)
                    seen += np.bincount(sample[sample >= 0], minlength=len(seen))
                    entries.append(sample.astype("<i4").tobytes())
                    # another name for each, in each epoch: they are other units
                    index = (epoch * sampling.number + number) * total + unit.index
                    keys.append(unit_key(seed, epoch, index))
                    named.append(_share_of(unit, index, number, sampling))
                has_units = True
                of_units: Any = entries, keys, [task.alphas for task in part]
                yield (
                    named,
                    _tensors(
                        *(
                            own_part + rest[: threads - len(part)]
                            for own_part, rest in zip(of_units, nothing, strict=True)
                        )
                    ),
                )
        if not has_units:
            yield [], _tensors(*nothing)


class SubModelDone(NamedTuple):
    """Report on a sub-model that is in its files."""

    number: int


def file_of(folder: Path, number: int, name: str) -> Path:
    """Where a sub-model's table is, by its name in `Tables`; or ``"seen"``.

    Returns
    -------
    Path
        Of a ``.npy`` file: float32 [V, D], or int64 [V], how often each word was in its sample.
    """
    return folder / f"sub-model-{number:03}-{name}.npy"


def _tensors(entries: list[bytes], keys: list[Any], alphas: list[Any]) -> tuple[Any, ...]:
    """A job's units as arguments of its function."""
    return tf.constant(entries), tf.constant(keys, tf.int32), tf.constant(alphas, tf.float32)


def _share_of(unit: WorkUnit, index: int, number: int, sampling: Sampling) -> WorkUnit:
    """A unit as a sub-model's report names it: all of these add up to the corpus."""

    def part(total: int) -> int:
        return total * (number + 1) // sampling.number - total * number // sampling.number

    if sampling.kind == "equal":
        return replace(unit, index=index)
    return replace(
        unit,
        index=index,
        raw_words=part(unit.raw_words),
        sentences=part(unit.sentences),
        tokens=part(unit.tokens),
    )
