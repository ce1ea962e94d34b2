"""Description of the machine and of the package versions for a benchmark."""

import os
import platform
import re
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from gensim_tfw2v.processes.threads import usable_cores

PACKAGES = ("gensim-tfw2v", "tensorflow", "gensim", "numpy", "scipy")


def cpu_model() -> str:
    """Return the processor's name as reported by the system."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    if found := re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE):
        return found[1].strip()
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


def describe(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Return processor, memory, system, load, and versions, also of `packages`.

    The description contains no host name, user name or path.
    """
    return {
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
