"""The tool's beginning: Ctrl-C is one line and a status from here on."""

import sys

from gensim_tfw2v.processes.interrupts import holding_interrupts


def main() -> None:
    """Be the tool; Ctrl-C ends it as it does later, also while its commands are imported."""
    try:
        with holding_interrupts():
            from gensim_tfw2v.cli.main import main as start
        start()
    except KeyboardInterrupt:
        print("tfw2v: interrupted", file=sys.stderr)
        sys.exit(130)
