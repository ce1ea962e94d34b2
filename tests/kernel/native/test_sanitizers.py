"""Kernels under address and undefined-behaviour sanitizers."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernel.native.units import KERNELS, kernels_here

ROOT = Path(__file__).parents[3]


def watching():
    """Return the address sanitizer's library of g++, which must be loaded first, or None."""
    if not shutil.which("g++"):
        return None
    named = subprocess.run(
        ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return named if Path(named).is_absolute() else None


pytestmark = pytest.mark.skipif(not watching(), reason="no g++ with its address sanitizer")


#: Undefined behaviour traps without a message, and addresses are checked by function calls: both
#: compile faster. Null pointers crash the program without a check.
SANITIZERS = (
    "-fsanitize=address,undefined -fno-sanitize=null -fno-sanitize-recover=all "
    "-fsanitize-undefined-trap-on-error --param asan-instrumentation-with-call-threshold=0"
)

#: A script in place of the compiler: skips the ops, and kernels that this processor cannot run.
COMPILER = """#!/bin/sh
case "$*" in
{left_out}
*" -c "*/tensorflow.cc" "*) for made; do :; done; exec g++ -c -x c++ /dev/null -o "$made" ;;
esac
exec g++ {sanitizers} "$@"
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Return a library of the kernels that exits at the first invalid memory access.

    Compiling it takes 50 s of CPU, because each address that four kernels use is checked. It is
    kept in build/ until a source, the flags or the compiler change.
    """
    of_others = [name for name in KERNELS if name not in kernels_here()]
    left_out = "".join(f'*-DTFW2V_ISA={name}" "*) exit 1 ;;\n' for name in of_others)
    compiler = COMPILER.format(left_out=left_out, sanitizers=SANITIZERS)
    made_of = [ROOT / "setup.py", *sorted((ROOT / "gensim_tfw2v/kernel/native/src").iterdir())]
    contents = [compiler.encode(), subprocess.check_output(["g++", "--version"])]
    contents += [path.read_bytes() for path in made_of]
    kept = ROOT / f"build/watched-{hashlib.sha256(b''.join(contents)).hexdigest()[:16]}.so"
    if not kept.exists():
        folder = tmp_path_factory.mktemp("watched")
        path = folder / "compiler"
        path.write_text(compiler)
        path.chmod(0o755)
        subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", f"--build-lib={folder}"],
            cwd=ROOT,
            # without optimization: compiling takes much longer than running
            env=os.environ | {"CXX": str(path), "CXXFLAGS": "-O0"},
            check=True,
            timeout=900,
        )
        kept.parent.mkdir(exist_ok=True)
        for older in kept.parent.glob("watched-*"):
            older.unlink()
        made = kept.with_suffix(".new")
        shutil.copy(folder / "gensim_tfw2v/kernel/native/kernels.so", made)
        made.rename(kept)  # atomic
    return kept


def run(watched, kernel, *arguments, program="tests/kernel/native/sanitized.py"):
    # Python itself does not free all memory before it exits
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
def test_units_of_all_kinds_pass_sanitizers(watched, kernel):
    if kernel not in kernels_here():
        pytest.skip("not supported by this processor")
    ran = run(watched, kernel)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [kernel]


def test_sanitizer_detects_an_array_longer_than_its_memory(watched):
    ran = run(watched, "portable", "unchecked")
    assert ran.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in ran.stderr


def test_texts_of_all_kinds_pass_sanitizers(watched):
    ran = run(watched, "portable", program="tests/corpus/sanitized.py")
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 50  # texts that are not UTF-8


def test_numbers_of_all_kinds_pass_sanitizers(watched):
    ran = run(watched, "portable", program="tests/kernel/native/sanitized_numbers.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["nan", "-1.1754944e-38"]
