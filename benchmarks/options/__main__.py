"""``python -m benchmarks.options [TEXT] --records FOLDER [--page FILE]``: train the grid.

What has been trained is kept in the folder, and is not trained again: gensim's part is the same
whatever has changed here, and takes most of the time.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.command import at_least, existing_file, shared_parser
from benchmarks.options.cells import draw_cells
from benchmarks.options.corpora import write_corpora
from benchmarks.options.judge import judge
from benchmarks.options.page import markdown, summary
from benchmarks.options.run import PLACES, train


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = shared_parser("benchmarks.options", __doc__)
    add = made.add_argument
    add("text", type=existing_file, nargs="?", help="a million words or more")
    add("--records", type=Path, required=True, help="a folder to keep results in")
    add("--page", type=Path, help="the page to write, Markdown")
    add("--place", choices=PLACES, default="machine", help="where ours trains")
    add("--first", type=int, help="only so many cells, of each place")
    add("--processes", type=at_least(1), default=1, help="trainings at a time")
    return made


def main() -> None:
    """Train what is missing, and write the page."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_corpora(options.text, Path(folder))
        cells = [cell for cell in draw_cells() if cell.corpus in files]
        if options.place == "graph":  # FastText is trained by the kernels alone
            cells = [cell for cell in cells if not cell.is_fasttext]
        cells = cells[: options.first]
        train(cells, ["gensim", options.place], files, options.records, options.processes)
    verdicts = [judge(cell, options.records, options.place) for cell in cells]
    print(summary(verdicts))
    if options.page is not None:
        options.page.write_text(markdown(verdicts, options.place), encoding="utf-8")


if __name__ == "__main__":
    main()
