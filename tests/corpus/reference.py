"""Odd corpora, helpers that scan and encode, and sentences as gensim reads them."""

from pathlib import Path
from types import SimpleNamespace

from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v.corpus.encode import Scan, encode_corpus, scan_corpus
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.sentence_corpus import SentenceCorpus
from gensim_tfw2v.corpus.text_corpus import TextCorpus, open_paths
from gensim_tfw2v.training.corpus_reader import find_corpus

LEE = datapath("lee_background.cor")

# content of a corpus file, by name
ODD = {
    "one word": b"word",
    "one sentence": b"a b a c\n",
    "no final newline": b"a b\nc a b",
    "empty lines": b"\n\na b\n\n \n\t\nc\n\n",
    "CRLF": b"a b\r\nc a\r\n\r\nb\r\n",
    "unicode spaces": "a\u3000b\u00a0c\u2028d\x85e f\x1cg\u200bh\n\u3000\nz\x0by\x0c".encode(),
    "other scripts": "жизнь 生 命 🧬 é e\u0301 é\n🧬 生\n".encode() * 40,
    "byte order mark": "\ufeffa b\na\n".encode(),
    "NUL": b"a \0 b\0c\n\0\n",
    "long sentence": b" ".join(b"w%d" % (i % 97) for i in range(100_000)) + b"\nend of it\n",
    "sentence of exactly 20,000": b"x y " * 10_000 + b"\na\n",
    "long words": b"a " + b"long" * 50_000 + b" b\n" + b"c" * 40_000,
    "long line of unicode spaces": "слово\u3000".encode() * 20_000,
    "ties": b"b a c\nc a b d\nf e d\n",
}


def open_corpus(source, tags=None):
    """Open a corpus as a model without a cluster does."""
    return find_corpus(source, SimpleNamespace(cluster=None), tags)


def text_of(paths, tagged=False, remote_readers=()) -> TextCorpus:
    return open_paths([str(path) for path in paths], tagged, remote_readers)


def scan_texts(paths, parent=None, progress=None, tagged=False) -> Scan:
    return scan_corpus(text_of(paths, tagged), parent, progress)


def scan_sentences(sentences, parent=None) -> Scan:
    return scan_corpus(SentenceCorpus(sentences), parent)


def encode_texts(paths, key_to_index, parent=None) -> EncodedCorpus:
    """Encode text files as ids of a known vocabulary."""
    return encode_corpus(text_of(paths), key_to_index, parent)


def encode_sentences(sentences, key_to_index, parent=None) -> EncodedCorpus:
    """Encode token lists as ids of a known vocabulary."""
    return encode_corpus(SentenceCorpus(sentences), key_to_index, parent)


def folder_is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())


def decoded(corpus: EncodedCorpus, words: list, size: int = 1 << 20) -> list[list]:
    """Return the sentences of a corpus, read through its units."""
    sentences, open_one = [], []
    for unit in corpus.units(size):
        for entry in unit.read().tolist():
            if entry == -1:
                sentences.append(open_one)
                open_one = []
            else:
                open_one.append(words[entry])
    assert not open_one
    return sentences


def line_sentences(path, known=None) -> list[list[str]]:
    sentences = ([w for w in s if known is None or w in known] for s in LineSentence(str(path)))
    return [s for s in sentences if s]
