"""Tables of a folder: the parts of one table, of the same format."""

import logging
import textwrap
from pathlib import Path

from gensim_tfw2v.corpus.folders import list_files
from gensim_tfw2v.corpus.tables.table_formats import SUFFIXES, find_format

logger = logging.getLogger(__name__)

#: Characters with which names of files and folders begin that are no parts of a table.
HIDDEN = "._"


def list_tables(path: Path, recursive: bool) -> list[str]:
    """Return the tables of a path, in the order of their names.

    A warning is logged if a folder has subfolders that are not read.

    Raises
    ------
    FileNotFoundError
    ValueError
        If the path contains no tables, or something else, or tables of several formats.
    """
    path.stat()  # raises an error if it is missing
    files = _folder_files(path, recursive) if path.is_dir() else [path]
    if recursive and not path.is_dir():
        raise ValueError(f"{path}: recursive=True has no effect on a file; leave it out")
    formats = {file: find_format(file) for file in files}
    for file, table_format in formats.items():
        if table_format is None:
            suffixes = ", ".join(SUFFIXES)
            raise ValueError(f"{file}: column needs a table ({suffixes}); read other files as text")
    for file, table_format in formats.items():
        if table_format != formats[files[0]]:
            raise ValueError(
                f"{path}: {files[0].name} and {file.name} have different formats; pass a folder of "
                "one format"
            )
    return [str(file) for file in files]


def _folder_files(path: Path, recursive: bool) -> list[Path]:
    """Return the files of a folder that aren't empty."""
    if (path / "_delta_log").exists():
        raise ValueError(
            f"{path}: is a Delta table, whose files also contain deleted rows; write its rows to "
            "Parquet files first"
        )
    files, left_out = list_files(path, recursive, HIDDEN)
    files = [file for file in files if file.stat().st_size]
    subfolders = f"{len(left_out)} subfolder{'s' * (len(left_out) > 1)}"
    names = textwrap.shorten(", ".join(left_out), 200, placeholder=" ...")
    if not files:
        only = f", only {subfolders} ({names}): pass recursive=True to read the tables in them"
        raise ValueError(f"{path}: contains no tables{only if left_out else ''}")
    if left_out:
        are = "are" if len(left_out) > 1 else "is"
        logger.warning(
            f"{path}: {subfolders} {are} not read ({names}): pass recursive=True to read the tables"
        )
    return files
