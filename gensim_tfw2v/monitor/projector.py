"""Vectors for TensorBoard's projector, a page that shows words as points in space.

TensorBoard reads ``projector_config.pbtxt`` in the folder that it is started on, and in each run
below it; a run is a folder with event files. The configuration names two more files: the vectors,
and a table with one row per word. Vectors of documents have two files as well.
"""

import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from gensim_tfw2v.keyed import held_counts, with_keys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.events import make_run
from gensim_tfw2v.monitor.labels import printed
from gensim_tfw2v.monitor.tsne import tsne, unit_rows

CONFIG = "projector_config.pbtxt"
FOLDER = "projector"

#: Maximum number of vectors that the page loads.
MAX_WORDS = 100_000

#: Last frequency rank of each band of words; the remaining words form one more band.
EDGES = (100, 1_000, 10_000, 100_000)

#: Maximum number of rows of a band that a histogram is computed from.
MAX_ROWS = 10_000

#: Maximum number of clusters: the projector's page has ten colours.
MAX_CLUSTERS = 10

#: Minimum number of words per cluster, on average.
WORDS_EACH = 10

#: Number of first words that clusters are computed from; the rest are assigned to these clusters.
CLUSTERED_FROM = 10_000

#: Number of iterations of k-means.
ROUNDS = 10

#: Minimum number of words for a layout.
MIN_WORDS = 50

#: Constant part of a bookmark of the page.
STATE = """{
  "label": "t-SNE, coloured by cluster",
  "selectedProjection": "custom", "selectedColorOptionName": "cluster", "selectedPoints": [],
  "pcaComponentDimensions": [0, 1, 2],
  "tSNEIteration": 0, "tSNEPerplexity": 25, "tSNELearningRate": 10,
  "customXLeftText": "", "customXRightText": "", "customYUpText": "", "customYDownText": ""
}"""

