"""Vectors for TensorBoard's projector, a page that shows words as points in space.

TensorBoard reads ``projector_config.pbtxt`` in the folder that it is started on, and in each run
below it; a run is a folder with event files. The configuration names the files of each tensor (of
words, or of documents): the vectors, a table with a row per vector, and optionally a bookmark.
"""

import hashlib
import io
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from gensim.models import KeyedVectors
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from gensim_tfw2v.keyed import held_counts, with_keys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.events import make_run
from gensim_tfw2v.monitor.labels import word_label
from gensim_tfw2v.monitor.tsne import tsne
from gensim_tfw2v.monitor.word_groups import bands, cluster, order_by_frequency

#: Name of the configuration, in the folder of the run.
CONFIG = "projector_config.pbtxt"

#: Subfolder of the run with the other files.
FOLDER = "projector"

#: Maximum number of vectors that the page loads.
MAX_WORDS = 100_000

#: Minimum number of words for a layout.
MIN_WORDS = 50

#: Constant part of a bookmark of the page, in JSON.
BOOKMARK = """{
  "label": "t-SNE, coloured by cluster",
  "selectedProjection": "custom", "selectedColorOptionName": "cluster", "selectedPoints": [],
  "pcaComponentDimensions": [0, 1, 2],
  "tSNEIteration": 0, "tSNEPerplexity": 25, "tSNELearningRate": 10,
  "customXLeftText": "", "customXRightText": "", "customYUpText": "", "customYDownText": ""
}"""

#: Names of files that `write_projector` writes.
FILE_NAME = re.compile("(vectors|words|documents|tags|layout)-")


def write_projector(
    vectors: KeyedVectors,
    log_dir: str | os.PathLike[str],
    words: int = 10_000,
    laid_out: bool = True,
    documents: KeyedVectors | None = None,
) -> list[Path]:
    """Write the vectors of the most frequent words for the projector of TensorBoard.

    Earlier files in the folder are replaced. Every file is replaced atomically, so this function
    may be called while TensorBoard runs, for example after each epoch. ``tfw2v tensorboard`` shows
    the new vectors when the page is reloaded, ``tensorboard`` itself only after a restart.

    Parameters
    ----------
    vectors : KeyedVectors
        V vectors of D dimensions.
    log_dir : path
        Folder for TensorBoard, created if it does not exist. It is a run if TensorBoard is started
        on a folder above it.
    words : int
        Maximum number of words; the page takes 100,000. If the vectors have no counts, the first
        words count as the most frequent.
    laid_out : bool
        Compute a t-SNE layout, which the page shows as a bookmark. This takes about two seconds for
        10,000 words. Fewer than 50 words get no layout.
    documents : KeyedVectors, optional
        Vectors of documents, such as a model's `dv`. The page shows the first of them, at most
        `words`, as a second tensor, ``documents``, each by its tag.

    Returns
    -------
    list of Path
        Files of the vectors ([words, D], float32), the table of words, the bookmark, if any, and
        the configuration. The table has the columns ``word``, ``rank`` and, if known, ``count``,
        and for colours ``log10 rank``, ``ranks`` (a band of ranks) and ``cluster`` (the central
        word of a group of similar words). Files of documents come before the configuration.

    Raises
    ------
    ValueError
        If there are no vectors, a vector is not finite, or `words` is below 1.
    OSError
        If the folder cannot be written to.

    Notes
    -----
    From 50 dimensions up, the page opens with "Spherize data" ticked. It then moves the vectors'
    mean to the origin, and the neighbours that it shows differ from those of `vectors`.
    """
    if words < 1:
        raise ValueError(f"words must be at least 1, got {quoted(words)}")
    vectors = with_keys(vectors)
    if not len(vectors):
        raise ValueError("there are no vectors to write: the vocabulary is empty")
    folder = Path(log_dir) / FOLDER
    config = ProjectorConfig()
    contents: dict[Path, bytes] = {}
    n_rows = min(words, MAX_WORDS)
    tensors = [_encode_tensor(vectors, "vectors", "word", n_rows, laid_out)]
    if documents is not None and len(documents):
        tensors.append(_encode_tensor(documents, "documents", "tag", n_rows, laid_out))
    for tensor in tensors:
        embedding = config.embeddings.add(tensor_name=tensor.name, tensor_shape=tensor.shape)
        for field, file, content in tensor.files:
            setattr(embedding, field, f"{FOLDER}/{file}")
            contents[folder / file] = content
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        _write_atomically(path, content)
    make_run(folder.parent)
    _write_atomically(folder.parent / CONFIG, text_format.MessageToString(config).encode())
    for old_path in folder.iterdir():
        if FILE_NAME.match(old_path.name) and old_path not in contents:
            old_path.unlink(missing_ok=True)
    return [*contents, folder.parent / CONFIG]


