"""The folders that a training writes to, each a disk of its own that can be filled."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

#: Options of the class that name folders, and where the model is saved.
DISKS = ("checkpoint_dir", "encoded_dir", "tables_dir", "log_dir", "output")

#: Of each.
SIZE = "128m"

FILLER = "filler"


class Disks:
    """Folders, mounted from memory where that is permitted (Linux's root).

    Parameters
    ----------
    folder : Path
        That they are made in.

    Attributes
    ----------
    why_not : str
        Why they cannot be filled; empty if they can.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.why_not = folder, ""
        self._mounted: list[Path] = []
        for name in DISKS:
            path = self.path(name)
            path.mkdir()
            if not self.why_not:
                self._mount(path)

    def _mount(self, path: Path) -> None:
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(path)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
        except FileNotFoundError:
            self.why_not = "there is no mount"
        except subprocess.CalledProcessError as error:
            self.why_not = f"nothing can be mounted here: {error.stderr.strip()}"
        else:
            self._mounted.append(path)

    def path(self, name: str) -> Path:
        """The folder of a disk."""
        return self._folder / name

    def fill(self, name: str) -> None:
        """Leave no byte free."""
        with open(self.path(name) / FILLER, "wb", buffering=0) as filler:
            for block in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        filler.write(b"\0" * block)

    def free(self, name: str) -> None:
        """Have the room again."""
        (self.path(name) / FILLER).unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount all."""
        for path in self._mounted:
            # also where a process still has a file open
            subprocess.run(["umount", "-l", path], check=False, capture_output=True, timeout=20)
        self._mounted = []
