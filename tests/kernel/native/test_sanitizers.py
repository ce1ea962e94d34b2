"""The kernels keep to their memory, and to what C++ defines."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernel.native.units import KERNELS, kernels_here

ROOT = Path(__file__).parents[3]


def watching():
    """The library of g++ that must be loaded before all others; None where there is none."""
    if not shutil.which("g++"):
        return None
    named = subprocess.run(
        ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return named if Path(named).is_absolute() else None


pytestmark = pytest.mark.skipif(not watching(), reason="no g++ with its address sanitizer")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The kernels, made to end the program at the first wrong use of memory."""
    folder = tmp_path_factory.mktemp("watched")
    # A trap instead of a message for what C++ leaves undefined, and calls that check addresses:
    # there is less to compile. A null pointer that is used ends the program without a check.
    sanitizers = (
        "-fsanitize=address,undefined -fno-sanitize=null -fno-sanitize-recover=all "
        "-fsanitize-undefined-trap-on-error --param asan-instrumentation-with-call-threshold=0"
    )
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", f"--build-lib={folder}"],
        cwd=ROOT,
        # compiling takes long, running does not
        env=os.environ | {"CXX": f"g++ {sanitizers}", "CXXFLAGS": "-O0"},
        check=True,
        timeout=300,
    )
    return folder / "gensim_tfw2v/kernel/native/kernels.so"


def run(watched, kernel, *arguments, program="tests/kernel/native/sanitized.py"):
    # Python itself leaves memory that it holds to its end
    environment = os.environ | {
        "TFW2V_ISA": kernel,
        "LD_PRELOAD": watching(),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    return subprocess.run(
        [sys.executable, ROOT / program, watched, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_units_of_all_kinds(watched, kernel):
    if kernel not in kernels_here():
        pytest.skip("not of this processor")
    ran = run(watched, kernel)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [kernel]


def test_a_wrong_use_of_memory_is_told(watched):
    ran = run(watched, "portable", "unchecked")
    assert ran.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in ran.stderr


def test_texts_of_all_kinds(watched):
    ran = run(watched, "portable", program="tests/corpus/sanitized.py")
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 50  # texts that are not UTF-8
