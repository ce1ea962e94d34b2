"""A column of tables as a corpus: Parquet, Arrow, ORC, CSV and JSON files, read in batches."""

import os
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.integer_sentences import IntegerBatch
from gensim_tfw2v.corpus.protocol import Corpus, CorpusSource
from gensim_tfw2v.corpus.sentence_corpus import (
    IntegerCorpus,
    SentenceCorpus,
    open_integers,
    open_sentences,
)
from gensim_tfw2v.corpus.sentence_weights import repeat_items
from gensim_tfw2v.corpus.shard_files import MAX_SENTENCE
from gensim_tfw2v.corpus.tables.column_text import ColumnRange
from gensim_tfw2v.corpus.tables.table_columns import (
    find_types,
    flat_items,
    is_integer,
    is_text,
    is_uint64,
    items_of,
    naming,
    read_column,
    require_pyarrow,
)
from gensim_tfw2v.corpus.tables.table_folders import list_tables
from gensim_tfw2v.corpus.tables.table_options import TableColumn, TableOptions
from gensim_tfw2v.corpus.tables.table_weights import RowWeights, check_weight_column
from gensim_tfw2v.corpus.text_corpus import TextCorpus
from gensim_tfw2v.corpus.weighted_corpus import PartWeights, WeightedCorpus
from gensim_tfw2v.messages import quoted

try:
    import pyarrow as pa
except ModuleNotFoundError:
    pass  # `require_pyarrow` raises when a table is opened; `import *` must work without pyarrow

#: Document with the attributes of gensim's TaggedDocument; this subpackage doesn't import gensim.
TaggedDocument = namedtuple("TaggedDocument", ["words", "tags"])


