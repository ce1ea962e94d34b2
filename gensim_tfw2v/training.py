"""What one call of `train` holds, made from gensim's attributes and put back into them."""

import contextlib
import logging
import os
from typing import Any

import numpy as np
from gensim.models import Word2Vec

from gensim_tfw2v.attributes import rates_of, tables_of, unit_program, words_of
from gensim_tfw2v.cluster.opening import LocalTasks, open_cluster, parse_cluster
from gensim_tfw2v.cluster.probe import READY_SECONDS
from gensim_tfw2v.corpus.units import EncodedCorpus, WorkUnit
from gensim_tfw2v.corpus.workspace import Workspace
from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.options import UNIT_ENTRIES, ClusterProgram
from gensim_tfw2v.regimes import AsynchronousRegime, LocalRegime, Regime

logger = logging.getLogger(__name__)


class Training:
    """The encoded corpus, the regime and the progress bar of one call of `train`.

    Parameters
    ----------
    model : TFWord2Vec
    corpus : EncodedCorpus
    workspace : Workspace
        The folder that the corpus is in; removed by `close`.
    """

    def __init__(self, model: Word2Vec, corpus: EncodedCorpus, workspace: Workspace) -> None:
        self.corpus = corpus
        self.workspace = workspace
        self.units: list[WorkUnit] = corpus.units(UNIT_ENTRIES)
        if not corpus.total_sentences:
            logger.warning(
                "train() called with an empty iterator (if not intended, be sure to provide a "
                "corpus that offers restartable iteration = an iterable)."
            )
        elif not self.units and corpus.total_raw_words:
            logger.warning(
                "no word of the corpus is in the vocabulary: there is nothing to train on "
                "(build_vocab(corpus, update=True) adds its words)."
            )
        # another seed for each call of `train`, or all would draw the same
        self.seed = model.seed + 1_000_003 * model.train_count
        self._stack = contextlib.ExitStack()
        self.regime = self._regime(model)
        self.bar = progress_bar(corpus.total_raw_words * model.epochs, model.progress)

    def _regime(self, model: Any) -> Regime:
        program = unit_program(model, self.corpus.total_tokens, UNIT_ENTRIES)
        if model.cluster is None:
            return LocalRegime(program, words_of(model), workers=model.workers, seed=self.seed)
        which = parse_cluster(model.cluster)
        opened = self._stack.enter_context(open_cluster(which, READY_SECONDS))
        workers, threads = len(opened.cluster.worker), model.workers
        if isinstance(which, LocalTasks):
            threads = min(threads, max(1, len(os.sched_getaffinity(0)) // workers))
        return AsynchronousRegime(
            ClusterProgram(program, workers, threads),
            words_of(model),
            rates_of(model),
            rows=len(model.wv),
            units=len(self.units),
            coordinator=opened.coordinator,
            seed=self.seed,
        )

    def units_of(self, epoch: int) -> list[WorkUnit]:
        """The units in the order in which an epoch trains them: another one each time."""
        order = np.random.default_rng([abs(self.seed), epoch]).permutation(len(self.units))
        return [self.units[place] for place in order]

    def load(self, model: Word2Vec) -> None:
        """Start from the model's vectors, which a callback may have changed."""
        self.regime.load(tables_of(model))

    def export(self, model: Word2Vec) -> None:
        """Put the trained vectors into the model's arrays, if they are finite."""
        if not self.regime.finite():
            return
        model.wv.vectors = _writable(model.wv.vectors)
        if model.negative:
            model.syn1neg = _writable(model.syn1neg)
        if model.hs:
            model.syn1 = _writable(model.syn1)
        self.regime.export(tables_of(model))
        model.wv.norms = None

    def close(self) -> None:
        """Free the tables and remove the encoded corpus."""
        self.bar.close()
        self.regime.close()
        self._stack.close()
        self.corpus.close()
        self.workspace.close()


def _writable(array: np.ndarray) -> np.ndarray:
    """The array itself, which others may look at, if float32 rows can be written to it."""
    if array.flags.writeable and array.dtype == np.float32:
        return array
    return np.empty(array.shape, np.float32)
