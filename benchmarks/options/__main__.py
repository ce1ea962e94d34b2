"""``python -m benchmarks.options [TEXT] --records FOLDER [--page FILE]``: train the grid.

What has been trained is kept in the folder, and is not trained again: gensim's part is the same
whatever has changed here, and takes most of the time.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.options.cells import draw_cells
from benchmarks.options.corpora import write_corpora
from benchmarks.options.judge import judged
from benchmarks.options.page import page, summary
from benchmarks.options.run import PLACES, train


def main() -> None:
    """Train what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path, nargs="?", help="a million words or more")
    parser.add_argument("--records", type=Path, required=True, help="a folder to keep results in")
    parser.add_argument("--page", type=Path, help="the page to write, Markdown")
    parser.add_argument("--place", choices=PLACES, default="machine", help="where ours trains")
    parser.add_argument("--first", type=int, help="only so many cells, of each place")
    parser.add_argument("--only", default="", help="only cells whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="of the random cells")
    parser.add_argument("--processes", type=int, default=1, help="trainings at a time")
    parser.add_argument("--gensim", action="store_true", help="train gensim's part only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_corpora(options.text, Path(folder))
        cells = [cell for cell in draw_cells(options.seed) if cell.corpus in files]
        if options.place == "graph":  # FastText is trained by the kernels alone
            cells = [cell for cell in cells if not cell.is_fasttext]
        cells = [cell for cell in cells if options.only in cell.name][: options.first]
        engines = ["gensim"] if options.gensim else ["gensim", options.place]
        train(cells, engines, files, options.records, options.processes)
    if options.gensim:
        return
    verdicts = judged(cells, options.records, options.place)
    print(summary(verdicts))
    if options.page is not None:
        options.page.write_text(page(verdicts, options.place), encoding="utf-8")


if __name__ == "__main__":
    main()
