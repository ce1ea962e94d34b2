"""Files that a model's arrays are mapped from, such as those of a model that only ps tasks hold.

They contain the rows of the last epoch or checkpoint, as arrays in memory would. New rows are
written to new files, which replace the old ones when they are complete.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.files.mapped import new_array
from gensim_tfw2v.files.row_file import RowFile, file_of
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.training.model_arrays import (
    as_tables,
    find_inputs,
    keyed_vectors,
    trained_outputs,
)

#: Suffix of the names of files that are being written.
NEW = ".new"


def tables_folder(model: Any) -> Path | None:
    """Return the folder for files of a model's arrays: `tables_dir`, or a temporary folder."""
    if model.tables_dir is not None:
        return Path(model.tables_dir).absolute()
    temporary = model._state.tables_folder
    return None if temporary is None else temporary.folder


class TableFiles:
    """Files that the arrays of a model are mapped from.

    Parameters
    ----------
    model : TFWord2Vec
    paths : dict of Path
        Path of the file of each table in use.
    """

    def __init__(self, model: Any, paths: dict[str, Path]) -> None:
        self._model = model
        self._paths = paths

    @classmethod
    def find(cls, model: Any) -> TableFiles | None:
        """Return the files of a model's arrays.

        The result is None if the model has no folder for them, or if an array in use is not mapped
        from a file. The arrays may be mapped from other files, such as those of a saved model: only
        new rows are written to the folder.
        """
        folder = tables_folder(model)
        inputs = find_inputs(model)
        if folder is None or inputs is None or model.has_subwords:
            return None
        arrays = {"inputs": ("vectors", inputs)}
        arrays |= {
            array.table: (array.name, rows) for array, rows in trained_outputs(model).items()
        }
        if any(file_of(rows) is None for _, rows in arrays.values()):
            return None
        return cls(model, {table: folder / f"{name}.npy" for table, (name, _) in arrays.items()})

    def create(self) -> Tables:
        """Create new files, of zeros; an unused table is an array without rows."""
        model = self._model
        inputs = find_inputs(model)
        assert inputs is not None  # see `find`
        arrays = {"inputs": inputs}
        arrays |= {array.table: rows for array, rows in trained_outputs(model).items()}
        new_files = {}
        for name, path in self._paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            new_path = Path(f"{path}{NEW}")
            new_array(new_path, arrays[name].shape)
            new_files[name] = RowFile(new_path, model.vector_size)
        return as_tables(model, inputs)._replace(**new_files)

    def remove_new(self) -> None:
        """Remove new files that were created, but have not replaced the old ones."""
        for path in self._paths.values():
            Path(f"{path}{NEW}").unlink(missing_ok=True)

    def replace(self) -> None:
        """Replace the files by the new ones, and map these as the model's arrays.

        The arrays are read-only, because checkpoints share the files, and because ps tasks would
        not notice changes. To change rows, assign a different array.
        """
        for path in self._paths.values():
            os.replace(f"{path}{NEW}", path)
        model = self._model
        first_row = 0
        inputs = np.load(self._paths["inputs"], "r")
        for keyed in keyed_vectors(model):
            n_rows = len(keyed.vectors)
            keyed.vectors = inputs[first_row : first_row + n_rows]
            first_row += n_rows
        for array in trained_outputs(model):
            setattr(model, array.name, np.load(self._paths[array.table], "r"))
