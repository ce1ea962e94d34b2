"""Vectors for TensorBoard's projector, a page that shows words as points in space.

TensorBoard is started on a folder. It reads the configuration ``projector_config.pbtxt`` in this
folder and in each run below it, where a run is a folder with event files. The configuration lists
tensors: the vectors of words, or of documents. For each tensor, it contains the names of the files
of the vectors, of a table with a row per vector, and optionally of a bookmark.
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

#: Name of the configuration file in the folder of the run.
CONFIG = "projector_config.pbtxt"

#: Subfolder of the run with the files whose names are in the configuration.
FOLDER = "projector"

#: Maximum number of vectors of a tensor that TensorBoard's page loads.
MAX_WORDS = 100_000

#: Minimum number of vectors for which a layout is computed.
MIN_LAYOUT_ROWS = 50

#: Constant part of a bookmark, which is a saved state of the page, in JSON.
BOOKMARK = """{
  "label": "t-SNE, coloured by cluster",
  "selectedProjection": "custom", "selectedColorOptionName": "cluster", "selectedPoints": [],
  "pcaComponentDimensions": [0, 1, 2],
  "tSNEIteration": 0, "tSNEPerplexity": 25, "tSNELearningRate": 10,
  "customXLeftText": "", "customXRightText": "", "customYUpText": "", "customYDownText": ""
}"""

#: Pattern of the names of files that `write_projector` writes, and later removes.
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
        Folder for TensorBoard, created if it does not exist. TensorBoard can be started on this
        folder, or on a folder above it, which then shows this folder as a run.
    words : int
        Maximum number of words, up to 100,000, which is the limit of the page. If the vectors have
        no counts, the first words are taken for the most frequent.
    laid_out : bool
        Whether to compute a t-SNE layout, which the page shows as a bookmark. This takes about two
        seconds for 10,000 words. Fewer than 50 words get no layout.
    documents : KeyedVectors, optional
        Vectors of documents, such as a model's `dv`. The page shows them, at most `words`, as a
        second tensor, ``documents``, with their tags as labels.

    Returns
    -------
    list of Path
        Paths of the vectors ([words, D], float32), of the table of words, of the bookmark, if any,
        then the same for documents, if any, and of the configuration. The table has the columns
        ``word``, ``rank``, ``count`` (if the vectors have counts) and, for colouring points,
        ``log10 rank``, ``ranks`` (a band of ranks) and ``cluster`` (the central word of a group of
        similar words).

    Raises
    ------
    ValueError
        If there are no vectors, a vector is not finite, or `words` is below 1.
    OSError
        If the folder cannot be written to.

    Notes
    -----
    If vectors have 50 or more dimensions, the page opens with "Spherize data" ticked. The page then
    moves the mean of the vectors to the origin, so the neighbours that it shows differ from those
    of ``vectors.most_similar``.
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
    """Encoded vectors of words or documents, which TensorBoard calls a tensor.

    Attributes
    ----------
    name : str
        Name on the page.
    shape : tuple of int
        Shape of the array of the vectors.
    files : list of (str, str, bytes)
        For each file: field of the configuration that contains its name, name, and content.
    """

    name: str
    shape: tuple[int, ...]
    files: list[tuple[str, str, bytes]]


def _encode_tensor(
    vectors: KeyedVectors, name: str, key_name: str, n_rows: int, laid_out: bool
) -> _Tensor:
    """Encode the vectors of the `n_rows` most frequent words, or of documents.

    `name` is the name of the tensor, and `key_name` of the table's column of words or tags.
    """
    counts = held_counts(vectors)
    rows = order_by_frequency(vectors)[:n_rows]
    values = np.ascontiguousarray(vectors.vectors[rows], dtype="<f4")
    if not np.isfinite(values).all():
        raise ValueError("some vectors are NaN or infinite: the projector cannot show them")
    keys = [vectors.index_to_key[row] for row in rows]
    columns = _table_columns(key_name, keys, None if counts is None else counts[rows])
    content, suffix = _encode_vectors(values)

    # The file names contain a hash of the words. So a TensorBoard that has loaded earlier vectors
    # does not show them with a newer table of different words.
    hashed_content = _encode_table(columns) + repr(values.shape).encode()
    digest = hashlib.blake2b(hashed_content, digest_size=4).hexdigest()
    columns.append(["cluster", *(word_label(keys[row]) for row in cluster(values))])
    files = [
        ("tensor_path", f"{name}-{digest}.{suffix}", content),
        ("metadata_path", f"{key_name}s-{digest}.tsv", _encode_table(columns)),
    ]
    if laid_out and len(values) >= MIN_LAYOUT_ROWS:
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
    """Encode a table: the names of the columns, then one row per word.

    There must be at least two columns. In a table with a single column, TensorBoard would treat the
    column's name as a word, and skip blank words.
    """
    return "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def _encode_vectors(values: np.ndarray) -> tuple[bytes, str]:
    """Encode vectors for TensorBoard; return the bytes, and the suffix of their file.

    TensorBoard tries to read a file as text first, and reads it as binary floats if the first line
    is not UTF-8. For one file in a hundred, the first line of the binary floats happens to be
    valid UTF-8, and TensorBoard would fail. So such vectors are written as text, which is larger
    and slower to read.
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
    """Return a bookmark of the page: a t-SNE layout, coloured by cluster.

    The layout is stored as a custom projection. The page would recompute a t-SNE projection.
    """
    layout = np.round(tsne(values), 3).tolist()
    bookmark = json.loads(BOOKMARK)
    bookmark["selectedLabelOption"] = key_name
    bookmark["customSelectedSearchByMetadataOption"] = key_name
    bookmark["dataSetDimensions"] = values.shape
    bookmark["projections"] = [{"linear-x": x, "linear-y": y} for x, y in layout]
    return json.dumps([bookmark]).encode()


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it, so that no reader sees half of it."""
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
