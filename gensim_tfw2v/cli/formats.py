"""Formats of vector files: what each is told by, what it can hold, what reads and writes it.

A new format is a row of `FORMATS`, with a function that reads or writes it. Keras models and
folders for sentence-transformers have a row 0 for unknown words, which is 0.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.messages import COMPRESSED, MAGIC, open_decompressed, quoted

if TYPE_CHECKING:
    import numpy as np
    from gensim.models import KeyedVectors

UNKNOWN = "[UNK]"
SURROGATE = "\ud800-\udfff"  # not in UTF-8
CHUNK = 1 << 20


@dataclass(frozen=True)
class Format:
    """A format of vector files.

    Attributes
    ----------
    name : str
        As ``--to`` takes it.
    write : callable
        Takes vectors, a whole model if `of_model`, and a path or an open file.
    suffixes : tuple of str
        Of files that are written in this format by default.
    lacks : str
        Regular expression of what the format's words cannot have in them, "" for nothing.
    is_compressed : bool
        Whether `write` compresses if the name says so.
    holds_half : bool
        Whether numbers may be float16.
    of_model : bool
        Whether it holds a whole FastText model.
    """

    name: str
    write: Callable[[Any, Any], object]
    suffixes: tuple[str, ...] = ()
    lacks: str = ""
    is_compressed: bool = False
    holds_half: bool = False
    of_model: bool = False


def find_format(path: Path, named: str | None, default: str) -> Format:
    """Return the format that an option names, or else a file's suffix; `default` without one."""
    names = [form.name for form in FORMATS]
    if named and named not in names:
        raise BadInput(f"--to is {quoted(named)}: give one of {', '.join(names)}")
    is_compressed = path.suffix.lower() in COMPRESSED
    suffix = Path(path.stem if is_compressed else path.name).suffix.lower()
    named = named or ("" if suffix else default)
    found = [
        form for form in FORMATS if form.name == named or not named and suffix in form.suffixes
    ]
    if not found:
        known = "; ".join(f"{form.name}: {', '.join(form.suffixes)}" for form in FORMATS[:5])
        raise BadInput(
            f"{path}: no format has the suffix {suffix}; give the file one of these ({known}), or "
            "name the format of tfw2v convert with --to"
        )
    if is_compressed and not found[0].is_compressed:
        raise BadInput(
            f"{path}: {found[0].name} is not written compressed; leave out {path.suffix}"
        )
    return found[0]


def check_holds(form: Format, vectors: KeyedVectors, path: Path) -> None:
    """Refuse words that a format cannot hold, before a byte is written."""
    for word in map(str, vectors.index_to_key):
        if _lacks(form, word):
            able = [of.name for of in FORMATS if not (of.of_model or _lacks(of, word))]
            raise BadInput(
                f"{path}: the format {form.name} cannot hold {quoted(word)}, because of blanks or "
                f"other characters in it; convert to one that can: {', '.join(able)}"
            )


def _lacks(form: Format, word: str) -> bool:
    return bool(form.lacks and re.search(form.lacks, word))


def place(to: Any) -> Any:
    """Return the path, or the number of an open file, which gensim can open."""
    return to if isinstance(to, str) else to.fileno()


def _save_gensim(vectors: KeyedVectors, to: Any) -> None:
    vectors.save(to)


def _save_text(vectors: KeyedVectors, to: Any) -> None:
    from gensim_tfw2v.keyed import save_text

    save_text(vectors, place(to))


def _save_binary(vectors: KeyedVectors, to: Any) -> None:
    vectors.save_word2vec_format(place(to), binary=True)


def _save_numpy(vectors: KeyedVectors, to: Any) -> None:
    import numpy as np

    file = open(to, "wb") if isinstance(to, str) else contextlib.nullcontext(to)
    with file as opened:
        words = np.array([*map(str, vectors.index_to_key)])
        np.savez(opened, words=words, vectors=vectors.vectors)