#: Beginnings of the names of files that earlier calls have written.
OWN = re.compile("(vectors|words|documents|tags|layout)-")


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
    written: dict[Path, bytes] = {}
    # vectors, their name on the page, and the name of the column with their keys
    for of, name, key in ((vectors, "vectors", "word"), (documents, "documents", "tag")):
        if of is not None and len(of):
            files, shape = _files(of, name, key, min(words, MAX_WORDS), laid_out)
            fields = ("tensor_path", "metadata_path", "bookmarks_path")
            paths = {f: f"{FOLDER}/{file}" for f, file in zip(fields, files, strict=False)}
            config.embeddings.add(tensor_name=name, tensor_shape=shape, **paths)
            written |= {folder / file: content for file, content in files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in written.items():
        _write_whole(path, content)
    make_run(folder.parent)
    _write_whole(folder.parent / CONFIG, text_format.MessageToString(config).encode())
    for old in folder.iterdir():
        if OWN.match(old.name) and old not in written:
            old.unlink(missing_ok=True)
    return [*written, folder.parent / CONFIG]


def _files(
    vectors: KeyedVectors, name: str, key: str, most: int, laid_out: bool
) -> tuple[dict[str, bytes], tuple[int, ...]]:
    """Return the content of a tensor's files by name, and its shape."""
    counts = held_counts(vectors)
    rows = by_frequency(vectors)[:most]
    values = np.ascontiguousarray(vectors.vectors[rows], dtype="<f4")
    if not np.isfinite(values).all():
        raise ValueError("some vectors are NaN or infinite: the projector cannot show them")
    keys = [vectors.index_to_key[row] for row in rows]
    columns = _columns(key, keys, None if counts is None else counts[rows])
    content, form = _encode(values)

    # Different words get different file names: a TensorBoard that has loaded earlier vectors must
    # not show them with these words.
    told = _table(columns) + repr(values.shape).encode()
    digest = hashlib.blake2b(told, digest_size=4).hexdigest()
    columns.append(["cluster", *(printed(keys[middle]) for middle in cluster(values))])
    files = {f"{name}-{digest}.{form}": content, f"{key}s-{digest}.tsv": _table(columns)}
    if laid_out and len(values) >= MIN_WORDS:
        files[f"layout-{digest}.json"] = _bookmark(values, key)
    return files, values.shape


def _columns(key: str, words: list[str], counts: np.ndarray | None) -> list[list[str]]:
    """Return the columns of the table of words or tags; each column starts with its name.

    TensorBoard can colour points by any column of numbers, from the lowest to the highest, and by
    any column with at most 50 different values.
    """
    ranks = np.arange(1, len(words) + 1)
    return [
        [key, *map(printed, words)],
        ["rank", *map(str, ranks)],
        *([] if counts is None else [["count", *map(str, counts)]]),
        ["log10 rank", *(f"{power:.3f}" for power in np.log10(ranks))],
        ["ranks", *(name for name, of in bands(len(words)) for _ in words[of])],
    ]


def _table(columns: list[list[str]]) -> bytes:
    """Format the table: the names of the columns, then one row per word.

    There must be at least two columns. With a single one, TensorBoard treats the first row as a
    word, and skips blank rows.
    """
    return "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def _encode(values: np.ndarray) -> tuple[bytes, str]:
    """Encode vectors for TensorBoard; return the bytes, and the suffix of their file.

    TensorBoard reads a file as text first, and as binary floats only if the first line is not
    UTF-8. If binary floats happen to begin with a line in UTF-8, as in one file of a hundred, it
    fails. Then they are written as text, which is larger and slower to read.
    """
    raw = values.tobytes()
    try:
        raw.split(b"\n", 1)[0].decode()
    except UnicodeDecodeError:
        return raw, "bytes"
    text = io.BytesIO()
    np.savetxt(text, values, fmt="%.9g", delimiter="\t")
    return text.getvalue(), "tsv"


def _bookmark(values: np.ndarray, key: str) -> bytes:
    """Return a bookmark of the page: a layout, coloured by cluster.

    The layout is stored as a custom projection, because the page would recompute a t-SNE one.
    """
    layout = np.round(tsne(values), 3).tolist()
    state = json.loads(STATE)
    state |= dict.fromkeys(("selectedLabelOption", "customSelectedSearchByMetadataOption"), key)
    state["dataSetDimensions"] = values.shape
    state["projections"] = [{"linear-x": x, "linear-y": y} for x, y in layout]
    return json.dumps([state]).encode()


def _write_whole(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def by_frequency(vectors: KeyedVectors) -> np.ndarray:
    """Return the row numbers [V] from the most frequent word to the rarest.

    Words with equal counts, and all words if there are no counts, keep their order.
    """
    counts = held_counts(vectors)
    return np.arange(len(vectors)) if counts is None else np.argsort(-counts, kind="stable")


def bands(words: int) -> Iterator[tuple[str, slice]]:
    """Yield each band of this many words: its name, such as ``"101-1000"``, and its slice."""
    first = 0
    for last in (*EDGES, None):
        if first < words:
            name = f"{first + 1}-{last}" if last else f"from {first + 1}"
            yield name, slice(first, min(words, last or words))
        first = last or words


def norms(vectors: KeyedVectors) -> dict[str, np.ndarray]:
    """Return the lengths of each band's vectors, for at most `MAX_ROWS` evenly spaced words."""
    order = by_frequency(vectors)
    found = {}
    for name, band in bands(len(order)):
        rows = order[band]
        rows = rows[:: -(-len(rows) // MAX_ROWS)]
        lengths = np.linalg.norm(vectors.vectors[rows], axis=1)
        found[name] = lengths[np.isfinite(lengths)]
    return found


def cluster(values: np.ndarray) -> np.ndarray:
    """Return for each of V vectors [V, D] the index of its cluster's central row: [V].

    k-means on the directions of the vectors; evenly spaced words are the initial centres.
    """
    from scipy.cluster.vq import kmeans2, vq

    rows = unit_rows(values)
    first = rows[:CLUSTERED_FROM]
    number = max(1, min(MAX_CLUSTERS, len(rows) // WORDS_EACH))
    begin = first[np.linspace(0, len(first) - 1, number).astype(int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about clusters that have become empty
        middles, _ = kmeans2(first, begin, ROUNDS, minit="matrix")
    found, distances = vq(rows, middles)
    from_far = np.argsort(distances, kind="stable")[::-1]
    nearest = np.empty(number, int)
    nearest[found[from_far]] = from_far  # assigned in order, so the last, nearest row remains
    return nearest[found]
