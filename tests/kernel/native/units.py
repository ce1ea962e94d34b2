"""Units and tables to test the kernels with, and the kernels that run on this machine."""

import re
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

from gensim_tfw2v.compiled_library import COptions, Options, Unit, kernel_number
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays
from tests.kernel.native.reference import Training

#: Names of all kernels, in the order of isas.h, also of those that this processor cannot use.
ISAS = Path(by_ctypes.__file__).with_name("src") / "isas.h"
KERNELS = tuple(re.findall(r"^  X\((\w+),", ISAS.read_text(), re.MULTILINE))

#: Kernels that only slow tests run with sanitizers: `avx512` has most of its code in common with
#: `avx512bf16`, and `portable` has no instructions of its own.
SIMILAR = ("avx512", "portable")

DEFAULTS = Options(
    **dict(skipgram=1, negative=5, hierarchical=0, mean=1, corrected=0, skip_targets=0, shards=1),
    **dict(shrink=1, window=5, max_window=5, block=8, shared=5, repeats=100, span=64),
    **dict(sequential=0, group=100),
    **dict(documents=0, train_words=1, concatenated=0, padding=0, learn_hidden=1),
    kernel=0,
)

#: Options of each objective that differ from DEFAULTS. "Tree": hierarchical softmax; "both": that
#: and negative sampling.
OBJECTIVES = {
    "skip-gram": {},
    "skip-gram with a tree": {"negative": 0, "hierarchical": 1},
    "skip-gram with both": {"hierarchical": 1},
    "skip-gram by windows": {"sequential": 1},
    "skip-gram by windows, with both": {"sequential": 1, "hierarchical": 1},
    "CBOW": {"skipgram": 0},
    "CBOW of sums": {"skipgram": 0, "mean": 0},
    "CBOW, corrected": {"skipgram": 0, "corrected": 1},
    "CBOW of sums, corrected": {"skipgram": 0, "mean": 0, "corrected": 1},
    "CBOW with a tree": {"skipgram": 0, "negative": 0, "hierarchical": 1},
    "CBOW with both": {"skipgram": 0, "hierarchical": 1},
    "CBOW by windows": {"skipgram": 0, "sequential": 1},
    "CBOW by windows, of sums, with both": {
        "skipgram": 0,
        "sequential": 1,
        "mean": 0,
        "hierarchical": 1,
    },
}

#: Options of each objective of documents, with a vocabulary of `tags` tags.
DOCUMENTS = {
    "DBOW": {},
    "DBOW by windows": {"sequential": 1},
    "DBOW with a tree": {"negative": 0, "hierarchical": 1},
    "DBOW with both": {"hierarchical": 1},
    "DM": {"skipgram": 0},
    "DM, corrected": {"skipgram": 0, "corrected": 1},
    "DM of sums": {"skipgram": 0, "mean": 0},
    "DM of sums, corrected": {"skipgram": 0, "mean": 0, "corrected": 1},
    "DM with a tree": {"skipgram": 0, "negative": 0, "hierarchical": 1},
    "DM with both": {"skipgram": 0, "hierarchical": 1},
    "DM by windows, with both": {"skipgram": 0, "sequential": 1, "hierarchical": 1},
    "DM by windows, of sums": {"skipgram": 0, "sequential": 1, "mean": 0},
    "DM concatenated": {"skipgram": 0, "concatenated": True},
    "DM concatenated, with a tree": {
        "skipgram": 0,
        "concatenated": True,
        "negative": 0,
        "hierarchical": 1,
    },
    "DM concatenated, with both": {"skipgram": 0, "concatenated": True, "hierarchical": 1},
}
DOCUMENTS = {name: {"tags": 9} | changes for name, changes in DOCUMENTS.items()}


