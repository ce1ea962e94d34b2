"""Screenshots of TensorBoard for the documentation: ``make screenshots`` (needs Chromium).

Trains two small models with ``log_dir=``, opens their logs in a browser, and writes
docs/screenshots/*.png.
"""

import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from gensim.test.utils import datapath
from gensim.utils import simple_preprocess

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from tests.browser.chromium import chromium, find, one, still, until, why_no_chromium
from tests.browser.projector_page import ProjectorPage
from tests.served import tensorboard

FOLDER = Path(__file__).parent / "screenshots"

#: Word that is selected in the projector.
WORD = "israeli"

#: Names of the curves on the page of scalars.
CURVES = ("loss/epoch", "quality/ws353", "vs_epoch/loss", "vs_epoch/ws353")


def train(folder: Path) -> None:
    """Train skip-gram and CBOW on 300 news texts, one run each; the projector shows skip-gram."""
    with open(datapath("lee_background.cor"), encoding="utf-8") as file:
        sentences = [simple_preprocess(text) for text in file]
    for name, sg in (("skip-gram", 1), ("cbow", 0)):
        log = TensorBoardLog(folder / name, ["ws353"], projector_words=10_000 if sg else 0)
        TFWord2Vec(
            sentences, sg=sg, vector_size=64, epochs=60, workers=2, compute_loss=True, log_dir=log
        )


def scalars(driver: Any, url: str) -> None:
    """Open the page with the curves."""
    driver.get(f"{url}#scalars")
    field = one(driver, "tf-tag-filterer", "input")
    field.send_keys("|".join(CURVES))
    driver.execute_script("arguments[0].blur()", field)  # no blinking caret
    until("the curves", lambda: len(find(driver, "tf-scalar-card")) >= len(CURVES))
    until("the curves to be drawn", lambda: still(driver))


def graphs(driver: Any, url: str) -> None:
    """Open the graph of a training step."""
    driver.get(f"{url}#graphs")
    until("the boxes", lambda: len(find(driver, "g.node")) > 5)
    until("the graph to be drawn", lambda: still(driver))


def projector(driver: Any, url: str) -> None:
    """Open the projector, and select a word."""
    page = ProjectorPage(driver, url)
    page.until_laid_out()
    page.spherize(False)
    page.until_laid_out()
    page.select(WORD)
    page.neighbours()


def colours(driver: Any, url: str) -> None:
    """Open the projector in its initial state: a layout of points, with a colour per cluster."""
    driver.get("about:blank")  # otherwise the page would keep its state
    ProjectorPage(driver, url).until_laid_out()
    until("the layout to be drawn", lambda: still(driver))


def main(pictures: Path = FOLDER) -> None:
    """Take all screenshots."""
    logging.basicConfig(level=logging.WARNING)
    if reason := why_no_chromium():
        sys.exit(f"{reason}: apt-get install chromium chromium-driver")
    pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tfw2v-screenshots-") as folder:
        train(Path(folder, "runs"))
        with tensorboard("runs", cwd=folder) as served, chromium() as driver:
            for take in (scalars, graphs, projector, colours):
                take(driver, served.url)
                path = pictures / f"{take.__name__}.png"
                driver.save_screenshot(str(path))
                print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
