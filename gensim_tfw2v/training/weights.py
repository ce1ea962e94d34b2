"""Trained arrays of a model: making, completing, reading them as tables and writing them.

All are in C order, except while the kernels train them in place: see `Weights.move_apart`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.fasttext import FastTextKeyedVectors

from gensim_tfw2v.files.mapped import new_array
from gensim_tfw2v.gensim_classes import Doc2Vec, Word2Vec
from gensim_tfw2v.kernel.native.padded_rows import RowMemory, new_rows, stride
from gensim_tfw2v.kernel.tables import Divergence, Tables
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.training.subwords import MergedRows, Subwords

#: Number of rows that are initialized at a time: few, so that the draws take little memory.
ROWS_AT_A_TIME = 1 << 14

#: Names of the attributes, of a model and of its vectors, that are trained arrays.
WEIGHTS = ("vectors", "vectors_vocab", "vectors_ngrams", "syn1neg", "syn1")

logger = logging.getLogger(__name__)


def weights_of(model: Any) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Return the attributes of a model and of each of its vectors, with the trained arrays.

    Each item is the object's ``__dict__`` and its arrays by name.
    """
    found = []
    for holder in (model, model.wv, model.dv) if model.has_documents else (model, model.wv):
        held = vars(holder)
        arrays = {n: held[n] for n in WEIGHTS if isinstance(held.get(n), np.ndarray)}
        found.append((held, arrays))
    return found