class TableSentences(CorpusSource):
    r"""Sentences of a column of a table, as an iterable that can be read repeatedly.

    A row is a sentence. A string is split at white space. The items of a list are words: strings,
    which may contain blanks, or integers. Rows without words are skipped, and rows of more than
    10,000 words are cut into several sentences, as in gensim's `LineSentence`. Memory doesn't grow
    with the table, except for 4 bytes per row of a table of lists with weights.

    A table is either read as pandas reads it with the same options, or refused. pandas repairs text
    after a closing quote, rows that are too short and bytes that can't be decoded. Here such a row
    is an error, and the message contains the number of the row and a cure.

    Parameters
    ----------
    path : path
        Parquet (.parquet), Arrow or Feather (.arrow, .feather, .ipc), ORC (.orc), CSV (.csv or,
        separated by tabs, .tsv), JSON Lines (.jsonl, .ndjson) or a JSON array of records (.json).
        If the content of a file is unmistakable, it determines the format, rather than the suffix.
        CSV and JSON may be compressed (.gz, .bz2, .xz, .zst, .lz4). The path may also be that of a
        folder of files in one format. They are read in the order of their names, except empty
        files, and files whose names start with a dot or an underscore.
    column : str
        Name of a column of strings, of lists of strings, or of lists of integers.
    sep : str, optional
        CSV: character that separates cells; by default a comma, or a tab in .tsv files.
    quotechar : str, optional
        CSV: character that encloses cells, in which it is doubled. None: quotes are ordinary
        characters, as with pandas' ``quoting=csv.QUOTE_NONE``.
    escapechar : str, optional
        CSV: character before a quote or a separator that is part of a cell, such as ``"\\"`` in
        Spark's files.
    header : 0 or None, optional
        CSV: 0: the first row contains the names of the columns. None: no row does. By default 0,
        and None if there are `names`.
    names : list of str, optional
        CSV: names of the columns, instead of those in the first row. The default names of a table
        without a header are "0", "1", ....
    encoding : str, optional
        CSV and JSON: encoding of the text, such as "utf-16", "latin-1" or "cp1252"; by default
        UTF-8.
    newlines : bool, default False
        CSV: allow newlines in quoted cells. By default they are an error. Otherwise, if quotes were
        ordinary characters, all rows between two quotes would become one cell.
    lists : str, optional
        "json": parse cells of text that contain a list in JSON or as Python prints it, such as
        ``['New York', 'is']`` or ``[1, 2]``. By default such a column is refused.
    recursive : bool, default False
        Read tables in subfolders of a folder, too, such as Hive's ``y=1``.
    weight : str, optional
        Name of a column of numbers from 0 to 2^31: the weights of the rows. A row of weight 2.5 is
        trained twice in each epoch, and a third time with probability 0.5; see
        `WeightedSentences`. By default, each row is trained once.

    Attributes
    ----------
    types : dict
        Type of the column in each file, by the file's path.

    Raises
    ------
    ImportError
        If pyarrow is missing.
    FileNotFoundError
    TypeError
        If an option has a wrong type.
    ValueError
        If a file is not a table or lacks the column, if the column is of a different type, or if an
        option has a wrong value or has no effect on the table. While reading, if a file is damaged,
        if a row can't be read reliably, if a row of CSV or JSON is longer than 4 MiB, or if a
        weight is null, negative, NaN, infinite or above 2^31.

    Examples
    --------
    >>> from gensim_tfw2v import TableSentences, TFWord2Vec
    >>> model = TFWord2Vec(TableSentences("texts.parquet", "text"))  # doctest: +SKIP
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        column: str,
        *,
        sep: str | None = None,
        quotechar: str | None = '"',
        escapechar: str | None = None,
        header: int | str | None = "infer",
        names: Sequence[str] | None = None,
        encoding: str | None = None,
        newlines: bool = False,
        lists: str | None = None,
        recursive: bool = False,
        weight: str | None = None,
    ) -> None:
        require_pyarrow()
        self.path = path
        self.column = column
        self.weight = weight
        self._n_iterations = 0
        self.options = TableOptions(
            sep, quotechar, escapechar, header, names, encoding, newlines, lists, recursive
        )
        if not isinstance(column, str):
            raise TypeError(f"column must be the name of a column, a string, got {quoted(column)}")
        if weight is not None:
            self._check_weight(weight)
        self.types = find_types(list_tables(Path(path), recursive), self._column)
        self._check_types()
        if self._weight_column is not None:
            for file in self.types:
                check_weight_column(file, self._weight_column)

    def _check_weight(self, weight: Any) -> None:
        """Raise a TypeError if `weight` is not the name of a column."""
        if not isinstance(weight, str):
            raise TypeError(f"weight must be the name of a column, a string, got {quoted(weight)}")

    def _check_types(self) -> None:
        """Raise a ValueError if some files contain integers and others strings.

        The words 1 and "1" would be different.
        """
        by_kind = {is_integer(items_of(kind)): file for file, kind in self.types.items()}
        if len(by_kind) > 1:
            raise ValueError(
                f"{self.path}: column {quoted(self.column)} contains integers in {by_kind[True]}, "
                f"and strings in {by_kind[False]}; convert one of them"
            )

    def documents(self) -> "TableDocuments":
        """Return the rows as tagged documents for `TFDoc2Vec`.

        Raises a ValueError if the rows have weights.
        """
        if self.weight is not None:
            raise _documents_error(self.weight)
        documents = TableDocuments.__new__(TableDocuments)
        documents.__dict__.update(self.__dict__)
        return documents

    @property
    def _column(self) -> TableColumn:
        return TableColumn(self.column, self.options)

    @property
    def _weight_column(self) -> TableColumn | None:
        return None if self.weight is None else TableColumn(self.weight, self.options)

    def __iter__(self) -> Iterator[Any]:
        """Yield the sentences. Rows with weights are repeated; each iteration has new draws."""
        rows = self._rows()
        if self.weight is not None:
            rows = repeat_items(zip(rows, self._row_weights(), strict=True), self._n_iterations)
            self._n_iterations += 1
        for words in rows:
            yield from _cut_row(words)

    def open_corpus(self, tagged: bool) -> Corpus:
        """Open the column for one reading.

        Compiled code reads columns of texts and of integers, and Python reads lists of strings.
        """
        if self.weight is not None:
            return self._open_weighted(tagged)
        if (ranges := self.ranges) is not None:
            return TextCorpus(ranges, tagged)
        if tagged:
            return open_sentences(self.documents(), tagged)
        return open_integers(self, tagged) or open_sentences(self, tagged)

    def _open_weighted(self, tagged: bool) -> Corpus:
        """Open the column for one reading, with the weights of its rows."""
        assert self.weight is not None
        if tagged:
            raise _documents_error(self.weight)
        if (ranges := self.ranges) is not None:
            return WeightedCorpus(TextCorpus(ranges, tagged=True), self._weight_batches())
        weights = PartWeights()
        if self.integer_batches() is not None:
            return WeightedCorpus(IntegerCorpus(self._weigh_integers(weights)), weights)
        return WeightedCorpus(SentenceCorpus(self._weigh_rows(weights)), weights)

    def _weight_batches(self) -> Iterator[NDArray[np.float32]]:
        """Yield the weights of all rows, in batches."""
        assert self._weight_column is not None
        for path in self.types:
            yield from RowWeights(path, self._weight_column)

    def _row_weights(self) -> Iterator[float]:
        return chain.from_iterable(batch.tolist() for batch in self._weight_batches())

    def _weigh_integers(
        self, weights: PartWeights
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the integers of rows without those of weight 0, and append weights to `weights`."""
        assert self._weight_column is not None
        for path in self.types:
            row_weights = RowWeights(path, self._weight_column)
            for items, lengths in self._integer_rows([path]):
                batch_weights = row_weights.take(len(lengths))
                is_kept = batch_weights > 0
                weights.add_many(batch_weights[is_kept], lengths[is_kept])
                yield items[np.repeat(is_kept, lengths)], lengths[is_kept]

    def _weigh_rows(self, weights: PartWeights) -> Iterator[list[Any]]:
        """Yield the sentences of rows without weight 0, and append their weights to `weights`."""
        for words, weight in zip(self._rows(), self._row_weights(), strict=True):
            for sentence in _cut_row(words) if weight else ():
                weights.add(weight, len(sentence))
                yield sentence

    @property
    def ranges(self) -> list[ColumnRange] | None:
        """Column of each file as a text that the compiled scanner reads; None for lists."""
        if not all(map(is_text, self.types.values())):
            return None
        return [ColumnRange.whole(path, self._column, self._weight_column) for path in self.types]

    def integer_batches(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]] | None:
        """Return an iterator over the sentences in batches; None unless all types fit int64.

        A batch is a pair of arrays: the integers of its sentences, concatenated, and the number of
        integers of each sentence. Nulls in a row are left out.
        """
        items = [items_of(kind) for kind in self.types.values()]
        if not all(map(is_integer, items)) or any(map(is_uint64, items)):
            return None
        rows = self._integer_rows(self.types)
        batches = (IntegerBatch(items, lengths, 0) for items, lengths in rows)
        return ((batch.values, np.diff(batch.ends(), prepend=0)) for batch in batches)

    def _integer_rows(
        self, paths: Iterable[str]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the integers of rows, and the number of integers of each row; 0 for a null."""
        for path in paths:
            with naming(path):
                for column in read_column(path, self._column, self.types[path]):
                    items, lengths = flat_items(column)
                    yield items.cast(pa.int64()).to_numpy(zero_copy_only=False), lengths

    def _rows(self) -> Iterator[list[Any]]:
        """Yield the words of each row; a null has no words."""
        for path, kind in self.types.items():
            for column in read_column(path, self._column, kind):
                if is_text(kind):
                    yield from ((text or "").split() for text in column.to_pylist())
                    continue
                items, lengths = flat_items(column)
                words = iter(items.to_pylist())  # faster than the lists' to_pylist
                yield from ([*islice(words, length)] for length in lengths.tolist())


class TableDocuments(TableSentences):
    """Documents of a column of a table for `TFDoc2Vec`: each row is a document.

    The tag of a document is the number of its row, counted from 0 over all files. A row without
    words is an empty document. Parameters and errors are those of `TableSentences`, except that
    documents have no weights.
    """

    def _check_weight(self, weight: Any) -> None:
        raise _documents_error(weight)

    def open_corpus(self, tagged: bool) -> Corpus:
        """Open the column for one reading; each row is a document."""
        return super().open_corpus(tagged)

    def __iter__(self) -> Iterator[Any]:
        for row, words in enumerate(self._rows()):
            yield TaggedDocument(words, [row])


def _cut_row(words: list[Any]) -> Iterator[list[Any]]:
    """Yield the sentences of a row: its words, cut if there are more than 10,000."""
    for start in range(0, len(words), MAX_SENTENCE):
        yield words[start : start + MAX_SENTENCE]


def _documents_error(weight: Any) -> ValueError:
    """Return the error of documents with a column of weights."""
    return ValueError(
        f"weight={quoted(weight)} has no effect on documents, because the vector of a document is "
        "trained once in each epoch: leave it out, or train TFWord2Vec or TFFastText"
    )
