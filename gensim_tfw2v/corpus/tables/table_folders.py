"""Tables in a folder, which are the parts of one table, in the same format."""

import logging
import textwrap
from pathlib import Path

from gensim_tfw2v.corpus.folders import list_files
from gensim_tfw2v.corpus.tables.table_formats import SUFFIXES, find_format

logger = logging.getLogger(__name__)

#: Files and folders whose names begin with one of these characters are no parts of a table.
HIDDEN_PREFIXES = "._"


def list_tables(path: Path, recursive: bool) -> list[str]:
    """Return the tables of a path, in the order of their names.

    A warning is logged if a folder has subfolders that are not read.

    Raises
    ------
    FileNotFoundError
    ValueError
        If the path contains no tables, files that are not tables, or tables of several formats.
    """
    path.stat()  # raises an error if the path is missing
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
    files, unread_subfolders = list_files(path, recursive, HIDDEN_PREFIXES)
    files = [file for file in files if file.stat().st_size]
    subfolders = f"{len(unread_subfolders)} subfolder{'s' * (len(unread_subfolders) > 1)}"
    names = textwrap.shorten(", ".join(unread_subfolders), 200, placeholder=" ...")
    if not files:
        advice = f", only {subfolders} ({names}): pass recursive=True to read the tables in them"
        raise ValueError(f"{path}: contains no tables{advice if unread_subfolders else ''}")
    if unread_subfolders:
        are = "are" if len(unread_subfolders) > 1 else "is"
        logger.warning(
            f"{path}: {subfolders} {are} not read ({names}): pass recursive=True to read the tables"
        )
    return files
