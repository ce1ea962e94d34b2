"""Weights in training: the owner of a model's arrays, which decides whose rows are current.

A regime trains copies of the arrays, or the arrays themselves, in place. While it trains, its rows
are ahead of the model's arrays. `write` makes them equal again.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gensim_tfw2v.kernel.native.padded_rows import RowMemory, new_rows, stride
from gensim_tfw2v.kernel.tables import Divergence, Tables
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.training.model_arrays import (
    as_tables,
    find_inputs,
    join_inputs,
    keyed_vectors,
    renew_norms,
    shapes,
    trained_outputs,
    weights_of,
)
from gensim_tfw2v.training.table_files import TableFiles

if TYPE_CHECKING:
    from gensim_tfw2v.training.subwords import MergedRows, Subwords

logger = logging.getLogger(__name__)


class Weights:
    """Arrays of a `TFWord2Vec` in training, read and written as tables.

    Parameters
    ----------
    model : TFWord2Vec
    subwords : Subwords or None
    is_on_cluster : bool
        Whether a cluster trains the model. Arrays that are mapped from files are then written to
        new files; see `TableFiles`. Otherwise they are changed in place, if they are writable.

    Attributes
    ----------
    regime_is_ahead : bool
        True if the regime's rows are newer than the model's arrays.
    rows_in_place : RowsInPlace or None
        The model's own rows, if the regime trains them; None if it trains copies.
    """

    def __init__(self, model: Any, subwords: Subwords | None, is_on_cluster: bool = False) -> None:
        self.model = model
        self.is_on_cluster = is_on_cluster
        self.subwords = subwords
        self.regime_is_ahead = False
        self.rows_in_place: RowsInPlace | None = None
        self._new_files: Tables | None = None  # files that `write` will replace the old ones by
        self._created_files: TableFiles | None = None  # names of all new files that were created
        self._is_scarce: bool | None = None  # True: copies do not fit; None: not yet computed
        self._arrays_at_load: list[Any] = []  # result of `weights_of` at the last `load`
        #: Rows of subwords that were last read or written, and their `Subwords.merged`.
        self._subword_rows: tuple[np.ndarray, MergedRows] | None = None

    def tables(self) -> Tables:
        """Return the model's arrays as tables; an unused table has no rows.

        The arrays are not copied. Rows of subwords are those that were last written, unless the
        model's arrays have changed since: gathering them again would round them.
        """
        if self.subwords is None:
            return as_tables(self.model, join_inputs(self.model))
        vectors = self.model.wv
        if self._subword_rows is None or not self.subwords.are_in(vectors, *self._subword_rows):
            rows = self.subwords.gather(vectors)
            self._subword_rows = rows, self.subwords.merge_rows(vectors, rows)
        return as_tables(self.model, self._subword_rows[0])

    def load(self, is_local: bool = False) -> Tables:
        """Return the tables to train on: arrays to copy, or memories to train in place.

        A `LocalRegime` trains the model's arrays in place if the model was never trained and has
        no checkpoints, because it then has nothing to lose, or if memory is scarce.
        """
        in_place = self._choose_rows_in_place() if is_local else None
        tables = self.tables() if in_place is None else in_place.tables
        self.rows_in_place = in_place
        self._arrays_at_load = weights_of(self.model)
        if in_place is None and (files := self._find_files()) is not None:
            self._create_files(files)  # if the disk is full, this raises now, not after the epoch
        return tables

    def _create_files(self, files: TableFiles) -> Tables:
        """Return the new files to write to, which are created once for each `write`."""
        if self._new_files is None:
            self._created_files = files  # first, because `create` may fail after the first file
            self._new_files = files.create()
        return self._new_files

    def _choose_rows_in_place(self) -> RowsInPlace | None:
        """Return the rows to train in place; None to train copies of the model's arrays."""
        model = self.model
        # Copies are needed for FastText, whose rows are gathered from two arrays, and for
        # `dm_concat`, where kernels split an output into several rows.
        if self.subwords is not None or model.layer1_size != model.vector_size:
            return None
        has_nothing_to_lose = model._state.is_new and model.checkpoint_dir is None
        if has_nothing_to_lose and (rows := RowsInPlace.find(model)) is not None:
            return rows
        if not self._lacks_memory():
            return None
        _make_room(model)
        return RowsInPlace.find(model)

    @contextlib.contextmanager
    def training(self) -> Iterator[None]:
        """Let the regime train; rows that it trains in place are padded in this context.

        Raises
        ------
        Divergence
            If training diverges. A model that is trained in place then has no vectors.
        """
        self.regime_is_ahead = True
        try:
            self.move_apart()
            yield
        except Divergence as error:
            reported = self.abandon(error)
            if reported is error:
                raise
            raise reported from None
        finally:
            self.move_together()

    def move_apart(self) -> None:
        """Move apart the rows that kernels train in place; do nothing if they train copies.

        The model's arrays become strided views of the rows, which other threads can read meanwhile.
        """
        if self.rows_in_place is not None:
            self.rows_in_place.move_apart()

    def move_together(self) -> None:
        """Undo `move_apart`, so that the model has its arrays in C order again."""
        if self.rows_in_place is not None:
            self.rows_in_place.move_together()

    def _lacks_memory(self) -> bool:
        """Return whether copies do not fit into memory; computed once, before copies exist."""
        if self._is_scarce is None:
            import psutil

            arrays = [array for _, of in weights_of(self.model) for array in of.values()]
            needed = sum(4 * len(array) * stride(array.shape[1]) for array in arrays)
            available = psutil.virtual_memory().available
            self._is_scarce = available < needed
            if self._is_scarce:
                logger.warning(
                    "training in place: copies of the vectors need %i MiB of memory, but only %i "
                    "MiB are available. If training diverges, the vectors are lost",
                    needed >> 20,
                    available >> 20,
                )
        return self._is_scarce

    def abandon(self, error: Divergence) -> Divergence:
        """Abandon the regime's rows, which have diverged, and return the error to raise.

        If they were trained in place, the model's arrays are removed.
        """
        self.regime_is_ahead = False
        if self.rows_in_place is None:
            return error
        for attributes, arrays in weights_of(self.model):
            for name, array in arrays.items():
                attributes[name] = np.zeros((0, array.shape[1]), np.float32)
        renew_norms(self.model)
        return Divergence(
            f"{error}. The model's vectors are lost, because they were trained in place: before "
            "training again, call init_weights() or build the vocabulary, which make new ones"
        )

    def has_files(self) -> bool:
        """Return whether the model's arrays are mapped from files, which `write` replaces."""
        return self._find_files() is not None

    def close(self) -> None:
        """Remove files that were created for rows that were not written."""
        if self._created_files is not None:
            self._created_files.remove_new()

    def _find_files(self) -> TableFiles | None:
        """Return the files that `write` replaces; None if it changes arrays in place."""
        if self.model.tables_dir is None and self.model._state.tables_folder is None:
            return None
        files = TableFiles.find(self.model)
        is_writable = self.model.wv.vectors.flags.writeable
        return None if is_writable and not self.is_on_cluster else files

    def write(self, fill: Callable[[Tables], None]) -> bool:
        """Call `fill` with the model's tables, then update everything that is derived from them.

        Returns False if shapes of arrays have changed since they were loaded. The loaded arrays are
        then restored, and vectors that were added meanwhile follow the trained vectors. All arrays
        are then in C order.
        """
        model = self.model
        self.move_together()
        current = weights_of(model)
        are_same = not self._arrays_at_load or shapes(current) == shapes(self._arrays_at_load)
        files = self._find_files() if are_same else None
        if files is not None:
            fill(self._create_files(files))
            files.replace()
            self._new_files = None
            self.regime_is_ahead = False
            renew_norms(model)
            return True
        for attributes, arrays in current if are_same else self._arrays_at_load:
            for name, array in arrays.items():
                # this copies arrays that are not writable float32 in C order
                attributes[name] = np.require(array, np.float32, ["C", "W"])
        if self.subwords is None:
            fill(as_tables(model, join_inputs(model)))
        else:
            if self._subword_rows is None:
                self.tables()
            assert self._subword_rows is not None
            _, merged = self._subword_rows
            rows = np.empty((len(self.subwords.weights), model.vector_size), np.float32)
            fill(as_tables(model, rows))
            self.subwords.scatter(model.wv, rows, merged)
            self._subword_rows = rows, merged
        if are_same:
            self.regime_is_ahead = False
        else:
            for attributes, arrays in current[1:]:
                trained_rows = attributes["vectors"]
                added_rows = arrays["vectors"][len(trained_rows) :]
                attributes["vectors"] = np.concatenate([trained_rows, added_rows])
        renew_norms(model)
        return are_same


