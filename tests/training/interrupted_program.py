"""A program that trains with checkpoints, for tests that interrupt it with signals.

Each sentence of its corpus has words of its own, so that the rows that differ between two
checkpoints tell which work units were trained in between.
"""

import json
import signal
import sys
from typing import NamedTuple

import numpy as np
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec, unit_sizes
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.training.session import Training

N_SENTENCES = 400
WORDS_PER_SENTENCE = 8
SENTENCE_LENGTH = 64  # tokens
EPOCHS = 3
ENTRIES = 1 << 10  # maximum entries of a work unit
ARRAYS = ("vectors", "vectors_vocab", "vectors_ngrams", "syn1neg")
OPTIONS = {
    "vector_size": 24,
    "window": 10,
    "negative": 10,
    "sample": 0,
    "min_count": 1,
    "seed": 7,
    "epochs": EPOCHS,
}


class Case(NamedTuple):
    """Model and way of training."""

    kind: str  # "word2vec", "fasttext" or "doc2vec"
    workers: int
    deterministic: bool
    cluster: str | None = None
    regime: str | None = None

    @property
    def is_exact(self):
        """Return whether each training run has the same bits."""
        return self.deterministic or self.cluster != "local:ps=2,worker=2" and self.workers == 1


def sentences():
    # n-grams of different words differ, because each word repeats a character of its own
    words = np.array([chr(0x4E00 + place) * 3 for place in range(N_SENTENCES * WORDS_PER_SENTENCE)])
    draws = np.random.default_rng(0)
    for own in words.reshape(N_SENTENCES, WORDS_PER_SENTENCE):
        # Each word occurs several times, because outputs start at 0, so first updates may be 0.
        yield draws.permutation(np.tile(own, SENTENCE_LENGTH // WORDS_PER_SENTENCE)).tolist()


def corpus_of(kind):
    if kind == "doc2vec":
        return [TaggedDocument(words, [place]) for place, words in enumerate(sentences())]
    return list(sentences())


def make_model(case, folder):
    """Build the vocabulary; return the model and its corpus."""
    kinds = {"word2vec": TFWord2Vec, "fasttext": TFFastText, "doc2vec": TFDoc2Vec}
    options = OPTIONS | {"sg": 1} if case.kind != "doc2vec" else OPTIONS
    if case.kind == "fasttext":
        options = options | {"bucket": 200_000}
    corpus = corpus_of(case.kind)
    model = kinds[case.kind](
        **options,
        workers=case.workers,
        deterministic=case.deterministic,
        cluster=case.cluster,
        regime=case.regime,
        checkpoint_dir=folder,
    )
    model.build_vocab(corpus)
    return model, corpus


def weights(model):
    """Return all trained arrays by name."""
    holders = {"": model, "wv.": model.wv, "dv.": getattr(model, "dv", None)}
    return {
        prefix + name: vars(holder)[name]
        for prefix, holder in holders.items()
        for name in ARRAYS
        if holder is not None and isinstance(vars(holder).get(name), np.ndarray)
    }


def train(case, folder, result, started):
    """Train in `folder`; write weights, or what was counted until a signal came, to `result`.

    `started` is a connection, to which a message is sent when the first work unit is trained.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name in ("UNIT_ENTRIES", "PAIRED_ENTRIES", "CLUSTER_ENTRIES", "MIN_ENTRIES"):
        setattr(unit_sizes, name, ENTRIES)
    count = Training.count
    save = Training.save
    make_records = by_ctypes.new_records
    records = []
    counted = []

    def count_and_tell(training, log, report):
        count(training, log, report)
        if not started.closed:
            started.send(None)
            started.close()

    def keep_position(training):
        save(training)
        position = training._model_position
        counted[:] = [sum(units for _, _, units in position.finished) + len(position.done)]
        if not (result / "units.json").exists():
            units = [unit.read() for unit in training.units]
            words = [np.unique(ids[ids >= 0]).tolist() for ids in units]
            (result / "units.json").write_text(json.dumps(words))

    def keep_records(n_units):
        records.append(make_records(n_units))
        return records[-1]

    Training.count = count_and_tell
    Training.save = keep_position
    by_ctypes.new_records = keep_records
    model, corpus = make_model(case, folder)
    try:
        model.train(corpus, total_examples=model.corpus_count, epochs=model.epochs)
    except (KeyboardInterrupt, SystemExit):
        n_trained = int(sum(of_epoch[:, -1].sum() for of_epoch in records))
        (result / "counts.json").write_text(json.dumps([n_trained, *counted]))
        raise
    np.savez(result / "weights.npz", **weights(model))
