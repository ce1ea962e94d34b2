"""Calls all functions of the compiled library, with each allocation of memory failing once.

Runs as a separate program with ``failing_new.cc`` loaded first. It needs only NumPy. Prints the
total number of failures.
"""

import contextlib
import ctypes
import itertools
import sys
import tempfile
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    root = Path(__file__).parents[3]
    package = types.ModuleType("gensim_tfw2v")  # the real __init__ imports gensim
    package.__path__ = [str(root / "gensim_tfw2v")]
    sys.modules["gensim_tfw2v"] = package
    sys.path.insert(0, str(root))

from gensim_tfw2v.corpus import integer_sentences, integer_table, scanner, strings
from gensim_tfw2v.corpus.scanner import FileRange
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.training.huffman_tree import HuffmanTree
from tests.kernel.native.models import Model, some_documents
from tests.kernel.native.units import DEFAULTS, DOCUMENTS, OBJECTIVES, make_case, padded, words_of

PROCESS = ctypes.CDLL(None)


def count_failures(call, check=lambda: None):
    """Let each allocation of a call fail once, and return their number.

    After each failure, `check` is called.
    """
    call()  # takes the memory that the thread keeps
    for number in itertools.count():
        PROCESS.fail_after(number)
        try:
            call()
        except MemoryError:
            assert PROCESS.has_failed()
        else:
            assert not PROCESS.has_failed(), f"failure {number} passed without an error"
            PROCESS.fail_after(-1)
            return number
        check()


def train(case, blocks=0):
    """Count the failures of training a unit; rows and record are as before after each."""
    expected = case.trained()
    record = np.zeros(4)
    last = case.trained()

    def call():
        nonlocal last
        last = case.trained()
        record[:] = 0
        last.train(case.options, case.unit, case.alphas, loss_every=1, pool=pool, record=record)

    def check():
        assert not record.any()
        for rows, right in zip(last.rows, case.tables, strict=True):
            np.testing.assert_array_equal(rows, right)

    with contextlib.ExitStack() as stack:
        pool = None
        if blocks:
            pool = stack.enter_context(contextlib.closing(by_ctypes.ThreadPool(3, blocks)))
        expected.train(case.options, case.unit, case.alphas, pool=pool)
        number = count_failures(call, check)
    assert record[3] == 1
    for rows, right in zip(padded(last), padded(expected), strict=True):
        np.testing.assert_array_equal(rows, right)
    return number


def draw():
    """Count the failures of drawing units of all kinds."""
    noise = np.tile(np.array([[1 << 30, 1]], np.int32), (9, 1))
    words = words_of(keep=np.ones(9, np.float32), noise=noise)
    key = np.array([1, 2], np.int32)
    entries = np.tile(np.array([-3, 1, 2, 3, -1], np.int32), 100)
    number = 0
    for changes in ({}, {"shards": 3}, {"documents": 1}, {"documents": 1, "skipgram": 0}):
        options = DEFAULTS._replace(**changes)

        def call(options=options):
            with ThreadPoolExecutor(1) as pool:  # a new thread has no memory of earlier units
                pool.submit(by_ctypes.draw, options, entries, key, words).result()

        number += count_failures(call)
    return number


def infer():
    """Count the failures of inference."""
    number = 0
    for name in DOCUMENTS:
        model = Model(name)
        number += count_failures(lambda model=model: model.infer(some_documents([5, 0, 60], 12)))
    return number


def scan():
    """Count the failures of scanning a text, and of looking up its words."""
    text = "".join(f"word{n} other{n} a\n" for n in range(9_000))
    words = [f"{word}\0" for word in text.split()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        path.write_text(text)
        run = [FileRange(str(path), 0, len(text))]
        known = scanner.KnownWords({"a": 1, "word7": 0})
        expected = scanner.scan(run, Path(folder, "expected"))
        parts = []

        def call():
            parts[:] = [scanner.scan(run, Path(folder, "part"))]
            scanner.scan(run, Path(folder, "known"), known)

        number = count_failures(call)
        assert parts[0].words == expected.words and parts[0].n_raw_words == expected.n_raw_words
    counters = []

    def count():
        counters[:] = [scanner.WordCounter()]
        counters[0].add(expected.words, expected.counts)
        counters[:] = [scanner.WordCounter()]
        counters[0].encode("".join(words).encode(), len(words))

    number += count_failures(count)
    assert len(counters[0].encoded_words()) == len(expected.counts)
    return number + join() + encode_integers() + grow()


def join():
    """Count the failures of converting strings, whose text outgrows its memory several times."""
    words = ["word" * number for number in range(500)] + ["生命" * number for number in range(500)]
    expected = "".join(f"{word}\0" for word in words).encode()
    text = b""

    def call():
        nonlocal text
        text = strings.join_strings([words])

    number = count_failures(call)
    assert text == expected and number > 3
    return number


def encode_integers():
    """Count the failures of a table of integers, which grows several times."""
    values = np.arange(20_000)[::-1] * 7
    batch = integer_sentences.IntegerBatch(values, np.array([len(values)]), 1)
    table = None

    def call():
        nonlocal table
        table = integer_table.IntegerTable()
        table.encode(batch)

    def check():
        table.encode(batch)  # a table that could not grow is still right
        assert table.words() == values.tolist()

    number = count_failures(call, check)
    assert number > 10
    return number


def grow():
    """Count the failures of adding words to one counter, which are all lost or all right."""
    counter = scanner.WordCounter()
    once = np.ones(1, np.int64)
    number = 0
    for word in range(5_000):
        text = f"a word that is long, and has the number {word}\n".encode()
        PROCESS.fail_after(0)
        try:
            indices = counter.add(text, once)
        except MemoryError:
            number += 1
            indices = counter.add(text, once)
        PROCESS.fail_after(-1)
        assert indices.tolist() == [word]
    words, counts = scanner.words_of(counter.pointer)
    assert len(words.splitlines()) == len(set(words.splitlines())) == len(counts) == 5_000
    assert (counts == 1).all()
    return number


def build_tree():
    """Count the failures of building a Huffman tree."""
    counts = np.arange(1000)
    number = count_failures(lambda: HuffmanTree.build(counts))
    assert number > 0
    return number


def main():
    number = 0
    for objective in (OBJECTIVES | DOCUMENTS).values():
        for changes in ({}, {"size": 100, "tokens": 300}):
            case = make_case(**objective | changes)
            number += train(case)
            o = case.options
            if o.negative and not (o.sequential or o.hierarchical or "tags" in objective):
                number += train(case, 8)
    number += train(make_case(ngrams=5, weights=True, locked=True))
    number += train(make_case(repeats=1, vocabulary=3, tokens=300))
    print(number + draw() + infer() + scan() + build_tree())


if __name__ == "__main__":
    main()
