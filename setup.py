"""Compile the kernels of gensim_tfw2v/kernel/native. All metadata is in pyproject.toml."""

import importlib.util
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

SOURCES = Path("gensim_tfw2v/kernel/native/src")
FLAGS = [f"-I{SOURCES}", "-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wno-psabi"]
LINK = ["-shared", *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-s"])]

#: Target of wheels, such as aarch64-linux-gnu.2.17; empty: this machine.
TARGET = os.environ.get("TFW2V_TARGET", "")
MACHINE = TARGET.split("-")[0] or platform.machine()

#: Rows of the list in isas.h, in its order: an instruction set, what it extends, added flags.
ISAS = {
    name: (base, flags.split())
    for name, base, flags in re.findall(
        r'^  X\((\w+), (\w+), "(.*?)",', (SOURCES / "isas.h").read_text(), re.M
    )
}


def architecture(isa: str) -> str:
    """Return the processor architecture that an instruction set extends; "any" for portable."""
    base = ISAS[isa][0]
    return architecture(base) if base in ISAS else base


def isa_flags(isa: str) -> list[str]:
    """Return the compiler flags of an instruction set."""
    base, flags = ISAS[isa]
    return [*(isa_flags(base) if base in ISAS else []), *flags]


#: The instruction sets of this architecture, the baseline first. One is selected at run time.
VARIANTS = [isa for isa in reversed(ISAS) if architecture(isa) in ("any", MACHINE)]

#: Sources of both libraries, besides the kernels; c_api.cc lists those that could be compiled.
COMMON = [
    "kernels/draws.cc",
    *(f"text/{name}.cc" for name in ("text", "strings", "integers", "format")),
    "shards/initial_rows.cc",
    "shards/row_files.cc",
    "keys/huffman.cc",
    "keys/keys.cc",
    "keys/views.cc",
    "walks/graph.cc",
    "walks/walks.cc",
]

#: Libraries for ctypes and for TensorFlow, and their sources in addition to the common ones.
LIBRARIES = {
    "kernels.so": [],
    "ops.so": [
        f"tensorflow/{name}_ops.cc" for name in ("unit", "row", "shard", "array", "corpus", "walk")
    ],
}


def compiler() -> list[str] | None:
    """Return the command of a C++ compiler: CXX, one on PATH, or the package ziglang's."""
    named = os.environ.get("CXX")
    for name in [] if TARGET else [named] if named else ["c++", "g++", "clang++"]:
        if found := shutil.which(name.split()[0]):
            return [found, *name.split()[1:]]
    if importlib.util.find_spec("ziglang"):
        # without -target, it compiles for this processor only
        target = TARGET or f"{MACHINE}-linux-gnu.2.17"
        return [sys.executable, "-m", "ziglang", "c++", "-target", target]
    return None


def requirements() -> list[str]:
    """Return the package ziglang if no compiler is installed and pip can download it."""
    asked = "egg_info" in sys.argv  # pip queries the requirements; nothing is built yet
    if not asked or compiler() or not sys.platform.startswith("linux"):
        return []
    # -I: run the pip outside of pip's isolated build environment, which has none
    pip = [sys.executable, "-I", "-m", "pip", "--retries=1", "install", "--dry-run", "--no-deps"]
    found = subprocess.run([*pip, "--ignore-installed", "ziglang"], capture_output=True, text=True)
    return [] if "No matching distribution" in found.stderr else ["ziglang>=0.15"]


class BuildKernels(build_ext):
    """Compile the libraries. If that fails, the package is installed without them."""

    def run(self) -> None:
        """Compile the libraries into the package."""
        for output in map(Path, self.get_outputs()):  # may be old, or of a different machine
            output.unlink(missing_ok=True)
        try:
            command = compiler()
            if command is None:
                raise FileNotFoundError(
                    "no C++ compiler was found, and ziglang cannot be downloaded"
                )
            with (
                tempfile.TemporaryDirectory() as folder,
                ThreadPoolExecutor(os.cpu_count()) as pool,
            ):
                self._build(command, Path(folder), pool)
        except (OSError, subprocess.CalledProcessError) as error:
            if TARGET:
                raise
            logging.warning("without compiled kernels, training is several times slower: %s", error)

    def _build(self, command: list[str], folder: Path, pool: ThreadPoolExecutor) -> None:
        def compiled(source: str, *flags: str, name: str = "") -> str:
            made = str(folder / f"{name or Path(source).stem}.o")
            sources = ["-c", str(SOURCES / source), "-o", made]
            added = os.environ.get("CXXFLAGS", "").split()
            subprocess.run([*command, *FLAGS, *flags, *added, *sources], check=True)
            return made

        kernels = {
            isa: pool.submit(
                compiled, "kernels/kernel.cc", *isa_flags(isa), f"-DTFW2V_ISA={isa}", name=isa
            )
            for isa in VARIANTS
        }
        sources = [*COMMON, *(source for added in LIBRARIES.values() for source in added)]
        others = {source: pool.submit(compiled, source) for source in sources}
        for isa in VARIANTS:
            if kernels[isa].exception() and isa != "portable":
                logging.warning("no kernel for %s: this compiler does not support it", isa)
                del kernels[isa]
        in_order = " ".join(f"X({isa})" for isa in reversed(kernels))
        c_api = compiled("c_api.cc", f"-DTFW2V_COMPILED(X)={in_order}")
        for output, added in zip(self.get_outputs(), LIBRARIES.values(), strict=True):
            Path(output).parent.mkdir(parents=True, exist_ok=True)
            # Baseline first: of functions that several objects define, like those of std::vector,
            # the linker uses the first definition. Later objects need newer processors.
            objects = [c_api, *(others[source].result() for source in (*COMMON, *added))]
            objects += [made.result() for made in kernels.values()]
            subprocess.run([*command, *LINK, *objects, "-o", output], check=True)

    def get_outputs(self) -> list[str]:
        """Return the paths of the libraries."""
        root = Path() if self.inplace else Path(self.build_lib)
        return [str(root / SOURCES.parent / name) for name in LIBRARIES]

    def get_output_mapping(self) -> dict[str, str]:
        """Return an empty mapping: no output is a copy of a source file."""
        return {}

    def get_source_files(self) -> list[str]:
        """Return the sources, which source distributions include."""
        return sorted(str(path) for path in SOURCES.rglob("*") if path.is_file())


class WheelOfAnyPython(bdist_wheel):
    """Wheel for any version of Python: the libraries are not linked to Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag, which depends on the platform only."""
        glibc = TARGET.partition("gnu.")[2].replace(".", "_")
        return "py3", "none", f"manylinux_{glibc}_{MACHINE}" if glibc else super().get_tag()[2]


if __name__ == "__main__":  # else a test reads the lists of sources and flags
    setup(
        ext_modules=[Extension("gensim_tfw2v.kernel.native.kernels", [])],
        cmdclass={"build_ext": BuildKernels, "bdist_wheel": WheelOfAnyPython},
        setup_requires=requirements(),
    )
