"""What an epoch of so many workers consists of."""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.scaling.simulation import Work
from gensim_tfw2v.graph.sizes import choose_step
from gensim_tfw2v.kernel.program import Objective
from gensim_tfw2v.kernel.sizes import choose_unit_entries
from gensim_tfw2v.planning import (
    ENTRY,
    FLOAT,
    ID,
    NUMBER,
    Frequencies,
    Workload,
    distinct_rows,
)


@dataclass(frozen=True)
class Corpus:
    """A text and how it is trained on.

    Parameters
    ----------
    counts : tuple of int
        Of the vocabulary's words.
    sentences : int
    options : dict
        Of `TFWord2Vec`.
    """

    counts: tuple[int, ...]
    sentences: int
    options: dict[str, object]

    @property
    def tokens(self) -> int:
        """Words that are in the vocabulary."""
        return sum(self.counts)

    def grown(self, tokens: float) -> "Corpus":
        """More text of the same kind, by Zipf's law: new words are rarer than those that are known.

        What is fitted is the frequency of the rarer half of the words, over their ranks.
        """
        times, known = tokens / self.tokens, len(self.counts)
        ranks = np.arange(known // 2, known) + 1
        slope, at_one = np.polyfit(np.log(ranks), np.log(self.counts[known // 2 :]), 1)
        least = min(self.counts)
        last = max(known, int(np.exp((np.log(least / times) - at_one) / slope)))
        new = times * np.exp(at_one) * np.arange(known + 1, last + 1) ** slope
        counts = np.concatenate([times * np.array(self.counts), np.maximum(new, least)])
        counts *= tokens / counts.sum()
        sentences = round(self.sentences * times)
        return Corpus(tuple(counts.round().astype(int).tolist()), sentences, self.options)

    def workload(self) -> Workload:
        """For the traffic model."""
        option = {"window": 5, "negative": 5, "sg": 0, "vector_size": 100, "sample": 1e-3}
        option |= self.options  # type: ignore[arg-type]
        frequencies = Frequencies.of_counts(np.array(self.counts), float(option["sample"]))
        kept = int(self.tokens * frequencies.kept)
        window = int(option["window"])
        shape = choose_step(
            Objective(bool(option["sg"]), int(option["negative"])),
            kept,
            window,
            window + 1,
            vector_size=int(option["vector_size"]),
        )
        return Workload(frequencies, int(option["vector_size"]), shape, bool(option["sg"]))

    def work(self, workers: int, threads: int, rows_factor: float = 1.0) -> Work:
        """An epoch of so many workers.

        Parameters
        ----------
        threads : int
            Of each.
        rows_factor : float
            How many rows travel for each one that the traffic model predicts.
        """
        load = self.workload()
        entries = choose_unit_entries(self.tokens, workers * threads)
        units = math.ceil((self.tokens + self.sentences) / entries)
        jobs = math.ceil(units / threads)
        tokens = self.tokens * load.frequencies.kept / jobs
        rows = sum(distinct_rows(load, tokens))
        size = NUMBER * load.vector_size
        return Work(
            jobs,
            tokens,
            rows * rows_factor,
            fetched_bytes=size,
            pushed_bytes=size + ID,
            units=threads,
            text_bytes=ENTRY * (self.tokens + self.sentences) / jobs,
            model_bytes=2.0 * FLOAT * len(self.counts) * load.vector_size,
        )


def target_bytes(work: Workload, shards: int, own_negatives: bool) -> tuple[float, float]:
    """Bytes a token, fetched and pushed, where output rows stay and input rows travel to them.

    No layout does so: see docs/planning.md. An input row is sent to each of S ps tasks that has an
    output row for it, and the sum of its updates comes back (Stergiou et al. 2017, "Distributed
    Negative Sampling for Word Embeddings"); whoever trains fetches it from its own ps before, and
    pushes it there.

    Parameters
    ----------
    work : Workload
    shards : int
        S.
    own_negatives : bool
        Whether a target's negatives are of its own shard. Then an input row is sent only where a
        target is that it is in the window of; else also where one of its block's negatives is.
    """
    shape, window = work.shape, work.shape.window
    # a window is reduced to 1..w, so it reaches d words far with a chance of (w - d + 1) / w
    reached = np.arange(1, window + 1) / window
    without = float(np.prod((1.0 - reached / shards) ** 2))
    if not own_negatives:
        without *= (1.0 - 1.0 / shards) ** shape.shared
    words = shape.tokens * work.frequencies.words / work.frequencies.burst
    copies = -shards * float(np.expm1((without - 1.0) * words).sum())
    rows = (copies + distinct_rows(work, shape.tokens)[0]) / shape.tokens
    size = NUMBER * work.vector_size
    return rows * size, rows * (size + ID)
