"""Too little memory is an error of Python or TensorFlow; it never ends the process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(not shutil.which("g++"), reason="needs g++"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits of memory"),
]

ROOT = Path(__file__).parents[3]

#: Lets this process have so many bytes more.
LIMITED = """
import resource
from pathlib import Path
def limit(more):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""

#: Prints the number of units that raise a MemoryError, with functions that need gigabytes.
FUNCTIONS = (
    LIMITED
    + """
import numpy as np
from gensim_tfw2v.kernel.native import by_ctypes
from tests.kernel.native.models import Model
from tests.kernel.native.units import DEFAULTS, make_case, words_of
noise = np.tile(np.array([[1 << 30, 1]], np.int32), (9, 1))
words = words_of(keep=np.ones(9, np.float32), noise=noise)
entries, key = np.arange(900, dtype=np.int32) % 9, np.array([1, 2], np.int32)
case = make_case(tokens=1, shared=1 << 22, block=64, negative=5)
tables = case.trained()
before = [rows.copy() for rows in tables.rows]
record = np.zeros(4)
model = Model("DBOW")
limit(1 << 28)
for call in (
    lambda: by_ctypes.draw(DEFAULTS._replace(shared=1 << 24), entries, key, words),
    lambda: tables.train(case.options, case.unit, case.alphas, record=record),
    lambda: model.infer([[1, 2]], negative=1 << 24, shared=1 << 24),
    lambda: by_ctypes.ThreadPool(10_000, 8),
):
    try:
        call()
    except MemoryError as error:
        print(str(error).split()[-1])
assert not record.any()
assert all(map(np.array_equal, tables.rows, before))
case = make_case()
print(case.trained().train(case.options, case.unit, case.alphas).trained)
"""
)

#: Prints the error of an op that needs ten gigabytes.
OPS = (
    LIMITED
    + """
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
distinct = load_ops().tfw2v_distinct
distinct([0], 10)
limit(1 << 30)
try:
    distinct([0], (1 << 31) - 1)
except tf.errors.ResourceExhaustedError as error:
    print(error.message)
print(distinct([7, 0, 7], 10)[1].numpy())
"""
)


def run(program, **environment):
    """Run a program, and return what it prints."""
    done = subprocess.run(
        [sys.executable, *program],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_failed_allocation_raises_memory_error_and_changes_nothing(tmp_path):
    library = tmp_path / "failing_new.so"
    folder = Path(__file__).parent
    command = ["g++", "-std=c++17", "-shared", "-fPIC", folder / "failing_new.cc", "-o", library]
    subprocess.run(command, check=True)
    assert int(run([folder / "failing_memory.py"], LD_PRELOAD=str(library))) > 2000


def test_functions_without_memory_raise_memory_error():
    lines = run(["-c", FUNCTIONS]).splitlines()
    assert lines == ["tfw2v_draw", "tfw2v_train", "tfw2v_infer", "threads", "1.0"]


def test_op_without_memory_is_resource_exhausted():
    lines = run(["-c", OPS]).splitlines()
    assert "compiled op: out of memory" in lines[0]
    assert lines[1] == "[1 0 1]"
