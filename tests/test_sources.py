"""Corpora of every kind that gensim reads sentences from."""

import bz2
import gzip
import lzma
import os
import threading

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
    """A file:// URI; tests cannot reach smart_open's remote ones (s3://, https://, …)."""
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
def test_source_gives_both_classes_the_same_words(source, tmp_path):
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


OPTIONS = dict(vector_size=5, min_count=1, workers=1, epochs=2)


@pytest.fixture
def compressed(tmp_path, request):
    path = tmp_path / f"text.{request.param.__name__}"
    path = path.with_suffix({gzip: ".GZ", bz2: ".bz2", lzma: ".xz"}[request.param])
    path.write_bytes(request.param.compress(TEXT.encode()))
    return str(path)


@pytest.mark.parametrize("compressed", [gzip, bz2, lzma], indirect=True)
def test_compressed_corpus_file_trains_as_its_lines(compressed):
    lines = TFWord2Vec(LineSentence(compressed), **OPTIONS)
    at_once = TFWord2Vec(corpus_file=compressed, **OPTIONS)
    stepwise = TFWord2Vec(**OPTIONS)
    stepwise.build_vocab(corpus_file=compressed)
    totals = dict(total_words=stepwise.corpus_total_words, total_examples=stepwise.corpus_count)
    stepwise.train(corpus_file=compressed, epochs=2, **totals)
    for model in (at_once, stepwise):
        assert (model.corpus_count, model.corpus_total_words) == (60, 360)
        np.testing.assert_array_equal(model.wv.vectors, lines.wv.vectors)
    assert stepwise.train(corpus_file=compressed, epochs=1, **totals)[1] == 360
    assert at_once.held_out_loss(corpus_file=compressed) == at_once.held_out_loss(SENTENCES)
    assert at_once.partial_fit(corpus_file=compressed)[1] == 360


def test_damaged_corpus_file_raises_and_leaves_the_model_unchanged(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:-9])
    model = TFWord2Vec(SENTENCES, **OPTIONS)
    words, vectors = list(model.wv.index_to_key), model.wv.vectors.copy()
    for call in (
        lambda: TFWord2Vec(corpus_file=str(path), **OPTIONS),
        lambda: model.build_vocab(corpus_file=str(path), update=True),
        lambda: model.train(corpus_file=str(path), total_words=9, epochs=1),
        lambda: model.held_out_loss(corpus_file=str(path)),
    ):
        with pytest.raises(EOFError, match=r"text.gz is damaged, cut short"):
            call()
    assert model.wv.index_to_key == words
    np.testing.assert_array_equal(model.wv.vectors, vectors)


@pytest.fixture
def pipe(tmp_path):
    """A named pipe into which a thread writes the text once."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(TEXT,), daemon=True)
    writer.start()
    yield str(path)
    writer.join(120)


def test_named_pipe_is_read_once(pipe, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    expected = TFWord2Vec(corpus_file=str(tmp_path / "text.txt"), **OPTIONS)
    model = TFWord2Vec(**OPTIONS)
    model.build_vocab(corpus_file=pipe)
    model.train(corpus_file=pipe, total_words=model.corpus_total_words, epochs=2)
    assert model.corpus_total_words == 360
    np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)


def test_pipe_with_max_vocab_size_raises(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TypeError, match="can be read only once"):
        TFWord2Vec(corpus_file=str(tmp_path / "pipe"), max_vocab_size=9)


class OwnCounting(TFWord2Vec):
    def _scan_vocab(self, *arguments):
        return super()._scan_vocab(*arguments)


class OwnTraining(TFWord2Vec):
    def _do_train_job(self, *arguments):
        return super()._do_train_job(*arguments)


@pytest.mark.parametrize(
    ("class_", "options"),
    [(TFWord2Vec, {"max_vocab_size": 9}), (OwnCounting, {}), (OwnTraining, {})],
    ids=["max_vocab_size", "own counting", "own training"],
)
def test_iterator_that_gensims_code_would_use_up_raises(class_, options):
    lines = ["a b c d", "b c d e"]
    options = options | {"min_count": 1, "vector_size": 4, "workers": 1}
    iterator = map(str.split, lines)
    model = class_(**options)
    for call in (lambda: class_(iterator, **options), lambda: model.partial_fit(iterator)):
        with pytest.raises(TypeError, match=r"an iterator \(map\) can be read only once"):
            call()
    assert not len(model.wv) and len(list(iterator)) == 2
    assert model.partial_fit(list(map(str.split, lines)))[1] == 8
    model.build_vocab(map(str.split, lines))  # nothing is trained


def test_compressed_data_in_a_pipe_raise(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    packed = gzip.compress(TEXT.encode())
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(packed,), daemon=True)
    writer.start()
    with pytest.raises(ValueError, match="holds gzip data, not text: decompress it"):
        TFWord2Vec(corpus_file=str(tmp_path / "pipe"))
    writer.join(120)


@pytest.mark.parametrize("compressed", [gzip], indirect=True)
def test_compressed_file_with_overridden_hook_raises(compressed):
    class Watched(TFWord2Vec):
        def _do_train_job(self, *args):
            return super()._do_train_job(*args)

    with pytest.raises(TypeError, match="compressed"):
        Watched(corpus_file=compressed, **OPTIONS)


def test_iterator_is_trained_on_in_every_epoch():
    sentences = [["a", "b", "c", "d"] * 3] * 5
    model = TFWord2Vec(min_count=1, vector_size=4, sample=0)
    model.build_vocab(iter(sentences))
    trained, raw = model.train(iter(sentences), total_examples=5, epochs=3)
    assert (trained, raw) == (180, 180)
