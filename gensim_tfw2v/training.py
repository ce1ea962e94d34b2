"""What one call of `train` holds, made from gensim's attributes and put back into them."""

import logging
from typing import Any

import numpy as np
from gensim.models import Word2Vec

from gensim_tfw2v.corpus.units import EncodedCorpus, WorkUnit
from gensim_tfw2v.corpus.workspace import Workspace
from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.objectives import Cbow, Objective, SkipGram
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import (
    FEW_WORDS,
    UNIT_ENTRIES,
    UnitProgram,
    choose_max_norm,
    choose_product_dtype,
    choose_shape,
)
from gensim_tfw2v.regimes import LocalRegime, Regime, Tables

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
        keep = _keep_probability(model)
        counts = model.wv.expandos["count"].astype(np.float64)
        tokens = corpus.total_tokens * float((counts * keep).sum() / max(1.0, counts.sum()))
        lock = _lock(model)
        self.regime: Regime = LocalRegime(
            UnitProgram(
                objective=_objective(model),
                shape=choose_shape(
                    int(tokens), model.window, model.negative, bool(model.sg), bool(model.hs)
                ),
                vector_size=model.vector_size,
                id_bits=max(2, (len(model.wv) - 1).bit_length()),
                max_entries=UNIT_ENTRIES,
                shrink_windows=bool(model.shrink_windows),
                with_loss=bool(model.compute_loss),
                skip_targets=bool(model.negative) and len(model.wv) <= FEW_WORDS,
                locked=lock is not None,
                product_dtype=choose_product_dtype(),
                max_norm=choose_max_norm(bool(model.sg), bool(model.hs)),
            ),
            Words.of(
                keep,
                noise_weights=np.diff(model.cum_table, prepend=0) if model.negative else None,
                paths=(
                    (model.wv.expandos["point"], model.wv.expandos["code"]) if model.hs else None
                ),
                lock=lock,
            ),
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
        self.regime.load(_tables(model))

    def export(self, model: Word2Vec) -> None:
        """Put the trained vectors into the model's arrays, if they are finite."""
        if not self.regime.finite():
            return
        model.wv.vectors = _writable(model.wv.vectors)
        if model.negative:
            model.syn1neg = _writable(model.syn1neg)
        if model.hs:
            model.syn1 = _writable(model.syn1)
        self.regime.export(_tables(model))
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


def _tables(model: Word2Vec) -> Tables:
    """The model's arrays; of those that are not trained, none."""
    nothing = np.zeros((0, model.vector_size), np.float32)
    return Tables(
        inputs=model.wv.vectors,
        outputs=model.syn1neg if model.negative else nothing,
        nodes=model.syn1 if model.hs else nothing,
    )


def _objective(model: Any) -> Objective:
    if model.sg:
        return SkipGram(model.negative, bool(model.hs))
    return Cbow(
        model.negative, bool(model.cbow_mean), bool(model.hs), corrected=model.corrected_cbow
    )


def _lock(model: Word2Vec) -> np.ndarray | None:
    """Factors of each word's updates, [V]; None if all are 1."""
    lock = np.asarray(getattr(model.wv, "vectors_lockf", 1.0), np.float32)
    if np.all(lock == 1.0):
        return None
    return np.array(np.broadcast_to(lock, len(model.wv)))


def _keep_probability(model: Word2Vec) -> np.ndarray:
    """Chance of each word to survive subsampling, [V]."""
    if not model.sample or "sample_int" not in model.wv.expandos:
        return np.ones(len(model.wv), np.float32)
    return ((model.wv.expandos["sample_int"].astype(np.float64) + 1) / 2**32).astype(np.float32)
