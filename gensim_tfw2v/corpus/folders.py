"""Files of a folder that is a corpus."""

import os
from pathlib import Path
from typing import NamedTuple


class FolderFiles(NamedTuple):
    """Files of a folder, in the order of their paths, and the names of subfolders left out."""

    files: list[Path]
    left_out: list[str]


def list_files(folder: Path, recursive: bool = False, hidden: str = ".") -> FolderFiles:
    """List the files of a folder, without files and subfolders with hidden names.

    Parameters
    ----------
    folder : Path
        A folder.
    recursive : bool
        List the files of subfolders, too, each folder once, even if symbolic links lead to it.
    hidden : str
        Characters with which hidden names start.

    Returns
    -------
    FolderFiles
    """
    files = list[Path]()
    left_out = list[str]()
    visited = {os.path.realpath(folder)}
    for parent, subfolders, names in os.walk(folder, followlinks=True):
        visible = sorted(name for name in subfolders if name[0] not in hidden)
        if not recursive:
            left_out = visible
            visible = []
        subfolders[:] = [
            name for name in visible if os.path.realpath(Path(parent, name)) not in visited
        ]
        visited.update(os.path.realpath(Path(parent, name)) for name in subfolders)
        paths = (Path(parent, name) for name in names if name[0] not in hidden)
        files += (path for path in paths if path.is_file())
    return FolderFiles(sorted(files), left_out)
