"""Tables in a folder, which are the parts of one table, in the same format."""

import logging
import textwrap
from pathlib import Path
from typing import NamedTuple

from gensim_tfw2v.corpus.folders import list_files
from gensim_tfw2v.corpus.tables.table_formats import SUFFIXES, find_format

logger = logging.getLogger(__name__)

#: Files and folders whose names begin with one of these characters are no parts of a table.
HIDDEN_PREFIXES = "._"


class FolderAdvice(NamedTuple):
    """Advice of messages, for callers with different options.

    Attributes
    ----------
    no_table : str
        Advice for a file that is not a table.
    subfolders : str
        Advice for a folder with subfolders, which are not read.
    """

    no_table: str
    subfolders: str


#: Advice for a column as a corpus.
COLUMN_ADVICE = FolderAdvice(
    no_table=f"column needs a table ({', '.join(SUFFIXES)}); read other files as text",
    subfolders="pass recursive=True to read the tables",
)


def list_tables(path: Path, recursive: bool, advice: FolderAdvice = COLUMN_ADVICE) -> list[str]:
    """Return the tables of a path, in the order of their names.

    A warning is logged if a folder has subfolders that are not read. It ends with the `advice`.

    Raises
    ------
    FileNotFoundError
    ValueError
        If the path contains no tables, files that are not tables, or tables of several formats.
    """
    path.stat()  # raises an error if the path is missing
    files = _folder_files(path, recursive, advice.subfolders) if path.is_dir() else [path]
    if recursive and not path.is_dir():
        raise ValueError(f"{path}: recursive=True has no effect on a file; leave it out")
    formats = {file: find_format(file) for file in files}
    for file, table_format in formats.items():
        if table_format is None:
            raise ValueError(f"{file}: {advice.no_table}")
    for file, table_format in formats.items():
        if table_format != formats[files[0]]:
            raise ValueError(
                f"{path}: {files[0].name} and {file.name} have different formats; pass a folder of "
                "one format"
            )
    return [str(file) for file in files]


def _folder_files(path: Path, recursive: bool, advice: str) -> list[Path]:
    """Return the files of a folder that aren't empty.

    Messages about subfolders that are not read end with the `advice`.
    """
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
        only = f", only {subfolders} ({names}): {advice}"
        raise ValueError(f"{path}: contains no tables{only if unread_subfolders else ''}")
    if unread_subfolders:
        are = "are" if len(unread_subfolders) > 1 else "is"
        logger.warning(f"{path}: {subfolders} {are} not read ({names}): {advice}")
    return files
