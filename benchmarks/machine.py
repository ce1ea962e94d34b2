"""Description of the machine and of the package for a benchmark."""

import functools
import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.processes.threads import usable_cores

PACKAGES = ("gensim-tfw2v", "tensorflow", "gensim", "numpy", "scipy")

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "gensim_tfw2v/kernel"

#: Patterns of comments and white space, which do not count for the hash. A string matches as group
#: 1, and is kept.
_IGNORED = {
    "C++": re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|\s+', re.DOTALL),
    ".py": re.compile(r'("(?:[^"\\\n]|\\.)*")|#[^\n]*|\s+'),
}


def cpu_model() -> str:
    """Return the processor's name, family and model.

    On cloud machines, the name alone often lacks the processor's number.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    fields = dict(re.findall(r"^([a-z ]+\w)\s*: (.+)$", text, re.MULTILINE))
    if "model name" in fields:
        more = [name for name in ("cpu family", "model") if name in fields]
        return ", ".join([fields["model name"], *(f"{name} {fields[name]}" for name in more)])
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()


def version(package: str) -> str | None:
    """Return the installed version of a package, without importing it; None if it is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


#: Folders and files of code that trains nothing: walks on graphs, vocabularies, and the files and
#: initial rows of parameter servers.
_UNHASHED = {
    *("walks", "keys", "shards"),
    *("walk_ops.cc", "shard_ops.cc", "array_ops.cc", "mapped_file.h"),
}


@functools.cache
def kernels_hash(folder: Path = KERNEL) -> str:
    """Return a hash of the kernels and of the code that chooses their sizes.

    Comments and layout do not count, nor does `_UNHASHED`, which trains nothing.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.*")):
        is_hashed = path.parent.name not in _UNHASHED and path.name not in _UNHASHED
        if path.suffix in (".h", ".cc", ".py") and is_hashed:
            ignored = _IGNORED.get(path.suffix, _IGNORED["C++"])
            code = ignored.sub(r"\1", path.read_text(encoding="utf-8"))
            digest.update(f"{path.relative_to(folder).as_posix()}\0{code}\0".encode())
    return digest.hexdigest()[:12]


def commit() -> str:
    """Return the short hash of the commit that is checked out; "" without a clone or git."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""


def describe(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Describe processor, memory, system, load, kernels, and versions of packages.

    `packages` are added to `PACKAGES`. The description contains no host name, user name or path.
    """
    return {
        "commit": commit(),
        "kernels": kernels_hash(),
        "isa": by_ctypes.variant(),
        "cpu": cpu_model(),
        "cores": len(usable_cores()),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in (*PACKAGES, *packages)},
        },
    }
