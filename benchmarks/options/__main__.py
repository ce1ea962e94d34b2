"""Grid of options: ``python -m benchmarks.options [TEXT] --records FOLDER [--page FILE]``.

Results are kept in the folder, and cells with results are not trained again. Delete this package's
results after a change to it; gensim's, which take most of the time, remain valid.
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
    """Make the parser of the command line."""
    made = shared_parser("benchmarks.options", __doc__)
    add = made.add_argument
    add("text", type=existing_file, nargs="?", help="text of a million words or more")
    add("--records", type=Path, required=True, help="folder for results")
    add("--page", type=Path, help="Markdown page to write")
    add("--place", choices=PLACES, default="machine", help="where this package trains")
    add("--first", type=int, help="number of cells to train, the first ones")
    add("--processes", type=at_least(1), default=1, help="number of parallel trainings")
    return made


def main() -> None:
    """Train cells without results, and write the page."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_corpora(options.text, Path(folder))
        cells = [cell for cell in draw_cells() if cell.corpus in files]
        if options.place == "graph":  # TensorFlow cannot train FastText
            cells = [cell for cell in cells if not cell.is_fasttext]
        cells = cells[: options.first]
        train(cells, ["gensim", options.place], files, options.records, options.processes)
    verdicts = [judge(cell, options.records, options.place) for cell in cells]
    print(summary(verdicts))
    if options.page is not None:
        options.page.write_text(markdown(verdicts, options.place), encoding="utf-8")


if __name__ == "__main__":
    main()
