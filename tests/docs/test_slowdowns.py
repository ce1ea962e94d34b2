"""Figures of docs/speed.md are those of docs/benchmarks/slowdowns.json."""

import json
from statistics import median

import pytest

from benchmarks.slowdowns import VARIANTS, Run, corpus_of, ratios_of
from tests.docs.pages import page

RUNS = [Run(*run) for run in json.loads(page("benchmarks/slowdowns.json"))["runs"]]


def rows():
    """Return the cells of the rows whose first cell names a variant."""
    lines = [line.strip("| ").split(" | ") for line in page("speed.md").splitlines()]
    by_label = {cells[0].replace("`", ""): cells for cells in lines}
    return {name: by_label[name] for name in VARIANTS if name in by_label}


@pytest.mark.parametrize("name", rows())
def test_row_shows_the_measured_ratios(name):
    expected = [f"{median(ratios_of(RUNS, name, sg)):.1f}".removeprefix("0") for sg in (1, 0)]
    assert rows()[name][1:3] == expected


def test_most_variants_are_on_the_page():
    assert len(rows()) > len(VARIANTS) / 2


@pytest.mark.parametrize("form", ["text", "text.gz", "LineSentence", "words", "lists in Parquet"])
def test_forms_of_a_corpus_have_the_same_words(form, tmp_path):
    from gensim_tfw2v import TFWord2Vec

    text = tmp_path / "text.txt"
    text.write_text("a b a\nb c\n" * 20)
    model = TFWord2Vec(min_count=1, workers=1, vector_size=4)
    corpus = corpus_of(text, form, tmp_path)
    model.build_vocab(corpus.get("sentences"), corpus.get("corpus_file"))
    assert {word: model.wv.get_vecattr(word, "count") for word in "abc"} == dict(a=40, b=40, c=20)
