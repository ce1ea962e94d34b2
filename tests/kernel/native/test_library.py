"""The compiled libraries: building, loading, instruction sets, and messages if they are missing."""

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gensim_tfw2v
from gensim_tfw2v import TFFastText, TFWord2Vec, compiled_library
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus import scanner
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.ops import library
from tests.kernel.native.sanitizer_build import build_script
from tests.kernel.native.units import ISAS, KERNELS, kernels_here

ROOT = Path(gensim_tfw2v.__file__).parents[1]

built = pytest.mark.skipif(
    not compiled_library.KERNELS.exists(), reason="kernels were not compiled"
)


def build(folder, **environment):
    """Run setup.py to compile the libraries into a folder."""
    return subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--build-lib", folder],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("name", compiled_library.Options._fields)
def test_every_option_of_the_kernels_is_read_by_a_source(name):
    """An option that is declared, but that no kernel reads, would be accepted and ignored."""
    sources = [*ISAS.parent.rglob("*.h"), *ISAS.parent.rglob("*.cc")]
    reading = re.compile(rf"\b(?:o|options)(?:\.|->){name}\b")
    assert any(reading.search(path.read_text("utf-8")) for path in sources)


def test_libraries_exist_if_a_compiler_does():
    if any(map(shutil.which, ("c++", "g++", "clang++"))):
        assert compiled_library.KERNELS.exists()
        assert library.load_ops() is not None


@built
@pytest.mark.parametrize("variant", KERNELS)
def test_environment_selects_the_variant(variant):
    program = (
        "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]);"
        "library.tfw2v_variant.restype = ctypes.c_char_p; print(library.tfw2v_variant().decode())"
    )
    chosen = subprocess.run(
        [sys.executable, "-c", program, compiled_library.KERNELS],
        env={**os.environ, "TFW2V_ISA": variant},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert chosen == (variant if variant in kernels_here() else kernels_here()[0])


@built
def test_usable_kernels_are_those_of_the_processor():
    """Compare the conditions of isas.h with Linux, which names a feature as compilers do."""
    cpu = Path("/proc/cpuinfo")
    flags = re.findall(r"^flags.*", cpu.read_text(), re.M) if cpu.exists() else []
    features = {flag.replace("_", "") for flag in flags[0].split()} if flags else set()
    script = build_script()
    needs = {}
    for name in KERNELS:
        options = [flag for flag in script.isa_flags(name) if "=" not in flag]
        needs[name] = {flag.removeprefix("-m").replace("_", "") for flag in options}
        needs[name] |= {script.architecture(name)} - {"any"}
    runs = [name for name in KERNELS if needs[name] <= features | {platform.machine()}]
    # older compilers do not support avx512bf16
    assert set(runs) - {"avx512bf16"} <= set(kernels_here()) <= set(runs)


@pytest.mark.skipif("avx512bf16" not in kernels_here(), reason="this processor has no bfloat16")
def test_intel_processors_prefer_float32():
    """Intel's processors multiply bfloat16 more slowly than float32, other vendors' do not."""
    is_intel = "GenuineIntel" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    first = ["avx512", "avx512bf16"] if is_intel else ["avx512bf16", "avx512"]
    assert kernels_here() == [*first, "avx2", "portable"]


def test_instruction_set_precedes_what_it_extends():
    """Otherwise it would be compiled and never chosen."""
    isas = build_script().ISAS
    names = [name for name, _ in re.findall(r"^  X\((\w+)(, \w+)", ISAS.read_text(), re.M)]
    assert tuple(isas) == KERNELS == tuple(names)
    for position, (base, _) in enumerate(isas.values()):
        assert base in KERNELS[position + 1 :] or base not in isas
    assert KERNELS[-1] == "portable"
    assert {build_script().architecture(name) for name in KERNELS} == {"x86_64", "any"}


def test_all_instruction_sets_are_documented():
    text = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    assert [name for name in KERNELS if not re.search(rf"\b{name}\b", text)] == []


@built
def test_ctypes_library_loads_without_tensorflow():
    assert ctypes.CDLL(str(compiled_library.KERNELS), os.RTLD_NOW)


@built
@pytest.mark.skipif(not shutil.which("objdump"), reason="needs objdump")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="looks for instructions of x86-64")
def test_kernels_contain_prefetches():
    """GCC silently drops a function that only prefetches."""
    listed = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", compiled_library.KERNELS],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert listed.count("prefetch") >= 10 * len(kernels_here())


@pytest.fixture
def ops(tmp_path, monkeypatch):
    """Make an empty folder the place of the libraries, and return the path of the ops there."""
    monkeypatch.setattr(library, "OPS", tmp_path / "ops.so")
    monkeypatch.setattr(library, "load_ops", library.load_ops.__wrapped__)
    monkeypatch.setattr(compiled_library, "KERNELS", tmp_path / "kernels.so")
    monkeypatch.setattr(compiled_library, "load", compiled_library.load.__wrapped__)
    monkeypatch.setattr(by_ctypes, "_library", by_ctypes._library.__wrapped__)
    scanner.library.cache_clear()  # several modules have imported the function itself
    yield library.OPS
    scanner.library.cache_clear()


