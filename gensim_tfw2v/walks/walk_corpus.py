"""Corpus of walks on a graph, which are drawn during training: its words are the nodes."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.protocol import Corpus, CountedParts
from gensim_tfw2v.corpus.shard_files import UNKNOWN, Progress
from gensim_tfw2v.corpus.shards import EncodedPart, save_ids
from gensim_tfw2v.keys.compact import find_indices, is_large
from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.processes.threads import in_threads
from gensim_tfw2v.walks.walk_file import copy_walk_file
from gensim_tfw2v.walks.walk_shard import WalkShard, draw_walks

logger = logging.getLogger(__name__)

#: Minimum number of steps whose nodes are counted, if an epoch has as many.
COUNTED_STEPS = 1 << 24

#: Minimum number of steps that are counted at a time. Each time, an array with the counts of all
#: nodes is added to the sum, so there are at least as many steps as nodes.
PIECE_STEPS = 1 << 20


class WalkCorpus(Corpus):
    """Walks, which can be read repeatedly, but are counted only once.

    Nothing is written for each walk. The nodes that walks visit, and the relations, are counted by
    drawing the walks of the first epoch: all of them, or on a large graph one or a few from each
    start, whose counts are multiplied.

    Parameters
    ----------
    path : Path
        File by `write_walk_file`.
    names : sequence
        Name of each node, and of each relation if walks contain them.
    n_starts : int
        Number of nodes at which walks start.
    num_walks : int
        Number of walks from each start, per epoch.
    max_words : int
        Maximum number of nodes and relations of a walk.
    """

    unit = "walks"
    is_drawn = True

    def __init__(
        self,
        path: Path,
        names: Sequence[Any],
        n_starts: int,
        num_walks: int,
        max_words: int,
    ) -> None:
        self._path = path
        self._names = names
        self._n_starts = n_starts
        self._num_walks = num_walks
        self._max_words = max_words
        self.total = self._counted_repetitions * n_starts
        self._visits: NDArray[np.int64] | None = None

    @property
    def _n_walks(self) -> int:
        return self._n_starts * self._num_walks

    @property
    def _counted_repetitions(self) -> int:
        """Number of walks from each start whose nodes are counted."""
        repetition_steps = self._n_starts * self._max_words
        return min(self._num_walks, -(-COUNTED_STEPS // repetition_steps))

    def count(self, folder: Path, progress: Progress | None) -> CountedParts:
        """Count how often each node and relation is in the walks of an epoch.

        Those that are in no walk are not among the words.
        """
        visits = self._count_visits(progress)
        part = EncodedPart([], int(visits.sum()), self._n_walks)
        visited = np.flatnonzero(visits)
        return CountedParts(self._select_names(visited, folder), visits[visited], [(part, None)])

    def _select_names(self, numbers: NDArray[np.int64], folder: Path) -> Keys | list[Any]:
        """Return the names with some numbers; as keys if they are many integers 0, 1, …."""
        if isinstance(self._names, range) and is_large(len(numbers)):
            return IntegerKeys(numbers, folder)
        return [self._names[number] for number in numbers.tolist()]

    def _count_visits(self, progress: Progress | None) -> NDArray[np.int64]:
        """Return how often each node and relation is in the walks of an epoch: [names]."""
        if self._visits is not None:
            return self._visits
        n_names = len(self._names)
        n_repetitions = self._counted_repetitions
        n_walks = n_repetitions * self._n_starts
        piece_walks = max(1, max(PIECE_STEPS, n_names) // self._max_words)
        walk_file = np.memmap(self._path, np.uint8, "r")

        def count_piece(first: int, _: object) -> tuple[int, NDArray[np.int64]]:
            n_piece_walks = min(piece_walks, n_walks - first)
            nodes = draw_walks(walk_file, 0, first, n_piece_walks, self._max_words)
            return n_piece_walks, np.bincount(nodes[nodes >= 0], minlength=n_names)

        visits = np.zeros(n_names, np.int64)
        n_counted = 0
        for n_piece_walks, counts in in_threads(
            count_piece, range(0, n_walks, piece_walks), ahead=8
        ):
            visits += counts
            n_counted += n_piece_walks
            if progress:
                progress(int(visits.sum()), n_counted, n_names, 0)
        if n_repetitions < self._num_walks:
            visits = np.rint(visits * (self._num_walks / n_repetitions)).astype(np.int64)
        self._visits = visits
        return visits

    def encode(
        self, key_to_index: Mapping[Any, int], folder: Path, progress: Progress | None
    ) -> list[EncodedPart]:
        """Write the graph to a folder, and the word ids of its nodes and relations.

        A warning is logged if walks visit nodes outside of the vocabulary, which have no vector.
        """
        visits = self._count_visits(progress)
        path = folder / "walks"
        copy_walk_file(self._path, path)
        ids = find_indices(key_to_index, self._names, UNKNOWN)
        save_ids(Path(f"{path}.ids"), ids)
        n_unknown = np.count_nonzero((ids < 0) & (visits > 0))
        if n_unknown:
            logger.warning(
                "%i of the %i nodes on the walks have no vector, because they are not in the "
                "vocabulary: walks visit them less often than min_count, or the vocabulary is that "
                "of a different graph",
                n_unknown,
                np.count_nonzero(visits),
            )
        n_raw_words = int(visits.sum())
        n_tokens = int(visits[ids >= 0].sum())
        shard = WalkShard(
            str(path), self._n_walks, n_tokens, n_raw_words, self._n_walks, self._max_words
        )
        return [EncodedPart([shard], n_raw_words, self._n_walks)]
