"""Zig, which is Clang, compiles the sources as it does for a wheel."""

import importlib.util
import subprocess
import sys

import pytest

from tests.kernel.native.sanitizer_build import ROOT, build_script

SCRIPT = build_script()
SOURCES = ["kernels/kernel.cc", "c_api.cc", *SCRIPT.COMMON, *sum(SCRIPT.LIBRARIES.values(), [])]


@pytest.mark.slow  # zig takes minutes
@pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="pip install ziglang")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_sources_compile_for_wheels(machine, tmp_path):
    command = [sys.executable, "-m", "ziglang", "c++", "-target", f"{machine}-linux-gnu.2.17"]
    options = [*SCRIPT.FLAGS, "-O0", "-Werror", "-DTFW2V_COMPILED(X)=X(portable)"]
    options.append("-DTFW2V_ISA=portable")
    for number, source in enumerate(SOURCES):
        output = ["-c", str(SCRIPT.SOURCES / source), "-o", str(tmp_path / f"{number}.o")]
        subprocess.run([*command, *options, *output], check=True, timeout=300, cwd=ROOT)
