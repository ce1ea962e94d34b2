"""Labels in TensorBoard."""

import os
from pathlib import Path

import pytest

from gensim_tfw2v.monitor.labels import quality_tags, word_label


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("Zürich", "Zürich"),
        ("", "(empty)"),
        ("a\tb\n", "a\\tb\\n"),
        ("a\ud800", "a\\ud800"),
        (12, "12"),
        (b"\xff", "b'\\xff'"),
        (("a", 1), "('a', 1)"),
    ],
)
def test_every_word_has_a_printed_form(word, shown):
    assert word_label(word) == shown
    word_label(word).encode()


@pytest.mark.parametrize(
    ("sets", "tags"),
    [
        (["ws353", Path("/d/rare.tsv")], ["ws353", "rare"]),
        (["/a/x.tsv", "/b/x.tsv", "/b/y.tsv"], ["a/x.tsv", "b/x.tsv", "y"]),
        (["/a/c/x.tsv", "/b/c/x.tsv"], ["a/c/x.tsv", "b/c/x.tsv"]),
        (["/a/x.tsv", "/a/x.csv"], ["x.tsv", "x.csv"]),
        (["ws353", "/a/ws353.tsv"], ["ws353", "ws353.tsv"]),
        (["/a/loss.tsv"], ["loss.tsv"]),  # vs_epoch/loss is the curve of the loss
        (["/a/caf\udce9.tsv", "\udce9"], ["caf\\udce9", "\\udce9"]),  # not UTF-8
        (["x.tsv", os.path.abspath("x.tsv")], ["x", "x"]),  # one file
    ],
)
def test_curves_of_different_files_have_different_tags(sets, tags):
    assert list(quality_tags(sets).values()) == [f"quality/{tag}" for tag in tags]
    assert quality_tags(sets[::-1]) == quality_tags(sets)
