"""Vector functions, products of rows and random draws equal libm and plain loops, on each kernel.

The checks are in mathematics.cc, which is compiled with sanitizers for each instruction set.
"""

import subprocess

import pytest

from tests.kernel.native import sanitizer_build
from tests.kernel.native.units import KERNELS, SIMILAR, kernels_here

pytestmark = pytest.mark.skipif(
    not sanitizer_build.address_sanitizer(), reason="no g++ with its address sanitizer"
)

CHECKS = ("functions", "lanes", "scores", "sums", "backward", "block", "draws")


def run(kernel, check):
    if kernel not in kernels_here():
        pytest.skip("not supported by this processor")
    program = sanitizer_build.program("mathematics", kernel)
    return subprocess.run([program, check], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "kernel",
    [pytest.param(name, marks=pytest.mark.slow if name in SIMILAR else ()) for name in KERNELS],
)
def test_mathematics_equals_libm_and_plain_loops(kernel, check):
    ran = run(kernel, check)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not ran.stdout


def test_assertion_ends_a_process_that_exceeds_a_maximum():
    ran = run("portable", "assertions")
    assert ran.returncode < 0 and ran.stdout == "one update\n"
    assert "assertion failed" in ran.stderr and "max_changes" in ran.stderr