def _save_fasttext(model: Any, to: Any) -> None:
    from gensim.models.fasttext import save_facebook_model

    save_facebook_model(model, place(to))


def _with_unknown(vectors: KeyedVectors) -> tuple[list[str], np.ndarray]:
    """Return V words, and the table [1 + V, D] that has a row for unknown words first."""
    import numpy as np

    return vectors.index_to_key, np.insert(vectors.vectors, 0, 0, axis=0).astype(np.float32)


def _save_keras(vectors: KeyedVectors, path: str) -> None:
    """Save a Keras model that looks up V words, and has their embeddings."""
    from gensim_tfw2v._tensorflow import tf

    words, table = _with_unknown(vectors)
    layers = tf.keras.layers
    lookup = layers.StringLookup(vocabulary=words, oov_token=UNKNOWN)
    embedding = layers.Embedding(*table.shape, weights=[table])
    tf.keras.Sequential([tf.keras.Input((None,), dtype="string"), lookup, embedding]).save(path)


def _save_sentence_transformers(vectors: KeyedVectors, path: str) -> None:
    """Save a folder of sentence-transformers.

    The files are those of tokenizers and of safetensors, whose header is JSON after its length.
    """
    words, table = _with_unknown(vectors)
    folder = Path(path) / "0_StaticEmbedding"
    folder.mkdir(parents=True)
    kind = "sentence_transformers.models.StaticEmbedding"
    modules = [{"idx": 0, "name": "0", "path": folder.name, "type": kind}]
    vocabulary = {UNKNOWN: 0} | {word: row for row, word in enumerate(words, 1)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN}
    tokenizer = {"added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}
    (folder.parent / "modules.json").write_text(json.dumps(modules), "utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    tensor = {"dtype": "F32", "shape": table.shape, "data_offsets": [0, table.nbytes]}
    header = json.dumps({"embedding.weight": tensor}).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        table.astype("<f4").tofile(file)


_BLANKS = rf"[\t-\r {SURROGATE}]"
_UNKNOWN = rf"\A\[UNK\]\Z|\A\Z|[{SURROGATE}]"

FORMATS = (
    Format("gensim", _save_gensim, (".kv", ".model", ".wv", ".gensim"), is_compressed=True),
    Format("text", _save_text, (".txt", ".vec", ".w2v", ".emb"), _BLANKS, is_compressed=True),
    Format("binary", _save_binary, (".bin",), _BLANKS, is_compressed=True),
    Format("numpy", _save_numpy, (".npz",), r"\0\Z", holds_half=True),
    Format("keras", _save_keras, (".keras",), rf"[\n\r]|{_UNKNOWN}"),
    Format("fasttext", _save_fasttext, (), rf"[\0{SURROGATE}]", of_model=True),
    Format("sentence-transformers", _save_sentence_transformers, (), rf"\s|{_UNKNOWN}"),
)

_EXPORT = "export words and vectors with the program that wrote it"

#: First bytes (a regular expression) of files that are not read, what they are, and what to do.
OTHERS = {
    rb"version https://git-lfs": "a pointer of Git LFS, not the file: run git lfs pull",
    rb"\x93NUMPY": "an array of NumPy without words: save both as .npz, with "
    "numpy.savez(FILE, words=words, vectors=vectors)",
    rb"PK\x03\x04": "a ZIP archive, but not an .npz with words and vectors: unpack it",
    rb".{257}ustar": "a tar archive: unpack it, and give the file of vectors in it",
    rb"\x80\x02\x8a\nl\xfc\x9cF": f"saved by PyTorch: {_EXPORT}",
    rb"\x89HDF": f"HDF5 (as of Keras): {_EXPORT}",
    rb"SQLite format 3": f"a SQLite database (as of Magnitude): {_EXPORT}",
    rb"PAR1|ARROW1": f"Parquet or Arrow: {_EXPORT}",
    rb"GGUF|.{7}\0\{": f"GGUF or safetensors: {_EXPORT}",
    rb"\x08[\x01-\x1f]\x12": f"ONNX: {_EXPORT}",
    rb"\s*<[!?h]": "HTML or XML, perhaps a download that failed: download it again",
    rb"\{\s*\"|\[\s*[\[{\"]": "JSON: write a word and its numbers on each line, with single blanks",
} | {
    re.escape(magic): f"{name}-compressed: let its name end with {ending}, or decompress it"
    for magic, (ending, name) in MAGIC.items()
    if ending in COMPRESSED
}


def describe(path: Path) -> str:
    """Say what a file is that is not read, and what to do; "" if that is not known."""
    with open_decompressed(path) as file:
        start = file.read(4096)
    for magic, what in OTHERS.items():
        if re.match(magic, start, re.DOTALL):
            return f"is {what}"
    values = [abs(value) for (value,) in struct.iter_unpack("<d", start[: len(start) // 8 * 8])]
    if values and all(1e-12 < value < 1e4 for value in values):
        return (
            "holds numbers of 8 bytes, without words, as GloVe's vectors.bin: give the "
            "vectors.txt that glove writes with -binary 0 or 2"
        )
    return ""


def check_fasttext(path: Path) -> None:
    """Refuse a .bin of fastText that gensim cannot read, or would not stop reading.

    Raises
    ------
    ValueError
        If sizes in it do not fit, numbers are missing, or it is a classifier.
    """
    with open_decompressed(path) as file:
        numbers = _unpack(file, "<2i12id3i2q")
        dimensions, loss, model, bucket = (numbers[place] for place in (2, 8, 9, 10))
        rows, words, labels = numbers[15:18]
        if model == 3 or labels > 0:
            raise ValueError(
                "is a supervised fastText model, a classifier, which gensim does not read: give "
                "the .vec that fastText writes beside it, which has its word vectors"
            )
        if min(*numbers[2:14], rows) < 0 or not 0 < dimensions or model not in (1, 2):
            raise ValueError("is a damaged fastText model: its options are impossible")
        if rows != words or loss not in (1, 2, 3, 4) or not 0 <= numbers[14] < 1e9:
            raise ValueError("is a damaged fastText model: its options are impossible")
        data, at = b"", 0
        for row in range(rows):
            while (end := data.find(b"\0", at)) < 0 or len(data) < end + 10:
                if not (more := file.read(CHUNK)):
                    raise ValueError(f"is a damaged fastText model: it ends in word {row + 1:,}")
                data, at = data[at:] + more, 0
            count, kind = struct.unpack_from("<qb", data, end + 1)
            if count < 1 or kind:
                raise ValueError(f"is a damaged fastText model: word {row + 1:,} has no count")
            at = end + 10
        file.seek(file.tell() - len(data) + at)
        for number in rows + bucket, rows:
            is_quantized, *shape = _unpack(file, "<?2q")
            if is_quantized:
                raise ValueError("is a quantized fastText model, which gensim does not read")
            if shape != [number, dimensions]:
                raise ValueError(f"is a damaged fastText model: a table has the shape {shape}")
            if file.seek(4 * number * dimensions, 1) > (size := _size(file)):
                raise ValueError("is a damaged fastText model: it ends in its vectors")
        if file.tell() != size:
            raise ValueError("is a damaged fastText model: there is more behind its vectors")


def _unpack(file: Any, form: str) -> tuple[Any, ...]:
    content = file.read(struct.calcsize(form))
    if len(content) < struct.calcsize(form):
        raise ValueError("is a damaged fastText model: it ends in its options")
    return struct.unpack(form, content)


def _size(file: Any) -> int:
    """Return the size of an open file, decompressed."""
    at = file.tell()
    size = file.seek(0, 2)
    file.seek(at)
    return size
