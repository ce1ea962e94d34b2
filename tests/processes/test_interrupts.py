"""Ctrl-C and SIGTERM deferred during critical sections."""

import signal
import subprocess
import sys
import threading

import pytest

from gensim_tfw2v.processes.threads import defer_interrupts


@pytest.fixture(autouse=True)
def handlers():
    """Set Python's handler of SIGINT, and of SIGTERM the one that tfw2v sets."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_deferred_signals_are_raised_once_at_the_end(number, error):
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


def test_deferred_signal_replaces_an_error():
    with pytest.raises(KeyboardInterrupt) as raised, defer_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("of what was done")
    assert isinstance(raised.value.__context__, ValueError)


def test_ignored_signals_and_other_threads_are_unaffected():
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


#: Runs tfw2v, and sends itself SIGINT when a module of the given name is imported.
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
def test_ctrl_c_during_start_prints_one_line(module):
    ran = subprocess.run(
        [sys.executable, "-c", TOOL, module, "--version"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "tfw2v: interrupted\n")
