"""Operations on vectors in mapped files take little memory; `mapped_operations` lists them."""

import json
import os
import subprocess
import sys

import pytest

from tests.mapped_operations import OPERATIONS, SIZE

N_WORDS = 300_000
VECTOR_BYTES = 4 * N_WORDS * SIZE

#: Bytes per word of its string, its place in a list, and its entry in a dictionary.
KEY_BYTES = 220

#: Operations that create keys, with the number of copies in memory at the same time.
COPIES_OF_KEYS = {
    "load_model": 1,
    "from_pretrained": 2,
    "save_pretrained": 1,
    "load_binary": 1,
    "load_text": 1,
    "load_archive": 1,
    "load_index": 1,
    "left_out_rows": 1,
    "evaluate_word_pairs": 1,
    "evaluate_word_analogies": 1,
    "merge": 2,
    "align": 1,
    "tfw2v neighbours": 1,
    "tfw2v neighbours of a model": 1,
    "tfw2v neighbours of a folder": 2,
    "tfw2v similarity": 1,
    "tfw2v info": 1,
    "tfw2v evaluate": 2,
    "tfw2v projector": 1,
    "tfw2v convert kv kv": 1,
    "tfw2v convert kv bin": 1,
    "tfw2v convert kv txt": 1,
    "tfw2v convert kv npz": 1,
    "tfw2v convert kv npz half": 1,
    "tfw2v convert kv folder": 2,
    "tfw2v convert model folder": 2,
    "tfw2v convert folder kv": 2,
    "tfw2v convert bin kv": 1,
    "tfw2v convert npz kv": 1,
    "tfw2v merge": 4,
    "tfw2v align": 2,
}

#: Bytes of the index that an operation builds.
INDEX_BYTES = {"index": 160 * N_WORDS}

#: Operations that take seconds, or need files that do.
SLOW = {
    *("save_text", "load_text", "merge", "align", "projector", "left_out_rows"),
    *("index", "save_index", "load_index", "search_index", "search_subset"),
    *("compare_all_rows_of_index", "save_model", "neighbour_agreement", "load_archive"),
    *("tfw2v evaluate", "tfw2v projector", "tfw2v merge", "tfw2v align", "tfw2v info"),
    *("tfw2v neighbours of a model", "tfw2v similarity", "tfw2v convert kv kv"),
    *("tfw2v convert kv txt", "tfw2v convert kv npz", "tfw2v convert kv folder"),
    *("tfw2v convert model folder", "tfw2v convert npz kv"),
}


@pytest.fixture(scope="module")
def measure(tmp_path_factory):
    """Return a function that runs an operation, and returns the growth of memory in bytes."""
    folder = tmp_path_factory.mktemp("mapped")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.mapped_operations", str(N_WORDS), folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    ) as process:

        def measure_one(name):
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            result = json.loads(process.stdout.readline())
            assert "error" not in result, result
            return result["growth"]

        yield measure_one
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in OPERATIONS],
)
def test_memory_grows_by_less_than_a_tenth_of_the_vectors(name, measure):
    keys = COPIES_OF_KEYS.get(name, 0) * KEY_BYTES * N_WORDS
    assert measure(name) < VECTOR_BYTES / 10 + keys + INDEX_BYTES.get(name, 0)
