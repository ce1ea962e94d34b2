"""Evaluation files: rated word pairs and analogy questions, distinguished by their content."""

import io
import os
from collections.abc import Mapping
from typing import Literal

import gensim

from gensim_tfw2v import messages
from gensim_tfw2v.messages import damage, decode_error_message, open_decompressed

#: Two words and their rating.
Pair = tuple[str, str, float]

#: Four words.
Question = tuple[str, ...]

Path = str | os.PathLike[str]

#: Name of the section of questions before the first section header.
UNNAMED_SECTION = "(no section)"


class EvaluationFileError(ValueError):
    """Evaluation file that is empty or damaged, or has a line that cannot be parsed."""


def find_shipped(names: Mapping[str, str], path: Path) -> Path:
    """Return the path of gensim's evaluation file if `path` is a name in `names`, else `path`."""
    if path not in names:
        return path
    # gensim.test.utils.datapath returns this path, too, but importing it builds a vocabulary.
    return os.path.join(os.path.dirname(gensim.__file__), "test", "test_data", names[str(path)])


def require_file(path: Path) -> None:
    """Raise an EvaluationFileError for a pipe or a device, which cannot be read several times."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise EvaluationFileError(
            f"{path}: is read several times, but is a pipe or a device; write it to a file"
        )


def file_kind(path: Path) -> Literal["pairs", "analogies"]:
    """Return the kind of an evaluation file, by its first two lines.

    A file of analogies starts with a section header or four words, and any other file is of pairs.
    Pairs may also have four columns, for example with a standard deviation. Then the first line has
    a number as its third or fourth field, or it names columns, and the second line has one as its
    third.

    Raises
    ------
    EvaluationFileError
        If the file contains only comments and blank lines, or is a pipe: it is read again later.
    OSError
        If the file cannot be read.
    """
    require_file(path)
    lines = [line for _, line in read_lines(path)[:2]]
    line = lines[0]
    if line.startswith(":"):
        return "analogies"
    # column names such as "Word 1,Word 2,Human (mean)" can be four words, but three fields
    fields = _split_fields(line)
    if not len(line.split()) == len(fields) == 4 or any(map(_is_number, fields[2:])):
        return "pairs"
    rating = _split_fields(lines[-1])[2:3]
    return "pairs" if any(map(_is_number, rating)) else "analogies"


def read_pairs(path: Path) -> list[Pair]:
    """Read a file with two words and their rating per line.

    Fields are separated by tabs, semicolons or commas, the first of these that the line contains at
    least twice, or otherwise by blanks. Ratings are finite decimal numbers. Blank lines, lines that
    start with ``#``, and a first line with column names are skipped. Columns after the third are
    ignored (in the Rare Words set, they are the ratings of each rater). Compressed files are
    recognized by their suffix.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.

    Returns
    -------
    list of (str, str, float)
        Pairs of words with their ratings.

    Raises
    ------
    EvaluationFileError
        If a line is not ``word word number``, or the file has no such line; the message names
        file and line.
    OSError
        If the file cannot be read.
    """
    rated_pairs: list[Pair] = []
    for index, (line_number, line) in enumerate(read_lines(path)):
        fields = _split_fields(line)
        has_column_names = index == 0 and len(fields) >= 3 and not _is_number(fields[2])
        if has_column_names:
            continue
        try:
            first, second, rating = fields[:3]
            rated_pairs.append((first, second, messages.number(rating)))
        except ValueError:
            advice = "; begin a file of analogies with : and a name" if len(fields) == 4 else ""
            raise EvaluationFileError(
                f"{path}, line {line_number}: expected two words and a finite number, got "
                f"{line[:80]!r}{advice}"
            ) from None
    if not rated_pairs:
        raise EvaluationFileError(f"{path}: contains column names but no pair of words")
    return rated_pairs


def read_questions(path: Path) -> dict[str, list[Question]]:
    """Read analogy questions, four words per line, by section (a line ``: name`` starts one).

    Returns
    -------
    dict
        Questions of each section, in the order of the file. Questions before the first header
        are in the section `UNNAMED_SECTION`.

    Raises
    ------
    EvaluationFileError
        If a line does not contain four words, or there is no question; the message names file and
        line.
    OSError
        If the file cannot be read.
    """
    sections: dict[str, list[Question]] = {}
    section = UNNAMED_SECTION
    for line_number, line in read_lines(path):
        words = line.split()
        if line.startswith(":"):
            section = line.lstrip(": ").strip()
            sections.setdefault(section, [])
        elif len(words) == 4:
            sections.setdefault(section, []).append(tuple(words))
        else:
            raise EvaluationFileError(
                f"{path}, line {line_number}: expected four words or ': section', got {line[:80]!r}"
            )
    if not any(sections.values()):
        raise EvaluationFileError(f"{path}: contains section names but no question")
    return sections


def read_text(path: Path) -> str:
    """Return the text of a file, which may be compressed, without a byte order mark.

    Raises
    ------
    EvaluationFileError
        If the file is damaged or is not UTF-8.
    OSError
        If the file cannot be read.
    """
    try:
        with open_decompressed(path) as file:
            return file.read().decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise EvaluationFileError(f"{path}: {decode_error_message(error, error.start)}") from error
    except Exception as error:
        if damage(error) is None:
            raise
        raise EvaluationFileError(
            f"{path}: is damaged, truncated, or not of the type of its suffix ({error}); create or "
            "copy it again"
        ) from error


def read_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are neither blank nor comments, with their numbers from 1.

    Raises
    ------
    EvaluationFileError
        If the file is damaged, is not UTF-8, or contains only comments and blank lines.
    OSError
        If the file cannot be read.
    """
    lines = [line.strip() for line in io.StringIO(read_text(path), None)]
    numbered_lines = [
        (line_number, line)
        for line_number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    ]
    if not numbered_lines:
        raise EvaluationFileError(f"{path}: contains no line to evaluate")
    return numbered_lines


def _split_fields(line: str) -> list[str]:
    """Return the fields of a line, which `read_pairs` describes."""
    delimiter = next((character for character in "\t;," if line.count(character) >= 2), None)
    return [field.strip() for field in line.split(delimiter)]


def _is_number(text: str) -> bool:
    """Return whether `float` accepts a text, so that it is not the name of a column.

    Ratings are read by `messages.number`, which is stricter.
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
