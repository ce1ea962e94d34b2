"""Files of a folder that is a corpus."""

import os
from pathlib import Path
from typing import NamedTuple


class FolderFiles(NamedTuple):
    """Files of a folder, in the order of their paths, and names of subfolders that are not read."""

    files: list[Path]
    unread_subfolders: list[str]


def list_files(folder: Path, recursive: bool = False, hidden: str = ".") -> FolderFiles:
    """List the files of a folder, without files and subfolders with hidden names.

    Parameters
    ----------
    folder : Path
        A folder.
    recursive : bool
        List the files of subfolders, too. A folder to which several symbolic links lead is listed
        once.
    hidden : str
        Characters with which hidden names start.

    Returns
    -------
    FolderFiles
    """
    files = list[Path]()
    unread_subfolders = list[str]()
    visited_folders = {os.path.realpath(folder)}
    for parent, subfolders, names in os.walk(folder, followlinks=True):
        visible_names = sorted(name for name in subfolders if name[0] not in hidden)
        if not recursive:
            unread_subfolders = visible_names
            visible_names = []
        subfolders[:] = [
            name
            for name in visible_names
            if os.path.realpath(Path(parent, name)) not in visited_folders
        ]
        visited_folders.update(os.path.realpath(Path(parent, name)) for name in subfolders)
        paths = (Path(parent, name) for name in names if name[0] not in hidden)
        files += (path for path in paths if path.is_file())
    return FolderFiles(sorted(files), unread_subfolders)
