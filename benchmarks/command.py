"""Options that the command lines of benchmarks share, with checks of their values."""

import argparse
from pathlib import Path
from typing import Any

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.plan import quantity
from gensim_tfw2v.processes.threads import usable_cores


def existing_file(text: str) -> Path:
    """Return the path of a file of the command line; raise if the file is missing.

    So a mistyped name is reported at once, and not after an hour of measuring.
    """
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"no such file: {text}")
    return Path(text)


def at_least(minimum: int) -> Any:
    """Return a function that parses a whole number, which must not be below `minimum`."""

    def parse_number(text: str) -> int:
        if (value := int(text)) < minimum:
            raise argparse.ArgumentTypeError(f"{value} is too small: give {minimum} or more")
        return value

    return parse_number


def threads(text: str) -> int:
    """Parse a number of threads, up to the number of usable cores."""
    value = at_least(1)(text)
    n_cores = len(usable_cores())
    if value > n_cores:
        raise argparse.ArgumentTypeError(f"{value}: this machine has {n_cores} cores")
    return int(value)


def net(text: str) -> float:
    """Parse the bandwidth of a network in bit/s, such as 10Gbit; return bytes/s."""
    try:
        return quantity(text, "bit", "--net") / 8
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


#: Options that several benchmarks have: the arguments of `add_argument`, by name.
SHARED_OPTIONS: dict[str, dict[str, Any]] = {
    "corpus": {
        "type": existing_file,
        "help": "text, one sentence per line, words separated by spaces",
    },
    "--out": {"type": Path, "required": True, "help": "folder for NAME.json and NAME.md"},
    "--name": {"help": "name of the results (%(default)s)"},
    "--seeds": {
        "type": at_least(1),
        "default": 3,
        "help": "number of rounds, each with a different seed (%(default)s)",
    },
    "--first-seed": {"type": int, "default": 1, "help": "seed of the first round (%(default)s)"},
    "--epochs": {"type": at_least(1), "default": 5, "help": "passes over the text (%(default)s)"},
    "--threads": {"type": threads, "default": 2, "help": "training threads (%(default)s)"},
    "--vector-size": {"type": at_least(1), "default": 100, "help": "dimensions (%(default)s)"},
    "--sg": {"type": int, "choices": (0, 1), "default": 1, "help": "1 skip-gram, 0 CBOW (1)"},
    "--eval": {
        "type": existing_file,
        "nargs": "+",
        "action": "extend",
        "default": [],
        "help": "files of word pairs",
    },
    "--pin": {
        "action": argparse.BooleanOptionalAction,
        "default": True,
        "help": "bind each run to one core per thread",
    },
}


def shared_parser(module: str, about: str | None, *names: str) -> argparse.ArgumentParser:
    """Make a command line with some of the `SHARED_OPTIONS`."""
    argument_parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name in names:
        argument_parser.add_argument(name, **SHARED_OPTIONS[name])
    return argument_parser


def seeds(args: argparse.Namespace) -> range:
    """Return the seeds that ``--seeds`` and ``--first-seed`` select."""
    return range(args.first_seed, args.first_seed + args.seeds)


def pairs(args: argparse.Namespace) -> dict[str, str]:
    """Return the files of word pairs that ``--eval`` selects, by the name that tables show."""
    return {path.stem: str(path.resolve()) for path in args.eval}
