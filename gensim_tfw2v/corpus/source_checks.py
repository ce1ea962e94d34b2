"""Objects that are passed as sentences but are not: paths, data frames, open files, records."""

import io
import os
import textwrap
from collections.abc import Mapping
from typing import Any

from gensim_tfw2v.messages import quoted

#: Advice to a user who passes a string or bytes that are not the path of a corpus.
SENTENCES_ADVICE = "pass sentences, each a list of words, or corpus_file=path of a text"

_PANDAS_ADVICE = (
    "pass a column of it: [text.split() for text in frame[column]], or frame[column].tolist() if "
    "it holds lists of words"
)
_POLARS_ADVICE = _PANDAS_ADVICE.replace("tolist", "to_list")
_ARROW_ADVICE = (
    "pass a column of it: [text.split() for text in table[column].to_pylist()], or "
    "table[column].to_pylist() if it holds lists of words"
)
_DATASET_ADVICE = (
    "pass a column of it: [text.split() for text in dataset[column]], or dataset[column] if it "
    "holds lists of words"
)
_SAVE_AS_PARQUET = "save it as Parquet, and pass TableSentences(path, column)"

#: Advice for tables in memory, by the package that defines the class and the name of the class.
FRAME_ADVICE = {
    ("pandas", "DataFrame"): _PANDAS_ADVICE,
    ("modin", "DataFrame"): _PANDAS_ADVICE,
    ("polars", "DataFrame"): _POLARS_ADVICE,
    ("polars", "LazyFrame"): "call its collect(), and " + _POLARS_ADVICE,
    ("pyarrow", "Table"): _ARROW_ADVICE,
    ("pyarrow", "RecordBatch"): _ARROW_ADVICE,
    ("datasets", "Dataset"): _DATASET_ADVICE,
    ("datasets", "IterableDataset"): _SAVE_AS_PARQUET,
    ("dask", "DataFrame"): _SAVE_AS_PARQUET,
    ("pyspark", "DataFrame"): _SAVE_AS_PARQUET,
    ("duckdb", "DuckDBPyRelation"): _SAVE_AS_PARQUET,
}

#: Names of pyarrow's types of texts.
TEXT_TYPES = ("string", "large_string", "string_view")


def check_sentences(source: Any) -> None:
    """Raise a TypeError that names the cure if an object cannot be an iterable of sentences.

    Strings within a list are accepted as sentences, as in gensim. A warning is logged when they
    are read.
    """
    if isinstance(source, list | tuple):
        _check_records(source)
    elif isinstance(source, str | os.PathLike):
        raise TypeError(_describe_path(source))
    elif isinstance(source, bytes | bytearray):
        raise TypeError(
            f"the corpus is {quoted(source)}, bytes instead of sentences: {SENTENCES_ADVICE}"
        )
    elif isinstance(source, io.IOBase):
        raise TypeError(
            "the corpus is an open file, whose lines are not split into words: pass "
            "LineSentence(file), or corpus_file=path"
        )
    elif isinstance(source, Mapping):
        if isinstance(next(iter(source), ""), str):
            raise TypeError(
                f"the corpus is a {type(source).__name__} with strings as keys, which are not "
                "sentences: pass its values(), if each is a list of words"
            )
    else:
        check_frame(source)


def _check_records(source: list[Any] | tuple[Any, ...]) -> None:
    """Raise for a list of records, such as `csv.DictReader` and `json` return."""
    if source and isinstance(source[0], Mapping):
        raise TypeError(
            f"the corpus consists of records, the first with the keys {quoted(list(source[0]))}: "
            "pass lists of words, as in: [record[key].split() for record in records]"
        )


def check_frame(source: Any) -> None:
    """Raise a TypeError for a table in memory, recognized without importing its package."""
    for class_ in type(source).__mro__:
        package = class_.__module__.partition(".")[0]
        if advice := FRAME_ADVICE.get((package, class_.__name__)):
            raise TypeError(
                f"the corpus is a {package} {class_.__name__}, not an iterable of sentences: "
                f"{advice}{_columns(source)}"
            )
        if package == "pyarrow" and str(getattr(source, "type", "")) in TEXT_TYPES:
            raise TypeError(
                "the corpus is a pyarrow array of texts, which are not split into words: pass "
                "[text.split() for text in array.to_pylist()]"
            )


def _columns(frame: Any) -> str:
    """Return the names of a table's columns for a message; "" if they are not known."""
    if type(frame).__name__ == "LazyFrame":  # polars would have to compute the columns
        return ""
    names = getattr(frame, "column_names", None)
    names = getattr(frame, "columns", None) if names is None else names
    if names is None:
        return ""
    columns = textwrap.shorten(", ".join(map(str, names)), 400, placeholder=" ...")
    return f"; its columns are: {columns}"


def folder_advice(path: str | os.PathLike[str]) -> str:
    """Return the advice to a user who passes a folder."""
    name = os.fspath(path)
    return (
        f"pass PathLineSentences({name!r}), or for a folder of tables TableSentences({name!r}, "
        "column)"
    )


def _describe_path(path: str | os.PathLike[str]) -> str:
    """Return a message about a path, or another string, that is passed as sentences."""
    name = os.fspath(path)
    subject = f"the corpus is {quoted(name)}"
    try:
        is_file, is_folder = os.path.isfile(name), os.path.isdir(name)
    except ValueError:  # the name contains a null byte
        is_file = is_folder = False
    if is_folder:
        return f"{subject}, a folder: {folder_advice(name)}"
    if not is_file:
        kind = "a string" if isinstance(path, str) else "a path without a file"
        return f"{subject}, {kind} instead of sentences: {SENTENCES_ADVICE}"
    from gensim_tfw2v.corpus.refusals import find_refusal

    if refusal := find_refusal(name):
        return f"the corpus is the path of a file, instead of sentences. {name} {refusal}"
    return f"{subject}, a path instead of sentences: pass corpus_file={name!r}"
