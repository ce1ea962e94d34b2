"""The kernels compiled with sanitizers and assertions, for each instruction set that runs here.

Objects and what is linked of them are kept in build/, which ``make clean`` removes. A name contains
a hash of all that a file is made of, so that only what has changed is compiled again.
"""

import fcntl
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "build/sanitized"

#: Undefined behaviour traps without a message, and addresses are checked by function calls: both
#: compile faster. Null pointers crash the program without a check.
SANITIZERS = [
    *("-fsanitize=address,undefined", "-fno-sanitize=null", "-fno-sanitize-recover=all"),
    "-fsanitize-undefined-trap-on-error",
    *("--param", "asan-instrumentation-with-call-threshold=0"),
]


@functools.cache
def build_script():
    """Return setup.py as a module: its lists of sources and flags."""
    folder = os.getcwd()
    os.chdir(ROOT)  # its paths are relative
    try:
        spec = importlib.util.spec_from_file_location("build_script", ROOT / "setup.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        os.chdir(folder)
    return module


@functools.cache
def address_sanitizer():
    """Return the address sanitizer's library of g++, which must be loaded first, or None."""
    if not shutil.which("g++"):
        return None
    path = subprocess.run(
        ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return path if Path(path).is_absolute() else None


@functools.cache
def compiler_version():
    return subprocess.check_output(["g++", "--version"])


@functools.cache
def sources_of(source):
    """Return a source and all sources that it includes, directly or not."""
    included = re.findall(r'^#include "(.+)"', source.read_text(), re.MULTILINE)
    paths = {source}
    for name in included:
        paths |= sources_of(ROOT / build_script().SOURCES / name)
    return frozenset(paths)


def kept(stem, suffix, contents, make):
    """Return a file of `FOLDER` that depends on `contents`; make(path) writes it if it is missing.

    Older files of this stem are removed. Test processes that need the same file wait for one.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(b"\0".join([compiler_version(), *contents])).hexdigest()[:16]
    path = FOLDER / f"{stem}.{digest}{suffix}"
    with open(FOLDER / f"{stem}{suffix}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            for older in FOLDER.glob(f"{stem}.*{suffix}"):
                older.unlink()
            new = path.with_suffix(".new")
            make(new)
            new.rename(path)
    return path


def compiled(source, stem, *flags):
    """Compile a source, whose path is relative to the checkout, and return the object."""
    # without optimization: compiling takes longer than running
    command = ["g++", *build_script().FLAGS, "-O0", "-DTFW2V_CHECKED", *SANITIZERS, *flags, "-c"]
    contents = [" ".join(command).encode()]
    contents += [path.read_bytes() for path in sorted(sources_of(ROOT / source))]

    def make(path):
        subprocess.run([*command, str(source), "-o", path], cwd=ROOT, check=True, timeout=900)

    return kept(stem, ".o", contents, make)


def linked(stem, suffix, objects, *flags):
    """Link objects, and return the library or program."""
    command = ["g++", *SANITIZERS, *flags]

    def make(path):
        subprocess.run([*command, *objects, "-o", path], check=True, timeout=300)

    return kept(stem, suffix, [" ".join(command).encode(), *map(bytes, objects)], make)


@functools.cache
def library(isa):
    """Return the library of the kernels, with the kernel of one instruction set."""
    script = build_script()
    flags = [*script.isa_flags(isa), f"-DTFW2V_ISA={isa}"]
    jobs = [
        (script.SOURCES / "kernels/kernel.cc", f"kernel-{isa}", *flags),
        (script.SOURCES / "c_api.cc", f"c_api-{isa}", f"-DTFW2V_COMPILED(X)=X({isa})"),
        *((script.SOURCES / name, Path(name).stem) for name in script.COMMON),
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda job: compiled(*job), jobs))
    return linked(f"kernels-{isa}", ".so", objects, "-shared")


@functools.cache
def program(name, isa, others=("kernels/draws.cc",)):
    """Return the program of a source of this folder, which is compiled for an instruction set.

    `others` are the package's sources that it needs.
    """
    flags = [*build_script().isa_flags(isa), f"-DTFW2V_ISA={isa}"]
    source = Path(__file__).with_name(f"{name}.cc").relative_to(ROOT)
    objects = [compiled(source, f"{name}-{isa}", *flags)]
    objects += [compiled(build_script().SOURCES / other, Path(other).stem) for other in others]
    return linked(f"{name}-{isa}", ".out", objects)
