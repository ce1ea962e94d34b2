"""Small training run that any regime can do, and a reference by sequential units."""

from pathlib import Path

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.corpus.encoded_corpus import WorkUnit, unit_key
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.kernel.kernel_shape import KernelShape
from gensim_tfw2v.kernel.native.padded_rows import stride
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.tables import Tables, UnitTask
from gensim_tfw2v.kernel.word_arrays import WordArrays, huffman_tree, pair_rates
from gensim_tfw2v.parameter_server.combining import rows_per_mean
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.workers import LocalWorkers
from gensim_tfw2v.regimes import Setup
from tests.corpus.reference import encode_sentences
from tests.engines import compiled_engine, step_engine
from tests.graph.test_objectives import huffman_paths
from tests.graph.unit_function import concrete_unit_function, word_tensors

VOCABULARY, SIZE, ENTRIES, SEED = 40, 6, 132, 7
SHAPE = StepShape(32, 8, 3, 4)
OBJECTIVES = [
    Objective(True, 5),
    Objective(False, 3, mean=True),
    Objective(True, 0, hierarchical=True),
    Objective(False, 2, mean=True, hierarchical=True),
]
#: `OBJECTIVES`; all but the first and the last are slow tests.
MOSTLY_TWO = [
    pytest.param(objective, marks=[pytest.mark.slow] if 0 < number < 3 else [], id=str(objective))
    for number, objective in enumerate(OBJECTIVES)
]
ALPHA = (0.05, 0.04)


def corpus(sentences=60, words=10):
    """Encode sentences of random words; units of `ENTRIES` hold whole sentences."""
    ids = np.random.default_rng(0).integers(0, VOCABULARY, (sentences, words))
    text = [[str(word) for word in sentence] for sentence in ids]
    return encode_sentences(text, {str(word): word for word in range(VOCABULARY)})


def tasks(units, epoch=0, alphas=ALPHA):
    """Return the units as tasks for a regime."""
    return [UnitTask(unit, epoch, unit_key(SEED, epoch, unit.index), alphas) for unit in units]


class Trial:
    """Training setup with fixed initial rows, no subsampling and no rounding."""

    def __init__(
        self, objective, workers=1, threads=1, lock=None, folder=Path(), native=False, shards=1
    ):
        if native:
            self.engine = compiled_engine(objective, KernelShape(8, 3, 4), SIZE, shards=shards)
        else:
            self.engine = step_engine(
                objective, SHAPE, 6, locked=lock is not None, negative_shards=shards
            )
        noise = np.arange(1.0, VOCABULARY + 1) if objective.negative else None
        tree = None
        if objective.hierarchical:
            tree = huffman_tree(*huffman_paths(1.2 ** np.arange(VOCABULARY)))
        self.words = WordArrays.of(np.ones(VOCABULARY), noise, tree, lock, shards)
        rates = pair_rates(
            np.full(VOCABULARY, 1 / VOCABULARY), 4.0, objective.skipgram,
            objective.negative, noise, tree,
        )  # fmt: skip
        self.arrays = Tables(*(
            np.random.default_rng(number)
            .normal(0, 0.1, (VOCABULARY if used else 0, SIZE))
            .astype(np.float32)
            for number, used in enumerate((True, objective.negative, objective.hierarchical))
        ))  # fmt: skip
        self.workers = LocalWorkers(workers)
        self.setup = Setup(
            JobConfig(
                self.engine, objective, SIZE, SHAPE.window, 1024,
                rows_per_mean(objective, 4.0, False),
                workers=workers, threads=threads, wire_dtype="float32",
            ),
            self.words, rates, Tables(*map(len, self.arrays)), 64, SEED, folder,
        )  # fmt: skip

    def by_hand(self, units, epoch=0, tables=None, read=WorkUnit.read):
        """Train units sequentially, on the initial rows or on `tables`; return the tables."""
        tables = tables or self.tables()
        train = concrete_unit_function(self.engine, tables)
        for unit in units:
            key = tf.constant(unit_key(SEED, epoch, unit.index))
            train(
                tables, word_tensors(self.words), tf.constant(read(unit)), key, tf.constant(ALPHA)
            )
        return tables

    def tables(self):
        """Return the initial rows as variables."""
        size = stride(SIZE) if isinstance(self.engine, CompiledEngine) else SIZE
        return Tables(*(
            tf.Variable(np.pad(array, ((0, 0), (0, size - SIZE))), shape=[None, size])
            for array in self.arrays
        ))  # fmt: skip

    def exported(self, regime):
        """Return the rows of a regime."""
        arrays = Tables(*map(np.empty_like, self.arrays))
        regime.export(arrays)
        return arrays


def assert_equal(found, expected, atol=1e-5):
    """Check that tables are equal up to rounding."""
    for one, other in zip(found, expected, strict=True):
        # rows of kernels are padded
        np.testing.assert_allclose(one, np.array(other)[:, :SIZE], atol=atol)


class Flaky(LocalWorkers):
    """Workers whose `attempt`-th job fails after it is done, or hangs until `go` is set."""

    def __init__(self, number, attempt, go=None):
        super().__init__(number)
        self.attempt, self.go, self.jobs = attempt, go, 0
        self.was_waited_for = False

    def schedule(self, function, *arguments):
        self.jobs += 1
        is_flaky, job = self.jobs == self.attempt, super().schedule(function, *arguments)

        class Late:
            def result(_):
                result = job.result()  # its staged changes must not be added
                if is_flaky and self.go is None:
                    raise ClusterLost("a worker is gone")
                if is_flaky:
                    self.was_waited_for = not self.go.wait(120)
                return result

        return Late()
