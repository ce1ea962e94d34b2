"""Grid of options: ``python -m benchmarks.options [TEXT] --records FOLDER [--out FOLDER]``.

The result of each training run is kept in the folder --records, and a run with a result is not made
again. This package's results count only for the kernels in the sources, so changed kernels are
measured again. gensim's training runs take most of the time.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.command import at_least, existing_file, shared_parser
from benchmarks.options.cells import draw_cells
from benchmarks.options.corpora import write_corpora
from benchmarks.options.judge import judge
from benchmarks.options.page import as_document, markdown, summary
from benchmarks.options.run import PLACES, train
from benchmarks.report import begin, write


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser("benchmarks.options", __doc__)
    add = argument_parser.add_argument
    add("text", type=existing_file, nargs="?", help="text of a million words or more")
    add("--records", type=Path, required=True, help="folder for results")
    add("--out", type=Path, help="folder for NAME.json and NAME.md")
    add("--name", default="options", help="name of the results (%(default)s)")
    add("--place", choices=PLACES, default="machine", help="where this package trains")
    add("--first", type=int, help="number of cells to train, the first ones")
    add("--processes", type=at_least(1), default=1, help="number of parallel training runs")
    return argument_parser


def main() -> None:
    """Train cells without results, and write the page."""
    options = parser().parse_args()
    document = begin()
    with tempfile.TemporaryDirectory() as folder:
        files = write_corpora(options.text, Path(folder))
        cells = [cell for cell in draw_cells() if cell.corpus in files]
        if options.place == "graph":  # TensorFlow cannot train FastText
            cells = [cell for cell in cells if not cell.is_fasttext]
        cells = cells[: options.first]
        train(cells, ["gensim", options.place], files, options.records, options.processes)
    verdicts = [judge(cell, options.records, options.place) for cell in cells]
    print(*summary(verdicts), sep="\n")
    if options.out is not None:
        document |= {"name": options.name} | as_document(verdicts, options.place)
        write(options.out / options.name, document, markdown(document))


if __name__ == "__main__":
    main()
