"""Speed by number of workers: ``python -m benchmarks.scaling CORPUS --out FOLDER``.

Clusters of up to ``--real`` workers run on this machine (Linux only). Larger ones are simulated,
with costs that are measured on this machine.
"""

import argparse
from importlib.util import find_spec
from itertools import product

from benchmarks.command import at_least, net, shared_parser
from benchmarks.report import write
from benchmarks.scaling.document import study
from benchmarks.scaling.events import Host
from benchmarks.scaling.plots import draw
from benchmarks.scaling.report import markdown
from benchmarks.scaling.study import Machines, Question
from gensim_tfw2v.processes.threads import usable_cores


def numbers(text: str) -> tuple[int, ...]:
    """Parse whole numbers from 1 up, separated by commas; return them in ascending order."""
    try:
        return tuple(sorted(at_least(1)(part) for part in text.split(",")))
    except (ValueError, argparse.ArgumentTypeError):
        message = f"{text!r}: give whole numbers from 1 up, such as 1,2,4"
        raise argparse.ArgumentTypeError(message) from None


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser(
        "benchmarks.scaling",
        __doc__,
        *("corpus", "--out", "--name", "--epochs", "--vector-size", "--sg"),
    )
    argument_parser.set_defaults(name="scaling")
    add = argument_parser.add_argument
    add("--workers", type=numbers, default="1,2,4,6,8,10,16,32", help="numbers of workers")
    add("--real", type=at_least(1), default=4,
        help="maximum number of workers of a real cluster (4)")  # fmt: skip
    add("--rounds", type=at_least(1), default=3, help="number of runs of each real cluster (3)")
    add("--threads", type=at_least(1), default=2, help="threads per worker of a real cluster (2)")
    add("--cores", type=numbers, default="2,16",
        help="cores, and threads of workers, of simulated machines (2,16)")  # fmt: skip
    add("--net", type=net, nargs="+", default=[net("10Gbit"), net("1Gbit")],
        help="networks of simulated machines (10Gbit 1Gbit)")  # fmt: skip
    add("--latency", type=float, default=0.2, help="round-trip time on these networks, in ms (0.2)")
    add(
        "--words",
        type=float,
        default=0,
        help="words of the simulated corpus (by default of CORPUS)",
    )
    add(
        "--plots",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="draw plots (needs matplotlib)",
    )
    return argument_parser


def main(argv: list[str] | None = None) -> None:
    """Run the study, and write its results after each step."""
    argument_parser = parser()
    args = argument_parser.parse_args(argv)
    if args.corpus.suffix in (".gz", ".bz2", ".xz"):
        argument_parser.error(f"{args.corpus} is compressed: decompress it first")
    if args.epochs < 2:
        argument_parser.error("--epochs: give 2 or more, because the first epoch is not measured")
    if args.plots and find_spec("matplotlib") is None:
        argument_parser.error("plots need matplotlib: pip install matplotlib, or use --no-plots")
    machines = tuple(
        Machines(Host(cores, bandwidth), args.latency / 1e3, shared_text)
        for cores, bandwidth, shared_text in product(args.cores, args.net, (False, True))
    )
    question = Question(
        corpus=args.corpus.resolve(),
        options={"sg": args.sg, "vector_size": args.vector_size, "epochs": args.epochs},
        workers=args.workers,
        real=args.real,
        cores=len(usable_cores()),
        threads=args.threads,
        machines=machines,
        words=round(args.words),
    )
    base = args.out / args.name
    for document in study(question, args.rounds):
        write(base, document, markdown(document))
    if args.plots:
        draw(document, base.with_name(f"{base.name}-speed.svg"))
    print(f"written: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
