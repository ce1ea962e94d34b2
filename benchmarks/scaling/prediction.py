"""Work of an epoch, predicted from a corpus and a number of workers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.scaling.simulation import Work
from gensim_tfw2v.planning.workload import Frequencies, Workload, distinct_rows, row_sizes
from gensim_tfw2v.unit_sizes import choose_unit_entries


@dataclass(frozen=True)
class Corpus:
    """Word counts of a text, and options for training on it."""

    counts: tuple[int, ...]  # count of each word of the vocabulary, in descending order
    sentences: int
    options: dict[str, Any]  # arguments of `TFWord2Vec`

    @property
    def tokens(self) -> int:
        """Number of tokens whose word is in the vocabulary."""
        return sum(self.counts)

    @property
    def text_bytes(self) -> int:
        """Bytes of the encoded text; see ``pack`` in ``kernel/native/src/text/text.h``."""
        limits = [127, (1 << 14) - 1, (1 << 21) - 1]
        sizes = 1 + np.searchsorted(limits, np.arange(len(self.counts)), "right")
        return int(sizes @ np.array(self.counts)) + self.sentences

    def grown(self, tokens: float) -> "Corpus":
        """Extrapolate the counts to `tokens` tokens of similar text, which has new, rarer words.

        Counts of new words follow Zipf's law, fitted to the counts of the rarer half of the words
        by rank.
        """
        factor = tokens / self.tokens
        n_words = len(self.counts)
        ranks = np.arange(n_words // 2, n_words) + 1
        slope, intercept = np.polyfit(np.log(ranks), np.log(self.counts[n_words // 2 :]), 1)
        min_count = min(self.counts)
        last_rank = int(np.exp((np.log(min_count / factor) - intercept) / slope))
        new_ranks = np.arange(n_words + 1, max(n_words, last_rank) + 1)
        new_counts = factor * np.exp(intercept) * new_ranks**slope
        counts = np.concatenate([factor * np.array(self.counts), np.maximum(new_counts, min_count)])
        counts *= tokens / counts.sum()
        sentences = round(self.sentences * factor)
        return Corpus(tuple(counts.round().astype(int).tolist()), sentences, self.options)

    def workload(self) -> Workload:
        """Return the description of this training run for the traffic model of `planning`."""
        options: dict[str, Any] = {
            "window": 5,
            "negative": 5,
            "sg": 0,
            "vector_size": 100,
            "sample": 1e-3,
        }
        options |= self.options
        return Workload.for_frequencies(
            Frequencies.from_counts(np.array(self.counts), float(options["sample"])),
            self.tokens,
            vector_size=int(options["vector_size"]),
            window=int(options["window"]),
            negative=int(options["negative"]),
            skipgram=bool(options["sg"]),
        )

    def work(self, workers: int, threads: int, rows_factor: float = 1.0) -> Work:
        """Return the work of an epoch for `workers` workers with `threads` threads each.

        `rows_factor` is the number of rows that real training transfers, divided by the number that
        the traffic model predicts.
        """
        load = self.workload()
        epochs = int(self.options.get("epochs", 5))
        entries = choose_unit_entries(self.tokens, workers * threads, epochs)
        units = math.ceil((self.tokens + self.sentences) / entries)
        jobs = math.ceil(units / threads)
        tokens = self.tokens * load.frequencies.kept / jobs
        rows = sum(distinct_rows(load, tokens, is_job=True))
        fetched_bytes, pushed_bytes = row_sizes(load.vector_size)
        return Work(
            jobs,
            tokens,
            rows * rows_factor,
            fetched_bytes=fetched_bytes,
            pushed_bytes=pushed_bytes,
            units=threads,
            text_bytes=self.text_bytes / jobs,
            model_bytes=load.tables,
        )
