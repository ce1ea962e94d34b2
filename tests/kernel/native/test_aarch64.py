"""Kernels for aarch64, compiled by zig and run by qemu, compute the same as this machine's."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gensim_tfw2v.kernel import native

SOURCES = Path(native.__file__).with_name("src")
FLAGS = [f"-I{SOURCES}", "-std=c++17", "-O2", "-static", "-DTFW2V_ISA=portable"]


def results(folder, machine, run):
    """Compile unit.cc for a machine, run it, and return the numbers that it prints."""
    program = folder / machine
    sources = [SOURCES / name for name in ("kernels/kernel.cc", "kernels/draws.cc", "c_api.cc")]
    command = [sys.executable, "-m", "ziglang", "c++", "-target", f"{machine}-linux-musl"]
    subprocess.run(
        [*command, *FLAGS, Path(__file__).with_name("unit.cc"), *sources, "-o", program],
        check=True,
        timeout=900,
    )
    printed = subprocess.run(
        [*run, program], check=True, timeout=300, capture_output=True, text=True
    )
    return np.array(printed.stdout.split(), float)


@pytest.mark.slow  # zig first compiles the C++ standard library
@pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="Debian: apt-get install qemu-user")
@pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="pip install ziglang")
def test_aarch64_result_equals_x86_64_result(tmp_path):
    here = results(tmp_path, "x86_64", [])
    there = results(tmp_path, "aarch64", ["qemu-aarch64"])
    assert here.size > 6000
    assert np.isfinite(here).all()
    np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-6)