def test_missing_library_logs_that_a_compiler_is_needed(ops, caplog):
    assert library.load_ops() is None
    assert "several times slower" in caplog.text and "Install a C++ compiler" in caplog.text


def test_library_that_does_not_load_is_logged(ops, caplog):
    ops.write_bytes(b"of another system")
    assert library.load_ops() is None
    assert "several times slower" in caplog.text and "ops.so: " in caplog.text
    assert "cannot be loaded into TensorFlow" in caplog.text and "compiler" not in caplog.text


def test_missing_ops_with_ctypes_kernels_log_what_is_slower(ops, caplog):
    compiled_library.KERNELS.touch()
    assert library.load_ops() is None
    assert "on a cluster or by a regime" in caplog.text


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a compiler")
def test_missing_tensorflow_function_is_named_in_the_log(ops, caplog):
    source = ops.with_suffix(".cc")
    source.write_text(
        'extern "C" void TF_Gone();\nextern "C" void* go() { return (void*)TF_Gone; }'
    )
    linked = ["-shared", "-fPIC", *(["-undefined", "dynamic_lookup"] * (sys.platform == "darwin"))]
    subprocess.run(["c++", *linked, source, "-o", ops], check=True)
    assert library.load_ops() is None
    assert "TF_Gone" in caplog.text and "compiler" not in caplog.text


def test_training_falls_back_to_tensorflow_if_kernels_do_not_load(ops, caplog):
    compiled_library.KERNELS.write_bytes(b"of another system")
    assert len(TFWord2Vec([["a", "b"]] * 9, min_count=1, epochs=1).wv) == 2
    assert "compiled kernels train; for so few words" not in caplog.text


def test_fasttext_error_names_why_kernels_do_not_load(ops):
    ops.write_bytes(b"of another system")
    with pytest.raises(RuntimeError, match="cannot be loaded into TensorFlow") as raised:
        TFFastText([["a", "b"]] * 9, min_count=1, epochs=1)
    assert "GPU" not in str(raised.value)


@pytest.mark.parametrize("names", [[], ["libtensorflow_framework.so.9"]])
def test_tensorflow_library_of_a_different_name_is_no_error(names, tmp_path, monkeypatch):
    for name in names:
        (tmp_path / name).write_bytes(b"of another system")
    monkeypatch.setattr(tf.sysconfig, "get_lib", lambda: str(tmp_path))
    library._share_symbols()


def test_compiler_error_is_shown_and_installation_succeeds(tmp_path):
    done = build(tmp_path, CXX="c++", CXXFLAGS="-fno-such-flag")
    assert done.returncode == 0
    assert "several times slower" in done.stderr
    assert not list(tmp_path.rglob("*.so"))
    if shutil.which("c++"):
        assert "no-such-flag" in done.stderr


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a compiler")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has several variants")
def test_unsupported_variant_is_skipped_and_baseline_is_linked_first(tmp_path):
    older = tmp_path / "older"
    older.write_text(
        '#!/bin/sh\ncase "$*" in *-mavx512bf16*) exit 1;; *-shared*) echo "$@";; esac\n'
        # empty kernels: their code does not matter here, and takes long to compile
        "for made; do :; done\n"
        'case "$*" in *kernel.cc*) exec c++ -c -x c++ /dev/null -o "$made";; esac\n'
        'exec c++ "$@"\n'
    )
    older.chmod(0o755)
    done = build(tmp_path / "lib", CXX=str(older), CXXFLAGS="-O0")
    assert done.returncode == 0
    assert "no kernel for avx512bf16" in done.stderr
    made = next((tmp_path / "lib").rglob("kernels.so")).read_bytes()
    assert b"6avx5125train" in made and b"10avx512bf165train" not in made  # mangled names
    commands = re.findall(r"-shared.*", done.stdout)
    assert commands
    for linked in commands:
        objects = [Path(word).stem for word in linked.split() if word.endswith(".o")]
        assert objects[-3:] == ["portable", "avx2", "avx512"]


def test_wheel_tag_is_for_any_python():
    program = (
        "from setuptools.dist import Distribution; import distutils.core as core;"
        "made = core.run_setup('setup.py', ['-q'], 'init').get_command_obj('bdist_wheel');"
        "made.ensure_finalized(); print('-'.join(made.get_tag()))"
    )
    tag = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "TFW2V_TARGET": "aarch64-linux-gnu.2.17"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert tag.stdout.strip() == "py3-none-manylinux_2_17_aarch64"
