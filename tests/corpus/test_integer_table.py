"""Tables of integers: dense ones are in an array, the others in a hash table."""

import subprocess
import sys

import numpy as np
import pytest

from gensim_tfw2v.corpus.integer_sentences import IntegerBatch
from gensim_tfw2v.corpus.integer_table import IntegerTable, KnownIntegers
from gensim_tfw2v.corpus.scanner import library
from gensim_tfw2v.corpus.shard_files import END, UNKNOWN

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled library is missing")

DRAWS = np.random.default_rng(1)
N = 60_000

#: Integers, with repetitions, by a name that says which of them are dense.
VALUES = {
    "ascending": np.arange(N),
    "descending": np.arange(N)[::-1],
    "permutation": DRAWS.permutation(N),
    "with gaps": DRAWS.permutation(N) * 3,
    "sparse": DRAWS.permutation(N) * 1000,
    "negative": -DRAWS.permutation(N),
    "any": DRAWS.integers(-(2**63), 2**63 - 1, N, endpoint=True),
    "dense and any": np.where(
        DRAWS.random(N) < 0.3, DRAWS.integers(-(2**63), 2**63 - 1, N), DRAWS.integers(0, N, N)
    ),
    "sparse, then dense": np.concatenate([DRAWS.permutation(N) * 50, DRAWS.permutation(4 * N)]),
    "around the limit": np.repeat([4095, 4096, 4097, 2**62, 16_383, 16_384, -1], 3),
}


def batch_of(values):
    return IntegerBatch(values.astype(np.int64), np.array([len(values)]), 1)


@pytest.mark.parametrize("name", VALUES)
def test_integers_are_numbered_as_in_a_dict(name):
    table = IntegerTable()
    indices = {}
    for values in np.array_split(VALUES[name], 7):
        expected = [indices.setdefault(value, len(indices)) for value in values.tolist()]
        entries = table.encode(batch_of(values))
        assert entries[entries >= 0].tolist() == expected
        assert len(table) == len(indices)
    assert list(table.words()) == list(indices)
    known = KnownIntegers(list(indices)[::2])
    entries = known.encode(batch_of(VALUES[name]))
    all_indices = np.array([indices[value] for value in VALUES[name].tolist()])
    expected_ids = np.where(all_indices % 2, UNKNOWN, all_indices // 2)
    assert entries[entries != END].tolist() == expected_ids.tolist()


PROGRAM = """
import sys
import numpy as np
from gensim_tfw2v.corpus.integer_sentences import IntegerBatch
from gensim_tfw2v.corpus.integer_table import IntegerTable

def resident():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))

n_integers = 8_000_000
table = IntegerTable()
table.encode(IntegerBatch(np.arange(10), np.array([10]), 1))
before = resident()
for values in (np.arange(first, first + 100_000) for first in range(0, n_integers, 100_000)):
    table.encode(IntegerBatch(values, np.array([len(values)]), 1))
print((resident() - before) / n_integers)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_dense_integer_takes_few_bytes():
    command = [sys.executable, "-c", PROGRAM]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert float(output) < 30  # 12, and vectors that grow; a hash table takes at least 40
