"""What the command lines of benchmarks share: options, and what they may be."""

import argparse
from pathlib import Path
from typing import Any

from gensim_tfw2v.processes.threads import usable_cores


def existing_file(text: str) -> Path:
    """A path, after looking at what would otherwise fail an hour later."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"no such file: {text}")
    return Path(text)


def at_least(least: int) -> Any:
    """A whole number that is not smaller."""

    def number(text: str) -> int:
        if (value := int(text)) < least:
            raise argparse.ArgumentTypeError(f"{value} is too few: give {least} or more")
        return value

    return number


def threads(text: str) -> int:
    """A number of threads that this machine has cores for."""
    value, here = at_least(1)(text), len(usable_cores())
    if value > here:
        raise argparse.ArgumentTypeError(f"{value}: this machine has {here}")
    return int(value)


#: Options that several benchmarks have.
SHARED: dict[str, dict[str, Any]] = {
    "corpus": {
        "type": existing_file,
        "help": "text, one sentence a line, words separated by spaces",
    },
    "--out": {"type": Path, "required": True, "help": "folder for NAME.json and NAME.md"},
    "--name": {"help": "of the results (%(default)s)"},
    "--seeds": {
        "type": at_least(1),
        "default": 3,
        "help": "rounds, each with a seed of its own (%(default)s)",
    },
    "--first-seed": {"type": int, "default": 1, "help": "seed of the first round (%(default)s)"},
    "--epochs": {"type": at_least(1), "default": 5, "help": "passes over the text (%(default)s)"},
    "--threads": {"type": threads, "default": 2, "help": "that train (%(default)s)"},
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
        "help": "bind each run to as many cores as threads",
    },
}


def shared_parser(module: str, about: str | None, *names: str) -> argparse.ArgumentParser:
    """A command line with some of the `SHARED` options."""
    made = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name in names:
        made.add_argument(name, **SHARED[name])
    return made


def seeds(given: argparse.Namespace) -> range:
    """Those of ``--seeds`` and ``--first-seed``."""
    return range(given.first_seed, given.first_seed + given.seeds)


def pairs(given: argparse.Namespace) -> dict[str, str]:
    """Files of word pairs, by the names that are shown."""
    return {path.stem: str(path.resolve()) for path in given.eval}
