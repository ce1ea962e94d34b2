"""Train units of all kinds, and reject invalid ones, with kernels compiled with sanitizers.

Run by ``sanitized_program.py``.
"""

import contextlib
import copy
import sys

import numpy as np

from gensim_tfw2v.corpus.shard_files import FIRST_TAG
from gensim_tfw2v.kernel.native import by_ctypes
from tests.kernel.native.models import Model, some_documents
from tests.kernel.native.units import DEFAULTS, DOCUMENTS, OBJECTIVES, make_case, words_of

CHANGES = [
    {},
    {"size": 1},
    {"size": 300},
    {"window": 50, "sentence": 60},
    {"window": 50, "block": 1},
    {"window": 1 << 28},
    {"block": 1},
    {"block": 32, "shared": 64, "negative": 33},
    {"block": 31, "shared": 33, "tokens": 32},
    {"shared": 1, "vocabulary": 1},
    {"shards": 3, "skip_targets": 1, "locked": True},
    {"ngrams": 5, "weights": True, "locked": True, "tokens": 600},
    {"ngrams": 1, "window": 50, "block": 1, "tokens": 600},
    {"ngrams": 5, "tokens": 0},
    {"tokens": 0},
    {"tokens": 1},
    {"tokens": 2},
]
CHANGES_OF_DOCUMENTS = [
    *({}, {"size": 1}, {"size": 300}, {"window": 50, "sentence": 60}, {"block": 1}),
    *(
        {"sentence": 1},
        {"tokens": 0},
        {"tokens": 1},
        {"shards": 3, "skip_targets": 1, "sequential": 1},
    ),
    {"block": 31, "shared": 33, "tokens": 64, "locked": True},
]


def train(case, *ends, threads=1):
    # separate memory for each array, so that sanitizers detect accesses past its ends
    unit = by_ctypes.Unit(*map(copy.deepcopy, case.unit))
    return case.trained().train(case.options, unit, case.alphas, *ends, threads=threads)


def train_deterministic(case):
    with contextlib.closing(by_ctypes.ThreadPool(3, 8)) as pool:
        return case.trained().train(case.options, case.unit, case.alphas, pool=pool)


def main():
    if "unchecked" in sys.argv:
        case = make_case()
        negatives = case.unit.negatives
        # a view that is longer than its memory
        longer = np.lib.stride_tricks.as_strided(negatives[:-1].copy(), negatives.shape)
        unit = case.unit._replace(negatives=longer)
        return case.trained().train(case.options, unit, case.alphas)
    for objective in OBJECTIVES.values():
        for changes in CHANGES:
            changes = objective | changes
            if not objective.get("negative", 1):
                changes = changes | {"negative": 0}
            window = changes.pop("window", 5)
            case = make_case(**changes, window=min(window, 50))
            case = case._replace(options=case.options._replace(window=window))
            train(case, 0, None, 30)
            o = case.options
            if o.hierarchical:
                train(case, 0, None, 30, threads=2)
            if not (o.sequential or o.hierarchical or case.subwords or o.shards > 1):
                train_deterministic(case)
            if len(case.unit.inputs) > 2 * case.options.block:
                train(case, case.options.block, 2 * case.options.block)
        for bad in (np.nan, np.inf, -1e30):
            case = make_case(**objective)
            case.tables[0][:] = bad
            train(case, 0, None, 60)
            if not (case.options.sequential or case.options.hierarchical):
                train_deterministic(case)
    for name, objective in DOCUMENTS.items():
        for changes in CHANGES_OF_DOCUMENTS:
            train(make_case(**objective | changes), 0, None, 30, threads=2)
        case = make_case(**objective)
        case.tables[0][:] = np.nan
        train(case)
        for size in (1, 7, 16, 300):
            model = Model(name, size=size)
            for documents in ([[]], [[3]], some_documents([5, 0, 60, 1] * 12, 12)):
                model.infer(documents)
    case = make_case(hierarchical=1)
    for array in (case.unit.inputs, case.unit.targets, case.unit.negatives, case.unit.reaches):
        for wrong in (-1, 1 << 20, -(1 << 31), (1 << 31) - 1):
            right = array.flat[-1]
            array.flat[-1] = wrong
            try:
                train(case)
            except ValueError:
                array.flat[-1] = right
            else:
                raise AssertionError(f"{wrong} was accepted")
    key, noise = np.array([-1, 5], np.int32), np.tile(np.array([[1 << 30, 1]], np.int32), (9, 1))
    for tokens in (0, 1, 500):
        for changes in (
            {},
            {"shards": 3},
            {"negative": 0},
            {"max_window": (1 << 31) - 1},
            {"documents": 1},
            {"documents": 1, "train_words": 0},
            {"documents": 1, "sequential": 1},
            {"documents": 1, "skipgram": 0},
        ):
            entries = np.arange(tokens, dtype=np.int32) % 10 - 1
            if "documents" in changes:  # some documents have several tags, some have none
                entries[np.flatnonzero(entries[1:] == 1) // 3 * 3] = FIRST_TAG - 2
            keep = np.linspace(0.2, 1.1, 9, dtype=np.float32)
            words = words_of(keep=keep, noise=noise)
            options = DEFAULTS._replace(**changes)
            by_ctypes.draw(options, entries, key, words)
            unit = by_ctypes.draw(options, entries, key, words, 50)
            if len(unit.counts) > 2:  # trained in pieces
                rows = [np.zeros((n, 7), np.float32) for n in (40, 9, 0)]
                alphas = np.array([0.05, 0.01], np.float32)
                by_ctypes.KernelTables(rows, words).train(options, unit, alphas)
    return print(by_ctypes.variant())


if __name__ == "__main__":
    main()
