"""Ctrl-C that comes where nothing may break."""

import signal
import subprocess
import sys
import threading

import pytest

from gensim_tfw2v.processes.process_guards import defer_interrupts


@pytest.fixture(autouse=True)
def handlers():
    """Python's own for Ctrl-C, and the tool's for SIGTERM."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_signals_come_at_the_end_once(number, error):
    done = []
    with pytest.raises(error), defer_interrupts():
        with defer_interrupts():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with pytest.raises(error):
        signal.raise_signal(number)


def test_a_signal_that_was_held_takes_the_place_of_an_error():
    with pytest.raises(KeyboardInterrupt) as raised, defer_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("of what was done")
    assert isinstance(raised.value.__context__, ValueError)


def test_what_is_ignored_stays_so_and_other_threads_change_nothing():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with defer_interrupts():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    before, found = signal.getsignal(signal.SIGTERM), []

    @defer_interrupts()
    def look():
        found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    look()
    assert found[0] is before and found[1] is not before


#: Sends itself SIGINT when the first module of a name is imported, and is the tool.
TOOL = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupted, sys.argv = sys.argv[1], ["tfw2v", *sys.argv[2:]]
class Interrupting:
    def find_spec(self, name, *_):
        if name == interrupted:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from gensim_tfw2v.cli.start import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "gensim_tfw2v.cli.evaluate"])
def test_ctrl_c_while_the_tool_starts_is_one_line(module):
    ran = subprocess.run(
        [sys.executable, "-c", TOOL, module, "--version"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "tfw2v: interrupted\n")