class _Tensor(NamedTuple):
    """Vectors for the page.

    Attributes
    ----------
    name : str
        Name on the page.
    shape : tuple of int
        Shape of the array of the vectors.
    files : list of (str, str, bytes)
        Field of the configuration, name and content of each file.
    """

    name: str
    shape: tuple[int, ...]
    files: list[tuple[str, str, bytes]]


def _encode_tensor(
    vectors: KeyedVectors, name: str, key_name: str, n_rows: int, laid_out: bool
) -> _Tensor:
    """Encode the `n_rows` most frequent vectors; `key_name` is the name of the column of keys."""
    counts = held_counts(vectors)
    rows = order_by_frequency(vectors)[:n_rows]
    values = np.ascontiguousarray(vectors.vectors[rows], dtype="<f4")
    if not np.isfinite(values).all():
        raise ValueError("some vectors are NaN or infinite: the projector cannot show them")
    keys = [vectors.index_to_key[row] for row in rows]
    columns = _table_columns(key_name, keys, None if counts is None else counts[rows])
    content, suffix = _encode_vectors(values)

    # Different words get different file names: a TensorBoard that has loaded earlier vectors must
    # not show them with these words.
    names_content = _encode_table(columns) + repr(values.shape).encode()
    digest = hashlib.blake2b(names_content, digest_size=4).hexdigest()
    columns.append(["cluster", *(word_label(keys[row]) for row in cluster(values))])
    files = [
        ("tensor_path", f"{name}-{digest}.{suffix}", content),
        ("metadata_path", f"{key_name}s-{digest}.tsv", _encode_table(columns)),
    ]
    if laid_out and len(values) >= MIN_WORDS:
        bookmark = _encode_bookmark(values, key_name)
        files.append(("bookmarks_path", f"layout-{digest}.json", bookmark))
    return _Tensor(name, values.shape, files)


def _table_columns(key_name: str, keys: list[str], counts: np.ndarray | None) -> list[list[str]]:
    """Return the columns of the table of words or tags; each column starts with its name.

    TensorBoard can colour points by any column of numbers, from the lowest to the highest, and by
    any column with at most 50 different values.
    """
    ranks = np.arange(1, len(keys) + 1)
    columns = [
        [key_name, *(word_label(key) for key in keys)],
        ["rank", *(str(rank) for rank in ranks)],
    ]
    if counts is not None:
        columns.append(["count", *(str(count) for count in counts)])
    columns.append(["log10 rank", *(f"{power:.3f}" for power in np.log10(ranks))])
    columns.append(["ranks", *(name for name, band in bands(len(keys)) for _ in keys[band])])
    return columns


def _encode_table(columns: list[list[str]]) -> bytes:
    """Return the table: the names of the columns, then one row per word.

    There must be at least two columns. With a single column, TensorBoard treats the first row as a
    word, and skips blank rows.
    """
    return "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def _encode_vectors(values: np.ndarray) -> tuple[bytes, str]:
    """Encode vectors for TensorBoard; return the bytes, and the suffix of their file.

    TensorBoard reads a file as text first, and as binary floats only if the first line is not
    UTF-8. In one file of a hundred, binary floats happen to start with a line in UTF-8, and
    TensorBoard would fail. Such vectors are written as text, which is larger and slower to read.
    """
    raw = values.tobytes()
    try:
        raw.split(b"\n", 1)[0].decode()
    except UnicodeDecodeError:
        return raw, "bytes"
    text = io.BytesIO()
    np.savetxt(text, values, fmt="%.9g", delimiter="\t")
    return text.getvalue(), "tsv"


def _encode_bookmark(values: np.ndarray, key_name: str) -> bytes:
    """Return a bookmark of the page: a layout, coloured by cluster.

    The layout is stored as a custom projection, because the page would recompute a t-SNE one.
    """
    layout = np.round(tsne(values), 3).tolist()
    bookmark = json.loads(BOOKMARK)
    bookmark["selectedLabelOption"] = key_name
    bookmark["customSelectedSearchByMetadataOption"] = key_name
    bookmark["dataSetDimensions"] = values.shape
    bookmark["projections"] = [{"linear-x": x, "linear-y": y} for x, y in layout]
    return json.dumps([bookmark]).encode()


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file that appears only when it is complete."""
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
