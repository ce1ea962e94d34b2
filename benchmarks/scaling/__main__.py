"""What a training gains from more workers: ``python -m benchmarks.scaling CORPUS --out FOLDER``.

Clusters are run on this machine as far as ``--real`` says, and simulated beyond, with costs that
are measured here; quality is computed by the schedule of so many workers.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path

from benchmarks.scaling import Host, Question
from benchmarks.scaling.document import study
from benchmarks.scaling.plots import draw
from benchmarks.scaling.report import page
from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.plan import quantity
from gensim_tfw2v.evaluation import read_pairs
from gensim_tfw2v.processes.machine import usable_cores


def main(argv: list[str] | None = None) -> int:
    """Do what the arguments ask for; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    add = parser.add_argument
    add("corpus", type=Path, help="text, one sentence a line, not compressed")
    add("--out", type=Path, required=True, help="folder for NAME.md, NAME.json and the pictures")
    add("--name", default="scaling", help="of the files with the results (scaling)")
    add("--workers", default="1,2,4,6,8,10,16,32", help="numbers of workers")
    add("--real", type=int, default=4, help="up to how many the cluster is really run (4)")
    add("--rounds", type=int, default=3, help="how often each cluster is run (3)")
    add("--seeds", default="1", help="of the runs for quality; none leaves them out (1)")
    add("--threads", type=int, default=1, help="of each worker (1)")
    add("--vector-size", type=int, default=100, help="(100)")
    add("--epochs", type=int, default=5, help="passes over the corpus, at least 2 (5)")
    add("--sg", type=int, choices=(0, 1), default=1, help="1 skip-gram, 0 CBOW (1)")
    add("--cores", type=float, help="of each simulated machine (as many as this one has)")
    add("--net", default="10Gbit", help="network of each simulated machine (10Gbit)")
    add("--latency", type=float, default=0.2, help="round trip on that network, in ms (0.2)")
    add("--words", type=float, default=0, help="of the simulated corpus (those of CORPUS)")
    add("--shared-text", action="store_true", help="simulated workers read the text themselves")
    add("--eval", type=Path, nargs="+", action="extend", default=[], help="word-pair files")
    add("--plots", action=argparse.BooleanOptionalAction, default=True, help="(with matplotlib)")
    given = parser.parse_args(argv)
    try:
        question = _question(given)
    except (BadInput, ValueError, OSError) as wrong:
        parser.error(str(wrong))
    given.out.mkdir(parents=True, exist_ok=True)
    base = given.out / given.name
    for document in study(question, given.rounds, print):
        base.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
        base.with_suffix(".md").write_text(page(document))
    if given.plots:
        draw(document, base)
    print(f"written: {base}.md and {base}.json")
    return 0


def _question(given: argparse.Namespace) -> Question:
    """What the arguments ask.

    Raises
    ------
    BadInput, ValueError, OSError
    """
    if not given.corpus.is_file() or given.corpus.suffix in (".gz", ".bz2", ".xz"):
        raise BadInput(f"{given.corpus} is no file, or compressed: give the text itself")
    if given.plots and find_spec("matplotlib") is None:
        raise BadInput("pictures need matplotlib: pip install matplotlib; or --no-plots")
    for name, least in {
        "real": 1,
        "rounds": 1,
        "threads": 1,
        "vector_size": 1,
        "epochs": 2,
    }.items():
        if getattr(given, name) < least:
            option = "--" + name.replace("_", "-")
            raise BadInput(f"{option} is {getattr(given, name)}: give {least} or more")
    for path in given.eval:
        read_pairs(path)
    here = len(usable_cores())
    options = {"sg": given.sg, "vector_size": given.vector_size, "epochs": given.epochs}
    with_seeds = given.seeds.strip() not in ("", "none")
    return Question(
        corpus=given.corpus.resolve(),
        options=options,
        workers=tuple(sorted(numbers(given.workers, "--workers", least=1))),
        real=given.real,
        seeds=tuple(numbers(given.seeds, "--seeds", least=0)) if with_seeds else (),
        cores=here,
        threads=given.threads,
        host=Host(given.cores or here, quantity(given.net, "bit", "--net") / 8),
        latency=given.latency / 1e3,
        words=round(given.words),
        shared_text=given.shared_text,
        pairs={"WS353": "ws353", "SimLex999": "simlex999"}
        | {path.stem: str(path.resolve()) for path in given.eval},
    )


def numbers(text: str, option: str, least: int) -> list[int]:
    """Numbers with commas between.

    Raises
    ------
    BadInput
        If one is none, or below the least.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < least:
        raise BadInput(f"{option} is {text!r}: give whole numbers from {least} on, such as 1,2,4")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
