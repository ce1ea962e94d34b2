"""Builds the kernels in gensim_tfw2v/native; all metadata is in pyproject.toml."""

import importlib.util
import logging
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

SOURCES = Path("gensim_tfw2v/native/src")
FLAGS = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wno-psabi"]
FLAGS += os.environ.get("CXXFLAGS", "").split()

#: By processor, for what the kernel is compiled; which is used is chosen when it is loaded.
AVX512 = "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512"
VARIANTS = {
    "x86_64": {
        "avx2": "-mavx2 -mfma",
        "avx512": AVX512,
        "avx512bf16": f"{AVX512} -mavx512bf16",
    }
}

#: Two libraries of the same objects: TensorFlow's must not be loaded where it is not.
LIBRARIES = {"kernels.so": [], "ops.so": ["tensorflow.cc"]}


def compiler() -> list[str] | None:
    """The command of a C++ compiler: CXX, one on PATH, or the one of the package ziglang."""
    named = os.environ.get("CXX")
    for name in [named] if named else ["c++", "g++", "clang++"]:
        if found := shutil.which(name.split()[0]):
            return [found, *name.split()[1:]]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    return None


def machine() -> str:
    """What is compiled for: TFW2V_TARGET, such as aarch64-linux-gnu, or this machine."""
    return os.environ.get("TFW2V_TARGET", platform.machine()).split("-")[0]


class BuildKernels(build_ext):
    """Compiles the libraries; without a compiler, the package is installed without them."""

    def run(self) -> None:
        """Compile them into the package."""
        command = compiler()
        if command is None:
            logging.warning("no C++ compiler found: training will be several times slower")
            return
        with tempfile.TemporaryDirectory() as folder:
            self._build(command, Path(folder))

    def _build(self, command: list[str], folder: Path) -> None:
        def compiled(source: str, variant: str = "", flags: str = "") -> str:
            made = str(folder / f"{Path(source).stem}{variant}.o")
            named = [f"-DTFW2V_ISA={variant}"] if variant else []
            subprocess.run(
                [*command, *FLAGS, *flags.split(), *named, "-c", str(SOURCES / source), "-o", made],
                check=True,
            )
            return made

        variants = {"portable": "", **VARIANTS.get(machine(), {})}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            of_both = [pool.submit(compiled, "kernel.cc", *variant) for variant in variants.items()]
            of_both += [pool.submit(compiled, source) for source in ("draws.cc", "door.cc")]
            of_one = {
                name: [pool.submit(compiled, source) for source in sources]
                for name, sources in LIBRARIES.items()
            }
        for output, name in zip(self.get_outputs(), LIBRARIES, strict=True):
            Path(output).parent.mkdir(parents=True, exist_ok=True)
            objects = [made.result() for made in (*of_both, *of_one[name])]
            subprocess.run([*command, "-shared", *objects, "-o", output], check=True)

    def get_outputs(self) -> list[str]:
        """The libraries' paths."""
        root = Path() if self.inplace else Path(self.build_lib)
        return [str(root / SOURCES.parent / name) for name in LIBRARIES]

    def get_output_mapping(self) -> dict[str, str]:
        """Nothing is copied."""
        return {}

    def get_source_files(self) -> list[str]:
        """What a source distribution holds."""
        return sorted(map(str, SOURCES.iterdir()))


class WheelOfAnyPython(bdist_wheel):
    """The libraries are no extensions of Python: any version loads them."""

    def get_tag(self) -> tuple[str, str, str]:
        """Of the platform alone."""
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[Extension("gensim_tfw2v.native.kernels", [])],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": WheelOfAnyPython},
    setup_requires=[] if compiler() else ["ziglang>=0.15"],
)
