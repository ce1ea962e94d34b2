"""The projector in a browser shows the vectors and their neighbours.

``TFW2V_SCREENSHOTS=folder`` keeps the screenshots in that folder.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from gensim.test.utils import datapath
from gensim.utils import simple_preprocess

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.monitor.projector import write_projector
from tests.browser.chromium import chromium, until, why_no_chromium
from tests.browser.projector_page import ProjectorPage
from tests.served import tensorboard

pytestmark = pytest.mark.skipif(bool(why_no_chromium()), reason=why_no_chromium())

WORDS = 1000
#: Draws a quarter of the pixels, because the CPU renders them.
SCALE = 0.5
PROBE = "israeli"


@pytest.fixture(scope="module")
def vectors():
    """Vectors with enough dimensions that the page spherizes them by default."""
    with open(datapath("lee_background.cor"), encoding="utf-8") as texts:
        sentences = [simple_preprocess(text) for text in texts]
    model = TFWord2Vec(sentences, sg=1, vector_size=64, epochs=10, workers=1, seed=1)
    return model.wv


@pytest.fixture(scope="module")
def page(vectors, tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    write_projector(vectors, folder, WORDS)
    pictures = Path(os.environ.get("TFW2V_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    pictures.mkdir(parents=True, exist_ok=True)
    with tensorboard(folder) as served, chromium(scale=SCALE) as driver:
        try:
            yield ProjectorPage(driver, served.url)
        finally:
            driver.save_screenshot(str(pictures / "projector.png"))


def check_neighbours(shown, expected):
    """Check distances: the page rounds 1 - cosine to three digits; ties come in any order."""
    similarities = dict(expected)
    assert len(shown) == 100
    for (word, distance), (_, similarity) in zip(shown, expected, strict=False):
        assert distance == pytest.approx(1 - similarity, abs=6e-4)
        assert distance == pytest.approx(1 - similarities[word], abs=6e-4)


def test_page_opens_with_layout_and_colours(page):
    page.until_laid_out()
    until("the colours", lambda: page.hues() >= 6)


def test_page_shows_all_points_and_the_card_of_a_word(page, vectors):
    assert page.points() == WORDS
    assert page.share_drawn() > 0.01
    assert len(page.search(PROBE)) > 1  # israelis
    page.select(PROBE)
    rank, count = vectors.key_to_index[PROBE] + 1, vectors.get_vecattr(PROBE, "count")
    card = page.card()
    assert (card["word"], card["rank"], card["count"]) == (PROBE, str(rank), str(count))


def test_page_can_colour_by_each_column(page):
    assert page.colours() == {
        "rank": "gradient",
        "count": "gradient",
        "log10 rank": "gradient",
        "ranks": "2 colors",
        "cluster": "10 colors",
    }
    page.colour_by("cluster")


def test_spherized_neighbours_are_relative_to_the_mean(page, vectors):
    assert page.is_spherized()
    page.select(PROBE)
    matrix = vectors.vectors[:WORDS] - vectors.vectors[:WORDS].mean(axis=0)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    similarities = matrix @ matrix[vectors.key_to_index[PROBE]]
    rows = [row for row in np.argsort(-similarities) if vectors.index_to_key[row] != PROBE]
    expected = [(vectors.index_to_key[row], similarities[row]) for row in rows]
    check_neighbours(page.neighbours(), expected)


def test_neighbours_equal_gensims(page, vectors):
    page.spherize(False)
    page.select(PROBE)
    expected = vectors.most_similar(PROBE, topn=WORDS, restrict_vocab=WORDS)
    check_neighbours(page.neighbours(), expected)