class RowsInPlace:
    """Rows of a model's own arrays, which kernels train in place.

    Parameters
    ----------
    model : TFWord2Vec
    tables : Tables of RowMemory or ndarray
        Memories of the tables to train; arrays without rows for unused tables.
    """

    def __init__(self, model: Any, tables: Tables) -> None:
        self.tables = tables
        self._model = model
        memories = [table for table in tables if isinstance(table, RowMemory)]
        self._memories = list(dict.fromkeys(memories))  # tables may share an array
        # strided views of rows that are apart, each with the model's array that it replaces
        self._views: list[tuple[np.ndarray, np.ndarray]] = []

    @classmethod
    def find(cls, model: Any) -> RowsInPlace | None:
        """Return the rows of a model; None if kernels cannot train all of its arrays in place."""
        inputs = find_inputs(model)
        if inputs is None:
            return None
        tables = []
        for rows in as_tables(model, inputs):
            table = RowMemory.of(rows) if len(rows) else rows
            if table is None:
                return None
            tables.append(table)
        return cls(model, Tables(*tables))

    def move_apart(self) -> None:
        """Insert the kernels' padding between the rows, and replace the model's arrays by views.

        See `RowMemory.move_apart`.
        """
        if self._views:
            return
        with defer_interrupts():
            weights = weights_of(self._model)
            for memory in self._memories:
                memory.move_apart()
                rows = memory.array
                for attributes, arrays in weights:
                    for name, array in arrays.items():
                        if RowMemory.find(array) is memory:
                            first = memory.index(array)
                            view = rows[first : first + len(array)]
                            attributes[name] = view
                            self._views.append((view, array))

    def move_together(self) -> None:
        """Move the rows together, and restore the model's arrays."""
        if not any(memory.is_apart for memory in self._memories):
            return
        originals = {id(view): array for view, array in self._views}
        originals |= {id(array): array for _, array in self._views}
        with defer_interrupts():
            for attributes, arrays in weights_of(self._model):
                for name, array in arrays.items():
                    if id(array) in originals:
                        attributes[name] = originals[id(array)]
                    elif RowMemory.find(array) in self._memories:
                        attributes[name] = array.copy()  # a view that another thread has set
            for memory in self._memories:
                memory.move_together()
            self._views = []


def _make_room(model: Any) -> None:
    """Copy each array that kernels cannot train in place to memory with room for padding."""
    inputs = find_inputs(model)
    if RowMemory.of(inputs) is None:
        all_vectors = keyed_vectors(model)
        whole = new_rows(sum(len(keyed.vectors) for keyed in all_vectors), model.vector_size)
        for keyed, rows in zip(all_vectors, np.split(whole, [len(model.wv)]), strict=False):
            rows[:] = keyed.vectors
            keyed.vectors = rows
    for array, rows in trained_outputs(model).items():
        if RowMemory.of(rows) is None:
            roomy = new_rows(*rows.shape)
            roomy[:] = rows
            setattr(model, array.name, roomy)
