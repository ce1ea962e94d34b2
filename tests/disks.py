"""Small disks, and disks that are full."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size: str, options: str = "") -> Iterator[Path]:
    """Mount a disk of a size such as ``"64k"`` in a new folder; skip the test if not permitted.

    Parameters
    ----------
    options : str
        Mount options, such as ``"ro"``.
    """
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},{options}".rstrip(","), "tmpfs"]
    try:
        done = subprocess.run([*mount, folder], capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no mount: {error}")
    if done.returncode:
        pytest.skip(f"may not mount a disk: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        # lazy, because a file may still be open
        subprocess.run(["umount", "-l", folder], capture_output=True, check=False)


def fill(folder: Path, free: int = 0) -> Path:
    """Fill a disk except for `free` bytes, rounded to pages; return the file that fills it."""
    path = folder / "fill"
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(max(0, size - free))
    return path