def init_weights(model: Any, folder: Path | None) -> None:
    """Initialize the weights of a TFWord2Vec as gensim's ``init_weights``.

    Their memory has room for the kernels' padding. With a folder, they are in its files, without
    such room; older files are replaced. Vectors of documents' tags follow the vectors of words, in
    one array.
    """

    def new(name: str, number: int, size: int) -> np.ndarray:
        if folder is not None:
            return new_array(folder / f"{name}.npy", (number, size))
        # an output of `dm_concat` is several rows of the kernels
        is_row = model.layer1_size == model.vector_size
        return new_rows(number, size) if is_row else np.zeros((number, size), np.float32)

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    parts = [(model.wv, model.seed)]
    if model.has_documents:
        parts.append((model.dv, model.seed + 7919))  # as in gensim
    numbers = [len(of.index_to_key) for of, _ in parts]
    whole = new("vectors", sum(numbers), model.wv.vector_size)
    for (of, seed), vectors in zip(parts, np.split(whole, numbers[:1]), strict=False):
        draws = np.random.default_rng(seed=seed)
        for rows in np.array_split(vectors, 1 + len(vectors) // ROWS_AT_A_TIME):
            rows[:] = draws.random(rows.shape, dtype=np.float32)
            rows *= 2.0
            rows -= 1.0
            rows /= of.vector_size
        prior = of.vectors[: len(vectors)]
        vectors[: len(prior)] = prior
        of.vectors = vectors
        of.resize_vectors(seed=seed)  # keeps these rows, and adapts attributes and norms to them
    if model.hs:
        model.syn1 = new("syn1", numbers[0], model.layer1_size)
    if model.negative:
        model.syn1neg = new("syn1neg", numbers[0], model.layer1_size)


def complete(model: Any) -> None:
    """Complete the attributes of words that ``wv.add_vector`` has added, to train them.

    These words are neither subsampled nor drawn as negatives, and their output rows start from 0.
    Nothing changes if arrays do not fit the vocabulary for any other reason.
    """
    vectors = model.wv
    words = len(vectors)
    outputs = ["syn1neg"] * bool(model.negative) + ["syn1"] * bool(model.hs)
    lengths = set()
    for name in [*outputs, "cum_table"] if model.negative else outputs:
        array = vars(model).get(name)
        lengths.add(0 if array is None else len(array))
    known = min(lengths, default=0)
    if len(lengths) > 1 or not 0 < known < words == len(vectors.vectors):
        return
    attributes = vectors.expandos
    if any(np.ndim(path) for path in attributes.get("point", ())[known:]):
        return  # added words with paths were counted in a corpus: syn1 lacks their nodes
    vectors.allocate_vecattrs()
    if "sample_int" in attributes:
        attributes["sample_int"][known:] = 2**32 - 1
    for name in ("point", "code") if model.hs else ():
        for word in range(known, words):
            attributes[name][word] = attributes[name][0][:0]
    if model.negative:
        model.cum_table = np.pad(model.cum_table, (0, words - known), "edge")
    for name in outputs:
        setattr(model, name, np.pad(getattr(model, name), ((0, words - known), (0, 0))))
    if isinstance(vectors, FastTextKeyedVectors):
        vectors.recalc_char_ngram_buckets()
        for word in range(len(vectors.vectors_vocab), words):
            of_ngrams = vectors.vectors_ngrams[vectors.buckets_word[word]]
            own = vectors.vectors[word] * (1 + len(of_ngrams)) - of_ngrams.sum(axis=0)
            vectors.vectors_vocab = np.vstack([vectors.vectors_vocab, own])


def copied_vocabulary(model: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the attributes of a model and of each of its vectors, each with a copy to restore.

    Arrays are not copied, because gensim replaces them. The exceptions are the keys and attributes
    of words, which gensim changes in place.
    """
    copies = []
    for held, _ in weights_of(model):
        kept = held.copy()
        if "expandos" in kept:
            kept["expandos"] = {name: array.copy() for name, array in kept["expandos"].items()}
            kept["index_to_key"] = kept["index_to_key"].copy()
            kept["key_to_index"] = kept["key_to_index"].copy()
        copies.append((held, kept))
    return copies


def tables_of(model: Word2Vec, inputs: np.ndarray | None = None) -> Tables:
    """Return the model's arrays as tables, without copying them; an unused table has no rows.

    `inputs` are the rows of subwords of a FastText model.
    """
    if inputs is None:
        inputs = _joined(model) if isinstance(model, Doc2Vec) else model.wv.vectors
    outputs = nodes = np.zeros((0, model.vector_size), np.float32)
    # with concatenated inputs, an output or node is several rows
    if model.negative:
        outputs = model.syn1neg.reshape(-1, model.vector_size)
    if model.hs:
        nodes = model.syn1.reshape(-1, model.vector_size)
    return Tables(inputs, outputs, nodes)


def memories_of(model: Any) -> list[RowMemory | None]:
    """Return the memory of each trained array; None for one that kernels cannot train in place."""
    inputs = _whole(model) if model.has_documents else model.wv.vectors
    outputs = [getattr(model, name) for name in _output_names(model)]
    return [RowMemory.of(rows) for rows in [inputs, *outputs]]


def make_room(model: Any) -> None:
    """Replace arrays that kernels cannot train in place by copies that they can, one by one."""
    of_keys = [model.wv, model.dv] if model.has_documents else [model.wv]
    if memories_of(model)[0] is None:
        whole = new_rows(sum(len(of.vectors) for of in of_keys), model.vector_size)
        for of, rows in zip(of_keys, np.split(whole, [len(model.wv)]), strict=False):
            rows[:] = of.vectors
            of.vectors = rows
    for name in _output_names(model):
        array = getattr(model, name)
        if RowMemory.of(array) is None:
            rows = new_rows(*array.shape)
            rows[:] = array
            setattr(model, name, rows)


def _output_names(model: Any) -> list[str]:
    """Return the names of the arrays of outputs and nodes that a model trains."""
    return ["syn1neg"] * bool(model.negative) + ["syn1"] * bool(model.hs)


def make_contiguous(model: Any) -> None:
    """Replace arrays that are not in C order by copies that are: gensim's compiled code needs it.

    Such arrays are of the user, or another thread is training them in place.
    """
    for held, arrays in weights_of(model):
        for name, array in arrays.items():
            held[name] = np.require(array, requirements="C")


def _joined(model: Any) -> np.ndarray:
    """Return the vectors of a model's words and of its documents' tags in one array [V + N, D].

    The model's own arrays become views of it, so that they take no additional memory.
    """
    words, tags = parts = model.wv.vectors, model.dv.vectors
    whole = _whole(model)
    if whole is None:
        whole = np.concatenate(parts, dtype=np.float32)
        model.wv.vectors = whole[: len(words)]
        model.dv.vectors = whole[len(words) :]
    return whole


def _whole(model: Any) -> np.ndarray | None:
    """Return the array of a model's words and tags, if they follow each other in one memory."""
    words, tags = model.wv.vectors, model.dv.vectors
    memory = words.base
    if (
        isinstance(memory, np.ndarray)
        and memory is tags.base
        and memory.flags.c_contiguous
        # shared memory is not enough: views may select or order its rows differently
        and tags.ctypes.data - words.ctypes.data == len(words) * words.strides[0]
        and tags.strides == words.strides
        and tags.dtype == words.dtype == np.float32
    ):
        shape = len(words) + len(tags), model.vector_size
        first = words.ctypes.data - memory.ctypes.data
        return np.ndarray(shape, np.float32, memory, first, words.strides)
    return None


@dataclass
class Weights:
    """Arrays of a `TFWord2Vec` in training, read and written as tables."""

    model: Any
    subwords: Subwords | None
    in_place: bool = False  # whether the model's own arrays are trained, instead of copies
    _is_scarce: bool | None = None  # whether copies do not fit into memory; None: not yet known
    _loaded: list[Any] = field(default_factory=list)  # result of `weights_of` at the last `load`
    _memories: list[RowMemory] = field(default_factory=list)  # of arrays that are trained in place
    # while their rows are apart: the model's strided views, each with the array that it replaces
    _moved: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    #: Rows of subwords that were last read or written, and the result of `Subwords.merged`.
    _rows: tuple[np.ndarray, MergedRows] | None = None

    def tables(self) -> Tables:
        """Return the model's arrays as tables; an unused table has no rows.

        The arrays are not copied. Rows of subwords are those that were last written, unless the
        model's arrays have changed since: gathering them again would round them.
        """
        if self.subwords is None:
            return tables_of(self.model)
        vectors = self.model.wv
        if self._rows is None or not self.subwords.are_in(vectors, *self._rows):
            rows = self.subwords.gather(vectors)
            self._rows = rows, self.subwords.merged(vectors, rows)
        return tables_of(self.model, self._rows[0])

    def load(self, is_local: bool = False) -> Tables:
        """Return the tables to train on, and remember them for `write`.

        A `LocalRegime` trains the model's arrays in place if the model was never trained and has
        no checkpoints, because it then has nothing to lose, or if memory is scarce. Otherwise the
        tables are read-only, and it trains copies.
        """
        model = self.model
        self.in_place = False
        self._memories = []
        # FastText's rows are gathered, and an output of `dm_concat` is several rows
        if is_local and self.subwords is None and model.layer1_size == model.vector_size:
            has_nothing_to_lose = model._state.is_new and model.checkpoint_dir is None
            memories = memories_of(model)
            self.in_place = has_nothing_to_lose and None not in memories
            if not self.in_place and self._lacks_memory():
                make_room(model)
                memories = memories_of(model)
                self.in_place = True
            if self.in_place:
                self._memories = list(dict.fromkeys(filter(None, memories)))
        tables = self.tables()
        self._loaded = weights_of(model)
        return tables if self.in_place else tables.read_only()

    def move_apart(self) -> None:
        """Move the rows apart that kernels train in place; no rows are moved if they train copies.

        The model's arrays become strided views of the rows, which other threads can read meanwhile.
        """
        if not self._memories or self._moved:
            return
        with defer_interrupts():
            weights = weights_of(self.model)
            for memory in self._memories:
                memory.move_apart()
                rows = memory.array
                for held, arrays in weights:
                    for name, array in arrays.items():
                        if RowMemory.find(array) is memory:
                            first = memory.index(array)
                            held[name] = view = rows[first : first + len(array)]
                            self._moved.append((view, array))

    def move_together(self) -> None:
        """Move rows that are apart together, so that the model has its arrays in C order again."""
        if not any([memory.is_apart for memory in self._memories]):
            return
        with defer_interrupts():
            arrays_of = {id(each): array for view, array in self._moved for each in (view, array)}
            for held, arrays in weights_of(self.model):
                for name, array in arrays.items():
                    if id(array) in arrays_of:
                        held[name] = arrays_of[id(array)]
                    elif RowMemory.find(array) in self._memories:
                        held[name] = array.copy()  # a view that another thread has set meanwhile
            for memory in self._memories:
                memory.move_together()
            self._moved = []

    def _lacks_memory(self) -> bool:
        """Return whether copies do not fit into memory; decided before there are any."""
        if self._is_scarce is None:
            import psutil

            arrays = [array for _, of in weights_of(self.model) for array in of.values()]
            needed = sum(4 * len(array) * stride(array.shape[1]) for array in arrays)
            available = psutil.virtual_memory().available
            self._is_scarce = available < needed
            if self._is_scarce:
                logger.warning(
                    "training in place: copies of the vectors need %i MiB of memory, but only %i "
                    "MiB are available. If training diverges, the vectors are lost",
                    needed >> 20,
                    available >> 20,
                )
        return self._is_scarce

    def lost(self, reason: object) -> Divergence:
        """Remove the arrays, which have diverged in place, and return the error to raise."""
        for held, arrays in weights_of(self.model):
            for name, array in arrays.items():
                held[name] = np.zeros((0, array.shape[1]), np.float32)
        renew_norms(self.model)
        return Divergence(
            f"{reason}. The model's vectors are lost, because they were trained in place: before "
            "training again, call init_weights() or build the vocabulary, which make new ones"
        )

    def write(self, fill: Callable[[Tables], None]) -> bool:
        """Call `fill` with the model's tables, then update everything that is derived from them.

        Returns False if shapes of arrays have changed since they were loaded. The loaded arrays are
        then restored, and vectors that were added meanwhile follow the trained vectors. All arrays
        are then in C order.
        """
        model = self.model
        self.move_together()
        current = weights_of(model)
        are_same = not self._loaded or shapes(current) == shapes(self._loaded)
        for held, arrays in current if are_same else self._loaded:
            for name, array in arrays.items():
                # a copy unless it is writable float32 in C order
                held[name] = np.require(array, np.float32, ["C", "W"])
        if self.subwords is None:
            fill(tables_of(model))
        else:
            if self._rows is None:
                self.tables()
            assert self._rows is not None
            _, merged = self._rows
            rows = np.empty((len(self.subwords.weights), model.vector_size), np.float32)
            fill(tables_of(model, rows))
            self.subwords.scatter(model.wv, rows, merged)
            self._rows = rows, merged
        if not are_same:
            for held, arrays in current[1:]:
                trained = held["vectors"]
                held["vectors"] = np.concatenate([trained, arrays["vectors"][len(trained) :]])
        renew_norms(model)
        return are_same


def shapes(weights: list[Any]) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays in a result of `weights_of`."""
    return [np.shape(array) for _, arrays in weights for array in arrays.values()]


def renew_norms(model: Any) -> None:
    """Recompute the norms of vectors, if they have been computed.

    Norms are never set to None in between. gensim's queries compute missing norms, then rely on
    them, so a None from a concurrent thread would make them fail.
    """
    keyed: list[KeyedVectors] = [model.wv, model.dv] if model.has_documents else [model.wv]
    for vectors in keyed:
        if vectors.norms is not None:
            vectors.fill_norms(force=True)
