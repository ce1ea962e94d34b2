"""Kernels under address and undefined-behaviour sanitizers, with assertions of their maxima."""

import os
import subprocess
import sys

import pytest

from tests.kernel.native import sanitizer_build
from tests.kernel.native.units import KERNELS, kernels_here

pytestmark = pytest.mark.skipif(
    not sanitizer_build.address_sanitizer(), reason="no g++ with its address sanitizer"
)


def run(kernel, *arguments, program="tests/kernel/native/sanitized.py"):
    # Python itself does not free all memory before it exits
    environment = os.environ | {
        "LD_PRELOAD": sanitizer_build.address_sanitizer(),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    environment.pop("TFW2V_ISA", None)
    library = sanitizer_build.library(kernel)
    return subprocess.run(
        [sys.executable, sanitizer_build.ROOT / program, library, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_units_of_all_kinds_pass_sanitizers(kernel):
    if kernel not in kernels_here():
        pytest.skip("not supported by this processor")
    ran = run(kernel)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [kernel]


def test_sanitizer_detects_an_array_longer_than_its_memory():
    ran = run("portable", "unchecked")
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


def test_numbers_of_all_kinds_pass_sanitizers():
    ran = run("portable", program="tests/kernel/native/sanitized_numbers.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["nan", "-1.1754944e-38"]
