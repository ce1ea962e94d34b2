"""Everything that gensim reads sentences from."""

import bz2
import gzip

import numpy as np
import pytest
from gensim import utils
from gensim.models import Word2Vec
from gensim.models.word2vec import BrownCorpus, LineSentence, PathLineSentences, Text8Corpus

from gensim_tfw2v import TFWord2Vec

SENTENCES = [["the", "cat", "sat", "on", "the", "mat"], ["a", "dog", "sat", "on", "a", "cat"]] * 30
TEXT = "".join(" ".join(sentence) + "\n" for sentence in SENTENCES)


def plain(folder):
    (folder / "text.txt").write_text(TEXT)
    return LineSentence(str(folder / "text.txt"))


def gzipped(folder):
    (folder / "text.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    return LineSentence(str(folder / "text.txt.gz"))


def bzipped(folder):
    (folder / "text.txt.bz2").write_bytes(bz2.compress(TEXT.encode()))
    return LineSentence(str(folder / "text.txt.bz2"))


def address(folder):
    """smart_open knows others (s3://, https://, …), which a test cannot reach."""
    return LineSentence((folder / plain(folder).source).as_uri())


def open_file(folder):
    return LineSentence(utils.open(plain(folder).source, "rb"))


def folder_of_files(folder):
    (folder / "parts").mkdir()
    half = len(TEXT) // 2
    (folder / "parts" / "1.txt").write_text(TEXT[:half])
    (folder / "parts" / "2.txt.gz").write_bytes(gzip.compress(TEXT[half:].encode()))
    return PathLineSentences(str(folder / "parts"))


def text8(folder):
    (folder / "text8").write_text(TEXT.replace("\n", " "))
    return Text8Corpus(str(folder / "text8"), max_sentence_length=50)


def brown(folder):
    (folder / "brown").mkdir()
    lines = (" ".join(f"{word}/nn" for word in sentence) for sentence in SENTENCES)
    (folder / "brown" / "ca01").write_text("\n".join(lines))
    return BrownCorpus(str(folder / "brown"))


@pytest.mark.parametrize(
    "source",
    [plain, gzipped, bzipped, address, open_file, folder_of_files, text8, brown],
)
def test_a_source_gives_both_classes_the_same_words(source, tmp_path):
    gensim, ours = (
        model_class(source(folder), vector_size=5, min_count=1, workers=1, sample=0)
        for model_class, folder in ((Word2Vec, tmp_path / "a"), (TFWord2Vec, tmp_path / "b"))
        if folder.mkdir() is None
    )
    assert ours.wv.index_to_key == gensim.wv.index_to_key
    assert ours.wv.expandos["count"].tolist() == gensim.wv.expandos["count"].tolist()
    assert (ours.corpus_count, ours.corpus_total_words) == (
        gensim.corpus_count,
        gensim.corpus_total_words,
    )
    assert np.abs(ours.syn1neg).max() > 0  # it has been trained
