"""Kernels under address and undefined-behaviour sanitizers, with assertions of their maxima."""

import os
import subprocess
import sys

import pytest

from tests.kernel.native import sanitizer_build
from tests.kernel.native.units import KERNELS, SIMILAR, kernels_here

pytestmark = pytest.mark.skipif(
    not sanitizer_build.address_sanitizer(), reason="no g++ with its address sanitizer"
)

RUNNER = sanitizer_build.ROOT / "tests/kernel/native/sanitized_program.py"


def run(kernel, *arguments, program="tests/kernel/native/sanitized.py"):
    # Python itself does not free all memory before it exits
    environment = os.environ | {
        "LD_PRELOAD": sanitizer_build.address_sanitizer(),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    environment.pop("TFW2V_ISA", None)
    library = sanitizer_build.library(kernel)
    return subprocess.run(
        [sys.executable, RUNNER, sanitizer_build.ROOT / program, library, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "kernel",
    [pytest.param(name, marks=pytest.mark.slow if name in SIMILAR else ()) for name in KERNELS],
)
def test_units_of_all_kinds_pass_sanitizers(kernel):
    if kernel not in kernels_here():
        pytest.skip("not supported by this processor")
    ran = run(kernel)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [kernel]


def test_sanitizer_detects_an_array_longer_than_its_memory():
    ran = run(kernels_here()[0], "unchecked")
    assert ran.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in ran.stderr


def test_texts_of_all_kinds_pass_sanitizers():
    ran = run("portable", program="tests/corpus/sanitized.py")
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 50  # texts that are not UTF-8


def test_walks_of_all_kinds_pass_sanitizers():
    ran = run("portable", program="tests/walks/sanitized.py")
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 10_000  # steps


def test_rows_and_files_of_parameter_servers_pass_sanitizers(tmp_path):
    sources = "shards/initial_rows.cc", "shards/row_files.cc"
    program = sanitizer_build.program("shards", "portable", sources)
    ran = subprocess.run([program, tmp_path / "rows"], capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_keys_of_all_kinds_pass_sanitizers():
    ran = run("portable", program="tests/keys/sanitized.py")
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 20_000  # keys


def test_trees_of_all_kinds_pass_sanitizers():
    ran = run("portable", program="tests/kernel/native/sanitized_trees.py")
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 10_000  # words


def test_numbers_of_all_kinds_pass_sanitizers():
    ran = run("portable", program="tests/kernel/native/sanitized_numbers.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["nan", "-1.1754944e-38"]
