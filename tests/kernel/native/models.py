"""Models for inference of document vectors, and the expected vectors, computed by slow loops."""

import numpy as np

from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays
from tests.kernel.native.reference import TAUGHT
from tests.kernel.native.units import DEFAULTS, DOCUMENTS

ALPHAS = np.array([0.3, 0.2, 0.1], np.float32)


class Model:
    """A model of V words with vectors [V, D].

    All negatives are the word `noise`, and subsampling keeps every word.
    """

    def __init__(self, objective, vocabulary=12, size=7, seed=0, noise=2, keep=1.5, **changes):
        changes = {"shrink": 0, "window": 3} | DOCUMENTS[objective] | changes
        changes.pop("tags")
        wide = 2 * changes["window"] + 1 if changes.get("concatenated") else 0
        changes |= {"concatenated": wide, "padding": vocabulary - 1, "documents": 1}
        self.options = DEFAULTS._replace(**changes)
        rng, shape = np.random.default_rng(seed), (vocabulary, size * max(1, wide))
        self.tables = [
            (rng.normal(size=shape) * scale / size**0.5).astype(np.float32)
            for shape, scale in (((vocabulary, size), 1), (shape, 1.5), (shape, 1.5))
        ]
        lengths = rng.integers(0, vocabulary, vocabulary)
        self.paths = [2 * rng.permutation(vocabulary)[:n] + rng.integers(0, 2, n) for n in lengths]
        self.words = WordArrays(
            keep=np.full(vocabulary, keep, np.float32),
            noise=np.tile(np.array([[0, noise]], np.int32), (vocabulary, 1)),
            tree=Lists.of(self.paths),
            lock=np.zeros(0, np.float32),
            subwords=Lists.of(()),
            weights=np.zeros(0, np.float32),
        )
        self.noise, self.size = noise, size

    def infer(self, documents, alphas=ALPHAS, seed=1, **changes):
        options = self.options._replace(**changes)
        tables = [np.array(table) for table in self.tables]
        found = by_ctypes.infer(options, tables, self.words, Lists.of(documents), alphas, seed)
        for before, table in zip(self.tables, tables, strict=True):
            np.testing.assert_array_equal(before, table)
        return found

    def expect(self, document, vector, alphas=ALPHAS):
        """Return the vector that inference makes of `vector`."""
        inputs, outputs, nodes = (table.astype(float) for table in self.tables)
        o, vector = self.options, vector.astype(float)
        for alpha in alphas:
            for at, word in enumerate(document):
                places = np.delete(np.arange(at - o.window, at + o.window + 1), o.window)
                inside = places[(places >= 0) & (places < len(document))]
                if o.skipgram:
                    hidden, share = vector, 1.0
                elif o.concatenated:
                    near = [document[p] if p in inside else o.padding for p in places]
                    hidden, share = np.concatenate([vector, *inputs[near]]), 1.0
                else:
                    count, near = 1 + len(inside), [document[p] for p in inside]
                    hidden = vector + inputs[near].sum(0)
                    hidden /= count if o.mean else 1
                    share = 1 / count if o.mean == o.corrected else 1.0
                rows, labels = [], []
                if o.negative:
                    negatives = o.negative * (word != self.noise)
                    rows += [outputs[word], *[outputs[self.noise]] * negatives]
                    labels += [1.0, *[0.0] * negatives]
                if o.hierarchical:
                    rows += [nodes[entry // 2] for entry in self.paths[word]]
                    labels += [1.0 - entry % 2 for entry in self.paths[word]]
                if not rows:
                    continue
                rows, scores = np.array(rows), np.array(rows) @ hidden
                errors = np.where(np.abs(scores) < TAUGHT, labels - 1 / (1 + np.exp(-scores)), 0)
                vector = vector + alpha * share * (errors @ rows)[: self.size]
        return vector


def some_documents(lengths, vocabulary, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, vocabulary, length) for length in lengths]