def padded(tables):
    """Return the memory of each of a trainer's tables, [rows, stride], with the padding."""
    return [
        np.lib.stride_tricks.as_strided(rows, (len(rows), rows.strides[0] // 4))
        for rows in tables.rows
    ]


class Case(NamedTuple):
    """A unit, and the arrays that it is trained on."""

    options: Options
    unit: Unit
    tables: tuple  # inputs, outputs, nodes
    lock: np.ndarray | None
    paths: list
    subwords: list  # per word, rows of its input; empty if words have single rows
    weights: np.ndarray | None
    alphas: np.ndarray

    def trained(self):
        """Return a copy of the tables that the kernels can train."""
        return by_ctypes.KernelTables(self.tables, self.words())

    def words(self, **changes):
        of_rows = {"lock": self.lock, "weights": self.weights}
        given = {name: array for name, array in of_rows.items() if array is not None}
        lists = {"tree": Lists.of(self.paths), "subwords": Lists.of(self.subwords)}
        return words_of(**given | lists | changes)

    def reference(self):
        alphas = self.alphas.astype(float)
        arrays = self.tables, self.lock, self.paths, alphas, self.subwords, self.weights
        return Training(self.options, self.unit, *arrays)


def words_of(**arrays):
    """Return `WordArrays` with these arrays; the remaining ones are empty."""
    return WordArrays.of([])._replace(**arrays)


def unit_of(**arrays):
    """Return a unit with these arrays; the remaining ones are empty."""
    return Unit(**dict.fromkeys(Unit._fields, np.zeros(0, np.int32)) | arrays)


def with_tags(unit, lists):
    """Return the unit with a list of tags per document."""
    return unit._replace(first_tags=lists.offsets, tags=lists.entries)


def make_case(
    tokens=60,
    vocabulary=12,
    size=7,
    locked=False,
    sentence=20,
    seed=0,
    ngrams=0,
    weights=False,
    tags=0,
    **changes,
):
    """Make a case of random draws, in which inputs and targets are independent.

    Parameters
    ----------
    tokens, vocabulary : int
        Positions of the unit, and V.
    size : int
        D.
    locked : bool
        Whether updates of inputs have factors, each 0, 0.5 or 1.
    sentence : int
        Tokens per sentence. No window extends beyond its sentence.
    ngrams : int
        Maximum number of n-grams of a word; 0: no subwords.
    weights : bool
        Whether each row of inputs merges 1 to 3 rows of gensim's; otherwise, 1.
    tags : int
        Number of tags; with tags, sentences are documents. In skip-gram, the last two thirds of the
        positions are (tag, token) pairs. In CBOW, documents have 0 to 3 tags; with
        `concatenated`, most have 2 and the rest 1.
    changes
        Options that differ from DEFAULTS. `concatenated` is a bool.
    """
    options = DEFAULTS._replace(**changes)
    if options.concatenated:
        options = options._replace(concatenated=2 * options.window + 2, padding=vocabulary - 1)
    wide = max(1, options.concatenated)
    options = options._replace(documents=bool(tags))
    pairs = 2 * tokens // 3 if tags and options.skipgram else 0
    rng = np.random.default_rng(seed)
    after = np.minimum(sentence - 1 - np.arange(tokens) % sentence, tokens - 1 - np.arange(tokens))
    after = np.clip(tokens - pairs - 1 - np.arange(tokens), 0, after)
    reach = rng.integers(0, options.window + 1, (2, tokens))
    reaches = np.minimum(reach, [np.arange(tokens) % sentence, after]).T
    reaches[tokens - pairs :] = 0
    blocks = -(-tokens // options.block) if options.negative else 0
    # tables have different numbers of rows, so that a mix-up of tables fails
    rows = vocabulary + 3 * ngrams + tags, vocabulary + 1, max(1, vocabulary - 1)
    unit = unit_of(
        inputs=rng.integers(0, vocabulary, tokens).astype(np.int32),
        targets=rng.integers(0, rows[1], tokens).astype(np.int32),
        reaches=np.ascontiguousarray(reaches, np.int32).reshape(tokens, 2),
        negatives=rng.integers(0, rows[1], (blocks, options.shared)).astype(np.int32),
        counts=np.array([pairs, tokens - pairs], np.int32),
    )
    if options.negative and options.shards > 1:
        unit = unit._replace(shards=unit.targets % options.shards)
    if pairs:
        unit.inputs[-pairs:] = rng.integers(vocabulary, rows[0], pairs)
    elif tags and not options.skipgram:
        numbers = rng.choice([2, 2, 2, 1] if options.concatenated else 4, -(-tokens // sentence))
        of_documents = [rng.integers(vocabulary, rows[0], number) for number in numbers]
        documents = (np.arange(tokens) // sentence).astype(np.int32)
        unit = unit._replace(documents=documents)
        unit = with_tags(unit, Lists.of(of_documents))
    tables = tuple(
        (rng.normal(size=(number * times, size)) / (times * size) ** 0.25).astype(np.float32)
        for number, times in zip(rows, (1, wide, wide), strict=True)
    )
    lengths = rng.integers(0, min(40, rows[2]) + 1, rows[1])
    paths = [
        2 * rng.permutation(rows[2])[:length] + rng.integers(0, 2, length) for length in lengths
    ]
    lock = rng.choice([0.0, 0.5, 1.0], rows[0]).astype(np.float32) if locked else None
    subwords = [  # a row may be repeated, because n-grams of a word may have the same bucket
        np.append(word, rng.integers(vocabulary, rows[0], number))
        for word, number in enumerate(rng.integers(0, ngrams + 1, vocabulary) if ngrams else [])
    ]
    # lower learning rates where rows get many updates, so that rounding errors stay small
    width = min(2 * options.window, sentence) + 3 * bool(tags)
    predictions = max(8, options.block) * width * (1 + options.negative)
    if not (options.skipgram or options.mean):
        predictions *= width  # hidden layers are sums of so many rows
    of_rows = rng.integers(1, 4, rows[0]).astype(np.float32) if weights else None
    predictions *= (1 + ngrams) ** 2 * (1 + 3 * weights)  # each row is part of many words
    alphas = np.array([0.04, 0.01], np.float32) * min(1, 40 * vocabulary / predictions)
    return Case(options, unit, tables, lock, paths, subwords, of_rows, alphas.astype(np.float32))


@contextmanager
def trained_by(name):
    """Draw, train and infer by this kernel within the context."""

    def options_of(*options):
        return COptions(*Options(*options)._replace(kernel=kernel_number(name)))

    with mock.patch.object(by_ctypes, "COptions", options_of):
        yield


def kernels_here():
    return by_ctypes.kernel_names()
