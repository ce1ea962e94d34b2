"""Inference of vectors for new documents: only these vectors are trained, the model is fixed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from numbers import Integral, Real
from typing import Any

import numpy as np

from gensim_tfw2v.compiled_library import Options
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.kinds import Finite, Whole
from gensim_tfw2v.processes.threads import in_threads
from gensim_tfw2v.training.model_arrays import complete_added_words, trained_outputs
from gensim_tfw2v.training.training_plan import Plan
from gensim_tfw2v.training.vocabulary import Vocabulary, seed_of
from gensim_tfw2v.weight_tables import OUTPUT_LAYER

#: Minimum number of words in a batch of documents, except the last. A thread infers a batch in one
#: call of the kernels.
MIN_BATCH_WORDS = 1 << 15


@dataclass(frozen=True)
class Frozen:
    """Arrays and options of a model in inference, cached until the model changes."""

    key: list[Any]  # the model's numeric attributes, ids of its arrays; then the arrays themselves
    words: WordArrays
    options: Options

    @classmethod
    def of(cls, model: Any) -> "Frozen":
        """Return the cached instance of a model, rebuilt if the model has changed."""
        numeric_attributes = {
            name: value for name, value in vars(model).items() if isinstance(value, Real | np.bool_)
        }
        arrays = [*model.wv.expandos.values(), getattr(model, "cum_table", None)]
        key = [str(numeric_attributes), *map(id, arrays)]
        frozen: Frozen | None = model._state.frozen
        if frozen is None or frozen.key[: len(key)] != key:
            vocabulary = Vocabulary.of(model)
            config = replace(model._current_config(), cluster=None, regime=None, layout="rows")
            options = Plan(config, vocabulary, corpus=None, n_entries=0).kernel_options
            # the arrays are kept, so that their ids are not reused
            key += [arrays]
            frozen = cls(key, vocabulary.words(1), options)
            model._state.frozen = frozen
        return frozen


def infer(
    model: Any,
    documents: Iterable[Sequence[str]],
    alpha: float | None = None,
    min_alpha: float | None = None,
    epochs: int | None = None,
) -> np.ndarray:
    """Infer a vector for each document, [n, D]; see `TFDoc2Vec.infer_vectors`."""
    Finite(none=True)("alpha", alpha)
    Finite(none=True)("min_alpha", min_alpha)
    Whole(0, none=True, exact=True)("epochs", epochs)
    if not len(model.wv):
        raise RuntimeError("you must first build vocabulary and train before inferring vectors")
    complete_added_words(model)
    frozen = Frozen.of(model)
    alphas = np.linspace(alpha or model.alpha, min_alpha or model.min_alpha, epochs or model.epochs)
    if frozen.options.concatenated not in (0, 2 * model.window + 1):
        # An inferred document has one tag. As in gensim, the tag's vector is not trained unless the
        # model expects one tag per document (dm_tag_count).
        alphas = alphas[:0]
    no_rows = np.zeros((0, model.vector_size * max(1, frozen.options.concatenated)))
    outputs = trained_outputs(model)
    tables = [
        np.ascontiguousarray(rows, np.float32)
        for rows in (model.wv.vectors, *(outputs.get(array, no_rows) for array in OUTPUT_LAYER))
    ]
    alphas = alphas.astype(np.float32)
    seed = seed_of(model) % (1 << 64)

    def infer_batch(batch: Lists, _: object = None) -> np.ndarray:
        return by_ctypes.infer(frozen.options, tables, frozen.words, batch, alphas, seed)

    batches = _read_batches(model, documents)
    first_batches = list(islice(batches, 2))
    if len(first_batches) < 2:  # no threads: starting them takes longer than inferring a vector
        vectors = [infer_batch(batch) for batch in first_batches]
    else:
        batches = chain(first_batches, batches)
        vectors = list(
            in_threads(infer_batch, batches, threads=model.workers, ahead=2 * model.workers)
        )
    return np.concatenate([np.zeros((0, model.vector_size), np.float32), *vectors])


def _read_batches(model: Any, documents: Iterable[Sequence[str]]) -> Iterator[Lists]:
    """Yield batches of documents, as lists of word indices."""
    find_id = model.wv.key_to_index.get
    words = list[int]()
    offsets = [0]
    # the first word is a str, unless words of the training text had a different type
    first_word = model.wv.index_to_key[0]
    word_types = str, Integral if isinstance(first_word, Integral) else type(first_word)
    for document in documents:
        # a TaggedDocument has `words`
        document_words = getattr(document, "words", document)
        if isinstance(document_words, str) or not isinstance(document_words, Iterable):
            raise TypeError(
                f"a document must be a list of words, got {quoted(document_words)}: split it "
                "into words as the training text was, for example by text.split()"
            )
        for word in document_words:
            if (word_id := find_id(word)) is not None:
                words.append(word_id)
            elif not isinstance(word, word_types):
                raise TypeError(
                    f"words of a document must be strings, got {quoted(word)} of type "
                    f"{type(word).__name__}: decode or convert them like the training text"
                )
        offsets.append(len(words))
        if len(words) >= MIN_BATCH_WORDS:
            yield Lists(np.array(offsets, np.int32), np.array(words, np.int32))
            words = []
            offsets = [0]
    if offsets[1:]:
        yield Lists(np.array(offsets, np.int32), np.array(words, np.int32))
