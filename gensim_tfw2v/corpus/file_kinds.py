"""Kinds of files that are not text corpora: how each is recognized, and what to do with it.

A file is recognized by its first bytes, decompressed, and a table also by its suffix. Everything
else is read as UTF-8 text. To add a kind, add a row to `KINDS`; formats of tables are in
`table_formats`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from gensim_tfw2v.corpus.file_marks import (
    begins_with,
    is_binary,
    is_binary_vectors,
    is_vectors,
    json_shape,
    zip_with,
)
from gensim_tfw2v.corpus.tables.table_formats import format_of_content, format_of_name
from gensim_tfw2v.messages import COMPRESSED, MAGIC

#: Description of a text corpus, which is the advice for files that cannot be one.
TEXT_ADVICE = "a corpus is UTF-8 text with a sentence per line"


@dataclass(frozen=True)
class FileKind:
    """Kind of file that is not a text corpus.

    Attributes
    ----------
    description : str
        The predicate of a message whose subject is the file: "is a PDF document".
    is_content : callable
        Function that returns whether a file with certain first bytes is of this kind.
    advice : str
        Advice in Python's terms; ``{path}`` stands for the path, quoted.
    command_advice : str
        Advice on the command line, if it differs.
    stream_advice : str
        Advice for a pipe.
    """

    description: str
    is_content: Callable[[bytes], object]
    advice: str
    command_advice: str = ""
    stream_advice: str = TEXT_ADVICE


def _compressed_kind(magic: bytes, suffix: str, name: str) -> FileKind:
    """Return the kind of files that are compressed, but lack the suffix for their compression."""
    mark = re.escape(magic) + (rb"[1-9]1AY&SY" if magic == b"BZh" else b"")
    advice = f"name it …{suffix}, or decompress it"
    return FileKind(f"holds {name} data", begins_with(mark), advice, stream_advice="decompress it")


_SAVE_AS_TEXT_ADVICE = "save its text in UTF-8, with a sentence per line"
_SAVE_AS_CSV_ADVICE = (
    "save it as CSV, and pass TableSentences(path, column)",
    "save it as CSV, and name the column of the texts with --column NAME",
)
_UNPACK_ADVICE = (
    "unpack it, and pass the folder of its files, as in: PathLineSentences(folder)",
    "unpack it, and give the folder of its files",
)
_LOAD_ADVICE = (
    "load it, and pass the sentences in it, each a list of words",
    "write the sentences in it to a text, one per line",
)
_TRAIN_FURTHER_ADVICE = (
    f"{TEXT_ADVICE}; to train vectors further, load them (see TFWord2Vec.from_vectors)",
    f"{TEXT_ADVICE}; to train vectors further, give them as --init FILE",
)
_EXPORT_ADVICE = "export the texts in it with the program that wrote it, with a sentence per line"

_OFFICE = rb"\[Content_Types\]\.xml|_rels/|docProps/"

#: Kinds of files that are recognized by their first bytes. A file is of the first kind that
#: matches, so the most general kinds are last.
KINDS = (
    FileKind("is a NumPy array", begins_with(rb"\x93NUMPY"),
             "pass the sentences in it, as in: numpy.load({path}).tolist()",
             "write its rows as lines, as in: numpy.savetxt('corpus.txt', numpy.load({path}), "
             "fmt='%d')"),
    FileKind("is an archive of NumPy arrays", zip_with(rb"[^/\0]{1,99}\.npy"),
             "pass the sentences in one of its arrays, as in: numpy.load({path})[NAME].tolist()",
             "write the rows of one of its arrays as lines, with numpy.savetxt"),
    FileKind("is an Excel workbook", zip_with(rb"(?:.*PK\x03\x04.{26})?xl/"), *_SAVE_AS_CSV_ADVICE),
    FileKind("is an Office document", zip_with(_OFFICE + rb"|word/|ppt/"), _SAVE_AS_TEXT_ADVICE),
    FileKind("is an OpenDocument file", zip_with(rb"mimetypeapplication/vnd\.oasis"),
             _SAVE_AS_TEXT_ADVICE),
    FileKind("is an EPUB book", zip_with(rb"mimetypeapplication/epub"), _SAVE_AS_TEXT_ADVICE),
    FileKind("is a PyTorch file", zip_with(rb"[^/\0]+/(?:data\.pkl|\.format_version|byteorder)"),
             *_LOAD_ADVICE),
    FileKind("is an Office document", begins_with(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
             _SAVE_AS_TEXT_ADVICE),
    FileKind("is an RTF document", begins_with(rb"\{\\rtf1"), _SAVE_AS_TEXT_ADVICE),
    FileKind("is a PDF document", begins_with(rb"%PDF-\d\.\d\s*[\r\n].{0,4000}\d+ \d+ obj\b"),
             "extract its text first, for example with: pdftotext {path} corpus.txt"),
    FileKind("is a PostScript document", begins_with(rb"%!PS-Adobe-\d"),
             "extract its text first, for example with: ps2ascii {path} corpus.txt"),
    FileKind("is a tar archive", begins_with(rb".{257}ustar[\0 ]"), *_UNPACK_ADVICE),
    FileKind("is a 7z archive", begins_with(rb"7z\xbc\xaf\x27\x1c"), *_UNPACK_ADVICE),
    FileKind("is a RAR archive", begins_with(rb"Rar!\x1a\x07"), *_UNPACK_ADVICE),
    FileKind("holds zip data", begins_with(rb"PK\x03\x04|PK\x05\x06\0"),
             "decompress it, and pass the text in it; for a folder: PathLineSentences(folder)",
             "decompress it, and give the text or the folder in it"),
    *(_compressed_kind(magic, suffix, name) for magic, (suffix, name) in MAGIC.items()
      if suffix in COMPRESSED),
    FileKind("is a pointer of Git LFS", begins_with(rb"version https://git-lfs\.github\.com/spec/"),
             "download the file itself, with: git lfs pull"),
    FileKind("is a Wikipedia dump or other MediaWiki export",
             begins_with(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<mediawiki[\s>]"),
             "extract its articles first: gensim.corpora.WikiCorpus({path}, dictionary={}) has "
             "get_texts(), which yields lists of words",
             "extract its articles first, with gensim.corpora.WikiCorpus or WikiExtractor"),
    FileKind("is an HTML page",
             begins_with(rb"(?i)(?:\xef\xbb\xbf)?\s*(?:<!doctype\s+html\b[^>]*>|<html[\s>])"),
             "extract its text first, for example with BeautifulSoup's get_text()"),
    FileKind("is an XML file", begins_with(
        rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,4000}?-->\s*)?(?:<\?xml\s+version\s*=|<!DOCTYPE\s+\S+\s+"
        rb"(?:PUBLIC|SYSTEM)\b|<[A-Za-z][\w:.-]*\s[^<>]*\bxmlns(?::\w+)?\s*=\s*[\"'])"),
             "extract its text first, for example with xml.etree.ElementTree"),
    FileKind("is a matrix in Matrix Market format, such as gensim's bags of words",
             begins_with(rb"%%MatrixMarket\s+matrix\s"),
             "the order of words is lost in it; use the text from which it was made"),
    FileKind("is a safetensors file", begins_with(rb".{5}\0\0\0\{\s*\""), *_TRAIN_FURTHER_ADVICE),
    FileKind("is a GGUF file", begins_with(rb"GGUF[\1-\x09]\0"), TEXT_ADVICE),
    FileKind("is a model of fastText", begins_with(rb"\xba\x16O/"), *_TRAIN_FURTHER_ADVICE),
    FileKind("is a model or vectors of gensim", begins_with(rb"\x80[\x02-\x05].{0,500}gensim"),
             *_TRAIN_FURTHER_ADVICE),
    FileKind("is a PyTorch file", begins_with(rb"\x80\x02\x8a\nl\xfc\x9cF"), *_LOAD_ADVICE),
    FileKind("is a pickle", begins_with(rb"\x80[\x02-\x05]|\([dl]p\d+\r?\n"), *_LOAD_ADVICE),
    FileKind("is a MATLAB file", begins_with(rb"MATLAB 5\.0 MAT-file.{107}(?:IM|MI)"),
             *_LOAD_ADVICE),
    FileKind("holds vectors in word2vec's binary format", is_binary_vectors,
             *_TRAIN_FURTHER_ADVICE),
    FileKind("holds vectors in word2vec's or GloVe's text format", is_vectors,
             *_TRAIN_FURTHER_ADVICE),
    FileKind("is an SQLite database", begins_with(rb"SQLite format 3\0"),
             "write the texts in it to a file, for example with: sqlite3 {path} \"select text from "
             "texts\" > corpus.txt"),
    FileKind("is an HDF5 file", begins_with(rb"\x89HDF\r\n\x1a\n"),
             "read the texts with h5py or pandas, and pass lists of words",
             "write the texts in it to a file, a sentence per line"),
    FileKind("is an Avro file", begins_with(rb"Obj\x01"), _EXPORT_ADVICE),
    FileKind("is an image", begins_with(
        rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a.{0,6}\0|RIFF.{4}WEBP|II\*\0|MM\0\*|BM.{4}\0{4}"),
        TEXT_ADVICE),
    FileKind("is an audio or video file", begins_with(
        rb"RIFF.{4}(?:WAVE|AVI )|ID3[\2-\4]\0|OggS\0|fLaC\0|\0{3}.ftyp|\x1aE\xdf\xa3"),
        TEXT_ADVICE),
    FileKind("is an executable program or a library", begins_with(
        rb"\x7fELF|MZ.{2,60}\0\0\0|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm"), TEXT_ADVICE),
    FileKind("is JSON, but neither an object per line nor an array of objects",
             lambda head: json_shape(head) == "other",
             "pass the sentences in it, each a list of words, after json.load",
             "write the sentences in it to a text, one per line"),
)  # fmt: skip

#: Kind of the files that are not text, and of none of the `KINDS`.
BINARY = FileKind("holds binary data", is_binary, TEXT_ADVICE)


def find_kind(head: bytes) -> FileKind | None:
    """Return the kind in `KINDS` of a file with these first bytes; None for text and tables."""
    return next((kind for kind in KINDS if kind.is_content(head)), None)


def find_table(head: bytes, path: str = "") -> str:
    """Return the name of a table's format, from its first bytes or else from its path.

    Returns "" for a file that is not a table. `table_formats.find_format` is for files that should
    be tables. This function is for any file, so it is stricter: a file is JSON only if all of
    its first bytes are JSON.
    """
    table_format = format_of_content(head)
    is_json = table_format is not None and table_format.name.startswith("JSON")
    if table_format is not None and (not is_json or json_shape(head)):
        return table_format.name
    suffix_format = format_of_name(path)
    return "" if suffix_format is None else suffix_format.name
