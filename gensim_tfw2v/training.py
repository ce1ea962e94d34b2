"""What one call of `train` holds, made from gensim's attributes and put back into them."""

import logging

import numpy as np
from gensim.models import Word2Vec

from gensim_tfw2v.corpus.units import EncodedCorpus, WorkUnit
from gensim_tfw2v.corpus.workspace import Workspace
from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.objectives import Cbow, Objective, SkipGram
from gensim_tfw2v.options import (
    FEW_WORDS,
    UNIT_ENTRIES,
    UnitProgram,
    choose_product_dtype,
    choose_shape,
)
from gensim_tfw2v.regimes import LocalRegime, Regime

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
        if not self.units:
            logger.warning(
                "no word of the corpus is in the vocabulary: there is nothing to train on "
                "(build_vocab(corpus, update=True) adds its words)."
                if corpus.total_raw_words
                else "train() called with an empty iterator (if not intended, be sure to provide "
                "a corpus that offers restartable iteration = an iterable)."
            )
        # another seed for each call of `train`, or all would draw the same
        self.seed = model.seed + 1_000_003 * model.train_count
        keep = _keep_probability(model)
        counts = model.wv.expandos["count"].astype(np.float64)
        tokens = corpus.total_tokens * float((counts * keep).sum() / max(1.0, counts.sum()))
        self.regime: Regime = LocalRegime(
            UnitProgram(
                objective=_objective(model),
                shape=choose_shape(int(tokens), model.window, model.negative, bool(model.sg)),
                vector_size=model.vector_size,
                id_bits=max(2, (len(model.wv) - 1).bit_length()),
                max_entries=UNIT_ENTRIES,
                shrink_windows=bool(model.shrink_windows),
                with_loss=bool(model.compute_loss),
                skip_targets=len(model.wv) <= FEW_WORDS,
                product_dtype=choose_product_dtype(),
            ),
            keep_probability=keep,
            cum_table=model.cum_table.astype(np.int32),
            workers=model.workers,
            seed=self.seed,
        )
        self.bar = progress_bar(corpus.total_raw_words * model.epochs, model.progress)

    def units_of(self, epoch: int) -> list[WorkUnit]:
        """The units in the order in which an epoch trains them: another one each time."""
        order = np.random.default_rng([abs(self.seed), epoch]).permutation(len(self.units))
        return [self.units[place] for place in order]

    def load(self, model: Word2Vec) -> None:
        """Start from the model's vectors, which a callback may have changed."""
        self.regime.load(model.wv.vectors, model.syn1neg)

    def export(self, model: Word2Vec) -> None:
        """Put the trained vectors into the model's arrays, if they are finite."""
        if not self.regime.finite():
            return
        model.wv.vectors, model.syn1neg = _writable(model.wv.vectors), _writable(model.syn1neg)
        self.regime.export(model.wv.vectors, model.syn1neg)
        model.wv.norms = None

    def close(self) -> None:
        """Free the tables and remove the encoded corpus."""
        self.bar.close()
        self.regime.close()
        self.corpus.close()
        self.workspace.close()


def _writable(array: np.ndarray) -> np.ndarray:
    """The array itself, which others may look at, if float32 rows can be written to it."""
    if array.flags.writeable and array.dtype == np.float32:
        return array
    return np.empty(array.shape, np.float32)


def _objective(model: Word2Vec) -> Objective:
    if model.sg:
        return SkipGram(model.negative)
    return Cbow(model.negative, mean=bool(model.cbow_mean))


def _keep_probability(model: Word2Vec) -> np.ndarray:
    """Chance of each word to survive subsampling, [V]."""
    if not model.sample or "sample_int" not in model.wv.expandos:
        return np.ones(len(model.wv), np.float32)
    return ((model.wv.expandos["sample_int"].astype(np.float64) + 1) / 2**32).astype(np.float32)
