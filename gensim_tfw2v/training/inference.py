"""Vectors of documents that a model was not trained on: their own rows train, all else stays."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from gensim_tfw2v.config import Number, TrainingConfig
from gensim_tfw2v.corpus.shards import END, FIRST_TAG
from gensim_tfw2v.kernel import choices
from gensim_tfw2v.kernel.native import Options, plain
from gensim_tfw2v.kernel.native_unit import options_of
from gensim_tfw2v.kernel.tables import unit_key
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.training.setup import unit_program
from gensim_tfw2v.training.subwords import MIXER
from gensim_tfw2v.training.vocabulary import Vocabulary, seed_of, tables_of

#: Entries that a thread draws for all epochs at once, at most, unless one document has more.
PORTION = 1 << 20

#: Documents of a portion from which on DBOW trains in blocks. Each block has a word of each of so
#: many; of fewer documents it would have several, and too long a step of each.
MANY = 2 * choices.NATIVE_BLOCK


@dataclass(frozen=True)
class Frozen:
    """Arrays and options that inference takes from a model; made anew if the model has changed."""

    made_of: list[Any]
    words: WordArrays
    options: dict[bool, Options]  # by whether there are `MANY` documents

    @classmethod
    def of(cls, model: Any) -> Frozen:
        """That of a model."""
        plain_ones = {k: v for k, v in vars(model).items() if isinstance(v, int | float | bool)}
        arrays = [*model.wv.expandos.values(), getattr(model, "cum_table", None)]
        made_of = [str(plain_ones), *map(id, arrays)]
        if model._frozen is None or model._frozen.made_of[: len(made_of)] != made_of:
            config, vocabulary = TrainingConfig.of(model), Vocabulary.of(model)
            config = replace(config, cluster=None, regime=None, layout="rows", dbow_words=False)
            # rows that are trained already bear blocks, however little text there was
            of_text = {False: 0, True: choices.FEW_TOKENS}
            tokens = {many: int(n / vocabulary.kept_share) + 1 for many, n in of_text.items()}
            programs = {
                many: unit_program(config, vocabulary, number, 0, config.window, native=True)
                for many, number in tokens.items()
            }
            options = {
                many: options_of(replace(program, frozen=True, locked=True))
                for many, program in programs.items()
            }
            # with the arrays, whose ids are nobody else's while they are held
            model._frozen = cls([*made_of, arrays], vocabulary.words(1), options)
        frozen: Frozen = model._frozen
        return frozen


def infer(
    model: Any,
    documents: Iterable[Sequence[str]],
    alpha: float | None = None,
    min_alpha: float | None = None,
    epochs: int | None = None,
) -> np.ndarray:
    """Infer a vector for each document, [n, D]; see `TFDoc2Vec.infer_vectors`."""
    Number(none=True)("alpha", alpha)
    Number(none=True)("min_alpha", min_alpha)
    Number(least=0, whole=True, exact=True, none=True)("epochs", epochs)
    if not len(model.wv):
        raise RuntimeError("you must first build vocabulary and train before inferring vectors")
    alphas = np.linspace(alpha or model.alpha, min_alpha or model.min_alpha, epochs or model.epochs)
    one = partial(_inferred, model, Frozen.of(model), alphas)
    with ThreadPoolExecutor(model.workers, "tfw2v-inference") as pool:
        vectors = list(pool.map(one, count(), _portions(model, documents, len(alphas))))
    return np.concatenate([np.zeros((0, model.vector_size), np.float32), *vectors])


def _portions(
    model: Any, documents: Iterable[Sequence[str]], epochs: int
) -> Iterator[list[tuple[np.ndarray, int]]]:
    """Documents for a thread: each one's entries without its tag, and a number of its text."""
    numbers, portion, size = model.wv.key_to_index, list[tuple[np.ndarray, int]](), 0
    most = min(choices.UNIT_ENTRIES, PORTION // epochs)
    for document in documents:
        words = getattr(document, "words", document)  # of a TaggedDocument
        if isinstance(words, str):
            raise TypeError(
                f"a document must be a list of words, got {quoted(words)}: give the words as the "
                "training text had them, such as text.split()"
            )
        known = [numbers[word] for word in words if word in numbers]
        if portion and size + len(known) > most:
            yield portion
            portion, size = [], 0
        text = " ".join(map(str, words)).encode("utf-8", "surrogatepass")
        portion.append((np.array([*known, END], np.int32), zlib.crc32(text)))
        size += len(known) + 2
    if portion:
        yield portion


def _inferred(
    model: Any,
    frozen: Frozen,
    alphas: np.ndarray,
    place: int,
    portion: list[tuple[np.ndarray, int]],
) -> np.ndarray:
    """Vectors of a portion's documents."""
    words, options, seed = frozen.words, frozen.options[len(portion) >= MANY], seed_of(model)
    size, first_tag = model.vector_size, len(model.wv)
    vectors = _starts([text for _, text in portion], size, seed)
    of_documents = [(np.array([FIRST_TAG - d]), portion[d][0]) for d in range(len(portion))]
    entries = np.concatenate([part for parts in of_documents for part in parts]).astype(np.int32)
    units = [
        plain.draw(options, entries, unit_key(seed, epoch, place), words.keep, words.noise)
        for epoch in range(len(alphas))
    ]
    rows, inputs = _numbered(
        [u.inputs for u in units], [u.tags.entries for u in units], [np.array([options.padding])]
    )
    outputs, targets = _numbered([u.targets for u in units], [u.negatives for u in units])
    tree = _lists_of(words.tree, outputs)
    nodes, ((of_nodes,),) = _numbered([tree.entries // 2])
    known, own = np.split(rows, [np.searchsorted(rows, first_tag)])
    given, hidden = tables_of(model), (-1, max(1, options.concatenated), size)
    options = options._replace(padding=int(inputs[2][0][0]))
    tables = plain.Tables(
        np.concatenate([model.wv.vectors[known], vectors[own - first_tag]], dtype=np.float32),
        given.outputs.reshape(hidden)[outputs if options.negative else []].reshape(-1, size),
        given.nodes.reshape(hidden)[nodes].reshape(-1, size),
        np.repeat([0, 1], [len(known), len(own)]).astype(np.float32),
        Lists(tree.first, 2 * of_nodes + tree.entries % 2),
    )
    for epoch, unit in enumerate(units):
        own_unit = unit._replace(
            inputs=inputs[0][epoch],
            targets=targets[0][epoch],
            negatives=targets[1][epoch],
            tags=unit.tags._replace(entries=inputs[1][epoch]),
        )
        tables.train(options, own_unit, np.full(2, alphas[epoch], np.float32))
    vectors[own - first_tag] = tables.inputs[len(known) :]
    return vectors


def _starts(texts: list[int], size: int, seed: int) -> np.ndarray:
    """Random vectors [n, D], as long as new ones, that depend on the numbers of texts."""
    mixed = (np.array(texts, np.uint64)[:, None] << np.uint64(32)) + np.arange(size, dtype="u8")
    mixed += np.uint64(seed * int(MIXER) % (1 << 64))  # a product of scalars would warn
    for shift in (30, 27, 31):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * MIXER
    return ((mixed >> np.uint64(40)) / 2.0**24 - 0.5).astype(np.float32) / size


def _numbered(*lists: list[np.ndarray]) -> tuple[np.ndarray, list[list[np.ndarray]]]:
    """The distinct numbers of some lists of arrays, ascending, and places among these instead."""
    is_there = np.zeros(1 + max(a.max(initial=-1) for arrays in lists for a in arrays), bool)
    for array in (array for arrays in lists for array in arrays):
        is_there[array] = True
    distinct = np.flatnonzero(is_there)
    places = np.empty(len(is_there), np.int32)
    places[distinct] = np.arange(len(distinct))
    return distinct, [[places[array] for array in arrays] for arrays in lists]


def _lists_of(lists: Lists, numbers: np.ndarray) -> Lists:
    """Those of the lists that have these numbers."""
    if not len(lists.first):
        return lists
    begins = lists.first[numbers]
    lengths = lists.first[numbers + 1] - begins
    first = np.append(0, np.cumsum(lengths)).astype(np.int32)
    at = np.arange(first[-1], dtype=np.int32) + np.repeat(begins - first[:-1], lengths)
    return Lists(first, lists.entries[at])
